//! What tables of flashbench's own making say about drawn cards: its pattern, one pass, means, three digits.

mod cards;

use cards::{at_desk, drawn};
use drivescope_probe::open_au::{Order, Row, Table, infer, infer_order};
use drivescope_probe::{Desk, Name, Verdict};
use workload::rng::Rng;

const MIB: u64 = 1 << 20;

/// flashbench's `-O`: sizes from the erase block down to `least`; blocks 12 erase blocks apart from 16 MiB on.
fn flashbench(desk: &mut Desk<'_>, unit: u64, least: u64, nr: u32, order: Order) -> Table {
    let mut rng = Rng::for_path(7, &[u64::from(nr)]);
    let mut rows = Vec::new();
    let mut len = unit;
    while len >= least {
        let mut places: Vec<u64> = (0..unit / len).collect();
        let mut blocks: Vec<u64> = (0..u64::from(nr)).collect();
        if order == Order::Random {
            rng.shuffle(&mut places);
        }
        rng.shuffle(&mut blocks);
        let from = (16 * MIB).div_ceil(unit) * unit;
        let at = |place: u64, block: u64| (from + block * 12 * unit + place * len, len);
        let writes: Vec<(u64, u64)> =
            places.iter().flat_map(|p| blocks.iter().map(|b| at(*p, *b))).collect();
        let samples = desk.write("flashbench", &writes).unwrap();
        let sum: f64 = samples.iter().map(|s| (s.completed.0 - s.issued.0) as f64).sum();
        let rate = three_digits(1e9 * len as f64 * samples.len() as f64 / sum);
        rows.push(Row { len_bytes: len, ns_per_io: 1e9 * len as f64 / rate, error_ns: None });
        len /= 2;
    }
    Table { nr, order, rows }
}

/// A number as `%.3g` prints it.
fn three_digits(value: f64) -> f64 {
    let unit = 10_f64.powi(value.log10().floor() as i32 - 2);
    (value / unit).round() * unit
}

/// Right, wrong, unknown.
#[derive(Debug, Default)]
struct Score(u32, u32, u32);

fn unlimited(terms: &mut drivescope_probe::Terms) {
    terms.write_budget.0 = 1 << 50;
    terms.time_budget.0 = 1 << 62;
}

/// Scores tables of the cards of `seeds` up to the first beyond the limit.
fn score(seeds: std::ops::Range<u64>, level: f64, order: Order, show: bool) -> Score {
    let mut score = Score::default();
    for seed in seeds {
        let (spec, truth) = drawn(seed, level);
        let unit = truth.erase_block_bytes.unwrap().0;
        let zone = truth.fat_zone_bytes.map_or(0, |bytes| bytes.0);
        let open = match order {
            Order::Linear => truth.open_au_linear,
            Order::Random => truth.open_au_random,
        };
        let open = open.unwrap();
        let capacity = sim::show(&spec).unwrap().info.capacity_bytes.0;
        // What flashbench writes must lie behind the zone and on the card.
        if zone > (16 * MIB).div_ceil(unit) * unit
            || (12 * u64::from(truth.open_au_linear.unwrap()) + 32) * unit > capacity
        {
            continue;
        }
        let last = truth.open_au_linear.unwrap();
        let least = [16 << 10, 32 << 10, 64 << 10][seed as usize % 3];
        let tables = at_desk(&spec, unlimited, |desk| {
            let mut tables: Vec<Table> =
                (1..=last + 1).map(|nr| flashbench(desk, unit, least, nr, order)).collect();
            if order == Order::Random {
                tables.push(flashbench(desk, unit, least, 1, Order::Linear));
            }
            tables
        });
        let finding = infer_order(&tables, order);
        let value = finding.value;
        match finding.verdict {
            Verdict::Found if value == Some(u64::from(open)) => score.0 += 1,
            Verdict::Unknown => score.2 += 1,
            _ => score.1 += 1,
        }
        if show && value != Some(u64::from(open)) {
            println!(
                "{seed} {order:?} of {open}: {value:?} {:?} {}",
                finding.confidence, finding.reason
            );
            for table in tables {
                let rate = |row: &Row| row.len_bytes as f64 * 1e3 / row.ns_per_io;
                let rates: Vec<String> =
                    table.rows.iter().map(|row| format!("{:.3}", rate(row))).collect();
                println!("   {} {:?} {}", table.nr, table.order, rates.join(" "));
            }
        }
    }
    score
}

#[test]
#[ignore = "minutes; run with --ignored --nocapture"]
fn scores() {
    let count = std::env::var("CARDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    for level in [0.1, 1.0] {
        for order in [Order::Linear, Order::Random] {
            println!("level {level} {order:?}: {:?}", score(0..count, level, order, true));
        }
    }
    let _ = (infer(&[]), Name::OpenAuLinear);
}
