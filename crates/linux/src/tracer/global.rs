//! The third back end: the tracer `blk` of ftrace, of which the machine has one.
//!
//! It is switched on for a disk in sysfs (`trace/enable`) and for the machine in tracefs (`current_tracer`), and with
//! the option `bin` the one pipe of all CPUs delivers records of blktrace. Any other user of an ftrace tracer is in
//! the way, and we would be in theirs: it is taken only when it is free, and everything is put back.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use block::trace::TraceNote;
use block::{Bytes, Nanos};
use rustix::fs::OFlags;

use super::chunk::Chunk;
use super::claim::Claim;
use super::feed::{CHUNK_BYTES, Feed, Marker};
use super::instance::write;
use super::started::Started;
use super::stream::{self, Streams};
use super::subject::Subjects;
use super::{TracerRoots, tracepoints};
use crate::drive;
use crate::sysfs::read_text;

/// Our note on it.
const CLAIM: &str = "blk-tracer";
/// Read at a time; the kernel hands out two pages at most.
const READ_BYTES: usize = 64 << 10;
/// Files of tracefs that are set, apart from the tracer itself, and restored.
const SET: [&str; 6] = [
    "trace_clock",
    "buffer_size_kb",
    "options/overwrite",
    "options/bin",
    "options/context-info",
    "tracing_on",
];
/// File that marks the tracer as ours: set before all else and restored after all else, so that a process that
/// finds it knows that the rest must be restored.
const TRACER: &str = "current_tracer";

/// Starts recording `subjects` into buffers of `buffer` for each CPU.
///
/// # Errors
/// Why it cannot be, as a sentence.
pub(crate) fn start(
    roots: &TracerRoots,
    subjects: &Subjects,
    buffer: Bytes,
) -> Result<Started, String> {
    let tracefs = &roots.tracefs;
    let available = tracefs.join("available_tracers");
    let tracers = fs::read_to_string(&available).map_err(|error| said(&available, &error))?;
    if !tracers.split_whitespace().any(|tracer| tracer == "blk") {
        return Err(
            "this kernel was built without the tracer blk (CONFIG_BLK_DEV_IO_TRACE)".to_owned()
        );
    }
    let claim = Claim::take(&roots.run, CLAIM).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => "busy: another recording of drivescope uses it".to_owned(),
        _ => format!("{}: cannot note that it is ours: {error}", roots.run.display()),
    })?;
    let current = read_text(&tracefs.join(TRACER)).unwrap_or_default();
    if current != "nop" {
        return Err(format!("busy: the machine's tracer is in use ({current})"));
    }
    if read_text(&tracefs.join("set_event")).is_some() {
        return Err("busy: somebody records events of ftrace, which would be among ours".to_owned());
    }
    let enables = enables(roots, subjects)?;
    // Before anything is changed, so that whatever happens can be undone.
    let undo = Undo::of(roots, &enables, claim)?;
    set_up(tracefs, buffer, &enables)?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let path = tracefs.join("trace_pipe");
    let pipe = OpenOptions::new().read(true).custom_flags(flags).open(&path);
    let pipe = pipe.map_err(|error| said(&path, &error))?;
    let marks = Arc::new(Marks::default());
    let marker = Arc::downgrade(&marks) as _;
    let feed = Global {
        pipe,
        marks,
        lost: Lost::new(tracefs),
        buffer: vec![0; READ_BYTES],
        enables,
        _undo: undo,
    };
    Ok(Started {
        feed: Box::new(feed),
        decoder: Box::new(Streams::new(subjects.clone())),
        marker: Some(marker),
        buffer,
    })
}

fn said(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// The switches of the disks, each once; all of them off.
fn enables(roots: &TracerRoots, subjects: &Subjects) -> Result<Vec<PathBuf>, String> {
    let mut enables = Vec::new();
    for subject in subjects.iter() {
        let path = roots.devices.sys.join("block").join(&subject.disk_name).join("trace/enable");
        if enables.contains(&path) {
            continue;
        }
        let state = fs::read_to_string(&path).map_err(|error| said(&path, &error))?;
        if state.trim() != "0" {
            return Err(format!("busy: {} is being traced by somebody else", subject.disk_name));
        }
        enables.push(path);
    }
    Ok(enables)
}

fn set_up(tracefs: &Path, buffer: Bytes, enables: &[PathBuf]) -> Result<(), String> {
    let size = (buffer.0 >> 10).max(1).to_string();
    let settings = [
        (TRACER, "blk"),
        ("trace_clock", "mono"),
        ("buffer_size_kb", size.as_str()),
        // Events that find the buffer full are lost and counted, and no text about them appears in the pipe.
        ("options/overwrite", "0"),
        ("options/bin", "1"),
        // Without the task's name and the time in text before each record.
        ("options/context-info", "0"),
        ("tracing_on", "1"),
    ];
    // The buffer is emptied by all of these, so nothing of another's is in it.
    for (name, value) in settings {
        write(&tracefs.join(name), value).map_err(|error| error.to_string())?;
    }
    for enable in enables {
        write(enable, "1").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Settings to restore. Restored when dropped.
#[derive(Debug)]
struct Undo {
    tracefs: PathBuf,
    sys: PathBuf,
    text: String,
    /// Last, so that no other recording takes the tracer before it is free.
    _claim: Claim,
}

impl Undo {
    /// Notes the present state: a line `disk NAME` for each disk, then `set FILE VALUE` for what is set.
    fn of(roots: &TracerRoots, enables: &[PathBuf], claim: Claim) -> Result<Undo, String> {
        let mut text = String::new();
        for enable in enables {
            let disk = enable.ancestors().nth(2).and_then(Path::file_name).unwrap_or_default();
            text += &format!("disk {}\n", disk.to_string_lossy());
        }
        for name in SET {
            let path = roots.tracefs.join(name);
            let told = fs::read_to_string(&path).map_err(|error| said(&path, &error))?;
            text += &format!("set {name} {}\n", chosen(&told));
        }
        claim.say(&text).map_err(|error| said(&roots.run, &error))?;
        let (tracefs, sys) = (roots.tracefs.clone(), roots.devices.sys.clone());
        Ok(Undo { tracefs, sys, text, _claim: claim })
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        undo(&self.tracefs, &self.sys, &self.text);
    }
}

/// Puts everything back, unless somebody has meanwhile made the tracer his own; whether it was ours still.
fn undo(tracefs: &Path, sys: &Path, text: &str) -> bool {
    let ours = read_text(&tracefs.join(TRACER)).as_deref() == Some("blk");
    if !ours {
        return false;
    }
    for disk in text.lines().filter_map(|line| line.strip_prefix("disk ")) {
        let plain = !disk.is_empty() && !disk.contains('/') && disk != "." && disk != "..";
        if plain {
            let _ = write(&sys.join("block").join(disk).join("trace/enable"), "0");
        }
    }
    for line in text.lines().filter_map(|line| line.strip_prefix("set ")) {
        if let Some((name, value)) = line.split_once(' ')
            && SET.contains(&name)
        {
            let _ = write(&tracefs.join(name), value);
        }
    }
    write(&tracefs.join(TRACER), "nop").is_ok()
}

/// Returns the value in force in a control file: `[local] global counter`, `7 (expanded: 1408)`, `0`.
fn chosen(told: &str) -> &str {
    let bracket = told.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let expanded = told.split_once("expanded:").and_then(|(_, rest)| rest.split_once(')'));
    bracket.or(expanded).map_or(told, |(value, _)| value).trim()
}

/// Puts back what a dead recorder has left; what that was.
pub(crate) fn remove_dead(roots: &TracerRoots) -> Vec<String> {
    let dead = Claim::of_the_dead(&roots.run, CLAIM).into_iter();
    dead.filter(|(_, text, _)| undo(&roots.tracefs, &roots.devices.sys, text))
        .map(|_| "the tracer blk".to_owned())
        .collect()
}

/// Marks, with times of ours: the tracer writes them into the pipe as text that no reader of records understands.
#[derive(Debug, Default)]
struct Marks(Mutex<Vec<TraceNote>>);

impl Marker for Marks {
    fn mark(&self, text: &str) -> io::Result<()> {
        let note = stream::mark(Nanos(drive::now().0), text);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
        Ok(())
    }
}

/// The losses of all CPUs' buffers, which others may have used before us.
#[derive(Debug)]
struct Lost {
    per_cpu: PathBuf,
    told: Vec<(String, u64)>,
}

impl Lost {
    fn new(tracefs: &Path) -> Lost {
        let per_cpu = tracefs.join("per_cpu");
        let mut lost = Lost { per_cpu, told: Vec::new() };
        for name in crate::sysfs::names_in(&lost.per_cpu) {
            let count = lost.count(&name);
            lost.told.push((name, count));
        }
        lost
    }

    fn count(&self, cpu: &str) -> u64 {
        let stats = fs::read_to_string(self.per_cpu.join(cpu).join("stats"));
        tracepoints::lost_in(&stats.unwrap_or_default())
    }

    fn since(&mut self, chunk: &mut Chunk) {
        for at in 0..self.told.len() {
            let count = self.count(&self.told[at].0);
            let (name, told) = &mut self.told[at];
            let number = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
            if count > *told {
                chunk.lost.push((number, count - *told));
            }
            *told = count;
        }
    }
}

/// A running recording.
#[derive(Debug)]
struct Global {
    // Before what puts the tracer back.
    pipe: File,
    marks: Arc<Marks>,
    lost: Lost,
    buffer: Vec<u8>,
    enables: Vec<PathBuf>,
    _undo: Undo,
}

impl Feed for Global {
    fn collect(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        chunk.notes.append(&mut self.marks.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.lost.since(chunk);
        // One stream: the pipe has merged the CPUs.
        chunk.drain(&mut self.pipe, &mut self.buffer, CHUNK_BYTES, 0)
    }

    fn halt(&mut self) -> io::Result<()> {
        self.enables.iter().try_for_each(|enable| write(enable, "0"))
    }
}
