//! CPU time of the programs that were started.

use std::fs;
use std::ops::Sub;

use anyhow::{Context as _, Result};

/// Ticks a second in `/proc/*/stat`: `USER_HZ`, part of the kernel's interface on x86 and Arm.
const TICKS_PER_S: u64 = 100;

/// CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// In user space.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
}

impl Sub for Cpu {
    type Output = Cpu;

    fn sub(self, before: Cpu) -> Cpu {
        Cpu {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
        }
    }
}

/// CPU time of all programs that this one started and that have ended, from their first instant to
/// their last: what `getrusage(2)` calls `RUSAGE_CHILDREN`, in steps of 10 ms. Read from
/// `/proc/self/stat`, since the call itself would take unsafe code here; the steps are finer than the
/// kernel's own division of CPU time into user and system, which it samples at its timer's ticks.
///
/// # Errors
/// When the kernel does not report it.
pub fn cpu() -> Result<Cpu> {
    let text = fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    read(&text).with_context(|| format!("{}: is no process's stat", text.trim()))
}

/// `cutime` and `cstime`, fields 16 and 17 (proc_pid_stat(5)). The name in field 2 may hold anything,
/// also spaces and brackets.
fn read(text: &str) -> Option<Cpu> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(13).map(|n| n.parse::<u64>().ok());
    let ns = |ticks: u64| ticks * (1_000_000_000 / TICKS_PER_S);
    Some(Cpu { user_ns: ns(fields.next()??), system_ns: ns(fields.next()??) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    // The neighbouring fields are this process's own time and its priority.
    #[test]
    fn the_childrens_time_is_told_from_our_own() {
        let text = "4711 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 250 30 20 0 1 0 99";
        assert_eq!(read(text), Some(Cpu { user_ns: 2_500_000_000, system_ns: 300_000_000 }));
        assert_eq!(read("4711 (a) S 1 2"), None);
    }

    // A program that was waited for must be in it, or every contender would look free.
    #[test]
    fn a_program_that_ended_is_counted() {
        let before = cpu().unwrap();
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", spin]).status().unwrap().success());
        assert!((cpu().unwrap() - before).user_ns >= 10_000_000);
    }
}
