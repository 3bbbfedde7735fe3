//! fio's iolog, versions 2 and 3 (fio(1), "Trace file format").
//!
//! Two things that the manual says are not what fio does (3.33, found by replaying), and the file is made for what it
//! does:
//!
//! - `wait` of version 2 is said to be in microseconds after the last one. It is in milliseconds after fio's start.
//! - Times of version 3 are said to begin at 0. A time is taken as that of a predecessor only when it is not 0, so a
//!   trace that begins at 0 loses its first gap. Here it begins at 1 µs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use block::Bytes;
use block::text::is_hostile;

use super::Exported;
use super::losses::Seen;
use super::text::{self, Lines, Out};
use crate::output::Existing;
use crate::{Io, Kind, Source, TraceError, TraceInfo};

/// Longest I/O of a line: fio reads lengths as 32 bits. Longer ones, which only discards are, become several.
const LONGEST: Bytes = Bytes::gib(2);

/// Version of fio's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Since fio 1.17. Time passes in lines of their own, in steps of a millisecond.
    Two,
    /// Since fio 3.31. Each line has its time, in microseconds.
    #[default]
    Three,
}

/// Writes all that comes from `source` to `path`, a file of fio's for each space, named as the space is.
///
/// # Errors
/// Those of the source, and when the file cannot be written.
pub fn write(
    source: &mut dyn Source,
    path: &Path,
    existing: Existing,
    version: Version,
) -> Result<Exported, TraceError> {
    let mut log = Log { version, ..Log::default() };
    text::write(&mut log, source, path, existing)?;
    Ok(log.exported(source.info()))
}

/// fio's word for an operation.
fn action(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Read => Some("read"),
        Kind::Write => Some("write"),
        Kind::Flush => Some("sync"),
        Kind::Discard => Some("trim"),
        Kind::WriteZeroes | Kind::Zone | Kind::Other => None,
    }
}

#[derive(Default)]
struct Log {
    version: Version,
    seen: Seen,
    /// Files that were opened, by the number of their space.
    files: BTreeMap<u32, Rc<str>>,
    renamed: Vec<String>,
    empty: u64,
    cut: u64,
    /// Of the last line.
    last_us: u64,
}

impl Log {
    fn exported(self, info: &TraceInfo) -> Exported {
        let (others, sentence) = self.seen.left_out(|kind| action(kind).is_some());
        let mut lost: Vec<_> = sentence.into_iter().collect();
        if self.empty > 0 {
            lost.push(format!("{} I/Os without a length are left out.", self.empty));
        }
        if self.cut > 0 {
            lost.push(format!("{} I/Os of more than 2 GiB are several in the file.", self.cut));
        }
        let step = if self.version == Version::Two { 1_000_000 } else { 1_000 };
        lost.extend(self.seen.coarser(step));
        if self.seen.completed() > 0 {
            lost.push("When I/Os completed is not kept: the log says what to issue.".to_owned());
        }
        if info.origin_unix_ns.is_some() {
            lost.push("The date of the trace is not kept.".to_owned());
        }
        lost.extend(self.seen.common(info));
        let left_out = others + self.empty;
        Exported { ios: self.seen.ios() - left_out, left_out, lost, notes: self.notes() }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.renamed.is_empty() {
            notes.push(format!("fio takes no blanks in names: {}.", self.renamed.join(", ")));
        }
        let devices: Vec<_> =
            self.files.values().filter(|name| name.starts_with("/dev/")).collect();
        if let Some(device) = devices.first() {
            notes.push(format!(
                "Replaying the log writes to {device} where it holds writes; fio's --replay_redirect names another."
            ));
        }
        let bare: Vec<&str> = self.files.values().map(|name| &**name).collect();
        let bare: Vec<&str> = bare.into_iter().filter(|name| !name.contains('/')).collect();
        if !bare.is_empty() {
            notes.push(format!(
                "fio takes {} for files in its own directory, and makes them: --replay_redirect=/dev/sdX names a drive, which \
                 is then written to where the log holds writes.",
                bare.join(", ")
            ));
        }
        if self.seen.discards() > 0 {
            notes.push("fio 3.33 and before pass over `trim` in a log.".to_owned());
        }
        notes
    }

    /// Begins a line at `us` microseconds, in fio's count.
    fn at(&mut self, to: &mut Out, us: u64, file: &str) -> io::Result<()> {
        match self.version {
            Version::Two => {
                let (ms, last_ms) = (us / 1_000, self.last_us / 1_000);
                if ms > last_ms {
                    writeln!(to, "{file} wait {ms} 0")?;
                }
            }
            Version::Three => write!(to, "{us} ")?,
        }
        self.last_us = us;
        Ok(())
    }

    /// The file of a space, opened where it is not yet.
    fn file(
        &mut self,
        to: &mut Out,
        us: u64,
        number: u32,
        info: &TraceInfo,
    ) -> io::Result<Rc<str>> {
        if let Some(file) = self.files.get(&number) {
            return Ok(Rc::clone(file));
        }
        let space = info.spaces.get(number as usize);
        let name = space.map_or("", |space| space.name.as_str());
        let (word, changed) =
            text::word(name, |letter| !letter.is_whitespace() && !is_hostile(letter));
        let file: Rc<str> = text::unlike(word, number, &self.files).into();
        if changed {
            self.renamed.push(format!("`{name}` is `{file}`"));
        }
        for action in ["add", "open"] {
            if self.version == Version::Three {
                write!(to, "{us} ")?;
            }
            writeln!(to, "{file} {action}")?;
        }
        self.files.insert(number, Rc::clone(&file));
        Ok(file)
    }
}

impl Lines for Log {
    fn begin(&mut self, to: &mut Out, _info: &TraceInfo) -> io::Result<()> {
        let version = if self.version == Version::Two { 2 } else { 3 };
        writeln!(to, "fio version {version} iolog")
    }

    fn io(&mut self, to: &mut Out, io: &Io, info: &TraceInfo) -> io::Result<()> {
        self.seen.see(io);
        let Some(action) = action(io.kind) else {
            return Ok(());
        };
        if io.kind != Kind::Flush && io.length == Bytes::ZERO {
            self.empty += 1;
            return Ok(());
        }
        let us = (io.arrival.0 / 1_000).saturating_add(1);
        let file = self.file(to, us, io.space, info)?;
        if io.kind == Kind::Flush {
            self.at(to, us, &file)?;
            return writeln!(to, "{file} {action} 0 0");
        }
        self.cut += u64::from(io.length > LONGEST);
        let (mut offset, end) = (io.offset, io.end());
        while offset < end {
            let length = end.saturating_sub(offset).min(LONGEST);
            self.at(to, us, &file)?;
            writeln!(to, "{file} {action} {} {}", offset.0, length.0)?;
            offset += length;
        }
        Ok(())
    }

    fn end(&mut self, to: &mut Out) -> io::Result<()> {
        for file in self.files.values() {
            if self.version == Version::Three {
                write!(to, "{} ", self.last_us)?;
            }
            writeln!(to, "{file} close")?;
        }
        Ok(())
    }
}
