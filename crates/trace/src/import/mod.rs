//! The formats of other tools, detected by content.
//!
//! A file is unpacked as it is read ([`compressed`]), and its beginning is examined (`sample`). That determines the
//! format (`detect`) and settles what the format leaves open (`evidence`); if it does not, the error names the flag
//! that does ([`options`]). Each format then makes records (`records`), each file puts its own in order (`stream`), and
//! all files become one trace (`join`). The kernel's own recordings are read as events instead ([`blktrace`],
//! [`blkparse`]).

pub mod blkparse;
pub mod blktrace;
pub mod columns;
pub mod compressed;
pub mod ops;
pub mod options;

mod choices;
mod csv;
mod dates;
mod detect;
mod disksim;
mod etw;
mod evidence;
mod fields;
mod fio;
mod fiu;
mod ftrace;
mod join;
mod reading;
mod records;
mod resorted;
mod sample;
mod snoop;
mod spread;
mod stream;
mod table;
mod tables;
mod vscsi;
mod wpa;

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

pub use choices::{AddressUnit, Format, ReadFlag, SpaceRule, TimeUnit};
pub use columns::Columns;
pub use ops::Ops;
pub use options::Options;

use crate::container;
use crate::{Source, TraceError, TraceInfo};
use blkparse::Blkparse;
use compressed::Input;
use join::{From, Joined, Joining, Waiting};
use reading::Reading;
use records::{Record, Told, Trouble};
use resorted::Resorted;
use sample::Sample;
use stream::Handling;

/// How many files' beginnings are kept to settle what the format leaves open. More would say no more.
const SETTLED_BY: usize = 16;

/// Opens `files` as one trace, whatever format they have; our own container too. `-` is standard input.
///
/// # Errors
/// [`TraceError`] when one cannot be read, when they are of several formats, or when how to read them is not known.
pub fn open(files: &[PathBuf], options: &Options) -> Result<Box<dyn Source>, TraceError> {
    let files = whole_recordings(files)?;
    let mut found = Found::default();
    for path in &files {
        let input = Input::open(path)?;
        // A pipe gives its bytes once.
        let again = path.metadata().is_ok_and(|file| file.is_file()).then(|| path.clone());
        found.add(input, again, files.len() > 1, options)?;
    }
    found.source(options)
}

/// `files` with all of blktrace's files where one of a recording is named, or the name that they share.
fn whole_recordings(files: &[PathBuf]) -> Result<Vec<PathBuf>, TraceError> {
    let mut whole: Vec<PathBuf> = Vec::with_capacity(files.len());
    for path in files {
        if path == Path::new("-") {
            whole.push(path.clone());
            continue;
        }
        let siblings = blktrace::siblings(path)
            .map_err(|source| TraceError::Io { file: path.display().to_string(), source })?;
        whole.extend(
            siblings.into_iter().filter(|sibling| !whole.contains(sibling)).collect::<Vec<_>>(),
        );
    }
    Ok(whole)
}

/// Opens what `reader` gives, which errors call `name`, as a trace in one of the formats that need no more than
/// bytes in their order: all but our own container.
///
/// # Errors
/// As [`open`].
pub fn read(
    reader: Box<dyn Read + Send>,
    name: &str,
    options: &Options,
) -> Result<Box<dyn Source>, TraceError> {
    let mut found = Found::default();
    found.add(Input::new(reader, name)?, None, false, options)?;
    found.source(options)
}

/// The files of a trace, of one format.
#[derive(Default)]
struct Found {
    format: Option<Format>,
    files: Vec<(String, From)>,
    /// The beginnings of the first of them.
    samples: Vec<Sample>,
}

impl Found {
    /// One more file, which can be opened again at `path`. An empty one is passed over when it is one of several.
    fn add(
        &mut self,
        mut input: Input,
        path: Option<PathBuf>,
        several: bool,
        options: &Options,
    ) -> Result<(), TraceError> {
        let sample = Sample::of(&mut input)?;
        if several && sample.bytes().is_empty() {
            return Ok(());
        }
        let format = detect::format(&sample, options)?;
        if let Some(before) = self.format.filter(|before| *before != format) {
            return Err(TraceError::Unsuited(format!(
                "{} has the format {format}, and the files before it have {before}; import them one by one",
                input.name()
            )));
        }
        self.format = Some(format);
        let name = input.name().to_owned();
        self.files.push((name, path.map_or_else(|| From::Input(Box::new(input)), From::Path)));
        if self.samples.len() < SETTLED_BY {
            self.samples.push(sample);
        }
        Ok(())
    }

    fn source(self, options: &Options) -> Result<Box<dyn Source>, TraceError> {
        let Some(format) = self.format else {
            return Err(TraceError::Unsuited("no file is named that holds anything".to_owned()));
        };
        detect::check(format, options)?;
        if format == Format::Container {
            return self.container(options.lenient);
        }
        if format == Format::Blktrace {
            let inputs = self.files.into_iter().map(|(_, from)| from.input());
            let inputs: Vec<Input> = inputs.collect::<Result<_, _>>()?;
            return Ok(Box::new(blktrace::open(inputs, options.lenient)?));
        }
        if format == Format::Blkparse {
            return self.events("blkparse", blkparse::open, options);
        }
        if format == Format::Ftrace {
            return self.events("ftrace or perf", ftrace::open, options);
        }
        let reading = detect::settle(format, &self.samples, options)?;
        let several = self.files.len() > 1;
        let mut waiting = Vec::with_capacity(self.files.len());
        for (name, mut from) in self.files {
            let first = if several { first_arrival(&mut from, &reading)? } else { 0 };
            waiting.push(Waiting { name, first, from });
        }
        let info = TraceInfo {
            source: reading.source,
            resolution: reading.resolution,
            settled: reading.settled,
            ..TraceInfo::default()
        };
        let joining = Joining {
            opener: reading.opener,
            handling: Handling {
                lenient: options.lenient,
                unordered: options.sort,
                spread: reading.spread,
            },
            rule: options.spaces.unwrap_or(reading.rule),
            unix_offset: reading.unix_offset,
        };
        let joined = Joined::new(info, waiting, joining);
        if options.sort {
            return Ok(Box::new(Resorted::new(joined, reading.spread, reading.unix_offset)));
        }
        Ok(Box::new(joined))
    }

    /// Opens the output of `tool`: of one recording, since the times of each have an origin of their own.
    fn events(
        mut self,
        tool: &str,
        open: fn(Input, bool) -> Blkparse,
        options: &Options,
    ) -> Result<Box<dyn Source>, TraceError> {
        match (self.files.pop(), self.files.is_empty()) {
            (Some((_, from)), true) => Ok(Box::new(open(from.input()?, options.lenient))),
            _ => Err(TraceError::Unsuited(format!(
                "what {tool} printed of several recordings is not read as one; name one"
            ))),
        }
    }

    /// Our own container, whose index is at its end, so that it is read at its place.
    fn container(self, lenient: bool) -> Result<Box<dyn Source>, TraceError> {
        match self.files.as_slice() {
            [(_, From::Path(path))] => {
                let reader = container::Reader::open(path)?;
                Ok(Box::new(if lenient { reader.lenient() } else { reader }))
            }
            [(name, From::Input(_))] => Err(TraceError::Unsuited(format!(
                "{name} is a trace of drivescope's, which is read from its end; keep it in a file, and name that"
            ))),
            _ => Err(TraceError::Unsuited(
                "several traces of drivescope's are not read as one; name one".to_owned(),
            )),
        }
    }
}

/// The earliest arrival in the beginning of a file; never, when there is none.
fn first_arrival(from: &mut From, reading: &Reading) -> Result<u64, TraceError> {
    let sample = match from {
        From::Input(input) => Sample::of(input)?,
        From::Path(path) => Sample::of(&mut Input::open(path)?)?,
    };
    let beginning = Input::new(Box::new(Cursor::new(sample.bytes().to_vec())), &sample.file)?;
    let mut records = (reading.opener)(beginning)?;
    let mut told = Told::default();
    let mut first = u64::MAX;
    for _ in 0..stream::WINDOW {
        match records.next(&mut told) {
            Ok(Record::End) | Err(Trouble::Broken(_)) => break,
            Ok(Record::Io(io)) => first = first.min(io.arrival.0),
            // The error is reported when the record is read in its place.
            Ok(Record::Ignored | Record::Blank) | Err(Trouble::Record { .. }) => {}
        }
    }
    Ok(first)
}
