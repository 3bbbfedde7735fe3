//! blktrace's binary recordings, version 1: one file as `blkparse -d` makes it, or a file for each CPU.
//!
//! Each I/O is written as its events (Q, A, S, G, M, I, D, C), all in the order of their time. Debian's blkparse, btt
//! and btreplay and fio read them; they do not read version 2.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use block::trace::{Action, DeviceNumber};

use super::Exported;
use super::losses::Seen;
use super::record::Record;
use super::requests::{self, Told};
use crate::output::{Existing, Pending};
use crate::{BATCH, Io, Kind, Mark, Source, TraceError, TraceInfo};

/// Bytes that are written at a time, for each file.
const BUFFER: usize = 256 << 10;

/// Most CPUs that have files of their own, which are open at the same time.
const CPUS_MAX: usize = 512;

/// Number of the first of a PROCESS, a TIMESTAMP and a MESSAGE note.
const NOTES: [u32; 3] = [0, 1, 2];

/// Category of notes, in an action.
const NOTIFY: u32 = 1 << 26;

/// Into which files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// One, with the events of all CPUs.
    #[default]
    One,
    /// One for each CPU: the path, `.blktrace.` and its number.
    EachCpu,
}

/// Writes all that comes from `source` to `path`.
///
/// # Errors
/// Those of the source, and when a file cannot be written.
pub fn write(
    source: &mut dyn Source,
    path: &Path,
    existing: Existing,
    files: Files,
) -> Result<Exported, TraceError> {
    let mut recording = Recording::new(path, existing, files);
    let mut batch = Vec::with_capacity(BATCH);
    source.next(&mut batch)?;
    recording.begin(source.info())?;
    while !batch.is_empty() {
        for io in &batch {
            recording.io(io, source.info())?;
        }
        batch.clear();
        source.next(&mut batch)?;
    }
    recording.end(source.info())
}

/// A recording in the making.
struct Recording<'a> {
    path: &'a Path,
    existing: Existing,
    each_cpu: bool,
    outs: BTreeMap<u32, Out>,
    /// Events to come, the earliest first.
    coming: BinaryHeap<Reverse<Told>>,
    serial: u64,
    /// Numbers of the last events, by device and CPU, as the kernel counts.
    sequences: HashMap<(DeviceNumber, u32), u32>,
    /// Numbers of devices, by space.
    devices: Vec<Option<DeviceNumber>>,
    told_processes: BTreeMap<u32, String>,
    told_marks: usize,
    told_date: bool,
    seen: Seen,
    long: u64,
    unaligned: u64,
    zeroing: u64,
}

/// One file.
struct Out {
    path: PathBuf,
    file: BufWriter<File>,
    pending: Pending,
}

impl<'a> Recording<'a> {
    fn new(path: &'a Path, existing: Existing, files: Files) -> Recording<'a> {
        Recording {
            path,
            existing,
            each_cpu: files == Files::EachCpu,
            outs: BTreeMap::new(),
            coming: BinaryHeap::new(),
            serial: 0,
            sequences: HashMap::new(),
            devices: Vec::new(),
            told_processes: BTreeMap::new(),
            told_marks: 0,
            told_date: false,
            seen: Seen::default(),
            long: 0,
            unaligned: 0,
            zeroing: 0,
        }
    }

    /// Writes the notes known before the first I/O. Those known only at the end are written there.
    fn begin(&mut self, info: &TraceInfo) -> Result<(), TraceError> {
        self.out(0)?;
        self.notes(info)
    }

    fn io(&mut self, io: &Io, info: &TraceInfo) -> Result<(), TraceError> {
        self.tell_before(io.arrival.0)?;
        self.seen.see(io);
        if io.kind == Kind::Zone {
            return Ok(());
        }
        let Ok(bytes) = u32::try_from(io.length.0) else {
            self.long += 1;
            return Ok(());
        };
        self.unaligned += u64::from(!io.offset.0.is_multiple_of(512));
        self.zeroing += u64::from(io.kind == Kind::WriteZeroes);
        let device = self.device(io.space, info);
        let mut serial = self.serial;
        requests::tell(io, bytes, device, |mut told| {
            told.serial = serial;
            serial += 1;
            self.coming.push(Reverse(told));
        });
        self.serial = serial;
        Ok(())
    }

    fn end(mut self, info: &TraceInfo) -> Result<Exported, TraceError> {
        self.tell_before(u64::MAX)?;
        self.notes(info)?;
        let (zones, sentence) = self.seen.left_out(|kind| kind != Kind::Zone);
        let mut lost: Vec<String> = sentence.into_iter().collect();
        let counted = [
            (self.long, "I/Os of 4 GiB or more are left out: a record has 32 bits for a length."),
            (self.unaligned, "I/Os begin within a sector; their records name the sector."),
            (self.zeroing, "I/Os that write zeroes are written as writes."),
        ];
        lost.extend(
            counted
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{count} {what}")),
        );
        if info.spaces.iter().any(|space| space.tally.plugs > 0) {
            lost.push("Plugs and unplugs are not kept.".to_owned());
        }
        for (_, out) in std::mem::take(&mut self.outs) {
            out.finish()?;
        }
        let left_out = zones + self.long;
        Ok(Exported { ios: self.seen.ios() - left_out, left_out, lost, notes: Vec::new() })
    }

    /// Writes the events that were before `time`.
    fn tell_before(&mut self, time: u64) -> Result<(), TraceError> {
        let mut instant: Vec<Told> = Vec::new();
        while let Some(Reverse(next)) = self.coming.peek()
            && next.time < time
        {
            let at = next.time;
            while let Some(Reverse(next)) = self.coming.peek()
                && next.time == at
                && let Some(Reverse(told)) = self.coming.pop()
            {
                instant.push(told);
            }
            requests::join(&mut instant);
            for told in instant.drain(..) {
                self.record(&told)?;
            }
        }
        Ok(())
    }

    fn record(&mut self, told: &Told) -> Result<(), TraceError> {
        let sequence = self.sequences.entry((told.device, told.cpu)).or_insert(0);
        *sequence = sequence.wrapping_add(1).max(1);
        let sequence = *sequence;
        // Version 1 has room for the first 16 categories.
        let action = number(told.action) | ((told.traits.0 as u32 & 0xffff) << 16);
        let record = Record { action, sequence, ..told.record() };
        self.out(told.cpu)?.write(&record, &told.pdu())
    }

    fn notes(&mut self, info: &TraceInfo) -> Result<(), TraceError> {
        let device = self.device(0, info).0;
        for (&pid, name) in &info.processes {
            if self.told_processes.get(&pid) == Some(name) {
                continue;
            }
            self.told_processes.insert(pid, name.clone());
            let mut comm = [0; 16];
            let length = name.len().min(15);
            comm[..length].copy_from_slice(&name.as_bytes()[..length]);
            let record = Record { action: NOTIFY | NOTES[0], pid, ..Record::default() };
            self.out(0)?.write(&record, &comm)?;
        }
        if let Some(unix) = info.origin_unix_ns.filter(|_| !self.told_date)
            && let Ok(seconds) = u32::try_from(unix.div_euclid(1_000_000_000))
        {
            self.told_date = true;
            let nanos = unix.rem_euclid(1_000_000_000) as u32;
            let words = [seconds.to_le_bytes(), nanos.to_le_bytes()].concat();
            let record = Record { action: NOTIFY | NOTES[1], ..Record::default() };
            self.out(0)?.write(&record, &words)?;
        }
        for Mark { at, text } in info.marks.iter().skip(self.told_marks) {
            let length = text.len().min(usize::from(u16::MAX));
            let record =
                Record { action: NOTIFY | NOTES[2], time: at.0, device, ..Record::default() };
            self.out(0)?.write(&record, &text.as_bytes()[..length])?;
        }
        self.told_marks = info.marks.len();
        Ok(())
    }

    /// The device of a space: its own number, or, where the trace has none, one that no other has.
    fn device(&mut self, space: u32, info: &TraceInfo) -> DeviceNumber {
        let at = space as usize;
        if at >= self.devices.len() {
            self.devices.resize(at + 1, None);
        }
        if let Some(device) = self.devices[at] {
            return device;
        }
        let own = info.spaces.get(at).and_then(|space| space.device);
        let taken = |device: &DeviceNumber| {
            self.devices.contains(&Some(*device))
                || info.spaces.iter().any(|space| space.device == Some(*device))
        };
        // As disks are numbered: 16 minors each.
        let made = || (0..).map(|nth| DeviceNumber::new(8, nth * 16)).find(|made| !taken(made));
        let device = own.or_else(made).unwrap_or_default();
        self.devices[at] = Some(device);
        device
    }

    /// The file for a CPU, begun where it is not yet.
    fn out(&mut self, cpu: u32) -> Result<&mut Out, TraceError> {
        let cpu = if self.each_cpu { cpu } else { 0 };
        if !self.outs.contains_key(&cpu) {
            if self.outs.len() >= CPUS_MAX {
                return Err(TraceError::Unsuited(format!(
                    "the trace has more than {CPUS_MAX} CPUs, too many for files of their own; write one file"
                )));
            }
            let path = if self.each_cpu {
                let mut name = self.path.as_os_str().to_owned();
                name.push(format!(".blktrace.{cpu}"));
                PathBuf::from(name)
            } else {
                self.path.to_owned()
            };
            self.outs.insert(cpu, Out::begin(path, self.existing)?);
        }
        self.outs
            .get_mut(&cpu)
            .ok_or_else(|| TraceError::Unsuited("a file was not begun".to_owned()))
    }
}

impl Out {
    fn begin(path: PathBuf, existing: Existing) -> Result<Out, TraceError> {
        let (file, pending) = Pending::begin(&path, existing)
            .map_err(|source| TraceError::Io { file: path.display().to_string(), source })?;
        Ok(Out { path, file: BufWriter::with_capacity(BUFFER, file), pending })
    }

    fn failed(&self, source: io::Error) -> TraceError {
        TraceError::Io { file: self.path.display().to_string(), source }
    }

    fn write(&mut self, record: &Record, pdu: &[u8]) -> Result<(), TraceError> {
        let mut bytes = record.bytes(pdu.len() as u16);
        bytes.extend_from_slice(pdu);
        self.file.write_all(&bytes).map_err(|source| self.failed(source))
    }

    fn finish(self) -> Result<(), TraceError> {
        let name = self.path.display().to_string();
        let failed = |source| TraceError::Io { file: name.clone(), source };
        let file = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        self.pending.publish(&file).map_err(failed)
    }
}

/// Number of an action, with the category that says it once more.
fn number(action: Action) -> u32 {
    const QUEUE: u32 = 1 << 20;
    const REQUEUE: u32 = 1 << 21;
    const ISSUE: u32 = 1 << 22;
    const COMPLETE: u32 = 1 << 23;
    match action {
        Action::Queue => 1 | QUEUE,
        Action::BackMerge => 2 | QUEUE,
        Action::FrontMerge => 3 | QUEUE,
        Action::GetRequest => 4 | QUEUE,
        Action::SleepRequest => 5 | QUEUE,
        Action::Requeue => 6 | REQUEUE,
        Action::Issue => 7 | ISSUE,
        Action::Complete => 8 | COMPLETE,
        Action::Insert => 12 | QUEUE,
        Action::Split => 13,
        Action::Remap => 15 | QUEUE,
        // Those that belong to no single I/O are not written.
        _ => 0,
    }
}
