//! Pages of the write saturation test.

use report::html::{Block, Facts};
use report::number;

use super::parts::{Part, chart, open_loop, response_times, verdicts_table, words};
use crate::pts::charts::time::{Along, phases, rates, response_times as times, saturation};
use crate::pts::duration;

/// Adds them.
pub fn pages(part: &mut Part<'_>) {
    let body = part.body;
    let life = facts(part);
    let title = match body.setup.in_place {
        true => "IOPS by time",
        false => "IOPS by time: fresh plateau, cliff, transition, steady state",
    };
    part.page(title, vec![chart(saturation(body)), life, verdicts_table(body)]);
    let samples = part.table("samples");
    let rate = |along| chart(samples.and_then(|table| rates(body, table, along)));
    part.page(
        "IOPS by gigabytes and by drive fills written",
        vec![rate(Along::Written), rate(Along::Fills)],
    );
    let time = |along| chart(samples.and_then(|table| times(body, table, along)));
    part.page(
        "Response times by time and by drive fills: mean, 99.999%, greatest",
        vec![
            time(Along::Time),
            time(Along::Fills),
            words("Five nines are shown where a sample has requests enough for them.")
                .filter(|_| samples.is_some()),
        ],
    );
    response_times(
        part,
        "Histogram and confidence levels after saturation, 20 min",
        ("histogram", "percentiles"),
    );
    open_loop(part);
}

/// Summary of the drive's life.
fn facts(part: &Part<'_>) -> Option<Block> {
    let phases = phases(part.body)?;
    let samples = part.table("samples")?;
    let column = |name: &str| samples.column(name).unwrap_or_default();
    let last = |name: &str| column(name).into_iter().flatten().next_back();
    let told = |value: Option<f64>, unit: &str| {
        value.map_or_else(String::new, |value| format!("{} {unit}", number::digits(value)))
    };
    let end = column("IOPS").into_iter().flatten().collect::<Vec<f64>>();
    let end = stats::median(&end[end.len().saturating_sub(5)..]);
    let amplification = part.body.write_amplification;
    let in_place = part.body.setup.in_place;
    let beginning = if in_place { "At first" } else { "Fresh plateau" };
    let fell = phases.cliff_s.map_or_else(|| "not in this run".to_owned(), duration);
    let facts = vec![
        (beginning, format!("{} IOPS", number::compact(phases.plateau))),
        ("Fell off it after", fell),
        ("Steady from", phases.steady_s.map_or_else(|| "not in this run".to_owned(), duration)),
        (
            "At the end",
            end.map_or_else(String::new, |end| format!("{} IOPS", number::compact(end))),
        ),
        (
            if in_place { "At first to end" } else { "Fresh to end" },
            end.filter(|end| *end > 0.0).map_or_else(String::new, |end| {
                format!("{}×", number::digits(phases.plateau / end))
            }),
        ),
        ("Written", told(last("written, fills"), "drive fills")),
        ("Lasted", last("time, s").map_or_else(String::new, duration)),
        (
            "Write amplification",
            amplification.map_or_else(String::new, |a| number::digits(a.median)),
        ),
    ];
    let is_of_it = |(name, _): &(&str, String)| !(in_place && *name == "Fell off it after");
    let facts =
        facts.into_iter().filter(is_of_it).map(|(name, fact)| (name.to_owned(), fact)).collect();
    Some(Block::Facts(Facts { title: "The drive's life".to_owned(), facts }))
}
