//! The targets: one for each format of a trace, one for detecting the format, and those of [`crate::results`] and
//! [`crate::records`].

use std::io::{Cursor, Write as _};
use std::sync::OnceLock;

use trace::container::{self, Checksums};
use trace::import::{self, AddressUnit, Format, Options, ReadFlag, SpaceRule, TimeUnit};

use crate::check::{self, Read};
use crate::records::Records;
use crate::results::Results;

/// A reader that the bytes are given to.
#[derive(Clone, Copy)]
pub enum Target {
    /// The reader of one format.
    Format(Format),
    /// Whichever reader is found for them.
    Detection,
    /// A reader of what other programs print or are asked.
    Results(Results),
    /// A reader of recorded runs.
    Records(Records),
}

impl Target {
    /// The one that the environment names.
    pub fn named() -> Target {
        static NAMED: OnceLock<Target> = OnceLock::new();
        *NAMED.get_or_init(|| {
            let name = std::env::var("DRIVESCOPE_FUZZ").unwrap_or_default();
            let results = Results::ALL.into_iter().find(|(own, _)| *own == name);
            if let Some((_, results)) = results {
                return Target::Results(results);
            }
            let records = Records::ALL.into_iter().find(|(own, _)| *own == name);
            if let Some((_, records)) = records {
                return Target::Records(records);
            }
            match name.parse() {
                Ok(format) => Target::Format(format),
                Err(_) if name == "detection" => Target::Detection,
                Err(_) if name == "list" => {
                    let names = Format::ALL.map(Format::word).join("\n");
                    let results = Results::ALL.map(|(name, _)| name).join("\n");
                    let records = Records::ALL.map(|(name, _)| name).join("\n");
                    let all = format!("{names}\ndetection\n{results}\n{records}");
                    let written = writeln!(std::io::stdout(), "{all}");
                    std::process::exit(i32::from(written.is_err()))
                }
                Err(error) => panic!("DRIVESCOPE_FUZZ: {error}, detection, list"),
            }
        })
    }

    /// Reads `data` in the ways that a user can ask for, and panics when a promise is broken.
    pub fn run(self, data: &[u8]) {
        match self {
            Target::Format(Format::Container) => container(data),
            Target::Format(format) => strict_and_lenient(data, &options(data, Some(format))),
            Target::Detection => strict_and_lenient(data, &options(data, None)),
            Target::Results(results) => results.run(data),
            Target::Records(records) => records.run(data),
        }
    }
}

/// As it is, and as if every checksum fitted: few inputs would get past one.
fn container(data: &[u8]) {
    for checksums in [Checksums::Fit, Checksums::Ignored] {
        let open = || container::Reader::of_bytes("fuzz", data.to_vec(), checksums);
        let (Ok(mut strict), Ok(lenient)) = (open(), open()) else {
            continue;
        };
        let said = strict.ios();
        let strict = check::read(&mut strict);
        assert!(strict.ios <= said, "{} I/Os of {said}", strict.ios);
        assert!(strict.error.is_some() || strict.ios == said, "{} I/Os of {said}", strict.ios);
        let before = strict.info.skipped_rows;
        let lenient = check::read(&mut lenient.lenient());
        assert!(lenient.error.is_none() && lenient.ios >= strict.ios, "{:?}", lenient.error);
        assert_eq!(lenient.ios + (lenient.info.skipped_rows - before), said);
    }
}

/// A lenient reading accepts all that a strict one accepts; only the lenient one leaves rows out.
fn strict_and_lenient(data: &[u8], options: &Options) {
    let strict = all(data, &Options { lenient: false, ..options.clone() });
    let lenient = all(data, &Options { lenient: true, ..options.clone() });
    if let Some(strict) = &strict {
        assert_eq!(strict.info.skipped_rows, 0, "a strict reading left rows out");
    }
    if let (Some(Read { ios, error: None, .. }), Some(lenient)) = (&strict, &lenient) {
        assert_eq!(*ios, lenient.ios, "a lenient reading of a file without faults");
        assert!(lenient.error.is_none(), "{:?}", lenient.error);
    }
    // Of the kernel's events, those that are read after a fault can take I/Os back: an I/O issued without an arrival
    // counts as long as the device is not known to record arrivals.
    let rows = |read: &Read| read.info.spaces.iter().all(|space| space.tally.events.is_empty());
    if let (Some(strict), Some(lenient)) = (&strict, &lenient)
        && rows(lenient)
    {
        assert!(
            strict.ios <= lenient.ios || lenient.error.is_some(),
            "{} {}",
            strict.ios,
            lenient.ios
        );
    }
}

fn all(data: &[u8], options: &Options) -> Option<Read> {
    let bytes = Box::new(Cursor::new(data.to_vec()));
    let mut source = import::read(bytes, "fuzz", options).ok()?;
    Some(check::read(&mut *source))
}

/// Options for `data`, of which each flag is given now and then: by a sum of the bytes, so that a file of the corpus
/// is a file as it lies on a disk, and is read in one way each time.
fn options(data: &[u8], format: Option<Format>) -> Options {
    let sum = data
        .iter()
        .fold(data.len() as u64, |sum, byte| sum.wrapping_mul(0x100_0000_01b3) ^ u64::from(*byte));
    let mut dice = sum ^ sum >> 29;
    let mut roll = |sides: u64| {
        let rolled = dice % sides;
        dice /= sides;
        usize::try_from(rolled).unwrap_or(0)
    };
    Options {
        lenient: false,
        format,
        time_unit: TimeUnit::ALL.get(roll(10)).copied(),
        read_flag: ReadFlag::ALL.get(roll(4)).copied(),
        address_unit: AddressUnit::ALL.get(roll(4)).copied(),
        spaces: SpaceRule::ALL.get(roll(9)).copied(),
        columns: COLUMNS.get(roll(8)).and_then(|map| map.parse().ok()),
        sort: roll(2) == 0,
        ops: OPS.get(roll(8)).and_then(|names| names.parse().ok()),
    }
}

/// Names of operations.
const OPS: [&str; 2] = ["2a=write,28=read", "1=write,0=read,W=-"];

/// Column maps, for tables that have no head and for those that have another.
const COLUMNS: [&str; 4] = [
    "time:us,op,offset:sectors,length",
    "space,time:s,-,length,offset,op",
    "time:ns=1,completed:ns=2,op:0=3,offset=4,length=5,pid,cpu",
    "issued,latency,op=type,offset=lba,length=size",
];
