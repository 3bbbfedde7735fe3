//! Work common to the drives of all engines: take requests, fill writes, stay on their CPU.

use std::io;

use block::{Bytes, DriveError, LaneSetup, Op, Payload, Request};

use super::delay::RunDelay;
use super::pin::Pin;
use super::slack::Punctual;
use super::sys::slots::{Misuse, Slots};
use super::waiting::Waiter;
use crate::target::{EngineKind, Opened, engine_remedy};

/// Whether there is a buffer in which the next write is made while the kernel has those before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spare {
    /// There is, when the step writes.
    ForWrites,
    /// There is none: the engine computes while nothing is outstanding, or waits and does not compute.
    None,
}

/// One submitter's side of a drive.
pub(crate) struct Lane<'a> {
    name: &'a str,
    /// The submitter that this drive serves.
    pub submitter: u16,
    payload: Option<Box<dyn Payload>>,
    /// There is a spare buffer.
    spare: bool,
    ahead: Option<Ahead>,
    cpu: Option<usize>,
    pin: Option<Pin>,
    punctual: Option<Punctual>,
    delay: Option<RunDelay>,
    /// How instants are waited for.
    pub waiter: Waiter,
}

/// The write whose content is being made in the spare buffer.
#[derive(Clone, Copy)]
struct Ahead {
    offset: Bytes,
    len: Bytes,
    /// Bytes that are made.
    made: usize,
}

/// Bytes made between two looks at what has completed: some microseconds' worth, by which a completion
/// may be seen late. A multiple of 4 KiB, as [`Payload`] asks.
const PIECE: usize = 32 << 10;

impl<'a> Lane<'a> {
    /// A lane on the target that the user named `name`, to be held on `cpu` if there is one.
    pub fn new(name: &'a str, cpu: Option<usize>, submitter: u16, setup: &LaneSetup<'_>) -> Self {
        let payload = setup.payload.map(|make| make(submitter));
        let (pin, punctual, delay) = (None, None, None);
        let waiter = Waiter::new(setup.waiting);
        Lane {
            name,
            submitter,
            payload,
            spare: false,
            ahead: None,
            cpu,
            pin,
            punctual,
            delay,
            waiter,
        }
    }

    /// The lane of a submitter of an opened target.
    pub fn of(target: &'a Opened, submitter: u16, setup: &LaneSetup<'_>) -> Self {
        Lane::new(target.name(), target.cpu_of(submitter), submitter, setup)
    }

    /// Maps the buffers for `setup`, with `spare` one more for the next write.
    pub fn buffers(
        &mut self,
        setup: &LaneSetup<'_>,
        align: Bytes,
        spare: Spare,
    ) -> Result<Slots, DriveError> {
        self.spare = spare == Spare::ForWrites && setup.payload.is_some();
        let most = Bytes(setup.buffer_bytes_max.0 / u64::from(setup.submitters.max(1)));
        let sizes = (setup.block_bytes_max, most);
        Slots::new(setup.depth, self.spare, sizes, align).map_err(|source| {
            let action = format!(
                "map {} buffers of {} for submitter {}",
                setup.depth, setup.block_bytes_max, self.submitter
            );
            self.setup_error(action, source, "take a smaller block, a lower depth or fewer threads")
        })
    }

    /// Settles on the calling thread: pinned, woken when it asks to be, with its buffers present.
    pub fn attach(&mut self, slots: &mut Slots) -> Result<(), DriveError> {
        if let Some(cpu) = self.cpu {
            let pin = Pin::to(cpu).map_err(|source| {
                let action = format!("keep submitter {} on CPU {cpu}", self.submitter);
                self.setup_error(action, source, "name CPUs that are online and allowed to you")
            })?;
            self.pin = Some(pin);
        }
        self.punctual = Punctual::begin();
        slots.touch();
        self.delay = Some(RunDelay::begin());
        Ok(())
    }

    /// Takes a request: claims its slot and, for a write, fills its buffer.
    #[inline]
    pub fn admit(&mut self, slots: &mut Slots, request: &Request) -> Result<(), DriveError> {
        let transfer = match request.op {
            Op::Read if request.fua => return Err(self.no_fua_read()),
            Op::Read | Op::Write => request.len,
            Op::Flush | Op::Discard => Bytes::ZERO,
        };
        slots.claim(request.slot, transfer).map_err(|misuse| self.misuse(request, misuse))?;
        if request.op == Op::Write {
            match &mut self.payload {
                Some(_) => self.fill(slots, request),
                None => {
                    slots.take_back(request.slot);
                    return Err(self.misuse(request, Misuse::NoPayload));
                }
            }
        }
        Ok(())
    }

    /// Makes a write's content, or what of it was not made ahead. Apart from [`Lane::admit`], which would
    /// be the slower for reads.
    #[inline(never)]
    fn fill(&mut self, slots: &mut Slots, request: &Request) {
        let fits = |a: &Ahead| (a.offset, a.len) == (request.offset, request.len) && a.made > 0;
        let made = match self.ahead {
            Some(ahead) if fits(&ahead) && slots.exchange(request.slot) => {
                self.ahead = None;
                ahead.made
            }
            // One that was foreseen and did not come: the phase has ended.
            _ => {
                self.forget_ahead();
                0
            }
        };
        let Some(payload) = &mut self.payload else { return };
        let rest = &mut slots.buffer_mut(request.slot, request.len)[made..];
        if !rest.is_empty() {
            payload.fill(request.offset + Bytes(made as u64), rest);
        }
    }

    /// Takes note of the next write, to be made by [`Lane::make_piece`].
    #[inline]
    pub fn foresee(&mut self, next: &Request) {
        let same = |a: &Ahead| (a.offset, a.len) == (next.offset, next.len);
        if self.spare && !self.ahead.as_ref().is_some_and(same) {
            self.forget_ahead();
            self.ahead = Some(Ahead { offset: next.offset, len: next.len, made: 0 });
        }
    }

    /// Forgets the write that was foreseen. The numbers that were drawn for it are given back, or what the
    /// next write holds would depend on how much of this one there was time to make.
    fn forget_ahead(&mut self) {
        let drawn = self.ahead.take().is_some_and(|ahead| ahead.made > 0);
        if let (true, Some(payload)) = (drawn, &mut self.payload) {
            payload.rewind();
        }
    }

    /// True when the next write is known and not yet made.
    #[inline]
    pub fn can_make_ahead(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| (ahead.made as u64) < ahead.len.0)
    }

    /// Makes the next piece of the next write's content in the spare buffer. Content is drawn in the order
    /// of the writes, so what is made here is what would have been made later.
    pub fn make_piece(&mut self, slots: &mut Slots) {
        let (Some(payload), Some(ahead)) = (&mut self.payload, &mut self.ahead) else { return };
        if ahead.made == 0 {
            slots.prepare_spare(ahead.len);
        }
        let end = ahead.made.saturating_add(PIECE).min(ahead.len.0 as usize);
        let piece = slots.spare_mut(ahead.made, end);
        if piece.len() == end - ahead.made {
            if ahead.made == 0 {
                payload.mark();
            }
            payload.fill(ahead.offset + Bytes(ahead.made as u64), piece);
            ahead.made = end;
        } else {
            // Longer than the buffers are: what comes of it is said when it is submitted.
            self.forget_ahead();
        }
    }

    /// An error that ends the drive.
    #[cold]
    pub fn setup_error(&self, action: String, source: io::Error, remedy: &str) -> DriveError {
        DriveError::Setup {
            target: self.name.to_owned(),
            action,
            source,
            remedy: remedy.to_owned(),
        }
    }

    /// The kernel refused the engine as a whole.
    #[cold]
    pub fn engine_error(&self, kind: EngineKind, action: &str, source: io::Error) -> DriveError {
        let remedy = engine_remedy(kind, &source);
        self.setup_error(format!("{action} ({kind})"), source, remedy)
    }

    #[cold]
    fn misuse(&self, request: &Request, misuse: Misuse) -> DriveError {
        let why = match misuse {
            Misuse::NoSuchSlot => "the step was opened with fewer slots",
            Misuse::Outstanding => "its last request has not completed",
            Misuse::TooLong => "it is longer than the step's largest block",
            Misuse::NoPayload => "the step was opened without data to write",
            Misuse::NoRoom => "there is no memory for it until another request has completed",
        };
        let action = format!("take {:?} of {} on slot {}", request.op, request.len, request.slot);
        self.setup_error(action, io::Error::new(io::ErrorKind::InvalidInput, why), "")
    }

    #[cold]
    fn no_fua_read(&self) -> DriveError {
        DriveError::Unsupported {
            target: self.name.to_owned(),
            op: Op::Read,
            why: "Linux has no read with force unit access short of SCSI or NVMe pass-through; \
                  leave fua off for reads"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Records the parts that were asked for, and fills each with content that depends on its offset.
    struct Spy(Arc<Mutex<Vec<(u64, usize)>>>);

    impl Payload for Spy {
        fn fill(&mut self, offset: Bytes, buffer: &mut [u8]) {
            self.0.lock().unwrap().push((offset.0, buffer.len()));
            for (i, byte) in buffer.iter_mut().enumerate() {
                *byte = ((offset.0 + i as u64) / 512) as u8;
            }
        }
    }

    fn write(slot: u16, offset: u64, len: u64) -> Request {
        let (offset, len) = (Bytes(offset), Bytes(len));
        Request { op: Op::Write, fua: false, submitter: 0, slot, offset, len }
    }

    fn with_lane(spare: Spare, work: impl FnOnce(&mut Lane<'_>, &mut Slots)) -> Vec<(u64, usize)> {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let make = |_| Box::new(Spy(calls.clone())) as Box<dyn Payload>;
        let setup = LaneSetup {
            submitters: 1,
            depth: 2,
            block_bytes_max: Bytes(1 << 20),
            payload: Some(&make),
            ..LaneSetup::default()
        };
        let mut lane = Lane::new("test", None, 0, &setup);
        let mut slots = lane.buffers(&setup, Bytes(512), spare).unwrap();
        work(&mut lane, &mut slots);
        drop(lane);
        let calls = calls.lock().unwrap();
        calls.clone()
    }

    fn holds(slots: &Slots, slot: u16, offset: u64, len: usize) -> bool {
        let wanted = |i: usize| ((offset + i as u64) / 512) as u8;
        slots.buffer(slot).unwrap()[..len].iter().enumerate().all(|(i, &b)| b == wanted(i))
    }

    // Each part must be made once and in order: content is drawn from a stream, and a part made twice
    // would give every later write other data than the record's seed says.
    #[test]
    fn a_foreseen_write_is_made_once_in_whatever_pieces() {
        let (piece, len) = (PIECE as u64, 3 * PIECE + 512);
        for made in 0..=4 {
            let calls = with_lane(Spare::ForWrites, |lane, slots| {
                lane.foresee(&write(0, piece, len as u64));
                for _ in 0..made {
                    assert!(lane.can_make_ahead());
                    lane.make_piece(slots);
                    lane.foresee(&write(0, piece, len as u64));
                }
                assert_eq!(lane.can_make_ahead(), made < 4);
                lane.admit(slots, &write(1, piece, len as u64)).unwrap();
                assert!(holds(slots, 1, piece, len), "{made} pieces made ahead");
                assert!(!lane.can_make_ahead());
            });
            let mut next = piece;
            for (offset, bytes) in &calls {
                assert_eq!(*offset, next, "{calls:?}");
                next += *bytes as u64;
            }
            assert_eq!(next, piece + len as u64, "{calls:?}");
        }
    }

    #[test]
    fn a_foreseen_write_that_does_not_come_leaves_nothing_behind() {
        with_lane(Spare::ForWrites, |lane, slots| {
            lane.foresee(&write(0, 0, 1 << 20));
            lane.make_piece(slots);
            lane.admit(slots, &write(0, 4096, 8192)).unwrap();
            assert!(holds(slots, 0, 4096, 8192));
            // Nor does one that is foreseen in another's place take over what was made for that one.
            lane.foresee(&write(0, 0, 1 << 20));
            lane.make_piece(slots);
            lane.foresee(&write(0, 512, 1 << 20));
            lane.admit(slots, &write(1, 512, 1 << 20)).unwrap();
            assert!(holds(slots, 1, 512, 1 << 20));
        });
    }

    /// Content that is a count, as that of a run is.
    #[derive(Default)]
    struct Counter {
        next: u8,
        kept: u8,
    }

    impl Payload for Counter {
        fn fill(&mut self, _: Bytes, buffer: &mut [u8]) {
            for chunk in buffer.chunks_mut(4096) {
                chunk.fill(self.next);
                self.next += 1;
            }
        }

        fn mark(&mut self) {
            self.kept = self.next;
        }

        fn rewind(&mut self) {
            self.next = self.kept;
        }
    }

    // Were the numbers gone that were drawn for it, all later writes would depend on how much time there
    // was to make it.
    #[test]
    fn what_was_drawn_for_a_write_that_does_not_come_is_drawn_again() {
        let make = |_| Box::new(Counter::default()) as Box<dyn Payload>;
        let setup = LaneSetup {
            submitters: 1,
            depth: 2,
            block_bytes_max: Bytes(64 << 10),
            payload: Some(&make),
            ..LaneSetup::default()
        };
        let mut lane = Lane::new("test", None, 0, &setup);
        let mut slots = lane.buffers(&setup, Bytes(512), Spare::ForWrites).unwrap();
        let first = |slots: &Slots, slot| slots.buffer(slot).unwrap()[0];
        lane.admit(&mut slots, &write(0, 0, 8192)).unwrap();
        for pieces in 0..=2 {
            lane.foresee(&write(0, 4096, 64 << 10));
            (0..pieces).for_each(|_| lane.make_piece(&mut slots));
        }
        // Another one is foreseen instead, begun, and does not come either.
        lane.foresee(&write(0, 8192, 64 << 10));
        lane.make_piece(&mut slots);
        lane.admit(&mut slots, &write(1, 0, 4096)).unwrap();
        assert_eq!((first(&slots, 0), first(&slots, 1)), (0, 2));
        // One longer than the buffers are is begun and given up.
        slots.take_back(1);
        lane.foresee(&write(0, 0, 1 << 20));
        while lane.can_make_ahead() {
            lane.make_piece(&mut slots);
        }
        lane.admit(&mut slots, &write(1, 0, 4096)).unwrap();
        assert_eq!(first(&slots, 1), 3);
    }

    // Waiting goes on as long as something can be made, and must end.
    #[test]
    fn without_a_spare_buffer_or_room_in_it_nothing_is_made_ahead() {
        with_lane(Spare::None, |lane, _| {
            lane.foresee(&write(0, 0, 4096));
            assert!(!lane.can_make_ahead());
        });
        with_lane(Spare::ForWrites, |lane, slots| {
            lane.foresee(&write(0, 0, 2 << 20));
            let pieces =
                std::iter::from_fn(|| lane.can_make_ahead().then(|| lane.make_piece(slots)));
            assert!(pieces.take(1000).count() < 1000);
            assert!(lane.admit(slots, &write(0, 0, 2 << 20)).is_err());
        });
    }
}
