//! How many erase blocks may be open at once: writes to more and more of them, until each one costs a merge.

mod boundary;
mod compare;
mod control;
mod field;
mod infer;
mod mapped;
mod page;
mod search;
mod table;

use serde::{Deserialize, Serialize};

use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Name, Outcome, Verdict};
use crate::known::Known;

pub(crate) use boundary::NO_UNIT;
pub(crate) use field::{Field, Turn, Visit, elapsed, midmean};
pub(crate) use search::{End, Search};

pub use boundary::{BoundaryEvidence, Class, boundary};
pub use field::Excess;
pub use infer::{infer, infer_order};
pub use page::Shift;
pub use search::Cell;
pub use table::{Order, Row, Table};

/// Least number of blocks in turn, as fast as one, from which on a drive may have no limit.
const NO_LIMIT: u32 = 16;
/// Size of the smaller writes where the page is not known: beyond what cards are known to keep a log for.
const SMALL: u64 = 32 << 10;
/// Erase blocks that a field begins with when there is room.
const FIELD: u64 = 32;

/// Options of the probe of open erase blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Taken for the erase block, in bytes, whatever is known.
    pub erase_block: Option<u64>,
    /// The most erase blocks that take turns.
    pub nr_max: u32,
    /// Orders of writing that are asked for.
    pub orders: Vec<Order>,
}

impl Default for Options {
    fn default() -> Options {
        Options { erase_block: None, nr_max: 32, orders: vec![Order::Linear, Order::Random] }
    }
}

/// Evidence for the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The erase block that was taken as known, in bytes; null when places were chosen to fit any.
    pub erase_block_bytes: Option<u64>,
    /// Distance of the erase blocks that took turns, at least, in bytes.
    pub spacing_bytes: u64,
    /// Every measurement, in the order in which they were made.
    pub cells: Vec<Cell>,
    /// The same as tables, one for each count and order, as flashbench prints them.
    pub tables: Vec<Table>,
    /// Median times of reads of 4 KiB near each other and far from each other, in nanoseconds: an arm shows.
    pub reads_near_far_ns: Option<(f64, f64)>,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Finds how many erase blocks may be open, written in order and at random.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub fn probe(
    desk: &mut Desk<'_>,
    known: &Known,
    options: &Options,
) -> Result<Outcome<Evidence>, Halt> {
    let before = desk.spent();
    let unit = options.erase_block.or_else(|| known.value(Name::EraseBlock)).filter(|n| *n > 0);
    let mut evidence = Evidence { erase_block_bytes: unit, ..Evidence::default() };
    let findings = ask(desk, unit, known, options, &mut evidence)?;
    evidence.tables = tables(&evidence.cells);
    evidence.written_bytes = desk.spent().since(before).written_bytes.0;
    Ok(Outcome { findings, evidence, caveats: Vec::new() })
}

fn ask(
    desk: &mut Desk<'_>,
    unit: Option<u64>,
    known: &Known,
    options: &Options,
    evidence: &mut Evidence,
) -> Result<Vec<Finding>, Halt> {
    let all = |finding: &dyn Fn(Name) -> Finding| -> Result<Vec<Finding>, Halt> {
        Ok(options.orders.iter().map(|order| finding(order.name())).collect())
    };
    if !desk.may_write() {
        return all(&|name| Finding::unknown(name, Halt::NoConsent.to_string()));
    }
    let mut rng = desk.rng(&[PLACES]);
    let Some(mut field) = Field::plan(desk.region(), unit, FIELD, &mut rng) else {
        return all(&|name| Finding::unknown(name, "the region holds too few erase blocks"));
    };
    evidence.spacing_bytes = field.spacing();
    match arm(desk, &field) {
        Ok((near, far)) => {
            evidence.reads_near_far_ns = Some((near, far));
            if far - near > 1.5e6 && far > 1.5 * near {
                let reason = "reads far apart take longer than reads near each other: an arm moves";
                return all(&|name| match desk.info().rotational {
                    Some(true) => Finding::none(name, 0.97, reason),
                    _ => Finding::unknown(name, format!("{reason}, or a map is looked up")),
                });
            }
        }
        Err(halt) if halt.is_limit() => {
            return all(&|name| Finding::unknown(name, halt.to_string()));
        }
        Err(halt) => return Err(halt),
    }
    let mut findings = Vec::new();
    // Whether pages are mapped one by one, once it was asked.
    let mut mapped = None;
    // More than may be open when written in order cannot be open at random.
    let mut limit = None;
    // Time of a merge where blocks are written in order, once it was seen.
    let mut merge_ns = None;
    for order in &options.orders {
        if let Some(end @ End::ReadsToo { .. }) = limit {
            findings.push(finding(order.name(), end, None));
            continue;
        }
        let mut search = Search::new(&mut field, *order, small_write(known, *order));
        let nr_max = match limit {
            Some(End::Limit { open, .. }) => open.min(options.nr_max),
            // If nothing limits blocks written in order, half as many at random are enough.
            Some(End::NoLimit { .. }) => options.nr_max.div_ceil(2),
            _ => options.nr_max,
        };
        let end = match (search.run(desk, nr_max)?, limit) {
            (End::NoLimit { up_to }, Some(End::Limit { open, clear })) if up_to == open => {
                search.as_in_order(desk, End::AsInOrder { open, clear })?
            }
            (end, _) => end,
        };
        let end = control::hold(desk, &mut search, end, merge_ns)?;
        if *order == Order::Linear {
            limit = Some(end);
            merge_ns = search.merge_ns(end);
        }
        let halt = search.halt.take();
        evidence.cells.append(&mut search.cells);
        if let (End::NoLimit { up_to: NO_LIMIT.. }, None) = (end, &mapped) {
            mapped = Some(mapped::maps_pages(desk, field.from(), SMALL)?);
        }
        findings.push(match (end, &mapped) {
            (End::NoLimit { up_to: up_to @ NO_LIMIT.. }, Some(Ok(()))) => {
                let reason = format!(
                    "{up_to} in turn are as fast as one, and so are writes all over the drive, more than a log holds"
                );
                Finding::none(order.name(), 0.99, reason)
            }
            (End::NoLimit { up_to: up_to @ NO_LIMIT.. }, Some(Err(why))) => {
                let reason = format!("{up_to} in turn are as fast as one, and {why}");
                Finding::unknown(order.name(), reason)
            }
            // A disk whose head moves back takes longer too.
            (End::Limit { open: 0, .. }, _)
                if options.orders.contains(&Order::Linear)
                    && !matches!(limit, Some(End::Limit { .. })) =>
            {
                let reason = "going back takes longer, and no limit in order shows that blocks are closed by it";
                Finding::unknown(order.name(), reason)
            }
            _ => finding(order.name(), end, halt),
        });
    }
    if findings.iter().any(|finding| finding.verdict != Verdict::None) {
        for finding in findings.iter_mut().filter(|finding| finding.verdict == Verdict::None) {
            let reason =
                format!("{}; but another order of writing costs something", finding.reason);
            *finding = Finding::unknown(finding.name, reason);
        }
    }
    Ok(findings)
}

/// Size of the smaller writes.
pub(crate) fn small_write(known: &Known, order: Order) -> u64 {
    let page = known.scale(Name::MultiPlanePage).or_else(|| known.scale(Name::Page));
    match (order, page) {
        (_, Some(page)) => page.clamp(SMALL, 8 * SMALL),
        (Order::Linear, None) => SMALL,
        // Going back inside a page costs reading it, which is not a merge: none of the cards known has larger ones.
        (Order::Random, None) => 2 * SMALL,
    }
}

/// Purpose of the random numbers that choose erase blocks.
const PLACES: u64 = 0x6f70_656e;

/// Median times of reads near each other and far from each other.
fn arm(desk: &mut Desk<'_>, field: &Field) -> Result<(f64, f64), Halt> {
    let mut rng = desk.rng(&[PLACES, 1]);
    let [near, far] = field.near_and_far(16, &mut rng);
    let mut median = |part: &str, places: &[(u64, u64)]| -> Result<f64, Halt> {
        let times: Vec<f64> = desk.read(part, places)?.iter().map(elapsed).collect();
        Ok(stats::quantile(&times, 0.5).unwrap_or(0.0))
    };
    Ok((median("reads near", &near)?, median("reads far", &far)?))
}

/// How sure a limit is; see the scores.
fn sure(clear: f64) -> f64 {
    if clear > 15.0 { 0.998 } else { 0.99 }
}

/// Puts the end of a search into words.
fn finding(name: Name, end: End, halt: Option<Halt>) -> Finding {
    match end {
        End::Limit { open: 0, clear } => {
            let reason = "each visit that goes back takes longer by the same time, even to a single erase block";
            Finding::found(name, 0, sure(clear), reason)
        }
        End::Limit { open, clear } => {
            let reason = format!(
                "with {} in turn each visit takes longer by the same time whatever its size, with {open} none does",
                open + 1
            );
            Finding::found(name, u64::from(open), sure(clear), reason)
        }
        End::AsInOrder { open, clear } => {
            let reason = "as many may be written at random as in order".to_owned();
            Finding::found(name, u64::from(open), sure(clear), reason)
        }
        End::NoLimit { up_to } => {
            Finding::unknown(name, format!("at least {up_to}, and the region holds no more"))
        }
        End::Unclear { from, to } => {
            let reason = format!(
                "between {from} and {to} in turn times change, but not as merges change them"
            );
            Finding::unknown(name, reason)
        }
        End::ReadsToo { nr } => {
            let reason = format!(
                "with {nr} in turn reads take longer too, by a large part of what writes do: a head moves, or a map is \
                 looked up"
            );
            Finding::unknown(name, reason)
        }
        End::Partly { nr } => {
            let reason = format!(
                "with {nr} in turn some visits take longer, or all by a part of what a merge takes: whether they are merges \
                 is not known"
            );
            Finding::unknown(name, reason)
        }
        End::Cut { fast } => {
            let halt = halt.map_or_else(String::new, |halt| format!(": {halt}"));
            Finding::unknown(name, format!("at least {fast}, then it had to end{halt}"))
        }
    }
}

/// Cells as tables.
fn tables(cells: &[Cell]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for cell in cells {
        let known = tables.iter_mut().find(|t| t.nr == cell.nr && t.order == cell.order);
        match known {
            Some(table) => table.rows.push(cell.row()),
            None => {
                tables.push(Table { nr: cell.nr, order: cell.order, rows: vec![cell.row()] });
            }
        }
    }
    tables
}
