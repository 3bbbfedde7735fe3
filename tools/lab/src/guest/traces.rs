//! Leftovers of a scenario: processes, mounts, swap areas, block devices.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

/// How long killed processes are given to go.
const GOING: Duration = Duration::from_millis(500);

/// Processes, mounts, swap areas and block devices at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Traces(BTreeSet<String>);

impl Traces {
    /// Now.
    pub(super) fn now() -> Traces {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let mut traces = BTreeSet::new();
        let field =
            |line: &str, n: usize| line.split_whitespace().nth(n).unwrap_or_default().to_owned();
        traces.extend(read("/proc/mounts").lines().map(|line| format!("mount {}", field(line, 1))));
        traces.extend(
            read("/proc/swaps").lines().skip(1).map(|line| format!("swap {}", field(line, 0))),
        );
        for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Emulated drives come when they come, and scenarios take them out and put them in. A loop device that
            // is not in use is made by loading the module, and never goes.
            let emulated = fs::canonicalize(entry.path())
                .is_ok_and(|path| path.components().any(|c| c.as_os_str() == "pci0000:00"));
            let unused = name.starts_with("loop") && !entry.path().join("loop").exists();
            if !emulated && !unused {
                traces.insert(format!("block device {name}"));
            }
        }
        Traces(traces)
    }

    /// Entries that are not in `before`.
    pub(super) fn beyond(&self, before: &Traces) -> Vec<String> {
        self.0.difference(&before.0).cloned().collect()
    }
}

/// Kills every process but this one and the kernel's own; returns what they were.
pub(super) fn kill_processes() -> Vec<String> {
    let mut killed = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(process) = number.filter(|n| *n != own()).and_then(Pid::from_raw) else {
            continue;
        };
        // The kernel's threads, and what has ended and is not yet waited for, have no program.
        if fs::read_link(entry.path().join("exe")).is_err() {
            continue;
        }
        let words = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        if kill_process(process, Signal::KILL).is_ok() {
            killed.push(format!("process {}", words.replace('\0', " ").trim()));
        }
    }
    if !killed.is_empty() {
        thread::sleep(GOING);
    }
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    killed
}

fn own() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_since_is_left_behind() {
        let before = Traces(["mount /".to_owned(), "block device sda".to_owned()].into());
        let after = Traces(["mount /".to_owned(), "block device dm-0".to_owned()].into());
        assert_eq!(after.beyond(&before), ["block device dm-0"]);
        assert_eq!(before.beyond(&before), [""; 0]);
    }

    #[test]
    fn what_this_machine_has_mounted_is_seen() {
        assert!(Traces::now().0.iter().any(|trace| trace.starts_with("mount /")));
    }
}
