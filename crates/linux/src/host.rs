//! The machine itself: its name, its kernel, its clock, its randomness.

use std::fs;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use block::{Bytes, UnixNanos, WallClock};
use rustix::rand::{GetRandomFlags, getrandom};

/// The machine's real-time clock.
pub struct SystemClock;

impl WallClock for SystemClock {
    fn now(&self) -> UnixNanos {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixNanos(i128::try_from(now.as_nanos()).unwrap_or(0))
    }
}

/// Time since a moment on the machine's monotonic clock, for what is drawn and not for what is measured.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Time since its start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// The machine's name, as `uname -n` prints it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The kernel's release, as `uname -r` prints it.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The architecture, as `uname -m` prints it.
pub fn architecture() -> String {
    rustix::system::uname().machine().to_string_lossy().into_owned()
}

/// The model of the first CPU, where `/proc/cpuinfo` names one (not on every architecture).
pub fn cpu_model() -> Option<String> {
    let told = fs::read_to_string("/proc/cpuinfo").ok()?;
    let named = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    };
    told.lines().find_map(named)
}

/// Main memory.
pub fn memory() -> Option<Bytes> {
    of_memory("MemTotal:")
}

/// Main memory that programs may still take without swapping.
pub fn memory_available() -> Option<Bytes> {
    of_memory("MemAvailable:")
}

fn of_memory(name: &str) -> Option<Bytes> {
    let told = fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes::kib(kib))
}

/// A fresh seed for a run, below 2^53 so that whatever reads JSON as floating point keeps it.
///
/// # Errors
/// When the kernel gives no randomness.
pub fn fresh_seed() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    // Eight bytes are never returned in part (getrandom(2): up to 256 are not interrupted).
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes) >> 11)
}

/// Time of a processor by state since the machine started, in ticks of the kernel's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTimes {
    /// Its number.
    pub id: u32,
    /// In programs, niced ones too.
    pub user: u64,
    /// In the kernel, interrupts too.
    pub kernel: u64,
    /// Idle, while a program here waited for a disk.
    pub waiting: u64,
    /// Idle.
    pub idle: u64,
}

/// The times of each online processor (`/proc/stat`, proc_stat(5)); empty when the kernel does not report them.
pub fn processor_times() -> Vec<ProcessorTimes> {
    fs::read_to_string("/proc/stat").map_or_else(|_| Vec::new(), |told| times_of(&told))
}

fn times_of(told: &str) -> Vec<ProcessorTimes> {
    let one = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        // The line of all of them together has no number.
        let id = words.next()?.parse().ok().filter(|_| !line.starts_with("cpu "))?;
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let [user, nice, system, idle, waiting, rest @ ..] = &ticks[..] else { return None };
        let interrupts: u64 = rest.iter().take(2).sum();
        Some(ProcessorTimes {
            id,
            user: user + nice,
            kernel: system + interrupts,
            waiting: *waiting,
            idle: *idle,
        })
    };
    told.lines().filter_map(one).collect()
}

/// The processors that this program may run on, in rising order.
pub fn allowed_processors() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None);
    allowed.map_or_else(
        |_| Vec::new(),
        |set| (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when the sum of all processors is taken for one, or a column for its neighbour.
    #[test]
    fn times_are_those_of_each_processor() {
        let told = "cpu  11 22 33 44 55 66 77 88 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu12 10 20 30 40 50\nintr 5\n";
        let expected = [
            ProcessorTimes { id: 0, user: 3, kernel: 16, waiting: 5, idle: 4 },
            ProcessorTimes { id: 12, user: 30, kernel: 30, waiting: 50, idle: 40 },
        ];
        assert_eq!(times_of(told), expected);
        assert!(times_of("cpu0 1 2\n").is_empty());
    }

    #[test]
    fn this_program_may_run_somewhere() {
        assert!(!allowed_processors().is_empty());
        assert!(!processor_times().is_empty());
    }
}
