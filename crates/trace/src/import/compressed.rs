//! The bytes of a file, unpacked as they are read, of which the beginning can be looked at first.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::{Place, TraceError};

/// The most bytes that can be looked at ahead.
pub const BUFFER: usize = 1 << 20;

/// The buffer's length unless more is looked at ahead: what stays in a core's cache until it is taken.
const BUFFER_FIRST: usize = 256 << 10;

/// The longest line. Longer ones are not from a trace, and would have to be held in memory.
pub const LINE_MAX: usize = 64 << 10;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// One file of a trace, or standard input.
pub struct Input {
    name: String,
    packing: Packing,
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// The error that ended it, reported once what came before has been taken.
    broken: Option<TraceError>,
    /// Unpacked bytes that lie before `start`.
    passed: u64,
    /// Lines that lie before `start`.
    lines: u64,
}

/// First bytes and names of the packed formats that are not supported.
const FOREIGN: [(&[u8], &str); 5] = [
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"\x04\x22\x4d\x18", "lz4"),
];

impl Input {
    /// The file at `path`; standard input for `-`.
    ///
    /// # Errors
    /// [`TraceError`] when it cannot be read, or is packed in a way that we do not unpack.
    pub fn open(path: &Path) -> Result<Input, TraceError> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            return Input::new(Box::new(io::stdin()), "standard input");
        }
        let broken = |source| TraceError::Io { file: name.clone(), source };
        if path.is_dir() {
            return Err(broken(io::Error::other(
                "is a directory; name the files of the trace in it",
            )));
        }
        let file = File::open(path).map_err(broken)?;
        Input::new(Box::new(file), &name)
    }

    /// Reads from `reader`, which errors call `name`.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn new(mut reader: Box<dyn Read + Send>, name: &str) -> Result<Input, TraceError> {
        let broken = |source| TraceError::Io { file: name.to_owned(), source };
        let mut head = [0; 8];
        let mut have = 0;
        while have < head.len() {
            match reader.read(&mut head[have..]) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(broken(e)),
            }
        }
        let head = head[..have].to_vec();
        if let Some((_, what)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
            let reason = format!("is packed with {what}; unpack it, or pack it with gzip or zstd");
            return Err(TraceError::Malformed {
                file: name.to_owned(),
                place: Place::Whole,
                reason,
            });
        }
        let packing = match head.as_slice() {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            // A frame that holds no data, as `pzstd` puts in front.
            [kind, 0x2a, 0x4d, 0x18, ..] if *kind & 0xf0 == 0x50 => Packing::Zstd,
            _ => Packing::Plain,
        };
        let whole = Cursor::new(head).chain(reader);
        let reader: Box<dyn Read + Send> = match packing {
            Packing::Plain => Box::new(whole),
            Packing::Gzip => Box::new(MultiGzDecoder::new(whole)),
            Packing::Zstd => Box::new(zstd::Decoder::new(whole).map_err(broken)?),
        };
        Ok(Input {
            name: name.to_owned(),
            packing,
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
            broken: None,
            passed: 0,
            lines: 0,
        })
    }

    /// The file as the user named it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True when it is not packed, so that its bytes are those of the file.
    pub fn is_plain(&self) -> bool {
        self.packing == Packing::Plain
    }

    /// Unpacked bytes that have been taken.
    pub fn position(&self) -> u64 {
        self.passed
    }

    /// Lines that have been taken.
    pub fn line_number(&self) -> u64 {
        self.lines
    }

    /// True when it broke before its end. What [`Input::peek`] gives last may be cut off in its middle then.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// The next bytes without taking them: `most` (at most [`BUFFER`]), or fewer when the file ends before, or breaks.
    ///
    /// # Errors
    /// [`TraceError`] when there are none because they cannot be read or unpacked.
    pub fn peek(&mut self, most: usize) -> Result<&[u8], TraceError> {
        let most = most.min(BUFFER);
        while self.end - self.start < most && self.more() {}
        if self.end == self.start
            && let Some(error) = self.broken.take()
        {
            return Err(error);
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + most)])
    }

    /// The bytes that were read and not taken yet, without reading on.
    pub fn ahead(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes `n` bytes that have been looked at.
    pub fn take(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.passed += n as u64;
    }

    /// The next line without its end; `None` behind the last. A line beyond [`LINE_MAX`] is passed over, and is an
    /// error.
    ///
    /// # Errors
    /// [`TraceError`] when it cannot be read or unpacked, and [`LineError::TooLong`].
    pub fn line(&mut self) -> Result<Option<&[u8]>, LineError> {
        let mut searched = 0;
        let mut long = false;
        loop {
            let have = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', &have[searched..]) {
                let length = searched + at;
                let from = self.start;
                self.take(length + 1);
                return self.whole(from, length, long);
            }
            searched = have.len();
            if searched > LINE_MAX {
                self.take(searched);
                (searched, long) = (0, true);
            }
            if !self.more() {
                // The rest of a line cut off by a read error must not be taken for a line.
                if let Some(error) = self.broken.take() {
                    self.take(searched);
                    return Err(LineError::Broken(error));
                }
                let from = self.start;
                self.take(searched);
                return if searched == 0 && !long {
                    Ok(None)
                } else {
                    self.whole(from, searched, long)
                };
            }
        }
    }

    fn whole(
        &mut self,
        from: usize,
        length: usize,
        long: bool,
    ) -> Result<Option<&[u8]>, LineError> {
        self.lines += 1;
        if long || length > LINE_MAX {
            return Err(LineError::TooLong);
        }
        let line = &self.buffer[from..from + length];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Reads on; false when there is no more, or no room.
    fn more(&mut self) -> bool {
        if self.end == self.buffer.len() && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let longer = (2 * self.buffer.len()).clamp(BUFFER_FIRST, BUFFER + LINE_MAX);
            self.buffer.resize(longer, 0);
        }
        while !self.ended && self.end < self.buffer.len() {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    self.end += n;
                    return true;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.broken = Some(self.error(e));
                    self.ended = true;
                }
            }
        }
        false
    }

    fn error(&self, source: io::Error) -> TraceError {
        let file = self.name.clone();
        let what = match self.packing {
            Packing::Plain => return TraceError::Io { file, source },
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        };
        let place = Place::Byte(self.passed + (self.end - self.start) as u64);
        let reason = if source.kind() == io::ErrorKind::UnexpectedEof {
            format!(
                "the {what} data ends there, in the middle: the file is cut off; fetch it again"
            )
        } else {
            format!("the {what} data cannot be unpacked beyond ({source}); fetch the file again")
        };
        TraceError::Malformed { file, place, reason }
    }
}

/// Why there is no line.
#[derive(Debug)]
pub enum LineError {
    /// It is longer than [`LINE_MAX`], and was passed over.
    TooLong,
    /// The file cannot be read on.
    Broken(TraceError),
}
