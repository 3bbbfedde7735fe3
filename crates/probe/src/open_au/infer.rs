//! What tables of times per write say about open erase blocks.
//!
//! A write to one erase block too many has to close another first. What that takes depends on the block that is
//! closed, not on the write: so the cliff is an *excess over the table before that is the same for all sizes*, and
//! the rate falls with the size. A card that programs its planes one by one after a change of blocks also gets
//! slower, but in proportion to the size; a single bad line is slower at one size alone; and small writes that
//! go to a log are not slower at all. None of these is a cliff.

use std::collections::BTreeMap;

use super::table::{Order, Profile, Table};
use crate::finding::Finding;

/// A line counts as slow from this excess on, as a share of the table before it.
const SLOW: f64 = 0.9;
/// The slowest line of a cliff has at least this excess.
const CLIFF: f64 = 1.5;
/// Lines with less than this excess are as fast as before.
const FAST: f64 = 0.5;
/// Greatest and least slope of log excess against log size that still count as constant. The lesser bound is wide:
/// the smaller the writes, the more of a block is left to be copied when it is closed, and small writes miss other
/// comforts too (source 000: the excess at 8 KiB is twice that at 64 KiB).
const CONSTANT: (f64, f64) = (-1.2, 0.45);
/// From this time per write on, some hundred times a page's programming, slow lines tell a cliff by themselves.
const MERGE_NS: f64 = 20e6;

/// What one table says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// So many are open without harm.
    Fast,
    /// They are too many; how clearly, as the greatest excess and the count of lines that show it.
    Cliff { excess: f64, lines: usize },
    /// Neither is clear.
    Unclear,
}

/// The count of open erase blocks that `tables` show, in the order of writing of the first of them; tables of the
/// other order serve as what they are compared with. Pure, and for any source: a probe or published output.
///
/// Answers *found* when a table without a cliff is followed by one with a cliff, *unknown* with the reason else.
pub fn infer(tables: &[Table]) -> Finding {
    let order = tables.first().map_or(Order::Linear, |table| table.order);
    infer_order(tables, order)
}

/// As [`infer`], for the order of writing `order`.
pub fn infer_order(tables: &[Table], order: Order) -> Finding {
    let mut by_nr: BTreeMap<u32, Vec<&Table>> = BTreeMap::new();
    for table in tables.iter().filter(|table| table.order == order && table.nr > 0) {
        by_nr.entry(table.nr).or_default().push(table);
    }
    let linear = tables.iter().filter(|table| table.order == Order::Linear && table.nr == 1);
    let alone = Profile::new(linear.flat_map(|table| &table.rows));
    // One block written in order is as fast as writing gets: it is what all else is measured by.
    let mut fast = (order == Order::Random && !alone.lines().is_empty()).then_some(alone);
    let mut states = Vec::new();
    for (nr, tables) in by_nr {
        let profile = Profile::new(tables.iter().flat_map(|table| &table.rows));
        let state = judge(&profile, fast.as_ref(), order == Order::Linear && nr == 1);
        if state == State::Fast {
            fast = Some(profile);
        }
        states.push((nr, state));
    }
    conclude(order, &states)
}

/// What a table says, beside the last fast one before it if there is one.
fn judge(profile: &Profile, fast: Option<&Profile>, first: bool) -> State {
    if profile.lines().is_empty() {
        return State::Unclear;
    }
    if first {
        return State::Fast;
    }
    match fast {
        Some(fast) if profile.beside(fast).len() >= 2 => compare(profile, fast),
        _ => alone(profile),
    }
}

/// Looks for an excess over `fast` that does not depend on the size.
fn compare(profile: &Profile, fast: &Profile) -> State {
    let lines: Vec<(f64, f64, f64)> = profile
        .beside(fast)
        .into_iter()
        .map(|(len, ns, before)| (len as f64, ns - before, ns / before - 1.0))
        .collect();
    let constant = |pair: &[(f64, f64, f64)]| {
        let slope = (pair[0].1 / pair[1].1).ln() / (pair[0].0 / pair[1].0).ln();
        let slow = pair[0].2 >= SLOW && pair[1].2 >= SLOW;
        slow && (CONSTANT.0..=CONSTANT.1).contains(&slope)
    };
    let mut best = State::Unclear;
    let mut from = 0;
    for at in 1..=lines.len() {
        if at < lines.len() && constant(&lines[at - 1..=at]) {
            continue;
        }
        let run = &lines[from..at];
        let excess = run.iter().map(|line| line.2).fold(0.0, f64::max);
        let longest = matches!(best, State::Cliff { lines, .. } if lines >= run.len());
        if run.len() >= 2 && excess >= CLIFF && !longest {
            best = State::Cliff { excess, lines: run.len() };
        }
        from = at;
    }
    if best != State::Unclear {
        return best;
    }
    let slower = lines.iter().filter(|line| line.2 >= FAST).count();
    if slower <= 1 || proportional(&lines) { State::Fast } else { State::Unclear }
}

/// True when all lines are slower by about the same share, and by no more than planes in turn explain.
fn proportional(lines: &[(f64, f64, f64)]) -> bool {
    let shares: Vec<f64> = lines.iter().map(|line| line.2).collect();
    let (least, most) = (stats::quantile(&shares, 0.2), stats::quantile(&shares, 0.8));
    least.zip(most).is_some_and(|(least, most)| most <= 1.3 && most <= 2.0 * least.max(0.0) + 0.1)
}

/// Judges a table that nothing can be compared with. Only the gravest cliff tells itself: a time per write that is
/// the same for some sizes, and so long that nothing but copying takes it.
fn alone(profile: &Profile) -> State {
    let (lines, best) = (profile.lines(), profile.best_rate());
    let flat = |run: &[(u64, f64)]| {
        let (least, most) = run
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), line| (least.min(line.1), most.max(line.1)));
        let (len, ns) = run[run.len() - 1];
        least >= MERGE_NS && most <= 1.4 * least && best * ns / len as f64 >= 6.0
    };
    if lines.windows(3).any(flat) {
        let slowest = lines.iter().map(|(len, ns)| best * ns / *len as f64).fold(0.0, f64::max);
        return State::Cliff { excess: slowest - 1.0, lines: 3 };
    }
    // Below a page, each write costs a page; from twice the largest usual one on, a fast table is nearly flat.
    let large = lines.iter().filter(|(len, _)| *len >= 32 << 10);
    let slow = large.clone().filter(|(len, ns)| best * ns / *len as f64 > 3.0).count();
    if slow == 0 && large.count() >= 3 { State::Fast } else { State::Unclear }
}

/// Draws the conclusion from what the tables say, in the order of their numbers.
fn conclude(order: Order, states: &[(u32, State)]) -> Finding {
    let name = order.name();
    let fast = states.iter().filter(|(_, state)| *state == State::Fast).map(|(nr, _)| *nr).max();
    let cliffs = states.iter().filter_map(|(nr, state)| match state {
        State::Cliff { excess, lines } => Some((*nr, *excess, *lines)),
        _ => None,
    });
    let Some((cliff, excess, lines)) = cliffs.min_by_key(|cliff| cliff.0) else {
        return Finding::unknown(
            name,
            match fast {
                Some(nr) => {
                    format!("writes to {nr} at once are still fast: at least {nr} may be open")
                }
                None => "no table tells a fast one from a slow one".to_owned(),
            },
        );
    };
    // What must be open before any table: one, when it is written in order.
    let least = u32::from(order == Order::Linear);
    let open = fast.unwrap_or(0).max(least);
    if fast.is_some_and(|fast| fast > cliff) || cliff <= open {
        let reason = format!("writes to {cliff} at once are slow, and to {open} fast");
        return Finding::unknown(name, reason);
    }
    let highest = cliff - 1;
    let low = fast.unwrap_or(least);
    if low != highest {
        let reason = format!(
            "between {low} and {highest} may be open: writes to {cliff} at once are slow, and there is no clear \
             table between"
        );
        return Finding::unknown(name, reason);
    }
    let clear = [excess >= 4.0, lines >= 3, fast == Some(highest)];
    let doubts = clear.iter().filter(|clear| !**clear).count() as i32;
    let confidence = 1.0 - 0.01 * 3.0_f64.powi(doubts);
    let reason = format!(
        "with {cliff} each write takes longer by nearly the same time whatever its size, up to {:.1} times as \
         long as with {highest}",
        excess + 1.0
    );
    Finding::found(name, u64::from(highest), confidence, reason)
}
