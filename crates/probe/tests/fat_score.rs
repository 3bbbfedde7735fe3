//! Scores of the zone at the beginning, on drawn cards. Ignored: they take minutes. The seeds are for tuning.

mod cards;

use cards::{at_desk, drawn};
use drivescope_probe::fat::probe;
use drivescope_probe::{Known, Name, Verdict};

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("CARDS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let first = std::env::var("FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    first..first + count
}

#[test]
#[ignore = "minutes; run with --ignored --nocapture"]
fn zones() {
    let know = std::env::var("KNOW").is_ok_and(|word| word == "all");
    for level in [0.1, 0.5, 1.0] {
        let (mut right, mut wrong, mut unknown) = (0, 0, 0);
        let (mut bytes, mut time) = (0, 0.0);
        let begin = std::time::Instant::now();
        for seed in seeds() {
            let (spec, truth) = drawn(seed, level);
            let mut known = Known::new();
            known.give(Name::EraseBlock, truth.erase_block_bytes.unwrap().0);
            if know {
                known.give(Name::OpenAuLinear, u64::from(truth.open_au_linear.unwrap()));
            }
            let (outcome, spent) = at_desk(
                &spec,
                |terms| terms.seed = seed,
                |desk| (probe(desk, &known).unwrap(), desk.spent()),
            );
            bytes += spent.written_bytes.0;
            time += spent.elapsed_ns.0 as f64 / 1e9;
            let truth = truth.fat_zone_bytes.map(|n| n.0);
            let finding = &outcome.findings[0];
            match finding.verdict {
                Verdict::Found if finding.value == truth => right += 1,
                Verdict::None if truth.is_none() => right += 1,
                Verdict::Unknown => {
                    unknown += 1;
                    println!("{seed} {level} unknown {truth:?}: {}", finding.reason);
                }
                _ => {
                    wrong += 1;
                    println!("{seed} {level} WRONG {finding:?} {truth:?}");
                }
            }
            if std::env::var("CELLS").is_ok() {
                println!("{:#?}", outcome.evidence);
            }
        }
        let count = seeds().count() as f64;
        println!(
            "level {level}: {right} right {wrong} wrong {unknown} unknown; {:.0} MiB, {:.1} s on the drive, {:.3} s here a card",
            bytes as f64 / count / 1048576.0,
            time / count,
            begin.elapsed().as_secs_f64() / count,
        );
    }
}

#[test]
#[ignore = "prints the models"]
fn models() {
    for model in sim::list() {
        let spec = format!("sim:{}?seed=3", model.name);
        let truth = sim::show(&spec).unwrap().truth;
        let mut known = Known::new();
        if let Some(unit) = truth.erase_block_bytes.filter(|_| truth.card.is_some()) {
            known.give(Name::EraseBlock, unit.0);
        }
        let (outcome, spent) =
            at_desk(&spec, |_| {}, |desk| (probe(desk, &known).unwrap(), desk.spent()));
        println!("{spec} {:?} {spent:?} {:?}", truth.fat_zone_bytes, outcome.findings[0]);
    }
}
