//! flashbench's command line.

use std::ops::Range;

use block::Bytes;
use thiserror::Error;

use super::lengths::smallest;
use super::order::{BITS_MAX, BITS_MIN};

/// Output of `--help`.
pub const HELP: &str = "\
Usage: flashbench [OPTION]... DEVICE

Runs flashbench's tests on DEVICE, a block device or a file. Sizes are whole
numbers of bytes. Tests run in the order -s, -f, -a, -O, -i, -p.

Tests that read:
  -a, --align              reads before, across and after powers of two
  -s, --scatter            reads all over the beginning of the device
      --scatter-order=N      2^N places, 8 to 16 [default: 9]
      --scatter-span=N       N blocks a read [default: 1]
  -i, --interval           reads by size
      --interval-order=N     N sizes from 512 bytes on, 1 to 16 [default: 12]

Tests that overwrite what DEVICE holds:
  -O, --open-au            writes to several erase blocks in turns
      --open-au-nr=N         N erase blocks [default: 2]
      --offset=N             where they begin [default: 16 MiB, rounded up]
  -f, --find-fat           writes each of the first erase blocks
  -F, --fat-nr=N             N erase blocks [default: 6]
  -p, --program            writes and reads one erase block in eight ways

For all of them:
  -e, --erasesize=N        size of an erase block [default: 4194304]
  -b, --blocksize=N        size of a read, or of the smallest write
                           [default: 16384]
  -c, --count=N            repetitions of -a and -s, places of -i [default: 8]
  -r, --random             -O and -f write erase blocks out of order
  -o, --out=FILE           where the points of -s go; one that is there is
                           written over [default: stdout]
  -v, --verbose            prints more on stderr
  -h, --help               prints this
";

/// Blocks that a size is a multiple of, whatever the device.
const SECTOR: u64 = 512;
/// Largest size of anything.
const SIZE_MAX: u64 = 1 << 40;

/// One of flashbench's tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    /// `-s`: reads all over the beginning.
    Scatter,
    /// `-f`: writes to the first erase blocks.
    FindFat,
    /// `-a`: reads around boundaries.
    Align,
    /// `-O`: writes to several erase blocks in turns.
    OpenAu,
    /// `-i`: reads by size.
    Interval,
    /// `-p`: one erase block in eight ways.
    Program,
}

impl Test {
    /// All of them, in the order in which they run.
    pub const ALL: [Test; 6] =
        [Test::Scatter, Test::FindFat, Test::Align, Test::OpenAu, Test::Interval, Test::Program];

    /// The short option.
    pub fn flag(self) -> &'static str {
        match self {
            Test::Scatter => "-s",
            Test::FindFat => "-f",
            Test::Align => "-a",
            Test::OpenAu => "-O",
            Test::Interval => "-i",
            Test::Program => "-p",
        }
    }

    /// True when it overwrites what the device holds.
    pub fn writes(self) -> bool {
        matches!(self, Test::FindFat | Test::OpenAu | Test::Program)
    }
}

/// Requested tests and options, with flashbench's defaults for the rest. Sizes and offsets in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The device or file, as typed.
    pub device: String,
    /// Output file for the points of `-s`; `None`, or `-` as typed, is stdout.
    pub out: Option<String>,
    /// `-s`.
    pub scatter: bool,
    /// `--scatter-order`: 2^N places, 8 to 16.
    pub scatter_order: u32,
    /// `--scatter-span`: blocks a read, from 1.
    pub scatter_span: u64,
    /// `-f`.
    pub find_fat: bool,
    /// `--fat-nr`: erase blocks, from 1.
    pub fat_nr: u64,
    /// `-a`.
    pub align: bool,
    /// `-O`.
    pub open_au: bool,
    /// `--open-au-nr`: erase blocks, from 1.
    pub open_au_nr: u64,
    /// `--offset`: where the erase blocks of `-O` begin; [`Options::first_au`] when `None`.
    pub offset: Option<u64>,
    /// `-i`.
    pub interval: bool,
    /// `--interval-order`: sizes, 1 to 16. flashbench's own default, 0, reads beyond its arrays; this one is 12.
    pub interval_order: u32,
    /// `-p`.
    pub program: bool,
    /// `-r`.
    pub random: bool,
    /// `-v`, as often as it was given.
    pub verbose: u32,
    /// `-c`, from 1.
    pub count: u32,
    /// `-b`: a multiple of 512.
    pub blocksize: u64,
    /// `-e`: a multiple of 512.
    pub erasesize: u64,
}

impl Default for Options {
    /// flashbench's defaults: no test, no device.
    fn default() -> Options {
        Options {
            device: String::new(),
            out: None,
            scatter: false,
            scatter_order: 9,
            scatter_span: 1,
            find_fat: false,
            fat_nr: 6,
            align: false,
            open_au: false,
            open_au_nr: 2,
            offset: None,
            interval: false,
            interval_order: 12,
            program: false,
            random: false,
            verbose: 0,
            count: 8,
            blocksize: 16_384,
            erasesize: 4 << 20,
        }
    }
}

/// Extent of the writes of destructive tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes {
    /// The tests.
    pub tests: Vec<Test>,
    /// All bytes that they will write; places written again count again.
    pub bytes: Bytes,
    /// From the first byte that they touch to behind the last.
    pub span: Range<u64>,
}

/// Reason why a command line is not valid for flashbench.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UsageError {
    /// `--help`: no error; [`HELP`] is to be printed on stdout.
    #[error("help was asked for")]
    Help,
    /// An option that there is not.
    #[error("{0}: there is no such option; see --help")]
    Unknown(String),
    /// The beginning of several options.
    #[error("{given}: may mean {}; write one of them out", meant.join(" or "))]
    Ambiguous {
        /// As typed.
        given: String,
        /// Options that it may mean.
        meant: Vec<String>,
    },
    /// An option whose value is missing.
    #[error("{0}: its value is missing")]
    NoValue(String),
    /// A value for an option that takes none.
    #[error("{0}: takes no value")]
    Value(String),
    /// A value that cannot be.
    #[error("{option}={value}: {why}")]
    Wrong {
        /// The option.
        option: &'static str,
        /// As typed.
        value: String,
        /// Reason why it is wrong.
        why: String,
    },
    /// No device.
    #[error("no device is named; write it behind the options")]
    NoDevice,
    /// More than one device.
    #[error("two devices are named, {0} and {1}; one can be tested at a time")]
    TwoDevices(String, String),
    /// No test.
    #[error("no test is asked for; give at least one of -a, -s, -i, -O, -f, -p")]
    NoTest,
}

/// Long option, its letter, and whether a value belongs to it. Those without a short form have a character of
/// [`NOT_SHORT`]; `findfat` is the name of `find-fat` until 2012.
const LONG: [(&str, char, bool); 20] = [
    ("out", 'o', true),
    ("scatter", 's', false),
    ("scatter-order", 'S', true),
    ("scatter-span", '$', true),
    ("align", 'a', false),
    ("interval", 'i', false),
    ("interval-order", 'I', true),
    ("find-fat", 'f', false),
    ("findfat", 'f', false),
    ("fat-nr", 'F', true),
    ("open-au", 'O', false),
    ("open-au-nr", '0', true),
    ("offset", 't', true),
    ("random", 'r', false),
    ("verbose", 'v', false),
    ("count", 'c', true),
    ("blocksize", 'b', true),
    ("erasesize", 'e', true),
    ("program", 'p', false),
    ("help", 'h', false),
];

/// Characters in [`LONG`] that are not short options.
const NOT_SHORT: [char; 5] = ['S', '$', 'I', '0', 't'];

impl Options {
    /// Reads the arguments behind the program's name, as `getopt_long(3)` does: short options may be joined, their
    /// values too; long ones may be cut as long as they are unambiguous; the device may be anywhere; arguments after
    /// `--` are not options.
    ///
    /// # Errors
    /// [`UsageError`]. Values that flashbench would take for 0 or cut, such as `4M`, are refused.
    pub fn parse<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Result<Options, UsageError> {
        let words: Vec<S> = args.into_iter().collect();
        let mut words = words.iter().map(AsRef::as_ref);
        let (mut options, mut devices) = (Options::default(), Vec::new());
        while let Some(word) = words.next() {
            if word == "--" {
                devices.extend(words.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                options.take_long(long, &mut words)?;
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                options.take_letters(letters, &mut words)?;
            } else {
                devices.push(word);
            }
        }
        match devices[..] {
            [] => return Err(UsageError::NoDevice),
            [device] => options.device = device.to_owned(),
            [a, b, ..] => return Err(UsageError::TwoDevices(a.to_owned(), b.to_owned())),
        }
        options.check()?;
        Ok(options)
    }

    fn take_long<'a>(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), UsageError> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let (long, letter, valued) = long(name)?;
        match (valued, value) {
            (true, Some(value)) => self.take_value(letter, value),
            (true, None) => {
                let value = rest.next().ok_or_else(|| UsageError::NoValue(format!("--{long}")))?;
                self.take_value(letter, value)
            }
            (false, Some(_)) => Err(UsageError::Value(format!("--{long}"))),
            (false, None) => self.take(letter),
        }
    }

    fn take_letters<'a>(
        &mut self,
        letters: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), UsageError> {
        for (at, letter) in letters.char_indices() {
            let known = LONG.iter().find(|(_, known, _)| *known == letter);
            let Some((_, _, valued)) = known.filter(|_| !NOT_SHORT.contains(&letter)) else {
                return Err(UsageError::Unknown(format!("-{letter}")));
            };
            if *valued {
                let joined = &letters[at + letter.len_utf8()..];
                let value = if joined.is_empty() { rest.next() } else { Some(joined) };
                let value = value.ok_or_else(|| UsageError::NoValue(format!("-{letter}")))?;
                return self.take_value(letter, value);
            }
            self.take(letter)?;
        }
        Ok(())
    }

    fn take(&mut self, letter: char) -> Result<(), UsageError> {
        match letter {
            's' => self.scatter = true,
            'a' => self.align = true,
            'i' => self.interval = true,
            'f' => self.find_fat = true,
            'O' => self.open_au = true,
            'p' => self.program = true,
            'r' => self.random = true,
            'v' => self.verbose += 1,
            _ => return Err(UsageError::Help),
        }
        Ok(())
    }

    fn take_value(&mut self, letter: char, value: &str) -> Result<(), UsageError> {
        let orders = u64::from(BITS_MIN)..=u64::from(BITS_MAX);
        match letter {
            'o' => self.out = Some(value.to_owned()),
            'S' => self.scatter_order = number("--scatter-order", value, orders)? as u32,
            '$' => self.scatter_span = number("--scatter-span", value, 1..=1 << 20)?,
            'I' => self.interval_order = number("--interval-order", value, 1..=16)? as u32,
            'F' => self.fat_nr = number("--fat-nr", value, 1..=1 << 20)?,
            '0' => self.open_au_nr = number("--open-au-nr", value, 1..=65_535)?,
            't' => self.offset = Some(offset(value)?),
            'c' => self.count = number("--count", value, 1..=1 << 20)? as u32,
            'b' => self.blocksize = size("--blocksize", value)?,
            _ => self.erasesize = size("--erasesize", value)?,
        }
        Ok(())
    }

    /// Checks the options against each other.
    fn check(&self) -> Result<(), UsageError> {
        if self.tests().is_empty() {
            return Err(UsageError::NoTest);
        }
        let units = [self.open_au, self.find_fat].contains(&true);
        let wrong = |option, value: u64, why: &str| {
            Err(UsageError::Wrong { option, value: value.to_string(), why: why.to_owned() })
        };
        if units && self.blocksize > self.erasesize {
            return wrong("--blocksize", self.blocksize, "is more than the erase block");
        }
        let places = self.erasesize / smallest(self.erasesize, self.blocksize);
        if units && self.random && places >= 1 << BITS_MAX {
            let why = "--random takes fewer than 65536 blocks in an erase block";
            return wrong("--blocksize", self.blocksize, why);
        }
        if self.align && !self.blocksize.is_multiple_of(2 * SECTOR) {
            return wrong(
                "--blocksize",
                self.blocksize,
                "-a reads halves of it, of 512 bytes each",
            );
        }
        Ok(())
    }

    /// The tests that were asked for, in the order in which they run.
    pub fn tests(&self) -> Vec<Test> {
        let asked = |test: &Test| match test {
            Test::Scatter => self.scatter,
            Test::FindFat => self.find_fat,
            Test::Align => self.align,
            Test::OpenAu => self.open_au,
            Test::Interval => self.interval,
            Test::Program => self.program,
        };
        Test::ALL.into_iter().filter(asked).collect()
    }

    /// Offset of the first erase block of `-O`: `--offset`, or 16 MiB rounded up to whole erase blocks.
    pub fn first_au(&self) -> u64 {
        self.offset.unwrap_or_else(|| (16_u64 << 20).next_multiple_of(self.erasesize))
    }
}

/// The long option of that name, or the only one that begins so.
fn long(name: &str) -> Result<(&'static str, char, bool), UsageError> {
    if let Some(option) = LONG.iter().find(|(long, _, _)| *long == name) {
        return Ok(*option);
    }
    let begins: Vec<_> = LONG.iter().filter(|(long, _, _)| long.starts_with(name)).collect();
    match begins[..] {
        [first, ..] if begins.iter().all(|option| option.1 == first.1) => Ok(*first),
        [] => Err(UsageError::Unknown(format!("--{name}"))),
        _ => Err(UsageError::Ambiguous {
            given: format!("--{name}"),
            meant: begins.iter().map(|(long, _, _)| format!("--{long}")).collect(),
        }),
    }
}

/// A whole number within `allowed`.
fn number(
    option: &'static str,
    value: &str,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<u64, UsageError> {
    let digits = value.trim();
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|number| plain && allowed.contains(number));
    number.ok_or_else(|| UsageError::Wrong {
        option,
        value: value.to_owned(),
        why: format!("has to be a whole number from {} to {}", allowed.start(), allowed.end()),
    })
}

/// A size in whole sectors.
fn size(option: &'static str, value: &str) -> Result<u64, UsageError> {
    let bytes = number(option, value, SECTOR..=SIZE_MAX)?;
    if bytes.is_multiple_of(SECTOR) {
        return Ok(bytes);
    }
    let why = "has to be a multiple of 512".to_owned();
    Err(UsageError::Wrong { option, value: value.to_owned(), why })
}

/// An offset as `strtoull(3)` reads it with base 0: decimal, with `0x` hexadecimal, with `0` octal.
fn offset(value: &str) -> Result<u64, UsageError> {
    let text = value.trim();
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, base) = match (hex, text.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (text, 10),
    };
    let plain = digits.chars().all(|c| c.is_digit(base));
    let bytes = u64::from_str_radix(digits, base).ok().filter(|_| plain);
    bytes.filter(|bytes| bytes.is_multiple_of(SECTOR)).ok_or_else(|| UsageError::Wrong {
        option: "--offset",
        value: value.to_owned(),
        why: "has to be a multiple of 512, in decimal, hexadecimal (0x…) or octal (0…)".to_owned(),
    })
}
