//! The block tracepoints: which there are, how the kernel is made to filter them, and what their records say.

use std::collections::HashMap;
use std::path::Path;

use block::Nanos;
use block::trace::{Action, DeviceNumber, Extra, TraceEvent, TraceNote, Traits};

use super::chunk::Gathered;
use super::format::{Field, Format};
use super::page::{Page, PageLayout};
use super::rwbs;
use super::subject::Subjects;

/// The number that an event has which names no device, until [`super::plugs`] has found it out. No device has it.
pub(crate) const UNPLACED: DeviceNumber = DeviceNumber(u32::MAX);

/// Names of tasks that are remembered at a time; beyond, all are forgotten and reported again.
const NAMES_MAX: usize = 1 << 16;

/// Sector of an I/O that has none.
const NOWHERE: u64 = u64::MAX;

/// Tracepoints that map to an action. `block_rq_error` says nothing that `block_rq_complete` does not,
/// `block_io_start` and `block_io_done` report the same I/O once more, and `block_dirty_buffer` is not an I/O.
const EVENTS: [(&str, Action); 17] = [
    ("block_bio_queue", Action::Queue),
    ("block_bio_backmerge", Action::BackMerge),
    ("block_bio_frontmerge", Action::FrontMerge),
    ("block_getrq", Action::GetRequest),
    ("block_sleeprq", Action::SleepRequest),
    ("block_rq_requeue", Action::Requeue),
    ("block_rq_issue", Action::Issue),
    ("block_rq_complete", Action::Complete),
    ("block_bio_complete", Action::Complete),
    ("block_plug", Action::Plug),
    ("block_unplug", Action::Unplug),
    ("block_rq_insert", Action::Insert),
    // As blktrace has it: a request that was merged into the one before it.
    ("block_rq_merge", Action::BackMerge),
    ("block_split", Action::Split),
    ("block_bio_bounce", Action::Bounce),
    ("block_bio_remap", Action::Remap),
    ("block_rq_remap", Action::Remap),
];

/// Required tracepoints: without any one of these a recording is useless.
const NEEDED: [&str; 3] = ["block_bio_queue", "block_rq_issue", "block_rq_complete"];

/// One tracepoint of this kernel.
#[derive(Clone, Debug)]
pub(crate) struct Tracepoint {
    /// Its name.
    pub name: &'static str,
    /// Its filter; `None` for an event that names no device.
    pub filter: Option<String>,
    id: u16,
    record: Record,
}

/// Layout of a record.
#[derive(Clone, Debug)]
struct Record {
    action: Action,
    is_request: bool,
    pid: Field,
    dev: Option<Field>,
    sector: Option<Field>,
    nr_sector: Option<Field>,
    bytes: Option<Field>,
    rwbs: Option<Field>,
    comm: Option<Field>,
    error: Option<Field>,
    new_sector: Option<Field>,
    old_dev: Option<Field>,
    old_sector: Option<Field>,
    nr_rq: Option<Field>,
}

/// The tracepoints below `events` (a directory `events` of tracefs) that say something about `subjects`.
///
/// # Errors
/// A sentence that says what is missing.
pub(crate) fn find(events: &Path, subjects: &Subjects) -> Result<Vec<Tracepoint>, String> {
    let block = events.join("block");
    if !block.is_dir() {
        return Err(format!(
            "{}: not there: this kernel was built without block tracepoints (CONFIG_BLK_DEV_IO_TRACE)",
            block.display()
        ));
    }
    let mut found = Vec::new();
    // They come from all devices, so they are asked for only where there can be one of ours among them.
    let plugs = subjects.iter().any(|subject| subject.has_requests);
    let wanted = |action| plugs || !matches!(action, Action::Plug | Action::Unplug);
    for (name, action) in EVENTS.into_iter().filter(|(_, action)| wanted(*action)) {
        let path = block.join(name).join("format");
        let read = Format::read(&path).map_err(|error| format!("{}: {error}", path.display()));
        match read.and_then(|format| {
            tracepoint(name, action, &format, subjects).ok_or_else(|| {
                format!("{}: fields are missing that it should have", path.display())
            })
        }) {
            Ok(tracepoint) => found.push(tracepoint),
            Err(why) if NEEDED.contains(&name) => return Err(why),
            Err(_) => {}
        }
    }
    Ok(found)
}

fn tracepoint(
    name: &'static str,
    action: Action,
    format: &Format,
    subjects: &Subjects,
) -> Option<Tracepoint> {
    let field = |name: &str| format.field(name);
    let record = Record {
        action,
        is_request: name.starts_with("block_rq_"),
        pid: field("common_pid")?,
        dev: field("dev"),
        sector: field("sector"),
        nr_sector: field("nr_sector"),
        bytes: field("bytes"),
        rwbs: field("rwbs"),
        comm: field("comm"),
        error: field("error").or_else(|| field("errors")),
        new_sector: field("new_sector"),
        old_dev: field("old_dev"),
        old_sector: field("old_sector"),
        nr_rq: field("nr_rq"),
    };
    let is_plug = matches!(action, Action::Plug | Action::Unplug);
    if !is_plug {
        record.dev.and(record.sector).and(record.rwbs)?;
    }
    let filter = (!is_plug).then(|| filter(&record, subjects));
    Some(Tracepoint { name, filter, id: format.id?, record })
}

/// Returns the kernel's filter: `dev == 7340032 || dev == 8388608 && (sector >= 2048 && sector < 4096)`.
fn filter(record: &Record, subjects: &Subjects) -> String {
    let one = |subject: &super::subject::Subject| {
        let dev = subject.disk.0;
        match subject.sectors {
            None => format!("(dev == {dev})"),
            // An I/O that addresses nothing reaches the whole disk, and so each partition.
            Some((start, end)) => {
                let nothing = record.nr_sector.map_or("", |_| "nr_sector == 0 || ");
                format!("(dev == {dev} && ({nothing}(sector >= {start} && sector < {end})))")
            }
        }
    };
    subjects.iter().map(one).collect::<Vec<_>>().join(" || ")
}

/// Makes events of the pages of a ring buffer.
#[derive(Debug)]
pub(crate) struct Decoder {
    layout: PageLayout,
    subjects: Subjects,
    /// By event number.
    records: HashMap<u16, Record>,
    print: Option<(u16, Field)>,
    kind: Field,
    names: HashMap<u32, [u8; 16]>,
}

impl Decoder {
    /// For pages of the form that `events/header_page` describes, with these tracepoints.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub(crate) fn new(
        events: &Path,
        tracepoints: &[Tracepoint],
        subjects: Subjects,
    ) -> Result<Decoder, String> {
        let path = events.join("header_page");
        let page = Format::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let layout = PageLayout::of(&page)
            .ok_or_else(|| format!("{}: describes a page of an unknown form", path.display()))?;
        // Every record begins with the number of its event, so any event's format will do.
        let path = events.join("block/block_bio_queue/format");
        let kind = Format::read(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?
            .field("common_type")
            .ok_or_else(|| format!("{}: has no common_type", path.display()))?;
        Ok(Decoder {
            layout,
            subjects,
            records: tracepoints.iter().map(|found| (found.id, found.record.clone())).collect(),
            print: None,
            kind,
            names: HashMap::new(),
        })
    }

    /// The same, which also knows the marks of `trace_marker`, laid out as `format` describes.
    pub(crate) fn with_marks(mut self, format: &Format) -> Decoder {
        self.print = format.id.zip(format.field("buf"));
        self
    }

    /// Length of a page.
    pub(crate) fn page_bytes(&self) -> usize {
        self.layout.page_bytes
    }

    /// Takes one page of `cpu` apart.
    pub(crate) fn page(&mut self, cpu: u32, bytes: &[u8], to: &mut Gathered) {
        let Ok(mut page) = Page::open(&self.layout, bytes) else {
            to.malformed += 1;
            return;
        };
        // A page that does not say how many says: at least one.
        to.missed += page.missed.unwrap_or(1);
        while let Some(entry) = page.next() {
            let Ok(entry) = entry else {
                to.malformed += 1;
                return;
            };
            if self.record(cpu, Nanos(entry.time), entry.data, to).is_none() {
                to.malformed += 1;
            }
        }
    }

    /// `None` when the record is shorter than it should be. Of events that are not known nothing is said.
    fn record(&mut self, cpu: u32, time: Nanos, data: &[u8], to: &mut Gathered) -> Option<()> {
        let kind = self.kind.number(data)? as u16;
        let Some(record) = self.records.get(&kind) else {
            if let Some((id, text)) = self.print
                && id == kind
            {
                to.notes
                    .push(TraceNote::Message { time, text: super::chunk::text(text.bytes(data)?) });
            }
            return Some(());
        };
        let pid = record.pid.number(data)? as u32;
        if let Some(event) = event(record, &self.subjects, cpu, time, pid, data)? {
            to.events.push(event);
        }
        if let Some(comm) = record.comm
            && let Some(name) = comm.bytes(data)?.first_chunk::<16>()
            && self.names.get(&pid) != Some(name)
        {
            if self.names.len() >= NAMES_MAX {
                self.names.clear();
            }
            self.names.insert(pid, *name);
            to.notes.push(TraceNote::Process { pid, name: super::chunk::text(name) });
        }
        Some(())
    }
}

/// The event of a record; `Some(None)` when it is none of the subjects'.
fn event(
    record: &Record,
    subjects: &Subjects,
    cpu: u32,
    time: Nanos,
    pid: u32,
    data: &[u8],
) -> Option<Option<TraceEvent>> {
    let number = |field: Option<Field>| match field {
        Some(field) => field.number(data).map(Some),
        None => Some(None),
    };
    let mut event = TraceEvent {
        time,
        sector: 0,
        bytes: 0,
        device: UNPLACED,
        pid,
        cpu,
        sequence: 0,
        action: record.action,
        traits: Traits::NONE,
        error: 0,
        extra: number(record.nr_rq)?.map_or(Extra::None, |count| {
            Extra::Requests(u64::from((count as i64).unsigned_abs() as u32))
        }),
    };
    let Some(disk) = number(record.dev)? else { return Some(Some(event)) };
    let disk = DeviceNumber(disk as u32);
    let sectors = number(record.nr_sector)?.unwrap_or(0);
    let sector = number(record.sector)?.unwrap_or(0);
    // A request of its own for a flush has no sector, and its completion says so with all bits set.
    let sector = if sector == NOWHERE { 0 } else { sector };
    // An event without a length still has an address.
    let span = if record.nr_sector.is_some() { sectors } else { 1 };
    let Some((device, sector)) = subjects.place(disk, sector, span) else { return Some(None) };
    event.device = device;
    event.sector = sector;
    let told = number(record.bytes)?.filter(|&bytes| bytes > 0);
    event.bytes = told.unwrap_or(sectors.saturating_mul(512)).try_into().unwrap_or(u32::MAX);
    event.traits = match record.rwbs {
        Some(rwbs) => rwbs::traits(rwbs.bytes(data)?, sectors),
        None => Traits::NONE,
    };
    // As blktrace has it: requests say that they come from above, bios do not.
    if record.is_request && !event.traits.has(Traits::PASSTHROUGH) {
        event.traits = event.traits | Traits::FS;
    }
    if let Some(error) = number(record.error)? {
        event.error = (error as i64).unsigned_abs().try_into().unwrap_or(u16::MAX);
    }
    if let Some(cut) = number(record.new_sector)? {
        event.extra = Extra::SplitAt(subjects.relative(device, cut));
    }
    if let (Some(from), Some(sector)) = (number(record.old_dev)?, number(record.old_sector)?) {
        // Before it reaches the disk, an I/O of a partition is reported once with the partition's addresses; only
        // a trace of the whole disk can use that.
        if !subjects.is_whole(device) {
            return Some(None);
        }
        event.extra = Extra::From { device: DeviceNumber(from as u32), sector };
    }
    Some(Some(event))
}

#[cfg(test)]
mod tests;
