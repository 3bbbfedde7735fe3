//! A run of tests, one after the other, on one drive.

use serde::{Deserialize, Serialize};
use stats::Caveat;
use stats::remedy::Run;
use stats::steady::Verdict;

use crate::body::{Body, RuleVerdict, Setup, StageKind};
use crate::desk::{Desk, Halt};
use crate::kept::{Earlier, Keeper};
use crate::options::{Addresses, Minute, Options, Rule, Test, Until};
use crate::rig::Rig;
use crate::tests;

/// Several tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bodies {
    /// In the order made.
    pub tests: Vec<Body>,
}

/// Results of a run.
#[derive(Debug)]
pub struct Ran {
    /// A body a test, as far as they came.
    pub bodies: Vec<Body>,
    /// Why it ended before its end.
    pub halt: Option<Halt>,
}

/// A gap longer than that lets a drive recover, in nanoseconds.
const GAP_NS_MAX: u64 = 2_000_000_000;

/// Runs all tests of `options` on `rig`.
///
/// # Errors
/// When nothing could be begun.
pub fn run(
    rig: &mut dyn Rig,
    options: &Options,
    earlier: Earlier,
    keeper: &mut dyn Keeper,
) -> Result<Ran, Halt> {
    let mut desk = Desk::new(rig, options, earlier, keeper)?;
    let mut bodies = Vec::new();
    for test in options.tests.iter().copied() {
        let mut body = Body::new(test, desk.info(), desk.stack(), options, setup(&desk, test));
        let written = desk.written;
        // Each test answers for itself.
        desk.gap_ns_max = 0;
        desk.repeated.clear();
        let ended = one(&mut desk, &mut body, test);
        body.bytes_written = (desk.written - written).0;
        body.gap_ns_max = desk.gap_ns_max;
        body.setup.minute_ns = desk.minutes(1.0).after.map(|minute| minute.0);
        body.caveats.extend(doubts(&desk, &body));
        body.is_whole = ended.is_ok();
        body.ended_by = ended.as_ref().err().map(ToString::to_string);
        bodies.push(body);
        if let Err(halt) = ended {
            return Ok(Ran { bodies, halt: Some(halt) });
        }
    }
    Ok(Ran { bodies, halt: None })
}

fn one(desk: &mut Desk<'_>, body: &mut Body, test: Test) -> Result<(), Halt> {
    match test {
        Test::Iops => tests::iops::run(desk, body),
        Test::Throughput => tests::throughput::run(desk, body),
        Test::Latency => tests::latency::run(desk, body),
        Test::Wsat => tests::wsat::run(desk, body),
        Test::Hir => tests::hir::run(desk, body),
        Test::Xsr => tests::xsr::run(desk, body),
        Test::Cbw | Test::Dirth => tests::composite::run(desk, body, test),
        Test::QdSweep => tests::qd_sweep::run(desk, body),
        Test::Ezfio => tests::ezfio::run(desk, body),
    }
}

fn setup(desk: &Desk<'_>, test: Test) -> Setup {
    let options = desk.options;
    Setup {
        profile: options.profile.into(),
        // One test has them side by side; the others keep to the first.
        engine: match test {
            Test::QdSweep => desk.engines().join(", "),
            _ => desk.engines().into_iter().next().unwrap_or_default(),
        },
        data_pattern: "random".to_owned(),
        range_offset_bytes: desk.region().offset.0,
        range_bytes: desk.region().length.0,
        minute_ns: match options.minute {
            Minute::Time(minute) => Some(minute.0),
            Minute::Fill(_) => None,
        },
        threads: options.threads,
        depth: options.depth,
        until: Until(options.until).into(),
        addresses: match options.addresses {
            Addresses::Uniform => "uniform",
            Addresses::Fresh => "fresh permutation",
            Addresses::Replayed => "replayed permutation",
            Addresses::HotCold => "hot and cold",
        }
        .to_owned(),
        in_place: options.in_place,
        seed: options.seed,
    }
}

fn doubts(desk: &Desk<'_>, body: &Body) -> Vec<Caveat> {
    let subject = body.device.name.as_str();
    let mut found = Vec::new();
    if !desk.repeated.is_empty() {
        found.push(Caveat::new(
            "stretches_repeated",
            subject,
            format!(
                "{} stretches were disturbed and made again: {}",
                desk.repeated.len(),
                desk.repeated[0]
            ),
            Run::CoolOrFree,
        ));
    }
    if desk.gap_ns_max > GAP_NS_MAX {
        found.push(Caveat::new(
            "gap",
            subject,
            format!(
                "the drive stood still for {:.1} s between two stretches, in which it may have recovered",
                desk.gap_ns_max as f64 / 1e9
            ),
            Run::IdleMachine,
        ));
    }
    let tells = |body: &Body| {
        body.steady.as_ref().is_some_and(|steady| {
            steady.pts.verdict == RuleVerdict::Steady && steady.ours.verdict != Verdict::Yes
        })
    };
    let is_given_up = body.steady.as_ref().is_some_and(|steady| steady.ours.verdict == Verdict::No);
    if tells(body) {
        found.push(Caveat::new(
            "pts_alone",
            subject,
            "the specification's five rounds call it steady, and by bytes it is not",
            match desk.options.until {
                Rule::Bytes if is_given_up => Run::LookAtRates,
                Rule::Bytes => Run::Finish,
                _ => Run::SteadyByBytes,
            },
        ));
    }
    for stage in body
        .preconditioning
        .iter()
        .filter(|stage| !stage.is_accepted && stage.kind != StageKind::Wipc)
    {
        found.push(Caveat::new(
            "not_preconditioned",
            subject,
            stage.reason.as_str(),
            Run::PreconditionByBytes,
        ));
    }
    found
}
