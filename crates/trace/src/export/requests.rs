//! Events that represent an I/O, and how those of one request are joined.

use std::cmp::Ordering;

use block::trace::{Action, DeviceNumber, Traits};

use super::record::{Record, instant, traits};
use crate::{Flags, Io, Kind};

/// An event to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// When.
    pub time: u64,
    /// Rank among events of one instant.
    step: Step,
    /// In which order events were made.
    pub serial: u64,
    /// The action.
    pub action: Action,
    /// Kind and flags.
    pub traits: Traits,
    /// CPU that records it.
    pub cpu: u32,
    /// The device.
    pub device: DeviceNumber,
    sector: u64,
    bytes: u32,
    /// Length of the request, for the issue and completion of its first bio.
    request_bytes: u64,
    pid: u32,
    error: u16,
    /// First bio of a request.
    head: bool,
    /// Sector at which a split cuts; 0 for I/Os that were not split.
    split_at: u64,
}

/// Events in the order in which those of one instant are written: no I/O ends before all have begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Queue,
    Split,
    Remap,
    Sleep,
    Get,
    Merge,
    Insert,
    Issue,
    Requeue,
    IssueAgain,
    Complete,
}

impl Ord for Told {
    fn cmp(&self, other: &Told) -> Ordering {
        (self.time, self.step, self.serial).cmp(&(other.time, other.step, other.serial))
    }
}

impl PartialOrd for Told {
    fn partial_cmp(&self, other: &Told) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Told {
    fn eq(&self, other: &Told) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Told {}

impl Told {
    /// The record; what it lacks is the recording's to add.
    pub fn record(&self) -> Record {
        Record {
            time: self.time,
            sector: self.sector,
            bytes: self.bytes,
            pid: self.pid,
            device: self.device.0,
            cpu: self.cpu,
            error: (self.error.cast_signed().wrapping_neg()).cast_unsigned(),
            ..Record::default()
        }
    }

    /// Returns the payload that follows the record.
    pub fn pdu(&self) -> Vec<u8> {
        match self.action {
            Action::Split => self.split_at.to_be_bytes().to_vec(),
            // The device below is unknown; the record only says that the I/O was handed on.
            Action::Remap => [
                &self.device.0.to_be_bytes()[..],
                &self.device.0.to_be_bytes(),
                &self.sector.to_be_bytes(),
            ]
            .concat(),
            _ => Vec::new(),
        }
    }

    fn end(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.bytes).div_ceil(512))
    }
}

/// Passes the events of `io` to `each`; its length is `bytes`.
pub(super) fn tell(io: &Io, bytes: u32, device: DeviceNumber, mut each: impl FnMut(Told)) {
    let command = io.kind == Kind::Other;
    let queue = Told {
        time: io.arrival.0,
        step: Step::Queue,
        serial: 0,
        action: Action::Queue,
        traits: traits(io),
        cpu: u32::from(io.cpu),
        device,
        sector: if command { 0 } else { io.offset.0 / 512 },
        bytes,
        request_bytes: io.request_bytes.0,
        pid: io.pid,
        error: 0,
        head: io.flags.has(Flags::HEAD),
        // Requests of a split bio are shorter than the bio, and begin within it; written as one, they end with it.
        split_at: if io.flags.has(Flags::SPLIT) {
            io.offset.0 / 512 + u64::from(bytes) / 1024
        } else {
            0
        },
    };
    let mut say = |time: u64, step: Step, action: Action| {
        each(Told { time, step, action, ..queue });
    };
    if command {
        // Commands have no Q: an insertion, or the issue, is their arrival.
        if instant(io.issued) != Some(io.arrival.0) {
            say(io.arrival.0, Step::Insert, Action::Insert);
        }
    } else {
        say(io.arrival.0, Step::Queue, Action::Queue);
        let merge =
            if io.flags.has(Flags::MERGED_FRONT) { Action::FrontMerge } else { Action::BackMerge };
        for (stamp, step, action) in [
            (io.remapped, Step::Remap, Action::Remap),
            (io.slept, Step::Sleep, Action::SleepRequest),
            (io.allocated, Step::Get, Action::GetRequest),
            (io.merged, Step::Merge, merge),
            (io.inserted, Step::Insert, Action::Insert),
        ] {
            if let Some(at) = instant(stamp) {
                say(at, step, action);
            }
        }
    }
    if let Some(at) = instant(io.issued) {
        say(at, Step::Issue, Action::Issue);
        if io.flags.has(Flags::REQUEUED) {
            // When it was issued first is not known any more.
            say(at, Step::Requeue, Action::Requeue);
            say(at, Step::IssueAgain, Action::Issue);
        }
    }
    if io.flags.has(Flags::SPLIT) && bytes >= 1024 {
        each(Told { step: Step::Split, action: Action::Split, ..queue });
    }
    if let Some(time) = instant(io.completed) {
        let (step, action) = (Step::Complete, Action::Complete);
        each(Told { time, step, action, pid: 0, error: io.error, ..queue });
    }
}

/// Joins the events of one instant: a request's bios are issued and completed with its first.
///
/// `instant` is in the order of writing.
pub(super) fn join(instant: &mut Vec<Told>) {
    let joined =
        |told: &Told| matches!(told.action, Action::Issue | Action::Requeue | Action::Complete);
    // A flush that the kernel issues is written as a read.
    for told in instant.iter_mut().filter(|told| told.bytes == 0 && told.action == Action::Issue) {
        if told.traits.has(Traits::FLUSH) {
            told.traits = Traits::FLUSH | Traits::READ;
        }
    }
    if instant.iter().filter(|told| joined(told)).count() < 2 {
        instant.iter_mut().filter(|told| joined(told)).for_each(widen);
        return;
    }
    let mut requests: Vec<Told> = instant.iter().copied().filter(joined).collect();
    instant.retain(|told| !joined(told));
    let place =
        |told: &Told| (told.step, told.device, told.traits.0 & DIRECTION, told.sector, !told.head);
    requests.sort_by_key(|told| (place(told), told.serial));
    let mut wide: Vec<Told> = Vec::with_capacity(requests.len());
    for told in requests {
        if let Some(last) = wide.last_mut()
            && !told.head
            && told.bytes > 0
            && last.head
            && (last.step, last.device) == (told.step, told.device)
            && (last.traits.0 ^ told.traits.0) & DIRECTION == 0
            && last.end() == told.sector
            && let Some(bytes) = last.bytes.checked_add(told.bytes)
        {
            last.bytes = bytes;
            continue;
        }
        wide.push(told);
    }
    wide.iter_mut().for_each(widen);
    wide.sort();
    instant.extend(wide);
    instant.sort();
}

/// Mask of the traits that the bios of one request share.
const DIRECTION: u64 = Traits::READ.0 | Traits::WRITE.0 | Traits::DISCARD.0 | Traits::PASSTHROUGH.0;

/// Makes the issue of a request as long as the request: bios in it may be missing from the trace. One that was split
/// is longer than any of its requests.
fn widen(told: &mut Told) {
    let request = u32::try_from(told.request_bytes).unwrap_or(told.bytes);
    if told.head && told.action == Action::Issue && told.split_at == 0 {
        told.bytes = told.bytes.max(request);
    }
}
