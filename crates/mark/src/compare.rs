//! Marks of several targets, compared test by test.
//!
//! Each later side is compared with each earlier one, by the ratio of its throughput ([`stats::Contrast`]); all pairs of all
//! tests are judged together. Sides that were measured in blocks, each with a run of every side in random order, are
//! compared within their blocks; others as groups, and then only a difference beyond what two sessions may differ by is one
//! of the drives.

mod comparison;
mod latency;
mod ranking;
mod sessions;

use block::{Medium, Nanos};
use stats::compare::LatencyRuns;
use stats::remedy::Run;
use stats::{Caveat, Contrast, Design, ERROR_MAX, Judged, Modes, Withheld, judge, two_modes};

use crate::body::CONFIDENCE;
use crate::body::{Body, Reliability, Setup, Test};
use crate::imported::Told;

pub use comparison::{ComparedTest, Comparison, Figures, Pair, Ranked, Side, SideSession, Verdict};
pub use latency::{LatencyRatio, NoInterval, PercentileRatio, RunLatencies};
pub use ranking::{Group, Tie};
pub use sessions::of_sessions;

/// Seed of the resampling that tests whether runs have two modes; it decides nothing else.
const MODES_SEED: u64 = 0x6d6f_6465;

/// A side with what was measured of it.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// The side.
    pub side: Side,
    /// Its mark.
    pub body: &'a Body,
    /// The latencies of its runs, where they were kept.
    pub latencies: Option<&'a RunLatencies>,
}

/// Compares `measured` sides; `margin_percent` such as 2. Two sessions of one drive may differ by `session_offset_percent`.
pub fn compare(
    measured: &[Measured<'_>],
    margin_percent: f64,
    session_offset_percent: f64,
) -> Comparison {
    let sides: Vec<Side> = measured.iter().map(|one| one.side.clone()).collect();
    let bodies: Vec<&Body> = measured.iter().map(|one| one.body).collect();
    let mut tests: Vec<ComparedTest> = Vec::new();
    let mut contrasts: Vec<Contrast> = Vec::new();
    // Indices of the test and the pair of each contrast.
    let mut places: Vec<(usize, usize)> = Vec::new();
    for key in keys(&bodies) {
        let made: Vec<Option<Tested<'_>>> =
            measured.iter().map(|one| Tested::of(one, key)).collect();
        let mut pairs = Vec::new();
        for of in 1..sides.len() {
            for to in 0..of {
                let (Some(a), Some(b)) = (&made[of], &made[to]) else { continue };
                let (mut pair, contrast) = pair((of, a), (to, b), design(&sides[of], &sides[to]));
                pair.by_sessions = sessions::take_turns(&sides[of], &sides[to]);
                if let Some(contrast) = contrast {
                    let offset = if pair.by_sessions { 0.0 } else { session_offset_percent };
                    let contrast = contrast.of_sessions(offset / 100.0);
                    places.push((tests.len(), pairs.len()));
                    contrasts.push(contrast);
                }
                pairs.push(pair);
            }
        }
        let first = made.iter().flatten().map(|made| made.test).find(|test| test.depth > 0);
        let sides = made.iter().map(|made| made.as_ref().map(|made| figures(made.test))).collect();
        tests.push(ComparedTest {
            name: key.name.to_owned(),
            op: key.op.to_owned(),
            block_bytes: first.map(|test| test.block_bytes),
            depth: first.map(|test| test.depth),
            threads: first.map(|test| test.threads),
            sides,
            pairs,
            ranking: Vec::new(),
        });
    }
    let judged = judge(&contrasts, CONFIDENCE, margin_percent / 100.0);
    for ((test, pair), judged) in places.into_iter().zip(judged) {
        let pair = &mut tests[test].pairs[pair];
        pair.outcome = match judged.outcome {
            stats::Outcome::Higher => Verdict::Faster,
            stats::Outcome::Lower => Verdict::Slower,
            stats::Outcome::Equivalent => Verdict::Equivalent,
            stats::Outcome::Undecided => Verdict::Undecided,
        };
        pair.not_decided = not_decided(&judged, session_offset_percent);
        pair.throughput = Some(judged);
    }
    for test in &mut tests {
        test.ranking = ranking::ranking(&test.sides, &test.pairs);
    }
    let caveats = caveats(&sides, &bodies, &tests, session_offset_percent);
    Comparison {
        margin_percent,
        confidence: CONFIDENCE,
        verdict_confidence: 1.0 - ERROR_MAX,
        session_offset_percent,
        sides,
        tests,
        caveats,
    }
}

/// Why a verdict is withheld, and what to do.
fn not_decided(judged: &Judged, session_offset_percent: f64) -> Option<String> {
    let why = match judged.withheld? {
        Withheld::Sessions => format!(
            "the runs of each side were made in a session of its own; a session offset of {session_offset_percent}% cannot \
             be distinguished from a difference; measure in blocks with `drivescope compare A B`"
        ),
        Withheld::Drift => "the numbers moved by more while they were measured; bring the drives to a steady state or \
                            to rest and measure again"
            .to_owned(),
        Withheld::Wandering => "the difference itself went up and down from block to block; measure more blocks, or with a \
                                longer --pause"
            .to_owned(),
    };
    Some(why)
}

/// Key that identifies a test on all sides.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key<'a> {
    name: &'a str,
    op: &'a str,
}

impl Key<'_> {
    fn of(test: &Test) -> Key<'_> {
        Key { name: &test.name, op: &test.op }
    }
}

/// A test as one side made it.
struct Tested<'a> {
    test: &'a Test,
    latencies: Option<LatencyRuns>,
}

impl<'a> Tested<'a> {
    fn of(one: &Measured<'a>, key: Key<'_>) -> Option<Tested<'a>> {
        let index = one.body.tests.iter().position(|test| Key::of(test) == key)?;
        let latencies = latency::of_test(one.body, index, one.latencies);
        Some(Tested { test: &one.body.tests[index], latencies })
    }
}

/// The tests that two sides at least have made, in the order of the first that made them.
fn keys<'a>(bodies: &[&'a Body]) -> Vec<Key<'a>> {
    let mut keys = Vec::new();
    for test in bodies.iter().flat_map(|body| &body.tests) {
        let key = Key::of(test);
        let made = bodies.iter().filter(|body| body.tests.iter().any(|t| Key::of(t) == key));
        if !keys.contains(&key) && made.count() > 1 {
            keys.push(key);
        }
    }
    keys
}

fn design(a: &Side, b: &Side) -> Design {
    match (&a.blocks, &b.blocks) {
        (Some(a), Some(b)) if a == b => Design::Blocks,
        _ => Design::Separate,
    }
}

fn rates(test: &Test) -> Vec<f64> {
    test.runs.iter().map(|run| run.mb_s).collect()
}

fn figures(test: &Test) -> Figures {
    let modes = two_modes(&rates(test), MODES_SEED);
    Figures {
        headline: test.headline,
        provisional: test.reliability() == Reliability::Provisional,
        reached: test.proofs.reached.verdict,
        mb_s: test.mb_s,
        latency_ns: test.latency_ns,
        two_modes: modes.is_some_and(|found| matches!(found.modes, Modes::Two { .. })),
        runs: test.runs.clone(),
    }
}

/// The pair without a verdict, and what the verdict is drawn from.
fn pair(
    (of, a): (usize, &Tested<'_>),
    (to, b): (usize, &Tested<'_>),
    design: Design,
) -> (Pair, Option<Contrast>) {
    let (mut ours, mut theirs) = (rates(a.test), rates(b.test));
    if design == Design::Blocks {
        // The last block of an interrupted measurement is not whole.
        let whole = ours.len().min(theirs.len());
        ours.truncate(whole);
        theirs.truncate(whole);
    }
    let stands = a.test.headline && b.test.headline;
    let contrast = Contrast::new(&ours, &theirs, design).filter(|_| stands);
    let contrast =
        contrast.map(|found| found.of_counts((a.test.ios_of_a_run(), b.test.ios_of_a_run())));
    let pair = Pair {
        of,
        to,
        outcome: Verdict::NotComparable,
        design,
        runs: (ours.len(), theirs.len()),
        throughput: None,
        dominance: contrast.as_ref().map(Contrast::dominance),
        latency: contrast.as_ref().and_then(|contrast| {
            let (a, b) = ((a.test, a.latencies.as_ref()), (b.test, b.latencies.as_ref()));
            latency::ratio(a, b, design, contrast)
        }),
        by_sessions: false,
        not_decided: None,
    };
    (pair, contrast)
}

fn caveats(
    sides: &[Side],
    bodies: &[&Body],
    tests: &[ComparedTest],
    session_offset_percent: f64,
) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut doubt = |code: &str, subject: &str, cause: String, remedy: Run| {
        caveats.push(Caveat::new(code, subject, cause, remedy));
    };
    let differing = settings(bodies);
    if !differing.is_empty() {
        let cause = format!("the sides were not asked the same: {}", differing.join("; "));
        let is_in_turns =
            sides.iter().all(|side| side.blocks.is_some() && side.blocks == sides[0].blocks);
        let remedy = match is_in_turns {
            true => Run::SameRegion,
            false => Run::SamePlan,
        };
        doubt("settings_differ", "the comparison", cause, remedy);
    }
    for (device, on_it) in shared_devices(sides, bodies) {
        let letters: Vec<String> = on_it.into_iter().map(letter).collect();
        let cause = format!(
            "{} are on one device ({device}): a difference is that of filesystem, region or settings, and not of a drive",
            letters.join(" and ")
        );
        doubt("same_device", "the comparison", cause, Run::SeparateDevices);
    }
    let imported = bodies.iter().enumerate().filter_map(|(side, body)| {
        body.imported.as_ref().map(|imported| format!("{} by {}", letter(side), imported.tool))
    });
    let imported: Vec<String> = imported.collect();
    if !imported.is_empty() {
        let cause = format!(
            "{} was measured by another program, whose word is all there is",
            imported.join(", ")
        );
        doubt("imported", "the comparison", cause, Run::MeasureAllSides);
    }
    let is_apart = |pair: &Pair| {
        pair.design == Design::Separate && !pair.by_sessions && pair.throughput.is_some()
    };
    if tests.iter().flat_map(|test| &test.pairs).any(is_apart) {
        let cause = format!(
            "they were measured each by itself: what changed in between is part of the ratios; only a difference beyond \
             {session_offset_percent}%, which is assumed to be the most that two sessions differ by, is called one \
             (--session-offset)"
        );
        doubt("measured_apart", "the comparison", cause, Run::MeasureInBlocks);
    }
    for test in tests {
        let subject = format!("{} {}", test.name, test.op);
        let two = |side: &Option<Figures>| side.as_ref().is_some_and(|side| side.two_modes);
        let which = (0..sides.len()).filter(|&side| two(&test.sides[side]));
        let which: Vec<String> = which.map(letter).collect();
        if !which.is_empty() {
            let cause = format!("the runs of {} fall into two groups", which.join(" and of "));
            doubt("two_modes", &subject, cause, Run::LookAtRuns);
        }
        let drift = |pair: &Pair| pair.throughput.as_ref().and_then(|judged| judged.drift);
        for (pair, drift) in test.pairs.iter().filter_map(|pair| Some((pair, drift(pair)?))) {
            let cause = format!(
                "while {} was compared with {}, the numbers moved by {:+.1}%, more than the two are apart",
                letter(pair.of),
                letter(pair.to),
                (drift - 1.0) * 100.0
            );
            doubt("drift", &subject, cause, Run::MeasureInTurns);
        }
    }
    caveats
}

/// Devices that several of the sides which were measured together are on, with these sides.
fn shared_devices<'a>(sides: &[Side], bodies: &[&'a Body]) -> Vec<(&'a str, Vec<usize>)> {
    let mut devices: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, (side, body)) in sides.iter().zip(bodies).enumerate() {
        let of_it = body.stack.leaves.iter().filter(|leaf| leaf.medium == Medium::Device);
        for leaf in of_it.filter(|_| side.blocks.is_some() && side.blocks == sides[0].blocks) {
            match devices.iter_mut().find(|(name, _)| *name == leaf.name) {
                Some((_, on_it)) => on_it.push(index),
                None => devices.push((&leaf.name, vec![index])),
            }
        }
    }
    devices.retain(|(_, on_it)| on_it.len() > 1);
    devices
}

/// Sides as they are spoken of: A, B, C and so on.
pub fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(small @ 0..26) => char::from(b'A' + small).to_string(),
        _ => format!("side {}", index + 1),
    }
}

/// Settings that differ between sides, each with its values in the order of the sides. A setting that an imported file does
/// not give differs from nothing.
fn settings(bodies: &[&Body]) -> Vec<String> {
    let each = |ours: fn(&Setup) -> String, told: fn(&Told) -> Option<String>| {
        let value = |body: &&Body| match &body.imported {
            Some(imported) => told(&imported.told),
            None => Some(ours(&body.setup)),
        };
        bodies.iter().map(value).collect::<Vec<Option<String>>>()
    };
    let columns: [(&str, Vec<Option<String>>); 7] = [
        ("engine", each(|setup| setup.engine.clone(), |told| told.engine.clone())),
        ("direct I/O", each(|setup| yes_no(setup.direct), |told| told.direct.map(yes_no))),
        ("durable writes", each(|setup| yes_no(setup.durable), |told| told.durable.map(yes_no))),
        ("region", each(|s| s.region_bytes.to_string(), |t| Some(t.region_bytes?.to_string()))),
        ("measured time", each(|s| seconds(s.duration_ns), |t| t.duration_ns.map(seconds))),
        ("warm-up", each(|s| seconds(s.warm_up_ns), |t| t.warm_up_ns.map(seconds))),
        ("pause", each(|s| seconds(s.pause_ns), |_| None)),
    ];
    let differs = |values: &[Option<String>]| {
        let told: Vec<&String> = values.iter().flatten().collect();
        told.windows(2).any(|pair| pair[0] != pair[1])
    };
    let words = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let told = columns.into_iter().filter(|(_, values)| differs(values));
    told.map(|(name, values)| {
        let values: Vec<String> = values.iter().map(words).collect();
        format!("{name} {}", values.join(" and "))
    })
    .collect()
}

fn seconds(span: Nanos) -> String {
    format!("{} s", span.as_secs_f64())
}

fn yes_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}
