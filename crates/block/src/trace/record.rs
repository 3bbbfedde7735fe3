//! The binary records of blktrace, versions 1 and 2, as the kernel writes them (`struct blk_io_trace` and
//! `struct blk_io_trace2` of `include/uapi/linux/blktrace_api.h`).
//!
//! Here because both who records and who reads files needs the layout, and neither may know the other. A record is a
//! header and `pdu_len` bytes behind it; headers are in the byte order of the machine that wrote them, what lies behind
//! a remap, a split or an unplug is big-endian always.

use super::{Action, DeviceNumber, Extra, TraceEvent, TraceNote, Traits};
use crate::{Nanos, UnixNanos};

/// First three bytes of every header, as a number; the fourth is the version.
pub const MAGIC: u32 = 0x6561_7400;
/// Length of a header of version 1.
pub const V1_BYTES: usize = 48;
/// Length of a header of version 2.
pub const V2_BYTES: usize = 64;

/// First word of a `struct blk_io_trace`: the magic, and its version.
const V1: u32 = MAGIC | 0x07;
/// First word of a `struct blk_io_trace2`.
const V2: u32 = MAGIC | 0x08;
/// The same, of a machine with the other byte order.
const V1_REVERSED: u32 = V1.swap_bytes();
/// See [`V1_REVERSED`].
const V2_REVERSED: u32 = V2.swap_bytes();
/// In the low half of an action: the first 8 bytes behind the header are a cgroup's number.
const CGROUP: u64 = 1 << 8;
/// Category of a note, which is not an event.
const NOTIFY: u64 = 1 << 10;
/// Categories that say what is special about an I/O, and not, once more, which action it was.
const TRAITS: u64 = 0x007f_ffff & !(1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | NOTIFY | 1 << 14);

/// In which order a header has its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant first.
    Little,
    /// Most significant first.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: ByteOrder =
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

    fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }

    fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// Form of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Byte order.
    pub order: ByteOrder,
    /// Version: 1 or 2.
    pub version: u8,
}

impl Form {
    /// Of the header that begins with these four bytes; `None` when none does.
    #[inline]
    pub fn of(magic: [u8; 4]) -> Option<Form> {
        let form = |order, version| Some(Form { order, version });
        match u32::from_le_bytes(magic) {
            V1 => form(ByteOrder::Little, 1),
            V2 => form(ByteOrder::Little, 2),
            V1_REVERSED => form(ByteOrder::Big, 1),
            V2_REVERSED => form(ByteOrder::Big, 2),
            _ => None,
        }
    }

    /// Length of a header.
    pub const fn header_bytes(self) -> usize {
        if self.version == 1 { V1_BYTES } else { V2_BYTES }
    }
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its form.
    pub form: Form,
    /// Number among the records of its CPU, from 1; 0 from the tracer `blk`, which does not count.
    pub sequence: u32,
    /// When, in nanoseconds of the tracer's clock.
    pub time: Nanos,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// The task.
    pub pid: u32,
    /// Action in the low 16 bits, categories above.
    pub action: u64,
    /// The device.
    pub device: DeviceNumber,
    /// The CPU.
    pub cpu: u32,
    /// Error of a completion: the low 16 bits of a negative error number.
    pub error: u16,
    /// Length of what lies behind the header.
    pub pdu_len: u16,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// An event.
    Event(TraceEvent),
    /// A note.
    Note(TraceNote),
    /// Something of a kind that is not known here.
    Unknown,
}

impl Record {
    /// Reads a header from the beginning of `bytes`; `None` when they are too few or begin with no known magic.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Record> {
        let form = Form::of(*bytes.first_chunk()?)?;
        // Apart, so that each field is read from a place that is known when this is compiled: recordings have
        // millions of records.
        match form.version {
            1 => Some(Record::v1(form, bytes.first_chunk()?)),
            _ => Some(Record::v2(form, bytes.first_chunk()?)),
        }
    }

    #[inline]
    fn v1(form: Form, header: &[u8; V1_BYTES]) -> Record {
        let Form { order, .. } = form;
        Record {
            form,
            sequence: order.u32(part(header, 4)),
            time: Nanos(order.u64(part(header, 8))),
            sector: order.u64(part(header, 16)),
            bytes: order.u32(part(header, 24)),
            action: u64::from(order.u32(part(header, 28))),
            pid: order.u32(part(header, 32)),
            device: DeviceNumber(order.u32(part(header, 36))),
            cpu: order.u32(part(header, 40)),
            error: order.u16(part(header, 44)),
            pdu_len: order.u16(part(header, 46)),
        }
    }

    #[inline]
    fn v2(form: Form, header: &[u8; V2_BYTES]) -> Record {
        let Form { order, .. } = form;
        Record {
            form,
            sequence: order.u32(part(header, 4)),
            time: Nanos(order.u64(part(header, 8))),
            sector: order.u64(part(header, 16)),
            bytes: order.u32(part(header, 24)),
            pid: order.u32(part(header, 28)),
            action: order.u64(part(header, 32)),
            device: DeviceNumber(order.u32(part(header, 40))),
            cpu: order.u32(part(header, 44)),
            error: order.u16(part(header, 48)),
            pdu_len: order.u16(part(header, 50)),
        }
    }

    /// Length of the record: header and what lies behind it.
    pub const fn len(&self) -> usize {
        self.form.header_bytes() + self.pdu_len as usize
    }

    /// Never: a record is a header at least.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The action's number, without categories.
    pub const fn kind(&self) -> u16 {
        (self.action & 0xffff & !CGROUP) as u16
    }

    /// Returns the content of the record; `pdu` is the data behind the header, [`Record::pdu_len`] bytes. Bytes missing
    /// at its end are taken for absent.
    pub fn told(&self, pdu: &[u8]) -> Told {
        if let Some(event) = self.event(pdu) {
            return Told::Event(event);
        }
        self.note(self.behind_cgroup(pdu)).map_or(Told::Unknown, Told::Note)
    }

    /// The event that the record describes, as in [`Record::told`]; `None` when it does not describe one.
    #[inline]
    pub fn event(&self, pdu: &[u8]) -> Option<TraceEvent> {
        let categories = self.action >> 16;
        if categories & NOTIFY != 0 {
            return None;
        }
        let action = action(self.kind())?;
        Some(TraceEvent {
            time: self.time,
            sector: self.sector,
            bytes: self.bytes,
            device: self.device,
            pid: self.pid,
            cpu: self.cpu,
            sequence: self.sequence,
            action,
            traits: Traits(categories & TRAITS),
            // The kernel cuts off a negative int.
            error: self.error.cast_signed().unsigned_abs(),
            extra: if pdu.is_empty() {
                Extra::None
            } else {
                extra(action, self.behind_cgroup(pdu))
            },
        })
    }

    fn behind_cgroup<'a>(&self, pdu: &'a [u8]) -> &'a [u8] {
        match self.action & CGROUP {
            0 => pdu,
            _ => pdu.get(8..).unwrap_or_default(),
        }
    }

    fn note(&self, pdu: &[u8]) -> Option<TraceNote> {
        if self.action >> 16 & NOTIFY == 0 {
            return None;
        }
        match self.kind() {
            0 => Some(TraceNote::Process { pid: self.pid, name: text(pdu) }),
            1 => {
                let word = |at: usize| Some(self.form.order.u32(*pdu.get(at..)?.first_chunk()?));
                let unix = i128::from(word(0)?) * 1_000_000_000 + i128::from(word(4)?);
                Some(TraceNote::Clock { time: self.time, unix: UnixNanos(unix) })
            }
            2 => Some(TraceNote::Message { time: self.time, text: text(pdu) }),
            _ => None,
        }
    }
}

/// The bytes of a header from `at` on.
#[inline]
fn part<const N: usize, const HEADER: usize>(header: &[u8; HEADER], at: usize) -> [u8; N] {
    std::array::from_fn(|nth| header[at + nth])
}

/// Text up to its end or the first zero, without the line's end.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim_end_matches('\n').to_owned()
}

fn action(number: u16) -> Option<Action> {
    Action::ALL.get(usize::from(number).checked_sub(1)?).copied()
}

fn extra(action: Action, pdu: &[u8]) -> Extra {
    let be64 = |at: usize| Some(u64::from_be_bytes(*pdu.get(at..)?.first_chunk()?));
    let be32 = |at: usize| Some(u32::from_be_bytes(*pdu.get(at..)?.first_chunk()?));
    let told = match action {
        Action::Unplug | Action::UnplugTimer => be64(0).map(Extra::Requests),
        Action::Split => be64(0).map(Extra::SplitAt),
        // struct blk_io_trace_remap: device_from, device_to, sector_from.
        Action::Remap => be32(0)
            .zip(be64(8))
            .map(|(device, sector)| Extra::From { device: DeviceNumber(device), sector }),
        _ => None,
    };
    told.unwrap_or(Extra::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with a different number in each field, so that two that are mixed up differ.
    fn header(version: u8, order: ByteOrder, action: u64, pdu_len: u16) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |number: u64, width: usize| match order {
            ByteOrder::Little => bytes.extend(&number.to_le_bytes()[..width]),
            ByteOrder::Big => bytes.extend(&number.to_be_bytes()[8 - width..]),
        };
        put(u64::from(MAGIC | u32::from(version + 6)), 4);
        put(11, 4);
        put(1_000_000_012, 8);
        put(13, 8);
        put(14 * 512, 4);
        if version == 1 {
            put(action, 4);
            put(15, 4);
        } else {
            put(15, 4);
            put(action, 8);
        }
        put(u64::from(DeviceNumber::new(8, 16).0), 4);
        put(3, 4);
        put(u64::from((-5i16).cast_unsigned()), 2);
        put(u64::from(pdu_len), 2);
        bytes.resize(if version == 1 { V1_BYTES } else { V2_BYTES }, 0);
        bytes
    }

    const EVERY: [(u8, ByteOrder); 4] =
        [(1, ByteOrder::Little), (1, ByteOrder::Big), (2, ByteOrder::Little), (2, ByteOrder::Big)];

    /// Breaks when a field is read from another's place: in version 2 pid and action have moved.
    #[test]
    fn every_field_of_either_version_and_order() {
        for (version, order) in EVERY {
            let action = (Traits::WRITE | Traits::SYNC).0 << 16 | 1 << 23 | 8;
            let record = Record::read(&header(version, order, action, 0)).unwrap();
            assert_eq!(record.form, Form { order, version });
            let Told::Event(event) = record.told(&[]) else { panic!("{record:?}") };
            let expected = TraceEvent {
                time: Nanos(1_000_000_012),
                sector: 13,
                bytes: 14 * 512,
                device: DeviceNumber::new(8, 16),
                pid: 15,
                cpu: 3,
                sequence: 11,
                action: Action::Complete,
                traits: Traits::WRITE | Traits::SYNC,
                error: 5,
                extra: Extra::None,
            };
            assert_eq!(event, expected, "version {version}, {order:?}");
        }
    }

    /// Breaks when what lies behind a header is read in the header's byte order, or a cgroup's number as part of it.
    #[test]
    fn what_lies_behind_is_big_endian_and_may_follow_a_cgroup() {
        for (version, order) in EVERY {
            let mut pdu = DeviceNumber::new(253, 1).0.to_be_bytes().to_vec();
            pdu.extend(DeviceNumber::new(8, 16).0.to_be_bytes());
            pdu.extend(77u64.to_be_bytes());
            let from = Extra::From { device: DeviceNumber::new(253, 1), sector: 77 };
            let read = |action: u64, pdu: &[u8]| {
                let record = Record::read(&header(version, order, action, 0)).unwrap();
                match record.told(pdu) {
                    Told::Event(event) => event.extra,
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(read(15, &pdu), from);
            assert_eq!(read(15 | CGROUP, &[&[9; 8], &pdu[..]].concat()), from);
            assert_eq!(read(10, &5u64.to_be_bytes()), Extra::Requests(5));
            assert_eq!(read(13, &5u64.to_be_bytes()), Extra::SplitAt(5));
            assert_eq!(read(15, &pdu[..15]), Extra::None, "a remap that was cut off");
        }
    }

    #[test]
    fn notes_are_names_dates_and_messages() {
        for (version, order) in EVERY {
            let read = |kind: u64, pdu: &[u8]| {
                let action = NOTIFY << 16 | kind;
                Record::read(&header(version, order, action, 0)).unwrap().told(pdu)
            };
            let name = TraceNote::Process { pid: 15, name: "fio".to_owned() };
            assert_eq!(read(0, b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0"), Told::Note(name));
            let words = [1_700_000_000u32, 42];
            let words = words.map(|word| match order {
                ByteOrder::Little => word.to_le_bytes(),
                ByteOrder::Big => word.to_be_bytes(),
            });
            let time = Nanos(1_000_000_012);
            let unix = UnixNanos(1_700_000_000_000_000_042);
            assert_eq!(read(1, &words.concat()), Told::Note(TraceNote::Clock { time, unix }));
            let message = TraceNote::Message { time, text: "phase 2".to_owned() };
            assert_eq!(read(2 | CGROUP, b"01234567phase 2"), Told::Note(message));
            assert_eq!(read(9, b""), Told::Unknown);
        }
    }

    /// Breaks when a header is read from too few bytes, or from bytes that are none.
    #[test]
    fn what_is_no_header_is_refused() {
        for (version, order) in EVERY {
            let whole = header(version, order, 1, 0);
            assert!(Record::read(&whole[..whole.len() - 1]).is_none());
        }
        assert!(Record::read(&[0; 64]).is_none());
        assert!(Record::read(&[]).is_none());
        assert_eq!(Form::of(*b"\x09tae"), None, "a version that is not known");
    }
}
