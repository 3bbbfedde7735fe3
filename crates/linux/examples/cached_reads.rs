//! How many 512-byte reads of a page-cached file each engine does per second, at depth 1 and 32: what
//! is left when the device costs nothing. Prints figures and asserts none.
//!
//!     cargo run --release -p drivescope-linux --example cached_reads [FILE] [SECONDS]
//!
//! FILE defaults to a 64 MiB file made in the directory for temporary files.

use std::error::Error;
use std::path::PathBuf;

use block::{Bytes, Completion, Drive, LaneSetup, Nanos, Op, Request, Target};
use drivescope_linux::target::{AnyTarget, EngineKind, NullTarget, OpenOptions, RealTarget};

/// Reads per second, and nanoseconds of CPU per read in user mode and in the kernel.
struct Figures {
    per_s: f64,
    user_ns: f64,
    system_ns: f64,
}

fn cpu_ns() -> Result<(f64, f64), Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(f64::NAN);
    // Fields 14 and 15 of proc_pid_stat(5), in ticks of 10 ms.
    Ok((ticks(11) * 1e7, ticks(12) * 1e7))
}

fn measure<T: Target>(target: &mut T, depth: u16, span: Nanos) -> Result<Figures, Box<dyn Error>> {
    let blocks = target.info().capacity_bytes.0 / 512;
    let setup = LaneSetup { depth, block_bytes_max: Bytes(512), ..LaneSetup::default() };
    let mut drives = target.open(&setup)?;
    let drive = drives.first_mut().ok_or("no drive")?;
    drive.attach()?;
    let mut state = 0x5EEDu64;
    let mut next = |slot: u16| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let block = (u128::from(state) * u128::from(blocks)) >> 64;
        let offset = Bytes(block as u64 * 512);
        Request { op: Op::Read, fua: false, submitter: 0, slot, offset, len: Bytes(512) }
    };
    let mut batch: Vec<Request> = (0..depth).map(&mut next).collect();
    let mut done: Vec<Completion> = Vec::with_capacity(usize::from(depth));
    let (mut reads, cpu) = (0u64, cpu_ns()?);
    let start = drive.now();
    let until = start + span;
    let end = loop {
        drive.submit(&batch)?;
        batch.clear();
        let now = drive.wait_until(until, &mut done)?;
        for completion in done.drain(..) {
            if completion.outcome.0 != 512 {
                return Err(format!("a read answered {:?}", completion.outcome).into());
            }
            reads += 1;
            batch.push(next(completion.slot));
        }
        if now >= until {
            break now;
        }
    };
    let after = cpu_ns()?;
    let count = reads as f64;
    Ok(Figures {
        per_s: count / end.since(start).as_secs_f64(),
        user_ns: (after.0 - cpu.0) / count,
        system_ns: (after.1 - cpu.1) / count,
    })
}

fn show<T: Target>(name: &str, target: &mut T, span: Nanos) -> Result<(), Box<dyn Error>> {
    for depth in [1, 32] {
        let figures = measure(target, depth, span)?;
        println!(
            "{name:>9} Q{depth:<3} {:>10.0} reads/s   CPU per read: {:>6.0} ns user {:>6.0} ns kernel",
            figures.per_s, figures.user_ns, figures.system_ns
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let given = arguments.next().map(PathBuf::from);
    let seconds = match arguments.next() {
        Some(text) => text.to_string_lossy().parse()?,
        None => 2,
    };
    let span = Nanos::secs(seconds);
    let path = match &given {
        Some(path) => path.clone(),
        None => std::env::temp_dir().join(format!("cached-reads-{}", std::process::id())),
    };
    if given.is_none() {
        std::fs::write(&path, vec![7; 64 << 20])?;
    }
    // Read once, so that it is in the page cache.
    std::io::copy(&mut std::fs::File::open(&path)?, &mut std::io::sink())?;
    let result = EngineKind::ALL.into_iter().try_for_each(|engine| {
        let options = OpenOptions { engine, direct: false, ..OpenOptions::default() };
        let name = engine.to_string();
        match RealTarget::open(&path, options)?.engine()? {
            AnyTarget::IoUring(mut target) => show(&name, &mut target, span),
            AnyTarget::Libaio(mut target) => show(&name, &mut target, span),
            AnyTarget::Psync(mut target) => show(&name, &mut target, span),
        }
    });
    if given.is_none() {
        std::fs::remove_file(&path)?;
    }
    result?;
    show("null", &mut NullTarget::default(), span)
}
