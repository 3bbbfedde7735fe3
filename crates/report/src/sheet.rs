//! A result laid out for reading, before it becomes text.

use stats::{Caveat, Proof, Quantity};

/// A page about one run.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Heading: the command and its subject.
    pub title: String,
    /// Circumstances, as short lines.
    pub facts: Vec<String>,
    /// Tables.
    pub groups: Vec<Group>,
    /// Doubts.
    pub caveats: Vec<Caveat>,
    /// One sentence.
    pub closing: String,
    /// How the closing sentence stands.
    pub tone: Tone,
}

/// A table whose rows share their columns.
#[derive(Clone, Debug)]
pub struct Group {
    /// Head of the first column.
    pub title: String,
    /// Heads of the other columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One thing measured.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its numbers, or why there are none.
    pub standing: Standing,
    /// Figures about the numbers, under them.
    pub detail: Vec<String>,
    /// The proofs beside it.
    pub proofs: Vec<(&'static str, Proof)>,
}

/// Whether the numbers of a row stand.
#[derive(Clone, Debug)]
pub enum Standing {
    /// They do.
    Stands(Vec<Cell>),
    /// They do not: the reason, and what was measured instead of the drive.
    Withdrawn {
        /// Why.
        reason: String,
        /// Meaning of the number, in words.
        instead: String,
    },
    /// There are none yet: why, and what it takes.
    Open(String),
}

/// One field of a row.
#[derive(Clone, Copy, Debug)]
pub enum Cell {
    /// The value.
    Value(Quantity),
    /// Its interval.
    Interval(Quantity),
    /// A word; the last field of its row.
    Word(&'static str),
    /// Not known.
    Unknown,
}

/// How a sentence is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// All is well.
    Good,
    /// With reservations.
    Mixed,
    /// A negative result.
    Bad,
}

/// A list of things with facts about each.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The things.
    pub entries: Vec<Entry>,
    /// Text of an empty listing.
    pub empty: String,
}

/// One thing and its facts.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub title: String,
    /// Short words behind the name.
    pub summary: String,
    /// Facts, by name.
    pub facts: Vec<(String, String)>,
    /// Sentences with a tone each.
    pub notes: Vec<(Tone, String)>,
    /// True where bad ones come before the facts: they are the answer.
    pub leads: bool,
}
