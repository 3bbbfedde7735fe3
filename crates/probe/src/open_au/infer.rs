//! Inference about open erase blocks from tables of times per write.
//!
//! A write to one erase block too many has to close another first. What that takes depends on the block that is
//! closed, not on the write: so the cliff is an *excess over the table before that is the same for all sizes*, and
//! the rate falls with the size. A card that programs its planes one by one after a change of blocks also gets
//! slower, but in proportion to the size; a single bad line is slower at one size alone; and small writes that
//! go to a log are not slower at all. None of these is a cliff.

use std::collections::BTreeMap;

use super::compare::{Cliff, PAGES, State, compare};
use super::table::{Order, Profile, Table};
use crate::finding::Finding;

/// A slight excess counts as none below this part of what a merge takes: passing a limit now and then costs more.
const PASSED: f64 = 0.02;
/// From this time per write on, some hundred times a page's programming, slow lines alone show a cliff.
const MERGE_NS: f64 = 20e6;

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
    let mut fast: Vec<Profile> = Vec::new();
    let mut states = Vec::new();
    for (nr, tables) in by_nr {
        let profile = Profile::new(tables.iter().flat_map(|table| &table.rows));
        let state = match order {
            // One block written in order is as fast as writing gets: it is what all else is measured by.
            Order::Linear if nr == 1 && !profile.lines().is_empty() => State::Fast,
            // Out of order, writes of less than a page cost reading it: only larger ones can be set beside those in
            // order.
            Order::Random if fast.is_empty() => {
                judge(&profile.larger_than(PAGES as u64), &[alone.larger_than(PAGES as u64)], order)
            }
            _ => judge(&profile, &fast, order),
        };
        if matches!(state, State::Fast | State::Slight(_)) {
            fast.push(profile);
        }
        states.push((nr, state));
    }
    conclude(order, &states)
}

/// Judges a table against those before it that are fast.
fn judge(profile: &Profile, fast: &[Profile], order: Order) -> State {
    let beside = |fast: &&Profile| profile.beside(fast).len() >= 2;
    let Some(last) = fast.iter().rev().find(beside) else { return judge_alone(profile) };
    let last = compare(profile, last, order);
    let first = fast.iter().find(beside).map_or(last, |first| compare(profile, first, order));
    match (last, first) {
        (State::Cliff(cliff), _) => State::Cliff(cliff),
        // The cost of planes one by one after a change of blocks vanishes where a block is opened again, and the
        // cliff then shows beside the first table only.
        (_, State::Cliff(cliff)) => State::Cliff(cliff),
        (State::Slight(last), State::Slight(first)) => State::Slight(last.max(first)),
        (State::Fast, State::Slight(first)) => State::Slight(first),
        (State::Fast | State::Slight(_), State::Unclear) if order == Order::Random => {
            State::Unclear
        }
        (last, _) => last,
    }
}

/// Judges a table that nothing can be compared with. Only the gravest cliff shows by itself: a time per write that is
/// the same for some sizes, and so long that nothing but copying takes it.
fn judge_alone(profile: &Profile) -> State {
    let (lines, best) = (profile.lines(), profile.best_rate());
    let flat = |run: &[(u64, f64)]| {
        let (least, most) = run
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), line| (least.min(line.1), most.max(line.1)));
        let (len, ns) = run[run.len() - 1];
        least >= MERGE_NS && most <= 1.4 * least && best * ns / len as f64 >= 6.0
    };
    if lines.windows(3).any(flat) {
        let slowest = lines.iter().map(|(len, ns)| (best * ns / *len as f64, *ns)).fold(
            (0.0, 0.0),
            |slowest: (f64, f64), line| if line.0 > slowest.0 { line } else { slowest },
        );
        return State::Cliff(Cliff { share: slowest.0 - 1.0, ns: slowest.1, lines: 3 });
    }
    // Below a page, each write costs a page; from twice the largest usual one on, a fast table is nearly flat.
    let large = lines.iter().filter(|(len, _)| *len >= 32 << 10);
    let slow = large.clone().filter(|(len, ns)| best * ns / *len as f64 > 3.0).count();
    if slow == 0 && large.count() >= 3 { State::Fast } else { State::Unclear }
}

/// Draws the conclusion from what the tables say, in the order of their numbers.
fn conclude(order: Order, states: &[(u32, State)]) -> Finding {
    let name = order.name();
    let cliff = states.iter().find_map(|(nr, state)| match state {
        State::Cliff(cliff) => Some((*nr, *cliff)),
        _ => None,
    });
    let is_fast = |state: &State| match (state, cliff) {
        (State::Fast, _) => true,
        (State::Slight(ns), Some((_, cliff))) => *ns < PASSED * cliff.ns,
        _ => false,
    };
    let fast = states.iter().filter(|(_, state)| is_fast(state)).map(|(nr, _)| *nr).max();
    let Some((too_many, cliff)) = cliff else {
        return Finding::unknown(
            name,
            match fast {
                Some(nr) => {
                    format!("writes to {nr} at once are still fast: at least {nr} may be open")
                }
                None => "no table separates a fast one from a slow one".to_owned(),
            },
        );
    };
    // Number that must be open before any table: one, when it is written in order.
    let least = u32::from(order == Order::Linear);
    if fast.is_some_and(|fast| fast > too_many) || too_many <= least.max(fast.unwrap_or(0)) {
        let reason = format!(
            "the tables contradict each other: writes to {too_many} at once are slow, and to {} fast",
            fast.unwrap_or(least)
        );
        return Finding::unknown(name, reason);
    }
    let (low, high) = (fast.unwrap_or(least), too_many - 1);
    if low != high {
        let reason = format!(
            "between {low} and {high} may be open: writes to {too_many} at once are slow, and there is no clear \
             table between"
        );
        return Finding::unknown(name, reason);
    }
    let clear = [cliff.share >= 4.0, cliff.lines >= 3, fast == Some(high)];
    let doubts = clear.iter().filter(|clear| !**clear).count() as i32;
    let confidence = 1.0 - 0.01 * 3.0_f64.powi(doubts);
    let reason = format!(
        "with {too_many} each write takes longer by nearly the same time whatever its size, up to {:.1} times as \
         long as with {high}",
        cliff.share + 1.0
    );
    Finding::found(name, u64::from(high), confidence, reason)
}
