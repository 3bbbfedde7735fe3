//! Pages of the composite (CBW) and of demand intensity (DIRTH): the fifteen of the specification.

use pts::table::Table;
use report::chart::Axis;
use stats::Unit;

use super::parts::{Part, Shade, chart, response_times, table};
use super::recovery::preconditioning;
use crate::pts::charts::rounds::Tracked;
use crate::pts::charts::time::{self, Along};
use crate::pts::charts::{demand, latency};

/// The points whose response times are shown, with their keys.
const POINTS: [(&str, &str); 3] = [("MAX", "max"), ("MID", "mid"), ("MIN", "min")];

/// Adds them.
pub fn pages(part: &mut Part<'_>) {
    let body = part.body;
    let axis = || Axis::new("I/O of the load", Unit::Iops);
    preconditioning(part, "the load's writes, T32 Q32");
    let samples = part.table("preconditioning").map(half_hours);
    let tracked = samples.and_then(|rounds| {
        Tracked::of(rounds, "IOPS of the writes, samples of a minute each half hour", axis())
    });
    part.steady("preconditioning", tracked, false);
    let between = part.table("between_rounds");
    let picture = between.and_then(|table| time::rates(body, table, Along::Fills));
    part.page("Writes between rounds", vec![chart(picture), table(between, Shade::None)]);
    let tracked = Tracked::of_body(body, axis(), |round| round.iops);
    part.steady("demand variation, T32 Q32", tracked, true);
    let shaded = |key: &str, shade| table(part.table(key), shade);
    let (iops, art, cpu) = (
        shaded("demand_iops", Shade::Linear),
        shaded("demand_art", Shade::Log),
        shaded("demand_cpu", Shade::Linear),
    );
    part.page(
        "Demand variation: IOPS by depth, by threads",
        vec![chart(demand::variation(body)), iops],
    );
    part.page("Demand intensity: response time by IOPS", vec![chart(demand::intensity(body)), art]);
    let cpu_of = demand::cpu(body);
    part.page("CPU of this program by threads and depth", vec![chart(cpu_of), cpu]);
    let outstanding = chart(demand::outstanding(body));
    part.page("IOPS and response time by requests outstanding", vec![outstanding]);
    let before: Vec<_> = POINTS
        .iter()
        .map(|(_, key)| table(part.table(&format!("{key}_samples")), Shade::None))
        .collect();
    part.page("Writes before MAX, MID and MIN", before);
    let keys = POINTS.map(|(name, key)| (name, format!("{key}_histogram")));
    let lines: Vec<(&str, &str)> = keys.iter().map(|(name, key)| (*name, key.as_str())).collect();
    let levels = latency::confidence(body, &lines);
    part.page("Confidence levels of MAX, MID and MIN", vec![chart(levels)]);
    for (name, key) in POINTS {
        response_times(
            part,
            &format!("{name}: histogram and confidence levels"),
            (&format!("{key}_histogram"), &format!("{key}_percentiles")),
        );
    }
}

/// The last sample of a minute in each half hour, by its number; rows are labelled with both.
fn half_hours(samples: &Table) -> Vec<(f64, f64)> {
    let Some(values) = samples.column("IOPS") else { return Vec::new() };
    let mut rounds: Vec<(f64, f64)> = Vec::new();
    for (row, value) in samples.rows.iter().zip(values) {
        let number = row.label.split_once(", 1 min").and_then(|(number, _)| number.parse().ok());
        let (Some(number), Some(value)) = (number, value) else { continue };
        match rounds.last_mut() {
            Some(last) if last.0 == number => last.1 = value,
            _ => rounds.push((number, value)),
        }
    }
    rounds
}
