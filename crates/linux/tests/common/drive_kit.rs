//! Helpers of the tests of real drives: files and loop devices that are removed again, content that
//! shows its offset, and a loop that keeps a drive busy and checks its answers.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use block::{Bytes, Completion, Drive, LaneSetup, Nanos, Op, Payload, Request, Target, Time};
use drivescope_linux::drive::Engine;
use drivescope_linux::target::{Access, Buffers, EngineTarget, OpenOptions, RealTarget};

/// Calls a function that is generic over the engine once for each engine.
#[macro_export]
macro_rules! each_engine {
    ($function:ident $(, $argument:expr)*) => {{
        use drivescope_linux::drive::{Aio, Psync, Uring};
        $function::<Uring>($($argument),*);
        $function::<Aio>($($argument),*);
        $function::<Psync>($($argument),*);
    }};
}

/// A file of this test's own, removed when dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A file of `len` bytes of real data, on the disk.
    pub fn new(name: &str, len: Bytes) -> Scratch {
        let name = format!("{name}-{}", std::process::id());
        let scratch = Scratch(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        let mut file = File::create(&scratch.0).unwrap();
        let mut block = vec![0; 1 << 20];
        Pattern(0xF11E).fill(Bytes(0), &mut block);
        let mut left = len.0 as usize;
        while left > 0 {
            let part = left.min(block.len());
            file.write_all(&block[..part]).unwrap();
            left -= part;
        }
        file.sync_all().unwrap();
        scratch
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Says why a test does nothing here. Where it is called although the machine has the means, the
/// caller has panicked instead.
pub fn skipped(why: &str) {
    println!("skipped: {why}");
}

/// A loop device with direct I/O on a scratch file; detached when dropped.
pub struct LoopDevice {
    pub path: PathBuf,
    pub backing: Scratch,
}

impl LoopDevice {
    /// Attaches one, or says why that is impossible here: not root, or no loop driver or tool. With
    /// the means at hand a failure is a failure of the test, in CI and elsewhere.
    pub fn new(name: &str, len: Bytes) -> Option<LoopDevice> {
        if !rustix::process::geteuid().is_root() {
            skipped("loop devices need root");
            return None;
        }
        if !Path::new("/dev/loop-control").exists() {
            skipped("this kernel has no loop devices");
            return None;
        }
        if Command::new("losetup").arg("--version").output().is_err() {
            skipped("losetup is not installed");
            return None;
        }
        let backing = Scratch::new(name, len);
        // Another process may take the free device between losetup's look and its grasp.
        for _ in 0..20 {
            let output = Command::new("losetup")
                .args(["--find", "--show", "--direct-io=on"])
                .arg(backing.path())
                .output()
                .unwrap();
            if output.status.success() {
                let path = String::from_utf8(output.stdout).unwrap();
                return Some(LoopDevice { path: PathBuf::from(path.trim()), backing });
            }
            println!("losetup: {}", String::from_utf8_lossy(&output.stderr));
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("losetup failed 20 times on a machine that has loop devices");
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

/// Content that says where it belongs and who wrote it: each 8-byte word mixes its offset and a seed.
#[derive(Clone, Copy)]
pub struct Pattern(pub u64);

impl Pattern {
    fn word(self, offset: u64) -> [u8; 8] {
        (offset.wrapping_add(self.0 << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()
    }

    /// Returns the offset at which `data`, read at `offset`, first differs from this pattern.
    pub fn mismatch(self, offset: Bytes, data: &[u8]) -> Option<u64> {
        let at = |(i, word): (usize, &[u8])| {
            let place = offset.0 + 8 * i as u64;
            (word != self.word(place)).then_some(place)
        };
        data.chunks_exact(8).enumerate().find_map(at)
    }
}

impl Payload for Pattern {
    fn fill(&mut self, offset: Bytes, buffer: &mut [u8]) {
        for (i, word) in buffer.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&self.word(offset.0 + 8 * i as u64));
        }
    }
}

/// Options for reading and writing.
pub fn writable() -> OpenOptions {
    OpenOptions { access: Access::ReadWrite, ..OpenOptions::default() }
}

/// Opens `path` with engine `E`.
pub fn open<E: Engine>(path: &Path, options: OpenOptions) -> EngineTarget<E> {
    RealTarget::open(path, options).unwrap().with_engine::<E>().unwrap()
}

/// A request; submitter and slot are set when it is issued.
pub fn request(op: Op, offset: u64, len: u64) -> Request {
    Request { op, fua: false, submitter: 0, slot: 0, offset: Bytes(offset), len: Bytes(len) }
}

/// Requests of `op` that cover `[0, total)` in blocks of `len`, in an order of their own.
pub fn shuffled(op: Op, total: u64, len: u64, seed: u64) -> Vec<Request> {
    let mut requests: Vec<_> = (0..total / len).map(|i| request(op, i * len, len)).collect();
    let mut state = seed | 1;
    for i in (1..requests.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        requests.swap(i, (state >> 33) as usize % (i + 1));
    }
    requests
}

/// How a step is set up.
pub fn setup<'a>(
    depth: u16,
    block: u64,
    payload: Option<&'a dyn Fn(u16) -> Box<dyn Payload>>,
) -> LaneSetup<'a> {
    LaneSetup { depth, block_bytes_max: Bytes(block), payload, ..LaneSetup::default() }
}

/// Counts of [`pump`].
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Counts {
    pub submitted: usize,
    pub completed: usize,
    pub bytes: u64,
    pub errors: usize,
    /// Most requests that were outstanding at once.
    pub outstanding_max: usize,
}

/// Keeps `depth` requests outstanding until all are done, and checks on the way what must hold for
/// every engine: completions name an outstanding slot, once; stamps are in order.
pub fn pump<D: Drive + Buffers>(
    drive: &mut D,
    depth: u16,
    requests: &[Request],
    mut seen: impl FnMut(&Request, &Completion, &[u8]),
) -> Counts {
    let mut counts = Counts::default();
    let mut waiting: VecDeque<Request> = requests.iter().copied().collect();
    let mut slots: Vec<Option<(Request, Time)>> = vec![None; usize::from(depth)];
    let mut done = Vec::new();
    let mut patience = drive.now() + Nanos::secs(60);
    while counts.completed < requests.len() {
        let mut batch = Vec::new();
        for (slot, place) in slots.iter_mut().enumerate().filter(|(_, place)| place.is_none()) {
            let Some(mut request) = waiting.pop_front() else { break };
            request.slot = slot as u16;
            *place = Some((request, drive.now()));
            batch.push(request);
        }
        drive.submit(&batch).unwrap();
        counts.submitted += batch.len();
        let outstanding = slots.iter().filter(|place| place.is_some()).count();
        counts.outstanding_max = counts.outstanding_max.max(outstanding);
        let now = drive.wait_until(patience, &mut done).unwrap();
        // A wait may end early.
        assert!(!done.is_empty() || now < patience, "60 s without a completion");
        if !done.is_empty() {
            patience = now + Nanos::secs(60);
        }
        for completion in done.drain(..) {
            let (request, submitted) = slots[usize::from(completion.slot)]
                .take()
                .expect("a completion for a slot that is not outstanding");
            assert_eq!(completion.submitter, request.submitter);
            assert!(submitted <= completion.issued, "issued before it was submitted");
            assert!(completion.issued <= completion.completed && completion.completed <= now);
            counts.completed += 1;
            match completion.outcome.bytes() {
                Ok(bytes) => counts.bytes += bytes.0,
                Err(_) => counts.errors += 1,
            }
            seen(&request, &completion, drive.buffer(completion.slot).unwrap());
        }
    }
    counts
}

/// Opens a drive for one submitter and pumps `requests` through it.
pub fn run<E: Engine>(
    target: &mut EngineTarget<E>,
    depth: u16,
    requests: &[Request],
    pattern: Option<Pattern>,
    seen: impl FnMut(&Request, &Completion, &[u8]),
) -> Counts {
    let block = requests.iter().map(|r| r.len.0).max().unwrap_or(1);
    let make = |_| Box::new(pattern.unwrap_or(Pattern(0))) as Box<dyn Payload>;
    let payload = pattern.is_some().then_some(&make as &dyn Fn(u16) -> Box<dyn Payload>);
    let mut drives = target.open(&setup(depth, block, payload)).unwrap();
    assert_eq!(drives.len(), 1);
    drives[0].attach().unwrap();
    pump(&mut drives[0], depth, requests, seen)
}

/// The single outcome of one request.
pub fn outcome<E: Engine>(path: &Path, options: OpenOptions, request: Request) -> i32 {
    let pattern = (request.op == Op::Write).then_some(Pattern(0xABC));
    let mut result = None;
    let mut target = open::<E>(path, options);
    run(&mut target, 1, &[request], pattern, |_, completion, _| {
        result = Some(completion.outcome.0)
    });
    result.unwrap()
}
