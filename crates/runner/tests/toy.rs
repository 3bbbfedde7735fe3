//! A toy instrument, from consent to view: the example of "How to add an instrument" in ARCHITECTURE.md. It writes a block in
//! each part of a drive, reads it back, and reports how long a pair takes.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use block::{
    Bytes, Completion, Drive, EngineKind, LaneSetup, Op, Payload, Request, Time, UnixNanos,
};
use drives::{OpenDrive, OpenRequest, TargetSpec};
use drivescope_runner::instrument::{
    self, Ended, Instrument, Measure, Outcome, Resumed, Resumption,
};
use drivescope_runner::place::{Keep, runs};
use drivescope_runner::recorder::{Beginning, Recorder, document_of};
use engine::IoPath;
use linux::gate;
use linux::sysfs::Roots;
use record::{Run, RunId, SamplesFormat, State, Summary};
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "drivescope.toy/1";
const BLOCK: Bytes = Bytes(4096);

/// Plan of the toy.
#[derive(Clone, Serialize, Deserialize)]
struct Plan {
    parts: u64,
    write_budget_bytes: u64,
}

/// One part of the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair {
    offset: u64,
    ns: u64,
}

/// Result of the toy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Body {
    pairs: Vec<Pair>,
    is_whole: bool,
}

documents::decode!(Pair, Body);

/// The toy on an open drive.
struct Toy<'a> {
    plan: Plan,
    drive: &'a mut dyn IoPath,
    identity: block::DriveIdentity,
    done: Vec<Pair>,
    /// Breaks off before this pair, as a crash would.
    dies_at: Option<usize>,
}

struct Ones;

impl Payload for Ones {
    fn fill(&mut self, _: Bytes, buffer: &mut [u8]) {
        buffer.fill(1);
    }
}

impl Instrument for Toy<'_> {
    type Step = Pair;

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn noun(&self) -> &'static str {
        "toy"
    }

    fn beginning(&self) -> Result<Beginning> {
        Ok(Beginning {
            plan: toml::to_string(&self.plan)?,
            setup: serde_json::json!({ "verb": "toy", "target": self.identity.name }),
            steps: u32::try_from(self.plan.parts).ok(),
            drive: Some(self.identity.clone()),
            samples: Some(SamplesFormat::Csv),
        })
    }

    fn resume(&mut self, _: &Run, steps: Vec<Pair>) -> Result<Resumption> {
        let resumption = Resumption::after(steps.len(), "pair");
        self.done = steps;
        Ok(resumption)
    }
}

impl Measure for Toy<'_> {
    type Body = Body;

    fn measure(&mut self, _: &RunId, recorder: &mut Recorder) -> Result<Outcome<Body>> {
        let part = self.drive.info().capacity_bytes.0 / self.plan.parts;
        let payload: &dyn Fn(u16) -> Box<dyn Payload> = &|_| Box::new(Ones);
        let setup =
            LaneSetup { block_bytes_max: BLOCK, payload: Some(payload), ..LaneSetup::default() };
        let mut lane = self.drive.open(&setup)?.pop().context("no lane")?;
        lane.attach()?;
        let mut state = State::Finished;
        for index in self.done.len()..self.plan.parts as usize {
            if self.dies_at == Some(index) {
                bail!("died");
            }
            if (index as u64 + 1) * BLOCK.0 > self.plan.write_budget_bytes {
                state = State::Interrupted;
                break;
            }
            let offset = Bytes(index as u64 * part / BLOCK.0 * BLOCK.0);
            let begun = lane.now();
            for op in [Op::Write, Op::Read] {
                one(&mut *lane, op, offset)?;
            }
            let pair = Pair { offset: offset.0, ns: lane.now().since(begun).0 };
            recorder.step(index as u32, "pair", &pair, Vec::new());
            self.done.push(pair);
        }
        let body = Body { pairs: self.done.clone(), is_whole: state == State::Finished };
        Ok(Outcome::new(body, state))
    }

    fn summary(&self, body: &Body) -> Summary {
        Summary {
            verb: "toy".to_owned(),
            target: self.identity.name.clone(),
            drive: self.identity.name.clone(),
            headline: format!("{} pairs", body.pairs.len()),
        }
    }
}

fn one(lane: &mut dyn Drive, op: Op, offset: Bytes) -> Result<()> {
    lane.submit(&[Request { op, fua: false, submitter: 0, slot: 0, offset, len: BLOCK }])?;
    let mut done: Vec<Completion> = Vec::new();
    lane.wait_until(Time::NEVER, &mut done)?;
    let outcome = done.first().context("no answer")?.outcome.bytes();
    outcome.map(drop).map_err(|errno| anyhow::anyhow!("{op:?} at {offset}: {errno}"))
}

/// The toy's view: a line of text.
fn view(body: &Body) -> String {
    let mean = body.pairs.iter().map(|pair| pair.ns).sum::<u64>() / body.pairs.len().max(1) as u64;
    let pairs = report::number::counted(body.pairs.len(), "pair");
    format!("{pairs}, {} µs each\n", report::number::digits(mean as f64 / 1e3))
}

/// One command of the toy: opens the target, behind the gate where it is real, and runs or resumes.
fn command(
    target: &TargetSpec,
    (plan, word): (Plan, Option<&str>),
    (keep, resumed): (&Keep, Option<Resumed>),
    dies_at: Option<usize>,
) -> Result<Ended<Body>> {
    let permit = match target.is_real() {
        false => None,
        true => {
            let bytes_to_write = Some(Bytes(plan.parts * BLOCK.0));
            let consent = word.map(str::to_owned);
            let request = gate::Request { bytes_to_write, allow: BTreeSet::new(), consent };
            Some(gate::check(&Roots::default(), target.as_path(), &request)?)
        }
    };
    let request = OpenRequest { permit, ..OpenRequest::read(target, EngineKind::Psync) };
    let OpenDrive { target: opened, identity, .. } = drives::open(request)?;
    let mut driven = opened.engine()?;
    let mut toy = Toy { plan, drive: driven.io_path(), identity, done: Vec::new(), dies_at };
    instrument::run(&mut toy, keep, RunId::new(UnixNanos(0), 7), resumed)
}

fn keep(dir: &Path) -> Keep {
    Keep { runs_dir: Some(dir.to_owned()), ..Keep::default() }
}

fn resumed(dir: &Path) -> (Plan, Resumed) {
    let all = runs(Some(dir)).unwrap();
    let (writer, run) = all.resume(&all.find("last").unwrap()).unwrap();
    (toml::from_str(&run.plan).unwrap(), Resumed { writer, run })
}

const PLAN: Plan = Plan { parts: 8, write_budget_bytes: 1 << 20 };

// Breaks when an instrument needs more than the trait to be recorded, to outlive its death and to be shown again.
#[test]
fn a_toy_outlives_its_death_and_is_shown_from_its_record() {
    let dir = tempfile::tempdir().unwrap();
    let target = TargetSpec::of("sim:usb-8m?seed=7");
    let unrecorded = Keep { no_record: true, ..Keep::default() };
    let whole = command(&target, (PLAN, None), (&unrecorded, None), None).unwrap().document.body;
    command(&target, (PLAN, None), (&keep(dir.path()), None), Some(5)).unwrap_err();
    let (plan, record) = resumed(dir.path());
    assert_eq!(record.run.steps.len(), 5);
    let ended = command(&target, (plan, None), (&keep(dir.path()), Some(record)), None).unwrap();
    assert!(ended.document.body.is_whole);
    let id = ended.closed.whole().unwrap().unwrap();
    let run = runs(Some(dir.path())).unwrap().load(&id).unwrap();
    let shown = document_of::<Body>(&run, SCHEMA).unwrap().unwrap().body;
    let offsets = |body: &Body| body.pairs.iter().map(|pair| pair.offset).collect::<Vec<_>>();
    assert_eq!(offsets(&shown), offsets(&whole));
    assert!(view(&shown).starts_with("8 pairs, "), "{}", view(&shown));
}

// Breaks when a budget that is used up loses what was made, or a run with a larger one begins again.
#[test]
fn a_budget_ends_a_run_that_a_larger_one_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let target = TargetSpec::of("sim:usb-8m?seed=7");
    let small = Plan { write_budget_bytes: 3 * BLOCK.0, ..PLAN };
    let ended = command(&target, (small, None), (&keep(dir.path()), None), None).unwrap();
    assert_eq!(ended.document.body.pairs.len(), 3);
    let (_, record) = resumed(dir.path());
    let first = ended.document.body.pairs;
    let ended = command(&target, (PLAN, None), (&keep(dir.path()), Some(record)), None).unwrap();
    assert_eq!(ended.document.body.pairs[..3], first);
    assert!(ended.document.body.is_whole);
}

// Breaks when an instrument can write without consent, or go on with the record of another drive.
#[test]
fn a_file_is_written_with_consent_alone_and_another_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: usize| {
        let path = dir.path().join(name);
        std::fs::write(&path, vec![7; bytes]).unwrap();
        TargetSpec::of(path.to_str().unwrap())
    };
    let (first, second) = (file("first.img", 1 << 20), file("second.img", 2 << 20));
    let count = |target: &TargetSpec, byte: u8| {
        let all = std::fs::read(target.as_path()).unwrap();
        all.iter().filter(|one| **one == byte).count() as u64
    };
    let place = dir.path().join("runs");
    let keep = keep(&place);
    command(&first, (PLAN, None), (&keep, None), None).unwrap_err();
    assert_eq!(count(&first, 7), 1 << 20);
    command(&first, (PLAN, Some("first.img")), (&keep, None), Some(4)).unwrap_err();
    let (plan, record) = resumed(&place);
    let error = command(&second, (plan, Some("second.img")), (&keep, Some(record)), None);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("is not the drive of the record"), "{error}");
    assert_eq!(count(&second, 7), 2 << 20);
    let (plan, record) = resumed(&place);
    let ended = command(&first, (plan, Some("first.img")), (&keep, Some(record)), None).unwrap();
    assert!(ended.document.body.is_whole);
    assert_eq!(count(&first, 1), 8 * BLOCK.0);
}
