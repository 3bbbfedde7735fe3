//! Announcement of what an instrument does on a target that nothing was issued to.

use anyhow::Result;
use block::{Bounds, Bytes, DriveIdentity, DriveInfo, DriveKind, LeafIdentity};
use drives::{Look, TargetSpec};
use record::Announced;
use workload::plan::Content;

use crate::doubts;

/// Work of an instrument, and what it takes.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The work, in words.
    pub work: String,
    /// Time on the drive's clock, in nanoseconds.
    pub time_ns: Bounds,
    /// Bytes that are read; `None` where only the drive's link bounds them.
    pub read: Option<Bounds>,
    /// Bytes that are written.
    pub written: Bounds,
}

/// An instrument as it is foreseen.
pub struct Foreseen {
    /// Plan, cost and doubts.
    pub announced: Announced,
    /// True where there is no drive to measure, and the user did not ask to measure the memory.
    pub is_pointless: bool,
}

/// Foresees work on `target`, whose `cost` depends on what that reports of itself.
///
/// `anyway`: also where there is no drive to measure.
///
/// # Errors
/// When the target cannot be looked at.
pub fn on_target(
    target: &TargetSpec,
    cost: &dyn Fn(&DriveInfo) -> Cost,
    anyway: bool,
) -> Result<Foreseen> {
    let Look { info, stack, identity, .. } = drives::look(target)?;
    let cost = cost(&info);
    let (drive, drive_bytes) = drive(target, &info, &identity);
    let content = (!cost.written.is_zero()).then(Content::default);
    let by_link = || {
        let most = cost.time_ns.most.zip(info.link_bytes_per_s);
        Bounds::up_to(most.map(|(ns, rate)| (ns as f64 / 1e9 * rate as f64) as u64))
    };
    let announced = Announced {
        target: target.to_string(),
        drive,
        work: cost.work,
        time_ns: cost.time_ns,
        time_besides: Vec::new(),
        is_virtual: target.is_virtual(),
        read_bytes: cost.read.unwrap_or_else(by_link),
        written_bytes: cost.written,
        drive_bytes,
        warnings: doubts::known(&stack, false, content),
    };
    Ok(Foreseen { announced, is_pointless: stack.is_memory() && !anyway })
}

/// Both measurements as one announcement.
pub fn together(a: Announced, b: Announced) -> Announced {
    let doubts = b.warnings.into_iter().filter(|doubt| !a.warnings.contains(doubt));
    let warnings = a.warnings.iter().cloned().chain(doubts).collect();
    let besides = b.time_besides.into_iter().filter(|work| !a.time_besides.contains(work));
    let time_besides = a.time_besides.iter().cloned().chain(besides).collect();
    Announced {
        target: format!("{}, {}", a.target, b.target),
        drive: format!("{}; {}", a.drive, b.drive),
        work: a.work,
        time_ns: a.time_ns + b.time_ns,
        time_besides,
        is_virtual: a.is_virtual && b.is_virtual,
        read_bytes: a.read_bytes + b.read_bytes,
        written_bytes: a.written_bytes + b.written_bytes,
        // A share of one of them would be taken for that of each.
        drive_bytes: None,
        warnings,
    }
}

/// The drive in words, and its size, where it is known.
pub(crate) fn drive(
    target: &TargetSpec,
    info: &DriveInfo,
    identity: &DriveIdentity,
) -> (String, Option<u64>) {
    if target.is_virtual() {
        let size = info.capacity_bytes;
        return (format!("virtual drive, {}", size.about()), Some(size.0));
    }
    let leaf = |leaf: &LeafIdentity| {
        let name = leaf.model.as_deref().map_or(leaf.name.as_str(), str::trim);
        match leaf.size_bytes {
            Bytes::ZERO => name.to_owned(),
            size => format!("{name}, {}", size.about()),
        }
    };
    let words = identity.leaves.iter().map(leaf).collect::<Vec<_>>().join("; ");
    let size = identity.leaves.iter().map(|leaf| leaf.size_bytes.0).sum::<u64>();
    let size = (size > 0).then_some(size);
    let own = info.capacity_bytes;
    let is_other = info.kind == DriveKind::BlockDevice && Some(own.0) != size;
    match is_other && !words.is_empty() {
        true => (format!("{} on {words}", own.about()), size),
        false => (words, size),
    }
}
