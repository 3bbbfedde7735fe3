//! Contents of flashbench's tables, as plain data. Bytes and nanoseconds throughout.

use serde::{Deserialize, Serialize};

use super::note::Note;

pub use super::other::{Other, OtherKind};

/// A table found in a text, with what the text says of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parsed {
    /// The table itself.
    pub table: Table,
    /// Context of the table.
    pub told: Told,
    /// Name of the text, as the caller gave it.
    pub file: String,
    /// First and last line of its rows, from 1.
    pub lines: (u32, u32),
    /// Parts that were left out, repaired or odd, in the order of lines.
    pub notes: Vec<Note>,
}

/// The kinds of tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// `--align`.
    Align(AlignTable),
    /// `--open-au`.
    OpenAu(OpenAuTable),
    /// `--find-fat`.
    FindFat(FindFatTable),
    /// `--scatter`.
    Scatter(Scatter),
    /// Known, and not kept: nothing is inferred from it.
    Other(Other),
}

/// Facts about a table in the text beside its rows. `None` where the text does not state them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The command line above the table, at most 400 characters of it.
    pub command: Option<String>,
    /// A line `# device: …`, or else the device that the command names; at most 200 characters.
    pub device: Option<String>,
    /// Size of the whole device in bytes, where the text states it as `N bytes`.
    pub capacity_bytes: Option<u64>,
    /// `--blocksize`, in bytes: size of the reads of `--align`, last row of `--open-au` and `--find-fat`.
    pub block_bytes: Option<u64>,
    /// `--erasesize`, in bytes.
    pub erase_bytes: Option<u64>,
    /// `--count`: how often each access was tried.
    pub count: Option<u32>,
    /// `--scatter-span`: blocks that each read of `--scatter` took.
    pub scatter_span: Option<u32>,
}

/// Source of a fact about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The command line above it names it.
    Command,
    /// The command line above it does not, so that flashbench's default holds.
    Default,
    /// A comment or headline above it.
    Heading,
    /// The name of its file.
    FileName,
    /// Its place among the tables given: the first has 1 unit, the second 2, and so on.
    Order,
}

/// The end of a table that was cut short: a row that cannot be read to its end, and is kept out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Its line, from 1.
    pub line: u32,
    /// Remaining text of the row, at most 200 characters.
    pub text: String,
}

/// Reads that end before, lie across, and begin at multiples of a power of two (or 3 times one).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AlignTable {
    /// From the largest alignment to the smallest; each alignment once.
    pub rows: Vec<AlignRow>,
    /// The row that ends the text without being whole.
    pub cut: Option<Cut>,
}

/// One row of `--align`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlignRow {
    /// The boundaries are multiples of this, and (but in the first row) not of twice this. Not 0.
    pub align_bytes: u64,
    /// Mean time of reads that end at the boundary, in nanoseconds; 0 means reads that failed.
    pub pre_ns: f64,
    /// Mean time of reads that lie across it.
    pub on_ns: f64,
    /// Mean time of reads that begin at it.
    pub post_ns: f64,
    /// Cost of crossing: on − (pre + post) / 2. `None` where the text ends before it.
    pub diff_ns: Option<f64>,
    /// How `diff_ns` came about.
    pub diff_from: DiffFrom,
    /// How far apart neighbouring values are that print differently.
    pub resolution: Resolution,
}

impl AlignRow {
    /// on − (pre + post) / 2, from the figures as printed: coarser than `diff_ns` where that was printed.
    pub fn computed_diff_ns(&self) -> f64 {
        self.on_ns - (self.pre_ns + self.post_ns) / 2.0
    }

    /// The most that [`AlignRow::computed_diff_ns`] can be off because its parts were rounded.
    pub fn computed_diff_off_ns(&self) -> f64 {
        let steps = &self.resolution;
        // flashbench divides whole nanoseconds: up to 1 more.
        steps.on_ns / 2.0 + (steps.pre_ns + steps.post_ns) / 4.0 + 1.0
    }

    /// False when the printed difference is not what the other three figures make, so that one of the four is not what
    /// flashbench printed.
    pub fn agrees_with_itself(&self) -> bool {
        let most = self.computed_diff_off_ns() + self.resolution.diff_ns / 2.0;
        // Half as much again passes: who copies a table by hand may round once more.
        self.diff_ns.is_none_or(|diff| (diff - self.computed_diff_ns()).abs() <= 1.5 * most)
    }
}

/// How the last figure of a row came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffFrom {
    /// Printed whole.
    Printed,
    /// Its unit is cut off, but its digits are whole nanoseconds and agree with the other three figures.
    CutUnit,
    /// It is cut off beyond reading: computed from the other three, so it is as coarse as they are.
    Computed,
    /// There is none.
    Missing,
}

/// For each figure of a row, the distance between neighbouring values that print differently, in nanoseconds: the
/// true value lies within half of it. flashbench prints three significant digits, and seconds with four.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolution {
    /// Of `pre_ns`.
    pub pre_ns: f64,
    /// Of `on_ns`.
    pub on_ns: f64,
    /// Of `post_ns`.
    pub post_ns: f64,
    /// Of `diff_ns`; 0 where that is missing.
    pub diff_ns: f64,
}

/// A rate as printed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Bytes per second; 0 is possible.
    pub bytes_per_s: f64,
    /// Distance between neighbouring values that print differently.
    pub step_bytes_per_s: f64,
}

/// Rates of writing to some allocation units in turn, by the size of the writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenAuTable {
    /// How many units were written in turn (`--open-au-nr`), from 1.
    pub nr: Option<u32>,
    /// Source of `nr`.
    pub nr_from: Option<Source>,
    /// True when each unit was written out of order (`--random`).
    pub random: Option<bool>,
    /// Source of `random`.
    pub random_from: Option<Source>,
    /// `--erasesize`, in bytes.
    pub erase_block: Option<u64>,
    /// From the largest writes to the smallest; each size once.
    pub rows: Vec<OpenAuRow>,
    /// The row that ends the text without being whole.
    pub cut: Option<Cut>,
    /// True when `^C` follows the rows: somebody stopped the run.
    pub stopped: bool,
}

/// One row of `--open-au`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenAuRow {
    /// Bytes of each write.
    pub len_bytes: u64,
    /// The mean rate.
    pub rate: Rate,
}

/// Rates of writing each of the first erase blocks, by the size of the writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindFatTable {
    /// `--erasesize`, in bytes.
    pub erase_block: Option<u64>,
    /// True when blocks were written out of order (`--random`).
    pub random: Option<bool>,
    /// From the largest writes to the smallest; all have as many rates.
    pub rows: Vec<FindFatRow>,
    /// The row that ends the text without being whole.
    pub cut: Option<Cut>,
}

/// One row of `--find-fat`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindFatRow {
    /// Bytes of each write.
    pub len_bytes: u64,
    /// One rate for each erase block from the beginning of the device.
    pub rates: Vec<Rate>,
}

/// Least access times by place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scatter {
    /// By ascending offset.
    pub points: Vec<Point>,
    /// The line that ends the text without being whole.
    pub cut: Option<Cut>,
}

/// One line of `--scatter`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Offset of the read, in bytes from the beginning of the device.
    pub offset_bytes: u64,
    /// Its least time, in nanoseconds.
    pub ns: f64,
}
