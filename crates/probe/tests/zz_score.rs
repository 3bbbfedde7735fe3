//! Scores of what is inferred by writing, on drawn cards. Ignored: they take minutes. The seeds are for tuning.

mod cards;

use cards::{at_desk, drawn};
use drivescope_probe::open_au::{Options, boundary, probe};
use drivescope_probe::{Known, Name, Verdict};

/// Right, wrong, unknown.
#[derive(Debug, Default)]
struct Score(u32, u32, u32);

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("CARDS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let first = std::env::var("FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    first..first + count
}

#[test]
#[ignore = "minutes; run with --ignored --nocapture"]
fn open_units() {
    let know = std::env::var("KNOW").unwrap_or_default();
    let more = std::env::var("MORE").unwrap_or_default();
    for level in [0.1, 0.5, 1.0] {
        let mut scores = [Score::default(), Score::default()];
        let (mut bytes, mut time) = (0, 0.0);
        let begin = std::time::Instant::now();
        for seed in seeds() {
            let (spec, truth) = drawn(seed, level);
            let mut known = Known::new();
            let spec = format!("{spec}{more}");
            match &know[..] {
                "none" => {}
                "double" => known.give(Name::EraseBlock, 2 * truth.erase_block_bytes.unwrap().0),
                "half" => known.give(Name::EraseBlock, truth.erase_block_bytes.unwrap().0 / 2),
                _ => known.give(Name::EraseBlock, truth.erase_block_bytes.unwrap().0),
            }
            if know == "all" {
                let page = truth.page_bytes.unwrap().0 * u64::from(truth.planes.unwrap());
                known.give(Name::MultiPlanePage, page);
            }
            let ((outcome, spent), _) = at_desk(
                &spec,
                |terms| terms.seed = seed,
                |desk| {
                    let outcome = probe(desk, &known, &Options::default()).unwrap();
                    (outcome, desk.spent())
                },
            );
            bytes += spent.written_bytes.0;
            time += spent.elapsed_ns.0 as f64 / 1e9;
            let truths = [truth.open_au_linear, truth.open_au_random].map(|n| n.map(u64::from));
            for ((finding, truth), score) in outcome.findings.iter().zip(truths).zip(&mut scores) {
                match finding.verdict {
                    Verdict::Found if finding.value == truth => score.0 += 1,
                    Verdict::Unknown => {
                        score.2 += 1;
                        println!(
                            "{seed} {level} unknown {:?} {truth:?}: {}",
                            finding.name, finding.reason
                        );
                    }
                    _ => {
                        score.1 += 1;
                        println!("{seed} {level} WRONG {finding:?} {truth:?}");
                    }
                }
            }
        }
        let count = seeds().count() as f64;
        println!(
            "level {level}: linear {:?} random {:?}; {:.0} MiB, {:.1} s on the drive, {:.3} s here a card",
            scores[0],
            scores[1],
            bytes as f64 / count / 1048576.0,
            time / count,
            begin.elapsed().as_secs_f64() / count,
        );
    }
}

#[test]
#[ignore = "prints one card"]
fn one_card() {
    let level: f64 = std::env::var("LEVEL").map_or(0.1, |word| word.parse().unwrap());
    for seed in seeds() {
        let (spec, truth) = drawn(seed, level);
        println!("{:#?}", truth);
        println!("{}", serde_json::to_string(&sim::show(&spec).unwrap().parameters).unwrap());
        let mut known = Known::new();
        known.give(Name::EraseBlock, truth.erase_block_bytes.unwrap().0);
        let (outcome, _) = at_desk(
            &spec,
            |terms| terms.seed = seed,
            |desk| probe(desk, &known, &Options::default()).unwrap(),
        );
        for cell in &outcome.evidence.cells {
            println!("{cell:?}");
        }
        println!("{:?}", outcome.findings);
    }
}

#[test]
#[ignore = "prints the models"]
fn models() {
    for model in sim::list() {
        let spec = format!("sim:{}?seed=3", model.name);
        let begin = std::time::Instant::now();
        let truth = sim::show(&spec).unwrap().truth;
        let mut known = Known::new();
        if let Some(unit) = truth.erase_block_bytes.filter(|_| truth.card.is_some()) {
            known.give(Name::EraseBlock, unit.0);
        }
        let ((outcome, spent), _) = at_desk(
            &spec,
            |_| {},
            |desk| (probe(desk, &known, &Options::default()).unwrap(), desk.spent()),
        );
        println!(
            "{spec} {:?} {:?} {:?} {:.2} s",
            truth.open_au_linear,
            truth.open_au_random,
            spent,
            begin.elapsed().as_secs_f64()
        );
        for finding in &outcome.findings {
            println!(
                "    {:?} {:?} {:?} {}",
                finding.verdict, finding.value, finding.confidence, finding.reason
            );
        }
        if std::env::var("CELLS").is_ok() {
            outcome.evidence.cells.iter().for_each(|cell| println!("{cell:?}"));
        }
    }
}

#[test]
#[ignore = "minutes; run with --ignored --nocapture"]
fn boundaries() {
    for level in [0.1, 0.5, 1.0] {
        let mut scores = [Score::default(), Score::default()];
        let (mut bytes, mut time) = (0, 0.0);
        let begin = std::time::Instant::now();
        for seed in seeds() {
            let (spec, truth) = drawn(seed, level);
            let ((outcome, spent), _) = at_desk(
                &spec,
                |terms| terms.seed = seed,
                |desk| (boundary(desk, &Known::new()).unwrap(), desk.spent()),
            );
            bytes += spent.written_bytes.0;
            time += spent.elapsed_ns.0 as f64 / 1e9;
            let page = truth.page_bytes.unwrap().0 * u64::from(truth.planes.unwrap());
            let truths = [truth.erase_block_bytes.map(|n| n.0), Some(page)];
            for ((finding, truth), score) in outcome.findings.iter().zip(truths).zip(&mut scores) {
                match finding.verdict {
                    Verdict::Found if finding.value == truth => score.0 += 1,
                    Verdict::Unknown => {
                        score.2 += 1;
                        println!(
                            "{seed} {level} unknown {:?} {truth:?}: {}",
                            finding.name, finding.reason
                        );
                    }
                    _ => {
                        score.1 += 1;
                        println!("{seed} {level} WRONG {finding:?} {truth:?}");
                    }
                }
            }
            if std::env::var("CELLS").is_ok() {
                println!(
                    "{}",
                    serde_json::to_string(&sim::show(&spec).unwrap().parameters).unwrap()
                );
                outcome.evidence.classes.iter().for_each(|class| println!("{class:?}"));
                outcome.evidence.shifts.iter().for_each(|shift| println!("{shift:?}"));
            }
        }
        let count = seeds().count() as f64;
        println!(
            "level {level}: block {:?} page {:?}; {:.0} MiB, {:.1} s on the drive, {:.3} s here a card",
            scores[0],
            scores[1],
            bytes as f64 / count / 1048576.0,
            time / count,
            begin.elapsed().as_secs_f64() / count,
        );
    }
}

#[test]
#[ignore = "prints"]
fn ssds() {
    let list = std::env::var("MODELS").unwrap();
    let mut found = 0;
    for model in list.split(',') {
        for seed in seeds() {
            let spec = format!("sim:{model}?seed={seed}");
            let ((outcome, spent), _) = at_desk(
                &spec,
                |_| {},
                |desk| (probe(desk, &Known::new(), &Options::default()).unwrap(), desk.spent()),
            );
            for finding in &outcome.findings {
                if finding.verdict == Verdict::Found {
                    found += 1;
                    println!("{spec} {finding:?} {spent:?}");
                    if std::env::var("CELLS").is_ok() {
                        outcome
                            .evidence
                            .cells
                            .iter()
                            .rev()
                            .take(12)
                            .for_each(|cell| println!("{cell:?}"));
                    }
                } else {
                    println!("{spec} {:?} {}", finding.verdict, finding.reason);
                }
            }
        }
    }
    println!("found {found}");
}

#[test]
#[ignore = "prints"]
fn ssds_others() {
    let list = std::env::var("MODELS").unwrap();
    let mut found = 0;
    for model in list.split(',') {
        for seed in seeds() {
            let spec = format!("sim:{model}?seed={seed}");
            let (one, _) =
                at_desk(&spec, |_| {}, |desk| boundary(desk, &Known::new()).unwrap().findings);
            let (two, _) = at_desk(
                &spec,
                |_| {},
                |desk| drivescope_probe::fat::probe(desk, &Known::new()).unwrap().findings,
            );
            for finding in one.iter().chain(&two) {
                if finding.verdict == Verdict::Found {
                    found += 1;
                    println!("{spec} {finding:?}");
                }
            }
        }
    }
    println!("found {found}");
}
