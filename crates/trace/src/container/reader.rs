//! A file into I/Os.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use block::Nanos;

use super::checksums::Checksums;
use super::decode::GroupReader;
use super::label::{Label, VERSION};
use super::summary::{Group, KEY, KEY_FRONT, Summary};
use super::thrift::{Thrift, kind};
use crate::{BATCH, Io, Place, Source, TraceError, TraceInfo};

/// Batches that are decoded ahead.
const AHEAD: usize = 4;

/// Rows that a group may have: more than any version writes, and no more than memory bears.
const GROUP_MAX: u64 = 4 << 20;

/// Message from the decoding thread.
enum Message {
    /// The next I/Os, one at least.
    Ios(Vec<Io>),
    /// This many could not be read and are left out.
    Skipped(u64),
    /// There are no more.
    End,
}

type Batch = Result<Message, TraceError>;

/// Reads a file of ours, row group after row group. Decoding is done by a thread of its own, a few batches ahead.
pub struct Reader {
    file: String,
    info: TraceInfo,
    ios: u64,
    stage: Stage,
}

/// How far a reader is.
enum Stage {
    /// Nothing was asked for.
    Ready(Box<Decoder>),
    /// Batches come.
    Running(Receiver<Batch>),
    /// All came, or an error.
    Over,
}

impl Reader {
    /// Opens a file, and checks its label and its footer.
    ///
    /// # Errors
    /// When it cannot be read, is none of ours, of a newer version, not whole, or damaged.
    pub fn open(path: &Path) -> Result<Reader, TraceError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Reader::new(name, Box::new(file), Checksums::Fit),
            Err(source) => Err(TraceError::Io { file: name, source }),
        }
    }

    /// Opens a file that is in memory, which errors call `name`.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn of_bytes(
        name: &str,
        bytes: Vec<u8>,
        checksums: Checksums,
    ) -> Result<Reader, TraceError> {
        Reader::new(name.to_owned(), Box::new(bytes), checksums)
    }

    fn new(
        file: String,
        opened: Box<dyn Pieces>,
        checksums: Checksums,
    ) -> Result<Reader, TraceError> {
        let summary = Opening { name: &file, file: &*opened, checksums }.all()?;
        let wanted = (0..summary.groups.len()).collect();
        let info = summary.info.into_owned();
        let decoder = Decoder {
            name: file.clone(),
            file: opened,
            groups: summary.groups,
            wanted,
            from: Nanos::ZERO,
            until: None,
            checksums,
            lenient: false,
        };
        Ok(Reader { file, info, ios: summary.ios, stage: Stage::Ready(Box::new(decoder)) })
    }

    /// I/Os in the whole file.
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// Only I/Os that arrive at `from` or later and, where it is given, before `until`; both since the origin, which
    /// stays what it is. Row groups without such are not read. To be said before the first I/O is asked for; later it
    /// does nothing.
    #[must_use]
    pub fn between(mut self, from: Nanos, until: Option<Nanos>) -> Reader {
        if let Stage::Ready(decoder) = &mut self.stage {
            decoder.from = from;
            decoder.until = until;
            let groups = decoder.groups.iter().enumerate();
            let within = groups.filter(|(_, group)| {
                group.last_ns >= from.0 && until.is_none_or(|until| group.first_ns < until.0)
            });
            decoder.wanted = within.map(|(number, _)| number).collect();
        }
        self
    }

    /// Leaves out what is damaged, a row group at a time, and counts it in [`TraceInfo::skipped_rows`]. To be said
    /// before the first I/O is asked for.
    #[must_use]
    pub fn lenient(mut self) -> Reader {
        if let Stage::Ready(decoder) = &mut self.stage {
            decoder.lenient = true;
        }
        self
    }

    fn running(&mut self) -> Result<Option<&Receiver<Batch>>, TraceError> {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Ready(decoder) => {
                let (to, from) = sync_channel(AHEAD);
                std::thread::Builder::new()
                    .name("trace reader".to_owned())
                    .spawn(move || decoder.run(&to))
                    .map_err(|source| TraceError::Io { file: self.file.clone(), source })?;
                Stage::Running(from)
            }
            other => other,
        };
        match &self.stage {
            Stage::Running(from) => Ok(Some(from)),
            _ => Ok(None),
        }
    }
}

impl Source for Reader {
    fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        loop {
            let Some(from) = self.running()? else {
                return Ok(());
            };
            match from.recv() {
                Ok(Ok(Message::Ios(ios))) => {
                    batch.extend_from_slice(&ios);
                    return Ok(());
                }
                Ok(Ok(Message::Skipped(ios))) => self.info.skipped_rows += ios,
                Ok(Ok(Message::End)) => self.stage = Stage::Over,
                Ok(Err(error)) => {
                    self.stage = Stage::Over;
                    return Err(error);
                }
                Err(_) => {
                    self.stage = Stage::Over;
                    let source =
                        io::Error::other("the thread that decodes it ended before its time");
                    return Err(TraceError::Io { file: self.file.clone(), source });
                }
            }
        }
    }

    fn info(&self) -> &TraceInfo {
        &self.info
    }
}

/// A file that is being opened.
struct Opening<'a> {
    name: &'a str,
    file: &'a dyn Pieces,
    checksums: Checksums,
}

impl Opening<'_> {
    /// All that is known without a row.
    fn all(&self) -> Result<Summary<'static>, TraceError> {
        let label = self.label()?;
        let tail = self.tail(&label)?;
        let summary = self.summary(&label, &tail)?;
        self.check(&label, &summary)?;
        Ok(summary)
    }

    fn label(&self) -> Result<Label, TraceError> {
        let length = self.length()?.min(Label::END as u64);
        let first = self.file.piece(0, length).map_err(|error| self.failed(error))?;
        let label = Label::parse(&first, self.checksums)
            .map_err(|(byte, reason)| self.wrong(byte, reason))?;
        if label.version > VERSION {
            return Err(self.wrong(8, newer(label.version)));
        }
        Ok(label)
    }

    /// Reads all that follows the last row group, and checks the file's length and the checksum.
    fn tail(&self, label: &Label) -> Result<Vec<u8>, TraceError> {
        let length = self.length()?;
        if label.file_bytes == 0 {
            return Err(self.wrong(length, "was never finished: its writer was stopped"));
        }
        if length != label.file_bytes {
            let should = label.file_bytes;
            let how = if length < should { "cut short" } else { "longer than it was" };
            return Err(
                self.wrong(length.min(should), format!("{how}: {length} bytes, and were {should}"))
            );
        }
        let at = label.tail_at;
        if at < Label::END as u64 || at > length {
            return Err(
                self.wrong(4, format!("the label says that the footer begins at byte {at}"))
            );
        }
        let tail = self.file.piece(at, length - at).map_err(|error| self.failed(error))?;
        if !self.checksums.fit(label.tail_crc32, &tail) {
            return Err(self.wrong(at, "the footer is damaged: its checksum does not fit"));
        }
        Ok(tail)
    }

    /// Parses our key in the footer.
    fn summary(&self, label: &Label, tail: &[u8]) -> Result<Summary<'static>, TraceError> {
        let wrong = |reason: &str| self.wrong(label.tail_at, reason);
        let keys = keys(tail).ok_or_else(|| wrong("does not end as a Parquet file does"))?;
        let Some((_, text)) = keys.iter().find(|(key, _)| *key == KEY.as_bytes()) else {
            let others = keys.iter().filter_map(|(key, _)| std::str::from_utf8(key).ok());
            let version = others.filter_map(|key| key.strip_prefix(KEY_FRONT)?.parse().ok()).max();
            return Err(wrong(
                &version.map_or_else(|| format!("the footer has no `{KEY}`"), newer),
            ));
        };
        serde_json::from_slice(text)
            .map_err(|error| wrong(&format!("the footer's `{KEY}`: {error}")))
    }

    /// Whether what is said of the row groups fits the file.
    fn check(&self, label: &Label, summary: &Summary<'_>) -> Result<(), TraceError> {
        let wrong = |reason: String| self.wrong(label.tail_at, format!("the footer: {reason}"));
        let (mut at, mut arrival, mut ios) = (Label::END as u64, 0, 0_u64);
        for (number, group) in summary.groups.iter().enumerate() {
            let end = group.at.checked_add(group.bytes).filter(|end| *end <= label.tail_at);
            let rows = (1..=GROUP_MAX).contains(&group.ios);
            let arrivals = arrival <= group.first_ns && group.first_ns <= group.last_ns;
            match end {
                Some(end) if group.at == at && rows && arrivals => at = end,
                _ => return Err(wrong(format!("row group {number} does not fit the file"))),
            }
            arrival = group.last_ns;
            ios = ios.saturating_add(group.ios);
        }
        if ios != summary.ios {
            return Err(wrong(format!(
                "{} I/Os are said, {ios} are in the row groups",
                summary.ios
            )));
        }
        Ok(())
    }

    fn length(&self) -> Result<u64, TraceError> {
        self.file.length().map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> TraceError {
        TraceError::Io { file: self.name.to_owned(), source }
    }

    fn wrong(&self, byte: u64, reason: impl ToString) -> TraceError {
        malformed(self.name, byte, reason)
    }
}

/// The pairs of names and values in a footer: field 5 of the bytes before its length and `PAR1`.
fn keys(tail: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let (rest, mark) = tail.split_last_chunk::<4>()?;
    let (rest, length) = rest.split_last_chunk::<4>()?;
    let begin = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
    if mark != super::label::PARQUET {
        return None;
    }
    let mut keys = Vec::new();
    Thrift::new(&rest[begin..]).fields(|thrift, (number, kind)| match number {
        5 if kind == kind::LIST => thrift.list(|thrift, _| {
            let mut pair: (&[u8], &[u8]) = (&[], &[]);
            thrift.fields(|thrift, (number, kind)| {
                match number {
                    1 if kind == kind::BINARY => pair.0 = thrift.binary()?,
                    2 if kind == kind::BINARY => pair.1 = thrift.binary()?,
                    _ => thrift.skip(kind)?,
                }
                Some(())
            })?;
            keys.push(pair);
            Some(())
        }),
        _ => thrift.skip(kind),
    })?;
    Some(keys)
}

fn newer(version: u32) -> String {
    format!(
        "is of version {version} of this format, and this drivescope reads {VERSION}: take a newer one"
    )
}

fn malformed(name: &str, byte: u64, reason: impl ToString) -> TraceError {
    TraceError::Malformed {
        file: name.to_owned(),
        place: Place::Byte(byte),
        reason: reason.to_string(),
    }
}

/// Source of a file's bytes.
trait Pieces: Send {
    /// How many there are.
    fn length(&self) -> io::Result<u64>;
    /// `length` of them from `at` on, which are there.
    fn piece(&self, at: u64, length: u64) -> io::Result<Vec<u8>>;
}

impl Pieces for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn piece(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }
}

impl Pieces for Vec<u8> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn piece(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let from = usize::try_from(at).map_err(io::Error::other)?;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let piece = self.get(from..).and_then(|rest| rest.get(..length));
        piece.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// State of the decoding thread.
struct Decoder {
    name: String,
    file: Box<dyn Pieces>,
    groups: Vec<Group>,
    wanted: Vec<usize>,
    from: Nanos,
    until: Option<Nanos>,
    checksums: Checksums,
    lenient: bool,
}

impl Decoder {
    /// Sends batch after batch until the receiver is gone; the end or an error is the last.
    fn run(&self, to: &SyncSender<Batch>) {
        for number in &self.wanted {
            let mut read = 0;
            let answer = match self.group(*number, &mut read, to) {
                Ok(true) => continue,
                Ok(false) => return,
                Err(TraceError::Malformed { .. }) if self.lenient => {
                    Ok(Message::Skipped(self.groups[*number].ios - read))
                }
                Err(error) => Err(error),
            };
            let over = answer.is_err();
            if to.send(answer).is_err() || over {
                return;
            }
        }
        // Whether it is still wanted does not matter any more.
        drop(to.send(Ok(Message::End)));
    }

    /// Sends the I/Os of one group, and counts those that were `read`; false when the receiver is gone.
    fn group(
        &self,
        number: usize,
        read: &mut u64,
        to: &SyncSender<Batch>,
    ) -> Result<bool, TraceError> {
        let group = &self.groups[number];
        let bytes = self
            .file
            .piece(group.at, group.bytes)
            .map_err(|source| TraceError::Io { file: self.name.clone(), source })?;
        let wrong = |reason: String| {
            malformed(&self.name, group.at, format!("row group {number}: {reason}"))
        };
        if !self.checksums.fit(group.crc32, &bytes) {
            return Err(wrong("damaged: its checksum does not fit".to_owned()));
        }
        let undecoded = |fault: &str| wrong(fault.to_owned());
        let rows = usize::try_from(group.ios).unwrap_or(usize::MAX);
        let mut reader = GroupReader::new(bytes, rows).map_err(undecoded)?;
        let mut last = Nanos(group.first_ns);
        loop {
            let mut ios = Vec::with_capacity(BATCH);
            reader.read(BATCH, &mut ios).map_err(undecoded)?;
            if ios.is_empty() {
                return Ok(true);
            }
            for io in &ios {
                if io.arrival < last || io.arrival.0 > group.last_ns {
                    return Err(wrong(format!(
                        "the I/O that arrived at {} ns is out of order",
                        io.arrival.0
                    )));
                }
                last = io.arrival;
            }
            *read += ios.len() as u64;
            self.cut(&mut ios);
            if !ios.is_empty() && to.send(Ok(Message::Ios(ios))).is_err() {
                return Ok(false);
            }
        }
    }

    /// Leaves the I/Os that are wanted.
    fn cut(&self, ios: &mut Vec<Io>) {
        if let Some(until) = self.until {
            ios.truncate(ios.partition_point(|io| io.arrival < until));
        }
        ios.drain(..ios.partition_point(|io| io.arrival < self.from));
    }
}
