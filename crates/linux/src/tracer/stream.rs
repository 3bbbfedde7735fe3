//! Records of blktrace as they come out of a pipe or a relay: one after the other, cut anywhere.

use std::collections::HashMap;

use block::Nanos;
use block::trace::record::{ByteOrder, Form, Record, Told, V2_BYTES};
use block::trace::{Action, Extra, TraceEvent, TraceNote};

use super::chunk::Gathered;
use super::feed::Decode;
use super::subject::Subjects;

/// Longest record: a header and what 16 bits can count behind it.
const RECORD_BYTES_MAX: usize = V2_BYTES + u16::MAX as usize;

/// Makes events of streams of records, one for each CPU.
#[derive(Debug)]
pub(crate) struct Streams {
    subjects: Subjects,
    /// Remainder of each stream: the beginning of a record whose end has not come.
    rest: HashMap<u32, Vec<u8>>,
}

impl Streams {
    /// For records of this machine.
    pub(crate) fn new(subjects: Subjects) -> Streams {
        Streams { subjects, rest: HashMap::new() }
    }

    fn records(&self, bytes: &[u8], to: &mut Gathered) -> usize {
        let mut at = 0;
        while let Some(record) = self.next(bytes, &mut at, to) {
            let end = at + record.len();
            let Some(pdu) = bytes.get(at + record.form.header_bytes()..end) else { return at };
            match record.told(pdu) {
                Told::Event(event) => to.events.extend(place(event, &self.subjects)),
                // drivescope notes the date itself, once for all back ends.
                Told::Note(TraceNote::Clock { .. }) | Told::Unknown => {}
                Told::Note(note) => to.notes.push(note),
            }
            at = end;
        }
        at
    }

    /// The header at `at`, which is moved over what is none; `None` when there are too few bytes for one.
    fn next(&self, bytes: &[u8], at: &mut usize, to: &mut Gathered) -> Option<Record> {
        let mut skipping = false;
        loop {
            let magic = *bytes.get(*at..)?.first_chunk()?;
            if Form::of(magic).is_some_and(|form| form.order == ByteOrder::NATIVE) {
                return Record::read(&bytes[*at..]);
            }
            // The tracer of all says something of its own between records now and then, in text.
            if !skipping {
                to.malformed += 1;
                skipping = true;
            }
            *at += 1;
        }
    }
}

impl Decode for Streams {
    fn take(&mut self, cpu: u32, bytes: &[u8], to: &mut Gathered) {
        let mut rest = self.rest.remove(&cpu).unwrap_or_default();
        if rest.is_empty() {
            let taken = self.records(bytes, to);
            rest.extend_from_slice(&bytes[taken..]);
        } else {
            rest.extend_from_slice(bytes);
            let taken = self.records(&rest, to);
            rest.drain(..taken);
        }
        debug_assert!(rest.len() <= RECORD_BYTES_MAX, "{} bytes are no record", rest.len());
        self.rest.insert(cpu, rest);
    }
}

/// The event as one of the subjects'; `None` when it is none of theirs.
fn place(event: TraceEvent, subjects: &Subjects) -> Option<TraceEvent> {
    let sectors = u64::from(event.bytes.div_ceil(512));
    let is_plug = matches!(event.action, Action::Plug | Action::Unplug | Action::UnplugTimer);
    // Some flushes, which have no sector, report one with all bits set.
    let sector = if event.sector == u64::MAX || is_plug { 0 } else { event.sector };
    let (device, sector) = subjects.place(event.device, sector, sectors)?;
    let extra = match event.extra {
        Extra::SplitAt(at) => Extra::SplitAt(subjects.relative(device, at)),
        // Reported before the partition's addresses become the disk's: see the tracepoints.
        Extra::From { .. } if !subjects.is_whole(device) => return None,
        extra => extra,
    };
    Some(TraceEvent { device, sector, extra, ..event })
}

/// A mark made by us, at an instant of the clock that the whole recording uses.
pub(crate) fn mark(time: Nanos, text: &str) -> TraceNote {
    TraceNote::Message { time, text: text.to_owned() }
}

#[cfg(test)]
pub(crate) mod tests {
    use block::trace::DeviceNumber;
    use proptest::prelude::*;

    use super::super::subject::tests::subject;
    use super::*;

    /// A record of version 1: `action` with its categories, and what lies behind it.
    pub(crate) fn record(time: u64, sector: u64, bytes: u32, action: u32, pdu: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(0x6561_7407u32.to_ne_bytes());
        record.extend(1u32.to_ne_bytes());
        record.extend(time.to_ne_bytes());
        record.extend(sector.to_ne_bytes());
        for word in [bytes, action, 77, DeviceNumber::new(8, 0).0, 1] {
            record.extend(word.to_ne_bytes());
        }
        record.extend(0u16.to_ne_bytes());
        record.extend((pdu.len() as u16).to_ne_bytes());
        record.extend(pdu);
        record
    }

    fn told(subjects: &[super::super::subject::Subject], parts: &[&[u8]]) -> Gathered {
        let mut streams = Streams::new(Subjects::new(subjects).unwrap());
        let mut gathered = Gathered::default();
        for part in parts {
            streams.take(0, part, &mut gathered);
        }
        gathered
    }

    fn some() -> Vec<u8> {
        let mut bytes = Vec::new();
        for n in 0..40 {
            bytes.extend(record(1000 + n, 8 * n, 4096, 0x0002_0001, b""));
            bytes.extend(record(1001 + n, 0, 0, 10, &3u64.to_be_bytes()));
        }
        bytes
    }

    // Breaks when a record that two reads have in part is lost or decoded wrong.
    #[test]
    fn a_stream_may_be_cut_anywhere() {
        let bytes = some();
        let whole = told(&[subject("sda", 0, None)], &[&bytes]);
        assert_eq!((whole.events.len(), whole.malformed), (80, 0));
        for step in [1, 7, 47, 48, 49, 1000] {
            let parts: Vec<&[u8]> = bytes.chunks(step).collect();
            assert_eq!(told(&[subject("sda", 0, None)], &parts).events, whole.events, "{step}");
        }
    }

    #[test]
    fn what_is_no_record_is_passed_over_and_counted() {
        let bytes = [b"CPU:0 [LOST 5 EVENTS]\n", &some()[..], b"\0\0\0 and", &some()[..]].concat();
        let gathered = told(&[subject("sda", 0, None)], &[&bytes]);
        assert_eq!((gathered.events.len(), gathered.malformed), (160, 2));
    }

    #[test]
    fn partitions_are_told_apart() {
        let mut bytes = record(1, 2048, 4096, 0x0002_0001, b"");
        bytes.extend(record(2, 9000, 4096, 0x0002_0001, b""));
        let from = [DeviceNumber::new(8, 1).0.to_be_bytes(), [0; 4]].concat();
        let from = [&from[..], &5u64.to_be_bytes()].concat();
        bytes.extend(record(3, 2053, 4096, 0x0002_000f, &from));
        bytes.extend(record(4, 0, 0, 9, b""));
        let gathered = told(&[subject("sda1", 1, Some((2048, 4096)))], &[&bytes]);
        let said: Vec<_> =
            gathered.events.iter().map(|e| (e.time.0, e.device.minor(), e.sector)).collect();
        assert_eq!(said, [(1, 1, 0), (4, 1, 0)]);
        assert_eq!(told(&[subject("sda", 0, None)], &[&bytes]).events.len(), 4);
    }

    proptest! {
        #[test]
        fn no_stream_panics(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..20)) {
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            told(&[subject("sda", 0, None)], &parts);
        }

        // The same with bytes that look like records, whose lengths lie.
        #[test]
        fn no_damaged_record_panics(mut bytes in Just(some()), damage in proptest::collection::vec((0usize..4000, any::<u8>()), 0..20)) {
            for (at, byte) in damage {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            told(&[subject("sda", 0, None)], &bytes.chunks(100).collect::<Vec<_>>());
        }
    }
}
