//! The first back end: block tracepoints in a tracefs instance of our own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Weak};

use block::Bytes;
use rustix::fs::{FlockOperation, OFlags};

use super::TracerRoots;
use super::chunk::{Chunk, Gathered};
use super::events::{self, Decoder};
use super::feed::{CHUNK_BYTES, Decode, Feed, Marker};
use super::format::Format;
use super::instance::{self, Instance};
use super::started::Started;
use super::subject::Subjects;

/// How often it is looked how much was lost, in looks at the buffers.
const STATS_EVERY: u32 = 16;

/// Starts recording `subjects` into buffers of `buffer` for each CPU.
///
/// # Errors
/// Why it cannot be, as a sentence.
pub(crate) fn start(
    roots: &TracerRoots,
    subjects: &Subjects,
    buffer: Bytes,
) -> Result<Started, String> {
    let (feed, decoder) = open(roots, subjects, buffer, |_| true)?;
    let marker = feed.marker.as_ref();
    let marker = marker.map(|marker| Arc::downgrade(marker) as Weak<dyn Marker>);
    Ok(Started { feed: Box::new(feed), decoder: Box::new(decoder), marker, buffer })
}

/// The same with those tracepoints only that `wanted` knows by name.
///
/// # Errors
/// Why it cannot be, as a sentence.
pub(crate) fn open(
    roots: &TracerRoots,
    subjects: &Subjects,
    buffer: Bytes,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Tracepoints, Decoder), String> {
    let tracefs = &roots.tracefs;
    let instances = tracefs.join("instances");
    if !instances.is_dir() {
        let hidden = fs::metadata(&instances)
            .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        return Err(if hidden {
            format!("{}: may not be looked into (this takes root)", tracefs.display())
        } else if tracefs.join("trace").exists() {
            format!("{}: not there: this kernel has no instances of tracefs", instances.display())
        } else {
            format!("tracefs is not mounted at {0} (mount -t tracefs none {0})", tracefs.display())
        });
    }
    let instance = Instance::create(tracefs).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!(
                "{}: {error} (this takes root, and a kernel that is not locked down)",
                instances.display()
            )
        }
        _ => format!("{}: cannot make an instance: {error}", instances.display()),
    })?;
    let events = instance.dir().join("events");
    let mut tracepoints = events::find(&events, subjects)?;
    tracepoints.retain(|tracepoint| wanted(tracepoint.name));
    let mut decoder = Decoder::new(&events, &tracepoints, subjects.clone())?;
    let print = [events.join("ftrace/print/format"), tracefs.join("events/ftrace/print/format")];
    if let Some(print) = print.iter().find_map(|path| Format::read(path).ok()) {
        decoder = decoder.with_marks(&print);
    }
    set_up(&instance, &tracepoints, buffer).map_err(|error| error.to_string())?;
    let cpus = open_cpus(instance.dir(), decoder.page_bytes())?;
    let marker = OpenOptions::new().write(true).open(instance.dir().join("trace_marker")).ok();
    let marker = marker.map(|file| Arc::new(TraceMarker(file)));
    instance.write("tracing_on", "1").map_err(|error| error.to_string())?;
    let page = vec![0; decoder.page_bytes()];
    let feed = Tracepoints { cpus, marker, page, looks: 0, halted: false, instance };
    Ok((feed, decoder))
}

/// All is set before anything is recorded, so that the recording begins with all events at once.
fn set_up(
    instance: &Instance,
    tracepoints: &[events::Tracepoint],
    buffer: Bytes,
) -> io::Result<()> {
    instance.write("tracing_on", "0")?;
    // The clock of the drives that we measure, so that their times can be compared with these.
    instance.write("trace_clock", "mono")?;
    // When the buffer is full, what comes is lost and counted. Overwriting would lose what came first, from under
    // the reader, and only guess how much.
    instance.write("options/overwrite", "0")?;
    instance.write("buffer_size_kb", &(buffer.0 >> 10).max(1).to_string())?;
    let _ = instance.write("options/markers", "1");
    for tracepoint in tracepoints {
        if let Some(filter) = &tracepoint.filter {
            instance.write(&format!("events/block/{}/filter", tracepoint.name), filter)?;
        }
    }
    for tracepoint in tracepoints {
        instance.write(&format!("events/block/{}/enable", tracepoint.name), "1")?;
    }
    Ok(())
}

/// The buffer of one CPU.
#[derive(Debug)]
struct Cpu {
    number: u32,
    pages: File,
    stats: File,
    lost: u64,
}

fn open_cpus(instance: &Path, page_bytes: usize) -> Result<Vec<Cpu>, String> {
    let dir = instance.join("per_cpu");
    let mut cpus = Vec::new();
    for name in crate::sysfs::names_in(&dir) {
        let Some(number) = name.strip_prefix("cpu").and_then(|number| number.parse().ok()) else {
            continue;
        };
        let open = |file: &str| {
            let path = dir.join(&name).join(file);
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
            opened.map_err(|error| format!("{}: {error}", path.display()))
        };
        cpus.push(Cpu { number, pages: open("trace_pipe_raw")?, stats: open("stats")?, lost: 0 });
    }
    cpus.sort_by_key(|cpu| cpu.number);
    if cpus.is_empty() || page_bytes == 0 {
        return Err(format!("{}: no CPU has a buffer in it", dir.display()));
    }
    Ok(cpus)
}

/// A running recording.
#[derive(Debug)]
pub(crate) struct Tracepoints {
    // Before the instance, which cannot go while its files are open.
    cpus: Vec<Cpu>,
    marker: Option<Arc<TraceMarker>>,
    page: Vec<u8>,
    looks: u32,
    halted: bool,
    instance: Instance,
}

impl Tracepoints {
    /// Has the next look at the buffers count what was lost.
    pub(crate) fn count_losses(&mut self) {
        self.looks = STATS_EVERY - 1;
    }
}

impl Feed for Tracepoints {
    fn collect(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        let mut more = false;
        let share = CHUNK_BYTES / self.cpus.len();
        // Not at each look: there may be hundreds of CPUs. At the last one in any case.
        self.looks = self.looks.wrapping_add(1);
        let counts = self.halted || self.looks.is_multiple_of(STATS_EVERY);
        for cpu in &mut self.cpus {
            more |= chunk.drain(&mut cpu.pages, &mut self.page, share, cpu.number)?;
            let lost = if counts { lost(&mut cpu.stats)? } else { cpu.lost };
            if lost > cpu.lost {
                chunk.lost.push((Some(cpu.number), lost - cpu.lost));
                cpu.lost = lost;
            }
        }
        Ok(more)
    }

    fn halt(&mut self) -> io::Result<()> {
        self.halted = true;
        self.instance.write("tracing_on", "0")
    }
}

/// Events that a CPU's buffer has lost since it was made: overwritten, found no room, or came while another was
/// being written at the buffer's very end.
fn lost(stats: &mut File) -> io::Result<u64> {
    use std::os::unix::fs::FileExt as _;
    let mut text = [0; 1024];
    let read = stats.read_at(&mut text, 0)?;
    Ok(lost_in(&String::from_utf8_lossy(&text[..read])))
}

/// The losses that a file `stats` reports.
pub(crate) fn lost_in(stats: &str) -> u64 {
    let count = |name: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    ["overrun", "commit overrun", "dropped events"].map(count).iter().sum()
}

impl Decode for Decoder {
    fn take(&mut self, cpu: u32, bytes: &[u8], to: &mut Gathered) {
        self.page(cpu, bytes, to);
    }
}

/// The instance's `trace_marker`.
#[derive(Debug)]
struct TraceMarker(File);

impl Marker for TraceMarker {
    fn mark(&self, text: &str) -> io::Result<()> {
        (&self.0).write_all(text.as_bytes())
    }
}

/// Removes what dead recorders have left; their names.
pub(crate) fn remove_dead(roots: &TracerRoots, how: FlockOperation) -> Vec<String> {
    instance::remove_dead(&roots.tracefs, how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_loss_is_counted() {
        let stats = "entries: 12\noverrun: 1\ncommit overrun: 20\nbytes: 848\n\
            oldest event ts:  3371.4\nnow ts:  3379.6\ndropped events: 300\nread events: 5\n";
        assert_eq!(lost_in(stats), 321);
        assert_eq!(lost_in(""), 0);
    }
}
