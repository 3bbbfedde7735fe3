//! From what the programs showed to the page.

use super::cost::{self, Cost, LATENCY_MIN_NS};
use super::flashbench::{self, CLIFF, Made};
use crate::middle::Middle;
use crate::sheet;

/// The whole page; `head` states how it was made.
pub(super) fn text(head: &str, tables: &[Made], costs: &[Cost]) -> String {
    format!(
        "# Served drives\n\n{}\n\n{head}{}\n{}",
        verdict(tables, costs),
        of_flashbench(tables),
        of_cost(costs)
    )
}

fn verdict(tables: &[Made], costs: &[Cost]) -> String {
    let wrong: Vec<&str> = tables
        .iter()
        .filter(|made| !made.is_right())
        .map(|made| made.case.model)
        .chain(costs.iter().filter(|cost| !cost.is_right()).map(|cost| cost.case.model))
        .collect();
    if wrong.is_empty() {
        "flashbench shows on the served models what was published of the drives, and fio measures what \
         our mark measures in virtual time."
            .to_owned()
    } else {
        format!("Not as it should be: {}.", wrong.join(", "))
    }
}

fn of_flashbench(tables: &[Made]) -> String {
    let mut text = format!(
        "## flashbench\n\n\
         Debian's flashbench on the file that `drivescope sim serve` makes, each test on a fresh drive, \
         beside the tables that were published of the drives modelled. `-a` reads 1 KiB before, across \
         and after boundaries: of every row, each of the three times has to lie within {:.0}% of the \
         published one. `-O` writes to several erase blocks in turns; with one more than the drive keeps \
         open, small blocks collapse: from the largest block to the smallest by more than {CLIFF}, before \
         by less.\n\n",
        100.0 * flashbench::WITHIN
    );
    let rows: Vec<Vec<String>> = tables.iter().map(row).collect();
    let head = [
        "model",
        "rows of -a",
        "farthest time",
        "crossing an erase block / below it",
        "crossing a page / below it",
        "open units",
        "fall within / published",
        "fall beyond / published",
        "farthest rates of -O",
        "as published",
    ];
    text += &sheet::table(1, &head, &rows);
    for made in tables {
        let model = made.case.model;
        text +=
            &format!("\nAll that it printed of {model}: [serve-{model}.txt](serve-{model}.txt).\n");
    }
    text
}

fn row(made: &Made) -> Vec<String> {
    let case = made.case;
    let micros = |ns: f64| format!("{:.0} µs", ns / 1e3);
    let step = |[above, below]: [u64; 2]| {
        format!("{} / {}", micros(made.diff(above)), micros(made.diff(below)))
    };
    let fall = |which: usize| {
        let published = case.rates[which];
        let published = published[0] / published[published.len() - 1];
        format!("{:.1} / {published:.1}", made.fall(which))
    };
    vec![
        format!("`{}`", case.model),
        made.align.len().to_string(),
        format!("{:.1}%", 100.0 * made.align_off()),
        step(case.erase_step),
        step(case.page_step),
        case.open[0].to_string(),
        fall(0),
        fall(1),
        format!("{:.0}%, {:.0}%", 100.0 * made.rates_off(0), 100.0 * made.rates_off(1)),
        if made.is_right() { "yes" } else { "no" }.to_owned(),
    ]
}

fn of_cost(costs: &[Cost]) -> String {
    let mut text = format!(
        "## What FUSE adds\n\n\
         Random reads of 4 KiB at depth 1 (io_uring, direct I/O): our mark on the model in virtual time, and \
         fio and our mark, 3 s each in turns, on the model that is served. Mean latencies; medians over the \
         rounds with their 95% intervals. From a latency of {:.0} ms on, fio's rate has to lie within \
         {:.0}% of that in virtual time. *Late* is what the server says itself: from the virtual completion \
         to the moment at which the kernel has the reply. The rest of what is added is the way through the \
         kernel and the waking of threads, in both directions.\n\n",
        LATENCY_MIN_NS / 1e6,
        100.0 * cost::WITHIN
    );
    let head = [
        "model",
        "virtual µs",
        "fio's rate / virtual",
        "agrees",
        "fio: µs added",
        "mark: µs added",
        "late µs: p50 / p99 / max",
    ];
    let rows: Vec<Vec<String>> = costs
        .iter()
        .map(|cost| {
            let show = |middle: Option<Middle>, digits| {
                middle.map_or("–".to_owned(), |middle| middle.show(digits))
            };
            let micros = |middle: Option<Middle>| {
                middle.map(|m| Middle {
                    median: m.median / 1e3,
                    interval: m.interval.map(|(low, high)| (low / 1e3, high / 1e3)),
                })
            };
            let late = cost.late_ns.map(|ns| format!("{:.0}", ns / 1e3));
            vec![
                format!("`{}`", cost.case.model),
                format!("{:.0}", cost.virtual_ns / 1e3),
                show(cost.fio_share(), 3),
                match (cost.is_bound(), cost.is_right()) {
                    (false, _) => "not asked for",
                    (true, true) => "yes",
                    (true, false) => "no",
                }
                .to_owned(),
                show(micros(cost.added_ns(|round| round.fio_ns)), 0),
                show(micros(cost.added_ns(|round| round.mark_ns)), 0),
                late.join(" / "),
            ]
        })
        .collect();
    text += &sheet::table(1, &head, &rows);
    text
}
