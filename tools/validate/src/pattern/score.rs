//! Truth about a virtual drive's memory, and comparison of the answers with it.

use anyhow::Result;
use block::{Bytes, Nanos};
use mark::cache::{Answer, Found, Held};
use serde_json::Value;
use stats::proportion_interval;

use crate::sheet;

/// Share of errors that reading again is asked to keep to: five in a hundred.
const ERROR: f64 = 0.05;
/// The block that scattered reads take.
const BLOCK: u64 = 4096;

/// Most bytes that are surely served again, and least that surely are not.
#[derive(Clone, Copy, Debug)]
struct Limits {
    surely: u64,
    surely_not: u64,
}

/// Amount of data read that a model's memory keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truth {
    in_sequence: Limits,
    scattered: Limits,
}

impl Truth {
    /// Of a disk, from its segments: one run stays in one, of which reading ahead may have taken a part; scattered blocks
    /// take one each, with what was read ahead. Of a drive of chips, that it keeps nothing of what it read, but for the
    /// page that each plane of each die holds.
    pub(super) fn of(spec: &str) -> Result<Truth> {
        let shown = ::sim::show(spec)?;
        let parameters = serde_json::to_value(&shown.parameters)?;
        let memory = &parameters["memory"];
        let of = |from: &Value, name: &str| from[name].as_u64().unwrap_or(0);
        if shown.truth.hdd.is_some() {
            let bytes = of(memory, "read_bytes");
            let (segments, segment) =
                (of(memory, "segments"), of(memory, "segment_bytes").min(bytes));
            let ahead = of(memory, "read_ahead_bytes");
            let blocks = |each: u64| segments.min(bytes / each) * BLOCK;
            return Ok(Truth {
                in_sequence: Limits {
                    surely: segment.saturating_sub(ahead),
                    surely_not: segment + 1,
                },
                scattered: Limits { surely: blocks(BLOCK + ahead), surely_not: blocks(BLOCK) + 1 },
            });
        }
        let nand = &parameters["nand"];
        let planes = of(nand, "channels") * of(nand, "dies_per_channel") * of(nand, "planes");
        let registers = if memory["page_register"] == Value::Bool(true) { planes } else { 0 };
        let page = of(nand, "page_bytes");
        Ok(Truth {
            in_sequence: Limits { surely: 0, surely_not: registers * page + 1 },
            scattered: Limits { surely: 0, surely_not: registers * BLOCK + 1 },
        })
    }
}

/// How an answer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Right,
    Wrong,
    Undecided,
}

/// One drive's answer.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    truth: Truth,
    found: Found,
}

impl Mark {
    pub(super) const HEAD: &str = "drives,seed,answer,sequence_standing,sequence_served,sequence_not_served,\
        sequence_surely,sequence_surely_not,scattered_standing,scattered_served,scattered_not_served,\
        scattered_surely,scattered_surely_not,read_bytes,took_ns";

    pub(super) fn new(truth: Truth, found: Found) -> Mark {
        Mark { truth, found }
    }

    fn standings(&self) -> [Standing; 2] {
        let Mark { truth, found } = self;
        [(&found.in_sequence, truth.in_sequence), (&found.scattered, truth.scattered)]
            .map(|(held, limits)| standing(held, limits))
    }

    /// One line of raw figures; empty where the answer has none.
    pub(super) fn line(&self) -> String {
        let Mark { truth, found } = self;
        let bytes = |bytes: Option<Bytes>| bytes.map_or(String::new(), |bytes| bytes.0.to_string());
        let [sequence, scattered] = self.standings();
        let one = |standing: Standing, held: &Held, limits: Limits| {
            format!(
                "{standing:?},{},{},{},{}",
                bytes(held.served_bytes),
                bytes(held.not_served_bytes),
                limits.surely,
                limits.surely_not
            )
        };
        format!(
            "{:?},{},{},{},{}",
            found.answer,
            one(sequence, &found.in_sequence, truth.in_sequence),
            one(scattered, &found.scattered, truth.scattered),
            found.read_bytes.0,
            found.took_ns.0
        )
    }
}

/// Wrong is an amount that was reported as served and surely is not, or the other way round.
fn standing(held: &Held, limits: Limits) -> Standing {
    let too_much = held.served_bytes.is_some_and(|bytes| bytes.0 >= limits.surely_not);
    let too_little = held.not_served_bytes.is_some_and(|bytes| bytes.0 <= limits.surely);
    match (held.served_bytes, held.not_served_bytes) {
        _ if too_much || too_little => Standing::Wrong,
        (None, None) => Standing::Undecided,
        _ => Standing::Right,
    }
}

/// Drives of one sort.
pub(super) struct Row {
    name: &'static str,
    drives: usize,
    seen: usize,
    none: usize,
    /// By way of reading: right, wrong, undecided, and those bounded from both sides.
    ways: [[usize; 4]; 2],
    took: [f64; 2],
    read: f64,
}

impl Row {
    pub(super) fn of(name: &'static str, marks: &[Mark]) -> Row {
        let answers = |answer| marks.iter().filter(|mark| mark.found.answer == answer).count();
        let way = |at: usize| {
            let count =
                |standing| marks.iter().filter(|mark| mark.standings()[at] == standing).count();
            let both = |mark: &&Mark| {
                let held = [&mark.found.in_sequence, &mark.found.scattered][at];
                held.served_bytes.is_some() && held.not_served_bytes.is_some()
            };
            let both = marks.iter().filter(both).count();
            [count(Standing::Right), count(Standing::Wrong), count(Standing::Undecided), both]
        };
        let mut took: Vec<Nanos> = marks.iter().map(|mark| mark.found.took_ns).collect();
        took.sort_unstable();
        let at = |share: usize| took.get((took.len().saturating_sub(1)) * share / 100);
        let seconds = |share| at(share).map_or(0.0, |took: &Nanos| took.as_secs_f64());
        let read: u64 = marks.iter().map(|mark| mark.found.read_bytes.0).sum();
        Row {
            name,
            drives: marks.len(),
            seen: answers(Answer::Seen),
            none: answers(Answer::NoneSeen),
            ways: [way(0), way(1)],
            took: [seconds(50), seconds(100)],
            read: read as f64 / marks.len().max(1) as f64 / (1 << 20) as f64,
        }
    }

    /// False when more answers are wrong than the error that is kept to allows, beyond chance.
    pub(super) fn is_within_error(&self) -> bool {
        self.ways.iter().all(|[_, wrong, ..]| {
            proportion_interval(*wrong, self.drives, 0.95).is_none_or(|share| share.low <= ERROR)
        })
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.name.to_owned(), self.drives.to_string()];
        cells.extend(
            [self.seen, self.none, self.drives - self.seen - self.none].map(|n| n.to_string()),
        );
        for [right, wrong, undecided, both] in self.ways {
            let most =
                proportion_interval(wrong, self.drives, 0.95).map_or(1.0, |share| share.high);
            cells.push(format!("{right} ({both})"));
            cells.push(format!("{wrong} (≤ {:.1}%)", 100.0 * most));
            cells.push(undecided.to_string());
        }
        cells.push(format!("{:.2} s, {:.2} s", self.took[0], self.took[1]));
        cells.push(format!("{:.0} MiB", self.read));
        cells
    }
}

/// The whole page; `head` states how it was made.
pub(super) fn page(head: &str, rows: &[Row]) -> String {
    let verdict = match rows.iter().filter(|row| !row.is_within_error()).collect::<Vec<_>>() {
        none if none.is_empty() => "No shortfall.\n".to_owned(),
        short => format!(
            "Shortfalls, more wrong answers than 5%: {}.\n",
            short.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
        ),
    };
    let columns = [
        "drives",
        "count",
        "cache seen",
        "none seen",
        "undecided",
        "in sequence: right (both ends)",
        "wrong",
        "not told",
        "scattered: right (both ends)",
        "wrong",
        "not told",
        "time: median, longest",
        "read, mean",
    ];
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    format!(
        "# Telling a drive's cache by reading again\n\n{verdict}\n{head}Each drive is asked as a mark does that needs to \
         know, within the default of one second of the drive's own time; its model's own word about its cache is withheld \
         and used as truth. An answer has two ends: the most that was served again, and the least above it that was not. \
         It is *wrong* when the first is more than the model can hold, or the second less than it surely holds; of a disk, \
         what reading ahead takes of a segment lies between. *Both ends* counts the answers that have both. In brackets \
         behind wrong ones: the upper bound of Clopper and Pearson, 95%. Drives of chips keep nothing of what was read \
         but the last page of each plane.\n\n{}",
        sheet::table(1, &columns, &cells)
    )
}
