//! The target that does nothing, at once: what is left is what the tester itself costs.

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, DriveKind, LaneSetup, Nanos, Op, Outcome,
    Request, Target, Time,
};

use super::lane::{Lane, Spare};
use super::sys::slots::Slots;
use super::{Buffers, clock, sleep};

/// `null:`, on the real clock. Writes are filled as for a real drive; nothing is transferred, and no
/// system call but the clock's is made.
#[derive(Debug)]
pub struct NullTarget {
    info: DriveInfo,
    cpus: Vec<usize>,
}

impl NullTarget {
    /// Capacity unless another is asked for.
    pub const CAPACITY: Bytes = Bytes(1 << 40);

    /// A null target of `capacity`, addressed in blocks of 512 bytes.
    pub fn new(capacity: Bytes) -> NullTarget {
        NullTarget { info: info(capacity), cpus: Vec::new() }
    }

    /// Keeps submitter i on `cpus[i % n]`, as [`crate::target::OpenOptions::pin_cpus`] does.
    pub fn pin_cpus(mut self, cpus: Vec<usize>) -> NullTarget {
        self.cpus = cpus;
        self
    }
}

/// Description of the null target.
pub(crate) fn info(capacity: Bytes) -> DriveInfo {
    DriveInfo {
        name: "null:".to_owned(),
        kind: DriveKind::Null,
        model: None,
        serial: None,
        capacity_bytes: capacity,
        logical_block_bytes: Bytes(512),
        physical_block_bytes: Bytes(512),
        rotational: None,
        write_cache: None,
        cache_bytes: None,
        link_bytes_per_s: None,
    }
}

impl Default for NullTarget {
    fn default() -> Self {
        NullTarget::new(NullTarget::CAPACITY)
    }
}

impl Target for NullTarget {
    type Drive<'a> = NullDrive<'a>;

    fn info(&self) -> &DriveInfo {
        &self.info
    }

    fn now(&self) -> Time {
        clock::now()
    }

    fn pause(&mut self, span: Nanos) {
        sleep(span);
    }

    fn open<'a>(&'a mut self, setup: &LaneSetup<'_>) -> Result<Vec<NullDrive<'a>>, DriveError> {
        let open = |submitter: u16| {
            let cpu = crate::target::cpu_of(&self.cpus, submitter);
            let mut lane = Lane::new(&self.info.name, cpu, submitter, setup);
            let slots = lane.buffers(setup, Bytes(1), Spare::None)?;
            Ok(NullDrive { lane, slots, queue: Vec::with_capacity(usize::from(setup.depth)) })
        };
        (0..setup.submitters).map(open).collect()
    }
}

/// One submitter of a [`NullTarget`].
pub struct NullDrive<'a> {
    lane: Lane<'a>,
    slots: Slots,
    queue: Vec<Request>,
}

impl Drive for NullDrive<'_> {
    fn attach(&mut self) -> Result<(), DriveError> {
        self.lane.attach(&mut self.slots)
    }

    fn now(&self) -> Time {
        clock::now()
    }

    #[inline]
    fn has_room(&self, len: Bytes) -> bool {
        self.slots.has_room(len)
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            self.lane.admit(&mut self.slots, request)?;
            self.queue.push(*request);
        }
        Ok(())
    }

    /// Completes everything that was taken, between two readings of the clock, as real drives do.
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        if self.queue.is_empty() {
            return Ok(self.lane.waiter.wait(until));
        }
        let issued = clock::now();
        let completed = clock::now();
        for request in self.queue.drain(..) {
            self.slots.take_back(request.slot);
            let transferred = match request.op {
                Op::Read | Op::Write => request.len.0 as i32,
                Op::Flush | Op::Discard => 0,
            };
            done.push(Completion {
                submitter: request.submitter,
                slot: request.slot,
                issued,
                completed,
                outcome: Outcome(transferred),
            });
        }
        Ok(completed)
    }
}

impl Buffers for NullDrive<'_> {
    fn buffer(&self, slot: u16) -> Option<&[u8]> {
        self.slots.buffer(slot)
    }
}
