//! Information on a recording besides its I/Os.

use block::Nanos;
use block::trace::{DeviceNumber, TraceNote};

use crate::{Mark, Space, TraceInfo};

use super::device::Devices;

/// Most tasks whose names are kept: a recording that was made up must not fill the memory.
const PROCESSES_MAX: usize = 1 << 17;

/// Most text of marks that is kept, in bytes.
const MARKS_BYTES_MAX: usize = 16 << 20;

/// Longest name of a task; the kernel's are 15 bytes.
const NAME_MAX: usize = 64;

/// Gathers what makes a [`TraceInfo`].
#[derive(Debug)]
pub struct Notes {
    info: TraceInfo,
    /// Times are the tracer's until the end.
    marks: Vec<Mark>,
    marks_bytes: usize,
    clock: Option<(Nanos, i128)>,
}

impl Notes {
    pub fn new(source: &str) -> Notes {
        let info =
            TraceInfo { source: source.to_owned(), resolution: Nanos(1), ..TraceInfo::default() };
        Notes { info, marks: Vec::new(), marks_bytes: 0, clock: None }
    }

    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    pub fn info_mut(&mut self) -> &mut TraceInfo {
        &mut self.info
    }

    /// Makes the address space of a device known.
    #[cold]
    pub fn space(&mut self, device: DeviceNumber) {
        self.info.spaces.push(Space {
            name: device.to_string(),
            device: Some(device),
            ..Space::default()
        });
    }

    pub fn note(&mut self, note: TraceNote) {
        match note {
            TraceNote::Process { pid, name } => self.process(pid, name),
            TraceNote::Message { time, text } => {
                self.marks_bytes += text.len();
                if self.marks_bytes > MARKS_BYTES_MAX || self.marks.len() >= PROCESSES_MAX {
                    self.info.ignored_rows += 1;
                } else {
                    self.marks.push(Mark { at: time, text });
                }
            }
            // The first: a later one may be of a clock that was set meanwhile.
            TraceNote::Clock { time, unix } => {
                self.clock.get_or_insert((time, unix.0));
            }
            TraceNote::Lost { events, .. } => {
                self.info.lost_events = self.info.lost_events.saturating_add(events);
            }
        }
    }

    fn process(&mut self, pid: u32, mut name: String) {
        if name.len() > NAME_MAX {
            let end = (0..=NAME_MAX).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
            name.truncate(end);
        }
        if self.info.processes.len() < PROCESSES_MAX || self.info.processes.contains_key(&pid) {
            self.info.processes.insert(pid, name);
        } else {
            self.info.ignored_rows += 1;
        }
    }

    /// `blkparse -d` counts events from the first of them, but leaves notes on the tracer's clock. It does not record
    /// how much it subtracted from the events; the nearest to it is the date that the tracer records when it starts.
    fn rebase(&mut self, first: Option<Nanos>) {
        let Some((begun, _)) = self.clock.filter(|(at, _)| at.0 > 0) else { return };
        if first != Some(Nanos::ZERO) {
            return;
        }
        for mark in &mut self.marks {
            mark.at = Nanos(mark.at.0.saturating_sub(begun.0));
        }
        self.clock = self.clock.map(|(_, unix)| (Nanos::ZERO, unix));
        self.info.settled.push(
            "the recording counts from its first event, which is taken to be at the tracer's start: dates and \
             marks may be off by what was between"
                .to_owned(),
        );
    }

    /// Completes the info. Without I/Os, marks count from the first of them. `first` is the time of the first event.
    pub fn finish(&mut self, devices: &Devices, origin: Option<Nanos>, first: Option<Nanos>) {
        self.marks.sort_by_key(|mark| mark.at);
        self.rebase(first);
        let origin = origin.or_else(|| self.marks.first().map(|mark| mark.at)).unwrap_or_default();
        self.info.origin = origin;
        self.info.marks = std::mem::take(&mut self.marks);
        for mark in &mut self.info.marks {
            mark.at = Nanos(mark.at.0.saturating_sub(origin.0));
        }
        self.info.origin_unix_ns = self.clock.and_then(|(at, unix)| {
            i64::try_from(unix + i128::from(origin.0) - i128::from(at.0)).ok()
        });
        for (space, device) in self.info.spaces.iter_mut().zip(devices.iter()) {
            space.tally = device.tally.totals();
        }
    }
}
