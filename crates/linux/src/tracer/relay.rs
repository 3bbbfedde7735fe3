//! The second back end: what blktrace uses. A session is set up on a disk by ioctl, and a file for each CPU appears in
//! debugfs, from which records are read.
//!
//! A disk has one session at a time. It outlives who made it, so a note says that it is ours ([`Claim`]), and which one
//! it is: the inode of one of its files and when that was made, since somebody may have ended ours after our death and
//! have a session of his own by now.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use block::Bytes;
use rustix::fs::OFlags;

use super::TracerRoots;
use super::chunk::Chunk;
use super::claim::Claim;
use super::feed::{CHUNK_BYTES, Feed, Marker};
use super::started::Started;
use super::stream::Streams;
use super::subject::{Subject, Subjects};
use crate::syscalls::{self, BlockTrace};
use crate::sysfs::read_text;

/// First part of the names of our notes; the disk's name follows.
const CLAIM: &str = "blktrace-";
/// Length of a part of the buffer; as blktrace has it.
const PART: Bytes = Bytes::kib(512);
/// The file of a session that all have and everybody may look at.
const DROPPED: &str = "dropped";

/// The requests that make and end sessions; a test has others.
pub(crate) trait Control: Send + Sync {
    /// Makes a session on `disk` with `parts` buffers of `part_bytes` for each CPU, and begins to record.
    fn start(&self, disk: &Path, part_bytes: u32, parts: u32) -> io::Result<()>;
    /// Ends recording; what was recorded can still be read.
    fn halt(&self, disk: &Path) -> io::Result<()>;
    /// Ends the session.
    fn end(&self, disk: &Path) -> io::Result<()>;
}

/// The kernel's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ioctls;

impl Ioctls {
    fn open(disk: &Path) -> io::Result<File> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        OpenOptions::new().read(true).custom_flags(flags).open(disk)
    }
}

impl Control for Ioctls {
    fn start(&self, disk: &Path, part_bytes: u32, parts: u32) -> io::Result<()> {
        let file = Ioctls::open(disk)?;
        // Of version 2 where the kernel has it: it reports zones.
        match syscalls::block_trace_setup2(&file, part_bytes, parts) {
            Err(error) if is_unknown(&error) => {
                syscalls::block_trace_setup(&file, part_bytes, parts)?;
            }
            done => done?,
        }
        syscalls::block_trace(&file, BlockTrace::Start).inspect_err(|_| {
            let _ = syscalls::block_trace(&file, BlockTrace::Teardown);
        })
    }

    fn halt(&self, disk: &Path) -> io::Result<()> {
        syscalls::block_trace(&Ioctls::open(disk)?, BlockTrace::Stop)
    }

    fn end(&self, disk: &Path) -> io::Result<()> {
        let file = Ioctls::open(disk)?;
        let _ = syscalls::block_trace(&file, BlockTrace::Stop);
        syscalls::block_trace(&file, BlockTrace::Teardown)
    }
}

/// A request that this kernel does not have.
fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL | libc::ENOSYS))
}

/// Starts recording `subjects` into buffers of about `buffer` for each CPU and disk.
///
/// # Errors
/// Why it cannot be, as a sentence.
pub(crate) fn start(
    roots: &TracerRoots,
    subjects: &Subjects,
    buffer: Bytes,
    control: Arc<dyn Control>,
) -> Result<Started, String> {
    let all = roots.debugfs.join("block");
    if !all.is_dir() {
        return Err(format!(
            "debugfs is not mounted at {0} (mount -t debugfs none {0}), or may not be seen",
            roots.debugfs.display()
        ));
    }
    let mut sessions: Vec<Session> = Vec::new();
    let mut cpus = Vec::new();
    for subject in subjects.iter() {
        if sessions.iter().any(|session| session.name == subject.disk_name) {
            continue;
        }
        // Those before it end when this fails.
        let session = Session::start(roots, subject, buffer, control.clone())?;
        cpus.extend(session.open_cpus()?);
        sessions.push(session);
    }
    let messages: Vec<File> = sessions.iter().filter_map(Session::open_messages).collect();
    let marks = (!messages.is_empty()).then(|| Arc::new(Messages(messages)));
    let marker = marks.as_ref().map(|marks| Arc::downgrade(marks) as Weak<dyn Marker>);
    let parts = parts(buffer);
    let feed = Relay { cpus, _marks: marks, buffer: vec![0; 64 << 10], sessions };
    Ok(Started {
        feed: Box::new(feed),
        decoder: Box::new(Streams::new(subjects.clone())),
        marker,
        buffer: Bytes(PART.0 * u64::from(parts)),
    })
}

/// How many parts of buffer make `buffer`; two at least, or nothing could be written while one is read.
fn parts(buffer: Bytes) -> u32 {
    u32::try_from(buffer.0 / PART.0).unwrap_or(u32::MAX).clamp(2, 4096)
}

/// A session on a disk. Ended when dropped.
struct Session {
    name: String,
    disk: PathBuf,
    dir: PathBuf,
    dropped: u64,
    control: Arc<dyn Control>,
    /// Last, so that no other recording of drivescope begins before this one has ended.
    _claim: Claim,
}

impl Session {
    fn start(
        roots: &TracerRoots,
        subject: &Subject,
        buffer: Bytes,
        control: Arc<dyn Control>,
    ) -> Result<Session, String> {
        let name = subject.disk_name.clone();
        let note = format!("{CLAIM}{name}");
        let claim = Claim::take(&roots.run, &note).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                format!("busy: another recording of drivescope uses it on {name}")
            }
            _ => format!("{}: cannot note that it is ours: {error}", roots.run.display()),
        })?;
        let disk = roots.devices.dev.join(name.replace('!', "/"));
        let dir = roots.debugfs.join("block").join(&name);
        control
            .start(&disk, PART.0 as u32, parts(buffer))
            .map_err(|error| refusal(&name, &error))?;
        // From here on it ends when this is dropped.
        let session = Session { name, disk, dir, dropped: 0, control, _claim: claim };
        let which = identity(&session.dir).ok_or_else(|| {
            format!("{}: the kernel shows no files of the session there", session.dir.display())
        })?;
        let noted = session._claim.say(&which);
        noted.map_err(|error| {
            format!("{}: cannot note that it is ours: {error}", roots.run.display())
        })?;
        Ok(session)
    }

    /// The file of each CPU.
    fn open_cpus(&self) -> Result<Vec<Cpu>, String> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let mut cpus = Vec::new();
        for name in crate::sysfs::names_in(&self.dir) {
            let Some(number) = name.strip_prefix("trace").and_then(|number| number.parse().ok())
            else {
                continue;
            };
            let path = self.dir.join(&name);
            let file = OpenOptions::new().read(true).custom_flags(flags).open(&path);
            let file = file.map_err(|error| match error.raw_os_error() {
                Some(libc::EPERM) => format!(
                    "{}: {error}: the kernel is locked down and lets nobody read debugfs",
                    path.display()
                ),
                _ => format!("{}: {error}", path.display()),
            })?;
            cpus.push(Cpu { number, file });
        }
        cpus.sort_by_key(|cpu| cpu.number);
        if cpus.is_empty() {
            return Err(format!("{}: the kernel shows no CPU there", self.dir.display()));
        }
        Ok(cpus)
    }

    fn open_messages(&self) -> Option<File> {
        OpenOptions::new().write(true).open(self.dir.join("msg")).ok()
    }

    /// Events lost since this was asked last.
    fn lost(&mut self) -> u64 {
        let told = read_text(&self.dir.join(DROPPED)).and_then(|text| text.parse::<u64>().ok());
        let dropped = told.unwrap_or(self.dropped);
        let lost = dropped.saturating_sub(self.dropped);
        self.dropped = dropped;
        lost
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.control.end(&self.disk);
    }
}

fn refusal(disk: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EBUSY) => format!("busy: {disk} is being traced by somebody else"),
        Some(libc::ENOTTY | libc::EINVAL) => format!(
            "{disk}: {error}: this kernel was built without it (CONFIG_BLK_DEV_IO_TRACE), or the disk has none"
        ),
        Some(libc::EPERM | libc::EACCES) => format!("{disk}: {error} (this takes root)"),
        _ => format!("{disk}: {error}"),
    }
}

/// Identity of the session whose files are in `dir`.
fn identity(dir: &Path) -> Option<String> {
    let meta = fs::metadata(dir.join(DROPPED)).ok()?;
    Some(format!("{} {}.{:09}\n", meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// Ends the sessions that dead recorders have left; the disks.
pub(crate) fn remove_dead(roots: &TracerRoots, control: &dyn Control) -> Vec<String> {
    let dead = Claim::of_the_dead(&roots.run, CLAIM).into_iter();
    dead.filter(|(name, text, _)| {
        let dir = roots.debugfs.join("block").join(name);
        let ours = identity(&dir).is_some_and(|now| now == *text);
        ours && control.end(&roots.devices.dev.join(name.replace('!', "/"))).is_ok()
    })
    .map(|(name, ..)| format!("a blktrace session on {name}"))
    .collect()
}

/// The `msg` of each session.
#[derive(Debug)]
struct Messages(Vec<File>);

impl Marker for Messages {
    fn mark(&self, text: &str) -> io::Result<()> {
        // One is enough: the recording is one.
        self.0.first().map_or(Ok(()), |mut file| file.write_all(text.as_bytes()))
    }
}

/// The records of one CPU on one disk.
#[derive(Debug)]
struct Cpu {
    number: u32,
    file: File,
}

/// A running recording.
struct Relay {
    // Before the sessions, which cannot go while their files are open.
    cpus: Vec<Cpu>,
    _marks: Option<Arc<Messages>>,
    buffer: Vec<u8>,
    sessions: Vec<Session>,
}

impl Feed for Relay {
    fn collect(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        let mut more = false;
        let share = CHUNK_BYTES / self.cpus.len();
        for (at, cpu) in self.cpus.iter_mut().enumerate() {
            // A stream each, and two disks have one each for the same CPU; the records themselves name it.
            more |= chunk.drain(&mut cpu.file, &mut self.buffer, share, at as u32)?;
        }
        for session in &mut self.sessions {
            let lost = session.lost();
            if lost > 0 {
                chunk.lost.push((None, lost));
            }
        }
        Ok(more)
    }

    fn halt(&mut self) -> io::Result<()> {
        self.sessions.iter().try_for_each(|session| session.control.halt(&session.disk))
    }
}

#[cfg(test)]
mod tests;
