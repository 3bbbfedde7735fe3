//! flashbench's own tests, issued as flashbench issues them, for people who have learned to read its tables.
//!
//! The places, their order and the arithmetic are flashbench's (github.com/bradfa/flashbench, read, and checked
//! against the calls that Debian's build of it makes). What is not taken over:
//!
//! - An access that fails ends the test with an error; flashbench counts it as 0 ns.
//! - Nothing wraps around at the end of the device: `-a` takes other boundaries of the same alignment, and says so; other
//!   tests refuse.
//! - The clock is the drive's own, monotonic; the read of nothing that flashbench times after each access is not made.
//! - Erase blocks that are not a power of two times the block size have rows too: halves, down to the block size.
//! - `-i` without `--interval-order` reads 12 sizes instead of none.
//!
//! Writes are durable before they complete, as flashbench's are (`O_SYNC`), and hold its constant bytes: a drive that
//! compresses shows other rates here than elsewhere, but the same as in every table that was published.

mod lengths;
mod options;
mod order;
mod pattern;
mod rows;

use block::{Bytes, Op, Payload};
use engine::Sample;
use stats::Caveat;
use stats::remedy::Run;
use thiserror::Error;
use workload::script::{Access, Script};

use crate::desk::{Desk, Halt};
use lengths::{lengths, smallest};
pub use options::{HELP, Options, Test, UsageError, Writes};
use pattern::Place;
pub use rows::Row;
use rows::{Rows, mean, rate};

use super::tables::Table;

/// Byte that `-O` and `-f` write.
const CONTENT: u8 = 0x5a;
/// The columns of `-p`: what is written, or a read; and whether in order.
const PROGRAM: [(Option<u8>, bool); 8] = [
    (Some(0x00), false),
    (Some(0xff), false),
    (Some(CONTENT), false),
    (None, false),
    (Some(0x00), true),
    (Some(0xff), true),
    (Some(CONTENT), true),
    (None, true),
];

/// Why the tests did not come to their end.
#[derive(Debug, Error)]
pub enum FaceError {
    /// The drive, its limits or the user.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// The requested test does not fit the device.
    #[error("{}: {what}", .test.flag())]
    Unfit {
        /// The test.
        test: Test,
        /// Why not, and what to do.
        what: String,
    },
}

/// Results of the tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// The tables, as they would be read back: for the verdict.
    pub tables: Vec<Table>,
    /// Doubts.
    pub caveats: Vec<Caveat>,
}

/// Runs the tests that `options` ask for, in flashbench's order; `each` is given every row as soon as it is known.
///
/// Offsets count from the beginning of the desk's region. Destructive tests do not ask for confirmation:
/// [`Options::writes`] lists them beforehand.
///
/// # Errors
/// [`FaceError`]. What does not fit the device is refused before anything is issued; rows given before another error
/// remain valid.
pub fn run(
    desk: &mut Desk<'_>,
    options: &Options,
    each: &mut dyn FnMut(&Row),
) -> Result<Done, FaceError> {
    let tests = options.tests();
    let mut face = Face { desk, options, rows: Rows::new(each), caveats: Vec::new() };
    tests.iter().try_for_each(|test| face.check(*test))?;
    let mut tables = Vec::new();
    for test in tests {
        match test {
            Test::Scatter => face.scatter()?,
            Test::FindFat => face.find_fat()?,
            Test::Align => face.align()?,
            Test::OpenAu => face.open_au()?,
            Test::Interval => face.interval()?,
            Test::Program => face.program()?,
        }
        tables.extend(face.rows.table(test, options));
    }
    Ok(Done { tables, caveats: face.caveats })
}

/// The same byte, again and again.
struct Constant(u8);

impl Payload for Constant {
    fn fill(&mut self, _: Bytes, buffer: &mut [u8]) {
        buffer.fill(self.0);
    }
}

/// A run of the tests.
struct Face<'d, 'k, 'r> {
    desk: &'d mut Desk<'k>,
    options: &'d Options,
    rows: Rows<'r>,
    caveats: Vec<Caveat>,
}

impl Face<'_, '_, '_> {
    /// Bytes that may be touched.
    fn size(&self) -> u64 {
        self.desk.region().length.0
    }

    /// Refuses what does not fit the device.
    fn check(&self, test: Test) -> Result<(), FaceError> {
        let unfit = |what: String| Err(FaceError::Unfit { test, what });
        let (end, size) = (pattern::end(test, self.options), self.size());
        if end > size {
            let remedy = match test {
                Test::Scatter => "take a smaller --scatter-order, --scatter-span or --blocksize",
                Test::FindFat => "take a smaller --fat-nr or --erasesize",
                Test::Align => "take a smaller --blocksize",
                Test::OpenAu => "take a smaller --open-au-nr, --erasesize or --offset",
                Test::Interval => "take a smaller --interval-order or --count",
                Test::Program => "it needs 20 MiB",
            };
            return unfit(format!(
                "would reach to byte {end}, and the device ends at {size}; {remedy}"
            ));
        }
        let block = self.desk.info().logical_block_bytes.0.max(1);
        let unit = match test {
            // Reads across a boundary begin half a block before it.
            Test::Align => self.options.blocksize / 2,
            Test::Scatter => self.options.blocksize,
            Test::FindFat | Test::OpenAu => {
                smallest(self.options.erasesize, self.options.blocksize)
            }
            Test::Interval | Test::Program => block,
        };
        let first = if test == Test::OpenAu { self.options.first_au() } else { 0 };
        if !unit.is_multiple_of(block) || !first.is_multiple_of(block) {
            return unfit(format!(
                "would read or write parts of the device's blocks of {block} bytes; take a --blocksize (and an \
                 --offset) that is a multiple of {}",
                if test == Test::Align { 2 * block } else { block }
            ));
        }
        Ok(())
    }

    /// Issues single accesses in order: writes of `content`, or reads.
    fn issue(
        &mut self,
        part: &str,
        places: &[Place],
        content: Option<u8>,
    ) -> Result<Vec<Sample>, Halt> {
        let base = self.desk.region().offset.0;
        let access = |&(offset, len): &Place| Access {
            op: if content.is_some() { Op::Write } else { Op::Read },
            fua: content.is_some(),
            offset: Bytes(base + offset),
            len: Bytes(len),
        };
        let script = Script::one_by_one(places.iter().map(access));
        let payload = || -> Box<dyn Payload> { Box::new(Constant(content.unwrap_or_default())) };
        self.desk.run_with(part, &script, &payload)
    }

    /// The times of single accesses, in nanoseconds.
    fn times(
        &mut self,
        part: &str,
        places: &[Place],
        content: Option<u8>,
    ) -> Result<Vec<u64>, Halt> {
        let samples = self.issue(part, places, content)?;
        Ok(samples.iter().map(|sample| sample.completed.0 - sample.issued.0).collect())
    }

    /// Places in an order that there is, since options were checked.
    fn ordered<T>(test: Test, places: Option<T>) -> Result<T, FaceError> {
        let what = || "more places than the random order has; take a larger --blocksize".to_owned();
        places.ok_or_else(|| FaceError::Unfit { test, what: what() })
    }

    fn scatter(&mut self) -> Result<(), FaceError> {
        let places = Self::ordered(Test::Scatter, pattern::scatter(self.options))?;
        let mut least = vec![u64::MAX; places.len()];
        for _ in 0..self.options.count {
            let times = self.times("flashbench -s", &places, None)?;
            for (least, time) in least.iter_mut().zip(times) {
                *least = time.min(*least);
            }
        }
        let mut points: Vec<(u64, u64)> =
            places.iter().map(|(offset, _)| *offset).zip(least).collect();
        points.sort_unstable();
        for (offset, ns) in points {
            self.rows.give(Row::Scatter { offset, ns });
        }
        Ok(())
    }

    fn find_fat(&mut self) -> Result<(), FaceError> {
        for len in lengths(self.options.erasesize, self.options.blocksize) {
            let mut bytes_per_s = Vec::new();
            for au in 0..self.options.fat_nr {
                let places = pattern::find_fat(self.options, au, len);
                let places = Self::ordered(Test::FindFat, places)?;
                let times = self.times(&format!("flashbench -f {len}B"), &places, Some(CONTENT))?;
                bytes_per_s.push(rate(len, mean(&times)));
            }
            self.rows.give(Row::FindFat { len, bytes_per_s });
        }
        Ok(())
    }

    fn align(&mut self) -> Result<(), FaceError> {
        let (block, size) = (self.options.blocksize, self.size());
        let alignments = pattern::alignments(block, size);
        let apart = alignments.first().copied().unwrap_or(block);
        let mut moved = 0;
        for align in alignments {
            // The last read of a place ends one block beyond the boundary.
            let fits = |boundary: &u64| boundary + block <= size;
            let places = (0..pattern::PLACES).map(|at| align + at * apart);
            let mut boundaries: Vec<u64> = places.filter(fits).collect();
            let beyond = pattern::PLACES - boundaries.len() as u64;
            moved += beyond;
            for boundary in pattern::elsewhere(align, size, beyond) {
                if fits(&boundary) && !boundaries.contains(&boundary) {
                    boundaries.push(boundary);
                }
            }
            self.align_row(align, &boundaries)?;
        }
        if moved > 0 {
            self.caveats.push(Caveat::new(
                "beyond_the_end",
                "flashbench -a",
                format!(
                    "{moved} places lie beyond the end of the device; boundaries of the same alignment within it were \
                     taken instead, as far as there are any, where flashbench reads wherever the count wraps to"
                ),
                Run::NothingForRows,
            ));
        }
        Ok(())
    }

    fn align_row(&mut self, align: u64, boundaries: &[u64]) -> Result<(), FaceError> {
        if boundaries.is_empty() {
            return Ok(());
        }
        let block = self.options.blocksize;
        let before = pattern::around(block);
        let once = before.iter().flat_map(|back| boundaries.iter().map(move |b| (b - back, block)));
        let places: Vec<Place> = once.collect();
        let all: Vec<Place> = places.repeat(self.options.count as usize);
        let times = self.times(&format!("flashbench -a {align}B"), &all, None)?;
        let mut least = vec![u64::MAX; places.len()];
        for (at, time) in times.iter().enumerate() {
            let least = &mut least[at % places.len()];
            *least = (*least).min(*time);
        }
        let means: Vec<u64> = least.chunks(boundaries.len()).map(mean).collect();
        let [pre_ns, on_ns, post_ns] = means[..] else { return Ok(()) };
        let places = boundaries.len() as u32;
        self.rows.give(Row::Align { align, pre_ns, on_ns, post_ns, places });
        Ok(())
    }

    fn open_au(&mut self) -> Result<(), FaceError> {
        for len in lengths(self.options.erasesize, self.options.blocksize) {
            let places = Self::ordered(Test::OpenAu, pattern::open_au(self.options, len))?;
            let times = self.times(&format!("flashbench -O {len}B"), &places, Some(CONTENT))?;
            self.rows.give(Row::OpenAu { len, bytes_per_s: rate(len, mean(&times)) });
        }
        Ok(())
    }

    fn interval(&mut self) -> Result<(), FaceError> {
        let block = self.desk.info().logical_block_bytes.0;
        let sizes: Vec<u64> =
            pattern::sizes(self.options).filter(|size| size.is_multiple_of(block)).collect();
        let mut least = Vec::new();
        for len in sizes {
            let places = pattern::interval(self.options, len);
            let times = self.times(&format!("flashbench -i {len}B"), &places, None)?;
            let ends = times.iter().min().zip(times.iter().max());
            let Some((&min_ns, &max_ns)) = ends else { continue };
            self.rows.give(Row::Interval { len, min_ns, mean_ns: mean(&times), max_ns });
            least.push((len, min_ns));
        }
        self.rows.line(&least);
        Ok(())
    }

    fn program(&mut self) -> Result<(), FaceError> {
        let block = self.desk.info().logical_block_bytes.0;
        for len in pattern::program_lengths().filter(|len| len.is_multiple_of(block)) {
            let mut bytes_per_s = [0; PROGRAM.len()];
            for (column, (content, random)) in bytes_per_s.iter_mut().zip(PROGRAM) {
                let places = Self::ordered(Test::Program, pattern::program(len, random))?;
                let times = self.times(&format!("flashbench -p {len}B"), &places, content)?;
                *column = rate(len, mean(&times));
            }
            self.rows.give(Row::Program { len, bytes_per_s });
        }
        Ok(())
    }
}
