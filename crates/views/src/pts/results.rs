//! Results of tests in one line each.

use pts::body::Body;
use pts::options::Test;
use report::number;
use stats::steady::State;

use super::charts::time::phases;
use super::tables::long as figure;
use super::verdicts::state_words;

/// The result in one line.
pub fn headline(bodies: &[Body]) -> String {
    let of = |body: &Body| {
        let word = match (&body.steady, body.is_whole) {
            (_, false) => "broken off",
            (Some(steady), _) => steady.ours.state.text(|state| match state {
                State::Fresh => "not steady: still fresh",
                State::Transition => "not steady: in transition",
                State::Throttled => "not steady: throttled",
                State::Drifting => "not steady: drifting",
                State::Stepped => "not steady: stepped",
                State::Telegraph => "not steady: telegraph-like",
                State::Inconclusive | State::Steady | State::Periodic | State::NeverSteady => {
                    state_words(state)
                }
            }),
            (None, _) => "done",
        };
        format!("{} {word}", body.test.word())
    };
    match bodies {
        [body] if body.is_steady() && !result(body).is_empty() => {
            format!("{}: {}", of(body), result(body))
        }
        bodies => bodies.iter().map(of).collect::<Vec<_>>().join(", "),
    }
}

/// A cell of a table of a test, by its names.
fn cell(body: &Body, table: &str, row: &str, column: &str) -> Option<f64> {
    let table = body.tables.get(table)?;
    let at = table.columns.iter().position(|name| name == column)?;
    table.rows.iter().find(|found| found.label == row)?.values.get(at).copied().flatten()
}

/// The numbers that a test is remembered by.
pub(super) fn result(body: &Body) -> String {
    let part = |name: &str, value: Option<f64>, unit: &str| {
        value.map(|value| format!("{name} {}{unit}", figure(value)))
    };
    let parts = match body.test {
        Test::Iops => ["100/0", "65/35", "0/100"]
            .map(|mix| {
                part(
                    &format!("4 KiB {mix}:"),
                    cell(body, "iops", "4 KiB", &format!("{mix}, IOPS")),
                    " IOPS",
                )
            })
            .to_vec(),
        Test::Throughput => ["1024 KiB", "128 KiB"]
            .into_iter()
            .flat_map(|size| {
                ["write", "read"].map(|way| {
                    let value = cell(body, "throughput", size, &format!("{way}, MB/s"));
                    part(&format!("{size} {way}"), value, " MB/s")
                })
            })
            .collect(),
        Test::Latency => vec![
            part(
                "4 KiB writes, T1 Q1: mean",
                cell(body, "percentiles", "mean (ART)", "value, us"),
                " µs",
            ),
            part("99.99%", cell(body, "percentiles", "99.99%", "value, us"), " µs"),
            part("greatest", cell(body, "percentiles", "greatest (MRT)", "value, us"), " µs"),
        ],
        Test::Wsat => saturation(body),
        Test::Hir => {
            vec![part("gain of pauses of 50 s", cell(body, "recovery", "50", "gain, %"), "%")]
        }
        Test::Xsr => vec![
            part("end of G1", group(body, 0, 0), " MB/s"),
            part("G2", group(body, 1, 0), " MB/s"),
            part("G3", group(body, 2, 0), " MB/s"),
            Some(match group(body, 2, 3) {
                Some(minutes) => format!("recovered after {} min", figure(minutes)),
                None => "not recovered".to_owned(),
            })
            .filter(|_| group(body, 2, 0).is_some()),
        ],
        Test::Cbw | Test::Dirth => {
            let table = body.tables.get("demand_iops");
            let values = table.map(|table| {
                table.rows.iter().flat_map(|row| row.values.iter().flatten().copied())
            });
            let most = values.and_then(|values| values.reduce(f64::max));
            vec![
                part("most", most, " IOPS"),
                part("T32 Q32", cell(body, "demand_iops", "32", "depth 32"), " IOPS"),
                part("T1 Q1", cell(body, "demand_iops", "1", "depth 1"), " IOPS"),
            ]
        }
        Test::QdSweep => {
            let table = body.tables.get("qd_sweep");
            let rate = |depth: &str| {
                table?.rows.iter().find(|row| row.label == depth)?.values.first().copied()?
            };
            ["1", "32", "256"]
                .map(|depth| part(&format!("depth {depth}:"), rate(depth), " IOPS"))
                .to_vec()
        }
        Test::Ezfio => {
            let rates = body.tables.get("long").and_then(|table| table.column("IOPS"));
            let rates: Vec<f64> = rates.into_iter().flatten().flatten().collect();
            vec![part("4 KiB 70/30, 256 threads:", stats::median(&rates), " IOPS")]
        }
    };
    let words: Vec<String> = parts.into_iter().flatten().collect();
    match (words.is_empty(), &body.ended_by) {
        (false, _) => words.join("; "),
        (true, Some(why)) => why.clone(),
        (true, None) => String::new(),
    }
}

fn group(body: &Body, group: usize, column: usize) -> Option<f64> {
    body.tables.get("groups")?.rows.get(group)?.values.get(column).copied().flatten()
}

fn saturation(body: &Body) -> Vec<Option<String>> {
    let fresh = phases(body).map(|phases| phases.plateau);
    let samples = body.tables.get("samples").and_then(|table| table.column("IOPS"));
    let rates: Vec<f64> = samples.into_iter().flatten().flatten().collect();
    let end = stats::median(&rates[rates.len().saturating_sub(5)..]);
    let word = |name: &str, value: f64| format!("{name} {} IOPS", figure(value));
    vec![
        fresh.map(|value| word(if body.setup.in_place { "at first" } else { "fresh" }, value)),
        end.map(|value| word("at the end", value)),
        fresh.zip(end.filter(|end| *end > 0.0)).map(|(a, b)| format!("{}×", number::digits(a / b))),
    ]
}
