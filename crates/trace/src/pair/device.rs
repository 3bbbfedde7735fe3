//! State of each device.

use std::collections::{HashMap, VecDeque};

use block::Nanos;
use block::trace::{Action, DeviceNumber, TraceEvent};

use super::tally::Tally;

/// Most I/Os in one granule, and most long ones of a device: of more, the oldest is given up. No queue is so deep,
/// and a recording that was made up must not make every look-up slow.
pub const CROWD: u32 = 2048;

/// Most devices of a trace: more are numbers made of rubbish.
const DEVICES: usize = 4096;

/// Issues without a single arrival after which a device is taken to record requests only. More than a drive can have
/// had outstanding when the recording began.
const REQUESTS_ONLY: u32 = 4096;

/// Most events kept for an I/O that may come after them.
const STRAYS: usize = 64;

/// One device.
#[derive(Debug, Default)]
pub struct Device {
    /// Counts of its events.
    pub tally: Tally,
    /// True once an issue was seen: completions may then wait for theirs.
    pub issues: bool,
    /// The most granules that a short I/O goes beyond its first.
    pub reach: u64,
    /// I/Os longer than granules are looked through for.
    pub long: VecDeque<u32>,
    /// Insertions, so that crowds are looked for now and then.
    pub inserted: u32,
    /// Flushes and other I/Os without data that wait.
    pub empty: VecDeque<u32>,
    /// Commands passed through that wait.
    pub commands: VecDeque<u32>,
    /// Discards that were merged: the bios of one request need not be neighbours.
    pub merged_discards: VecDeque<u32>,
    /// Discards that were issued with others that are not adjacent, and appends: they complete at other sectors than
    /// their own.
    pub scattered: VecDeque<u32>,
    /// Writes that the kernel makes durable by flushes of its own, as long as the last of those may follow.
    pub flushing: VecDeque<u32>,
    /// Events that may be of an I/O whose arrival comes a little late.
    strays: VecDeque<TraceEvent>,
    /// I/Os made from issues, as long as it is unknown whether the device records arrivals.
    provisional: Vec<u32>,
    unknown_issues: u32,
    decided: bool,
}

impl Device {
    /// True as long as nothing says whether arrivals are recorded.
    pub fn undecided(&self) -> bool {
        !self.decided
    }

    /// Decides that the device records requests only, as far as can be known.
    pub fn decide_for_requests(&mut self) {
        self.decided = true;
        self.provisional = Vec::new();
    }

    /// An arrival was recorded. Returns the I/Os that were made from issues, which the caller drops.
    pub fn queue_seen(&mut self) -> Vec<u32> {
        if self.decided {
            return Vec::new();
        }
        self.decided = true;
        std::mem::take(&mut self.provisional)
    }

    /// Whether an issue of nothing known makes an I/O: unless arrivals are recorded.
    pub fn issue_makes_one(&mut self) -> bool {
        if self.unknown_issues < REQUESTS_ONLY && !self.decided {
            self.unknown_issues += 1;
            return true;
        }
        if self.unknown_issues >= REQUESTS_ONLY {
            self.decide_for_requests();
        }
        self.unknown_issues >= REQUESTS_ONLY
    }

    /// Remembers an I/O made of an issue until it is known whether it is one.
    pub fn remember_provisional(&mut self, slot: u32) {
        if !self.decided {
            self.provisional.push(slot);
        }
    }

    /// Keeps an event that found nothing: what it speaks of may come a little later.
    pub fn keep_stray(&mut self, event: &TraceEvent) {
        if self.strays.len() >= STRAYS {
            self.strays.pop_front();
        }
        self.strays.push_back(*event);
    }

    /// Takes the events that came before the arrival `queue`, though they are of it: recorded on another CPU, whose
    /// clock is behind by less than `skew`. A completion is none of them: that of an I/O which was queued before the
    /// recording began, and was at the same place, is far more likely.
    pub fn take_strays(&mut self, queue: &TraceEvent, skew: Nanos) -> Vec<TraceEvent> {
        while let Some(oldest) = self.strays.front()
            && oldest.time.0.saturating_add(skew.0) < queue.time.0
        {
            self.strays.pop_front();
        }
        if self.strays.is_empty() {
            return Vec::new();
        }
        let holds = |event: &TraceEvent| {
            event.sector <= queue.sector
                && queue.sector < event.sector.saturating_add(u64::from(event.bytes) / 512)
                && event.cpu != queue.cpu
                && event.action != Action::Complete
        };
        let taken = self.strays.iter().filter(|event| holds(event)).copied().collect();
        self.strays.retain(|event| !holds(event));
        taken
    }

    /// Forgets a slot that is handed out, wherever it still waits.
    pub fn forget(&mut self, slot: u32) {
        for waiting in [
            &mut self.empty,
            &mut self.commands,
            &mut self.merged_discards,
            &mut self.scattered,
            &mut self.flushing,
        ] {
            waiting.retain(|&other| other != slot);
        }
    }

    /// Puts a slot at the end of a list, and lets go of the oldest where there are too many.
    pub fn push(list: &mut VecDeque<u32>, slot: u32) {
        if list.len() >= CROWD as usize {
            list.pop_front();
        }
        list.push_back(slot);
    }
}

/// All devices, by the number of their address space.
#[derive(Debug, Default)]
pub struct Devices {
    all: Vec<Device>,
    spaces: HashMap<DeviceNumber, u32>,
    /// The last one asked for: events of one device come in rows.
    last: Option<(DeviceNumber, u32)>,
}

impl Devices {
    /// The address space of a device, a new one where it is not known; `None` when there are too many.
    #[inline]
    pub fn space(&mut self, device: DeviceNumber) -> Option<u32> {
        if let Some((number, space)) = self.last
            && number == device
        {
            return Some(space);
        }
        let space = match self.spaces.get(&device) {
            Some(&space) => space,
            None if self.all.len() >= DEVICES => return None,
            None => {
                let space = self.all.len() as u32;
                self.all.push(Device::default());
                self.spaces.insert(device, space);
                space
            }
        };
        self.last = Some((device, space));
        Some(space)
    }

    /// The address space of a device that was seen.
    pub fn known(&self, device: DeviceNumber) -> Option<u32> {
        self.spaces.get(&device).copied()
    }

    /// A device.
    pub fn get(&self, space: u32) -> &Device {
        &self.all[space as usize]
    }

    /// A device.
    pub fn get_mut(&mut self, space: u32) -> &mut Device {
        &mut self.all[space as usize]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Device> {
        self.all.iter()
    }
}
