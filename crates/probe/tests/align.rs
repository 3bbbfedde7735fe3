//! `probe align` on virtual drives whose truth is known.

use crate::bench;
use crate::cards;
use block::Nanos;
use drivescope_probe::align::{Evidence, Options, probe};
use drivescope_probe::{Known, Name, Outcome, Spent, Verdict};
use sim::Truth;
use stats::Remedy;

/// Probes a whole drive, which must not be written.
fn run(spec: &str, seed: u64) -> (Outcome<Evidence>, Spent) {
    let change =
        |terms: &mut drivescope_probe::Terms| (terms.seed, terms.may_write) = (seed, false);
    bench::on_terms(spec, change, |desk| {
        let outcome = probe(desk, &Known::new(), &Options::default()).unwrap();
        (outcome, desk.spent())
    })
}

/// Erase block, page and multi-plane page.
fn sizes(truth: &Truth) -> [u64; 3] {
    let page = truth.page_bytes.unwrap().0;
    [truth.erase_block_bytes.unwrap().0, page, page * u64::from(truth.planes.unwrap())]
}

fn found(outcome: &Outcome<Evidence>) -> [Option<u64>; 3] {
    let names = [Name::EraseBlock, Name::Page, Name::MultiPlanePage];
    let values: Vec<Option<u64>> = outcome
        .findings
        .iter()
        .zip(names)
        .map(|(finding, name)| {
            assert_eq!(finding.name, name);
            // Of a class the greatest: the pages that are read at once.
            finding.value.or(finding.one_of.last().copied())
        })
        .collect();
    values.try_into().unwrap()
}

// Breaks when a card whose boundaries show is not read right, or costs a user a minute.
#[test]
fn cards_with_a_name_are_what_they_are() {
    for card in ["usb-8m", "usb-tlc", "sdcard-4m", "card-3m"] {
        let spec = format!("sim:{card}");
        let truth = sizes(&sim::show(&spec).unwrap().truth);
        for seed in 1..=2 {
            let (outcome, spent) = run(&format!("{spec}?seed={seed}"), seed);
            assert_eq!(found(&outcome), truth.map(Some), "{spec}: {:#?}", outcome.findings);
            assert!(spent.elapsed_ns < Nanos::secs(47), "{spec} took {:?}", spent.elapsed_ns);
            assert_eq!(outcome.evidence.spoke_bytes.unwrap().0, 1024);
        }
    }
}

// Breaks when noise makes a wrong number, or when an answer needs less noise than is promised. The figures at full
// size are in docs/method/probe-align.md; these are other seeds.
#[test]
fn drawn_cards_are_read_right_or_not_at_all() {
    for (level, unknown_max) in [(0.1, 4), (0.5, 14), (1.0, 30)] {
        let mut unknown = 0;
        for seed in 20_000..20_016 {
            let (spec, truth) = cards::drawn(seed, level);
            let shows = truth.card.as_ref().unwrap().reads_show_boundaries;
            let (outcome, _) = run(&spec, seed);
            for (finding, truth) in outcome.findings.iter().zip(sizes(&truth)) {
                let right = match finding.verdict {
                    Verdict::Unknown if !finding.one_of.is_empty() => {
                        finding.one_of.contains(&truth)
                    }
                    Verdict::Unknown => {
                        unknown += 1;
                        continue;
                    }
                    Verdict::None => !shows,
                    Verdict::Found => shows && finding.value == Some(truth),
                };
                assert!(right, "seed {seed} at {level}, truth {truth}: {finding:#?}");
            }
        }
        assert!(unknown <= unknown_max, "{unknown} of 48 unknown at {level}");
    }
}

// Breaks when a drive without such a structure is given one: by its stripes, its seeks, its rotation or its mapping.
#[test]
fn drives_that_are_no_cards_have_no_number() {
    let drives = [
        "optane",
        "hdd-7200",
        "hdd-wd",
        "enterprise-28op",
        "sata-b",
        "enterprise-28op?state=filled",
        "sata-a?state=filled",
        "random-ssd?seed=5&state=filled",
        "mlc-nvme?state=filled",
        "tlc-pslc?state=filled",
        "qlc-pslc?state=filled",
        "random-ssd?seed=3&state=filled",
        "random-ssd?seed=8&state=filled",
        "random-ssd?seed=9&state=filled",
    ];
    for drive in drives {
        let (outcome, _) = run(&format!("sim:{drive}"), 3);
        assert_eq!(found(&outcome), [None; 3], "{drive}: {:#?}", outcome.findings);
        let rotates = drive.starts_with("hdd");
        assert_eq!(outcome.evidence.conditions.seeks(), rotates, "{drive}");
    }
}

// Breaks when the answer hangs on memory that happens to be off in the models: the group read last, and reading ahead.
#[test]
fn what_a_card_keeps_in_memory_changes_nothing() {
    let spec = "sim:usb-tlc?read.page_buffer=true&read.read_ahead_groups=8";
    let (outcome, _) = run(spec, 1);
    assert_eq!(found(&outcome), [4 << 20, 8192, 16384].map(Some), "{:#?}", outcome.findings);
    println!("{:?}", outcome.evidence.conditions);
    assert!(outcome.evidence.conditions.reads_ahead(), "{:?}", outcome.evidence.conditions);
    assert!(!outcome.evidence.conditions.has_read_cache());
}

// Breaks when a drive that was never written gets an answer, or the report does not say why it may have none.
#[test]
fn what_was_never_written_shows_nothing() {
    let (outcome, _) = run("sim:usb-8m?state=fresh", 1);
    assert_eq!(found(&outcome), [None; 3]);
    assert!(outcome.caveats.iter().any(|caveat| caveat.code == "nothing_shows"));
}

// Breaks when noise hides that a card was never written, or a card that was written passes for one that was not: what is
// read says it, at any noise.
#[test]
fn a_card_that_was_never_written_is_known_at_any_noise() {
    let caveats = |state: &str, noise: u64| {
        let spec = format!("sim:sdcard-4m?state={state}&link.jitter_ns={noise}");
        let (outcome, _) = run(&spec, 1);
        let codes = ["never_written", "nothing_shows"];
        let of_state = outcome.caveats.into_iter().filter(|it| codes.contains(&it.code.as_str()));
        of_state.collect::<Vec<_>>()
    };
    for noise in [0, 20_000, 50_000, 100_000, 300_000, 1_000_000] {
        let fresh = caveats("fresh", noise);
        assert_eq!(fresh.len(), 1, "{noise}: {fresh:?}");
        let is_filled = matches!(fresh[0].remedy, Remedy::FilledState { .. });
        assert!(fresh[0].cause.contains("zeros") && is_filled, "{fresh:?}");
        let filled = caveats("filled", noise);
        assert!(!filled.iter().any(|caveat| caveat.cause.contains("zeros")), "{noise}: {filled:?}");
    }
}

// Breaks when boundaries of a part that holds no data are mixed in: they cost nothing, and every step shrinks.
#[test]
fn parts_that_were_never_written_are_left_out() {
    let outcome = bench::at("sim:usb-8m?state=fresh&capacity=2GiB", |desk| {
        let block = 1 << 20;
        let half: Vec<(u64, u64)> = (0..1024).map(|n| (n * block, block)).collect();
        desk.write("fill", &half).unwrap();
        probe(desk, &Known::new(), &Options::default()).unwrap()
    });
    assert_eq!(
        found(&outcome),
        [8 << 20, 16384, 16384].map(Some),
        "{:#?} {:?}",
        outcome.findings,
        outcome.evidence.conditions
    );
    let empty = &outcome.evidence.conditions.never_written;
    let bytes: u64 = empty.iter().map(|(from, to)| to - from).sum();
    assert!((900 << 20..=1100 << 20).contains(&bytes), "{empty:?}");
    assert!(outcome.caveats.iter().any(|caveat| caveat.code == "never_written"));
}

// Breaks when a part of a drive that begins anywhere has its boundaries counted from there, or is left.
#[test]
fn a_part_of_a_drive_has_the_drives_boundaries() {
    let change = |terms: &mut drivescope_probe::Terms| {
        terms.region.offset.0 = (1 << 30) + 512;
        terms.region.length.0 = 1 << 30;
    };
    let outcome = bench::on_terms("sim:sdcard-4m?capacity=4GiB", change, |desk| {
        probe(desk, &Known::new(), &Options::default()).unwrap()
    });
    assert_eq!(found(&outcome), [4 << 20, 8192, 16384].map(Some), "{:#?}", outcome.findings);
}

// Breaks when time that is short makes a wrong answer, an error, or no end.
#[test]
fn a_limit_ends_it_with_what_is_known() {
    for millis in [1, 50, 400, 1500] {
        let options = Options { time: Nanos::millis(millis), ..Options::default() };
        let (outcome, spent) = bench::at("sim:sdcard-4m", |desk| {
            (probe(desk, &Known::new(), &options).unwrap(), desk.spent())
        });
        let right = [4 << 20, 8192, 16384];
        for (value, right) in found(&outcome).into_iter().zip(right) {
            assert!(value.is_none_or(|value| value == right), "{millis}: {:#?}", outcome.findings);
        }
        assert!(spent.elapsed_ns < Nanos::millis(millis + 1200), "{spent:?}");
    }
}

// Breaks when a size that the user gave is measured all the same, or pages are not looked for below it.
#[test]
fn a_given_erase_block_is_taken() {
    let mut known = Known::new();
    known.give(Name::EraseBlock, 4 << 20);
    let outcome =
        bench::at("sim:usb-tlc", |desk| probe(desk, &known, &Options::default()).unwrap());
    assert_eq!(found(&outcome), [4 << 20, 8192, 16384].map(Some));
    assert_eq!(outcome.findings[0].confidence, Some(1.0));
}

// Breaks when the evidence of a run cannot be read back, or one seed no longer gives one history.
#[test]
fn evidence_is_data() {
    let (outcome, _) = run("sim:usb-8m?seed=3", 5);
    let text = serde_json::to_string(&outcome.evidence).unwrap();
    assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), outcome.evidence);
    assert_eq!(run("sim:usb-8m?seed=3", 5).0, outcome);
    assert_eq!(outcome.evidence.blocks.len(), 7);
    assert!(outcome.evidence.blocks.iter().all(|block| block.rows.len() > 15));
}
