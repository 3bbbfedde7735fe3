//! Nothing is allocated per I/O: counted, in the whole loop, with each engine.
//!
//! Alone in its program: the allocator that counts is the whole program's.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, LaneSetup, Nanos, Request, Target, Time,
};
use drivescope_linux::target::{
    Access, AnyTarget, Calibration, EngineKind, NullTarget, OpenOptions, RealTarget,
};

#[path = "common/drive_kit.rs"]
mod drive_kit;
#[path = "common/step_kit.rs"]
mod step_kit;
use step_kit::{closed, only, plan, run};

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting for each thread what it takes.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count() {
    // A thread that is ending has no count any more, and no I/O either.
    let _ = TAKEN.try_with(|taken| taken.set(taken.get() + 1));
}

#[expect(unsafe_code, reason = "there is no other way to see what is allocated")]
// SAFETY: every call is passed on, unchanged, to the system's allocator, which keeps the contract. Counting
// allocates nothing: the cell is made with the thread and has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; and the pointer came from the same allocator, through this one.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// A target whose drives record what their thread allocated from the first request on.
struct Watched<T> {
    target: T,
    allocations: AtomicU64,
}

struct WatchedDrive<'a, D> {
    drive: D,
    first: Option<u64>,
    allocations: &'a AtomicU64,
}

impl<T: Target> Target for Watched<T> {
    type Drive<'a>
        = WatchedDrive<'a, T::Drive<'a>>
    where
        T: 'a;

    fn info(&self) -> &DriveInfo {
        self.target.info()
    }

    fn now(&self) -> Time {
        self.target.now()
    }

    fn pause(&mut self, span: Nanos) {
        self.target.pause(span);
    }

    fn open<'a>(&'a mut self, setup: &LaneSetup<'_>) -> Result<Vec<Self::Drive<'a>>, DriveError> {
        let allocations = &self.allocations;
        let watch = |drive| WatchedDrive { drive, first: None, allocations };
        Ok(self.target.open(setup)?.into_iter().map(watch).collect())
    }
}

impl<D: Drive> Drive for WatchedDrive<'_, D> {
    fn attach(&mut self) -> Result<(), DriveError> {
        self.drive.attach()
    }

    fn now(&self) -> Time {
        self.drive.now()
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        self.first.get_or_insert(TAKEN.get());
        self.drive.submit(requests)
    }

    /// Whatever the loop does between two waits is seen by the second.
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let now = self.drive.wait_until(until, done)?;
        let taken = TAKEN.get() - self.first.unwrap_or(TAKEN.get());
        self.allocations.store(taken, Ordering::Relaxed);
        Ok(now)
    }
}

const SHORT: u64 = 3_000;
const LONG: u64 = 10 * SHORT;

/// Loads to issue: reads, writes, both, and both at intended times.
fn loads() -> [(&'static str, String, String); 4] {
    let mixed = r#"[{ op = "read", percent = 70 }, { op = "write", percent = 30 }]"#;
    let timed = r#"{ kind = "timed", depth = 8, per_s = 2e5, gaps = "exponential" }"#;
    [
        ("reads", closed(8), only("read")),
        ("writes", closed(8), only("write")),
        ("reads and writes", closed(8), mixed.to_owned()),
        ("timed arrivals", timed.to_owned(), mixed.to_owned()),
    ]
}

fn nothing_more_for_ten_times_the_ios<T: Target>(name: &str, target: T) {
    let mut target = Watched { target, allocations: AtomicU64::new(0) };
    for (load, arrival, ops) in loads() {
        let [short, long] = [SHORT, LONG].map(|ios| {
            let plan = plan("4KiB", &arrival, &format!("{{ ios = {ios} }}"), &ops);
            let samples = run(&mut target, &plan.steps[0]);
            assert_eq!((&samples.failure, samples.totals.ios), (&None, ios), "{name}, {load}");
            let taken = target.allocations.load(Ordering::Relaxed);
            // The loop sends its progress through a channel ten times a second, which allocates memory for
            // every 31 messages: a matter of time, on a machine that is slow enough, and not of I/Os.
            taken.saturating_sub(samples.elapsed.0 / 3_000_000_000)
        });
        assert!(
            long <= short,
            "{name}, {load}: {LONG} I/Os took {long} allocations, {SHORT} took {short}"
        );
        assert!(short < SHORT / 100, "{name}, {load}: {short} allocations for {SHORT} I/Os");
    }
}

// An allocation per I/O costs more than all the rest of the loop, and its time varies with what the
// program did before: it would be measured as the drive's.
#[test]
fn no_engine_allocates_per_io() {
    let file = drive_kit::Scratch::new("allocations", Bytes::mib(8));
    for engine in EngineKind::ALL {
        let access = Access::ReadWrite;
        let options = OpenOptions { engine, access, direct: false, ..OpenOptions::default() };
        let name = engine.to_string();
        match RealTarget::open(file.path(), options).unwrap().engine().unwrap() {
            AnyTarget::IoUring(target) => nothing_more_for_ten_times_the_ios(&name, target),
            AnyTarget::Libaio(target) => nothing_more_for_ten_times_the_ios(&name, target),
            AnyTarget::Psync(target) => nothing_more_for_ten_times_the_ios(&name, target),
        }
        let nothing = Calibration::new(engine, Bytes::mib(8), None);
        nothing_more_for_ten_times_the_ios(&format!("{name} on nothing"), nothing);
    }
    nothing_more_for_ten_times_the_ios("null", NullTarget::new(Bytes::mib(8)));
}

// Were the count asleep, everything above would pass.
#[test]
fn an_allocation_is_counted() {
    let before = TAKEN.get();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(TAKEN.get(), before + 1);
}
