//! Cost of probes, as far as it is known before they begin.

use block::{Bounds, Bytes, DriveInfo, Nanos};
use probe::{Task, capacity};

use super::open::will_write;
use crate::announce::Cost;

/// Limits of a probe run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest time.
    pub time: Nanos,
    /// Most bytes written; zero where nothing may be.
    pub bytes: Bytes,
}

/// Cost of `tasks` on the drive of `info`, within `limits`.
pub fn cost(tasks: &[Task], info: &DriveInfo, limits: Limits) -> Cost {
    let size = info.capacity_bytes;
    let longest: Nanos = tasks.iter().map(longest).sum();
    let names: Vec<&str> = tasks.iter().map(Task::word).collect();
    let full = matches!(tasks, [Task::Capacity(options)] if options.full);
    let may_write = limits.bytes > Bytes::ZERO;
    let (read, written) = match tasks {
        [task] if may_write && will_write(task, size).is_some() => {
            let Bytes(will) = will_write(task, size).unwrap_or_default();
            // A fake takes more, which shows only while it is written.
            let most = if full { will } else { limits.bytes.0.max(will) };
            let read = if full { Bounds::of(will) } else { Bounds::up_to(Some(2 * most)) };
            (Some(read), Bounds { least: will, most: Some(most) })
        }
        _ => (None, Bounds::up_to(Some(limits.bytes.0))),
    };
    let work = match names.as_slice() {
        [one] => format!("probe {one}"),
        _ => format!("{} probes: {}", names.len(), names.join(", ")),
    };
    // Written and read back, no faster than the link.
    let least = info
        .link_bytes_per_s
        .filter(|rate| full && *rate > 0)
        .map_or(0, |rate| (2.0 * size.0 as f64 / rate as f64 * 1e9) as u64);
    let most = longest.min(limits.time);
    let time_ns = Bounds { least, most: (most < capacity::full::TIME).then_some(most.0) };
    Cost { work, time_ns, read, written }
}

fn longest(task: &Task) -> Nanos {
    match task {
        Task::Capacity(options) if options.full => capacity::full::TIME,
        task => task.time_limit(),
    }
}
