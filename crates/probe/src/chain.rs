//! Probes one after the other, each using what the earlier ones found.

use std::cell::RefCell;

use block::{Event, Layout, RunSink};
use engine::{Bench, Sample};
use stats::{Assessment, Caveat};
use thiserror::Error;

use crate::body::{Body, Setup, Worked};
use crate::capacity::Kept;
use crate::claims::{self, Claim};
use crate::desk::{Desk, Halt, Keeper, NoKeeper};
pub use crate::evidence::{Done, Evidence};
use crate::finding::{Finding, Name, Outcome, Verdict};
use crate::known::Known;
use crate::plan::{Plan, PlanError, Task};
use crate::{
    advice, align, capacity, conditions, fat, interval, open_au, parallelism, scatter, slc_cache,
    speed_class, surface, write_buffer,
};

/// The probes that an earlier process finished of the same plan on the same drive.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// In the order of the plan, from its first on.
    pub done: Vec<Done>,
    /// True for a virtual drive, which this process created again: its probes run again, which brings it to the state
    /// that the next one expects, and must give the same results.
    pub replay: bool,
}

/// Why a probing cannot be made.
#[derive(Debug, Error)]
pub enum ChainError {
    /// The plan does not fit the drive.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The results of an earlier process differ from how this plan begins on this drive.
    #[error(
        "probe {0} does not come out as it is recorded: the record is of another plan, model or version of \
         drivescope; begin a new run"
    )]
    Diverged(&'static str),
}

/// Context of a probe run.
pub struct Around<'a> {
    /// Probes that an earlier process finished.
    pub earlier: Earlier,
    /// How I/O is issued.
    pub engine: &'a str,
    /// Claims of the drive about itself.
    pub claims: &'a [Claim],
    /// Classes of speed that it says it has.
    pub classes: &'a [String],
    /// Flags that allow writing to it, for commands of advice.
    pub write_flags: &'a str,
    /// Reads what the drive holds and where it lies; advice is about what is there when the probes have done.
    pub layout: &'a dyn Fn() -> Layout,
    /// Keeps what it leaves.
    pub recorder: &'a mut dyn Recorder,
}

/// Keeps what a probing leaves: I/Os while a probe works, and what the probe found when it is over.
pub trait Recorder: Keeper {
    /// A probe is over.
    fn finished(&mut self, done: &Done);
}

impl Recorder for NoKeeper {
    fn finished(&mut self, _: &Done) {}
}

/// A recorder that the desk and the chain hand things to in turns. The desk does not know what a chain leaves, which is made of
/// the evidence of all probes, and these work at the desk.
struct Shared<'s, 'a>(&'s RefCell<&'a mut dyn Recorder>);

impl RunSink for Shared<'_, '_> {
    fn event(&mut self, event: &Event) {
        self.0.borrow_mut().event(event);
    }
}

impl Keeper for Shared<'_, '_> {
    fn samples(&mut self, part: &str, samples: &[Sample]) {
        self.0.borrow_mut().samples(part, samples);
    }

    fn secure(&mut self, salt: u64, kept: &Kept) -> Result<(), String> {
        self.0.borrow_mut().secure(salt, kept)
    }

    fn restored(&mut self, is_whole: bool) {
        self.0.borrow_mut().restored(is_whole);
    }
}

/// Works through `plan` on the drive that is on `bench`.
///
/// # Errors
/// [`ChainError`] when the plan does not fit the drive, or when what was done earlier is not how it begins. What ended
/// the work early, the user's wish aside, is returned beside the body, which has what was found until then.
pub fn run(
    bench: &mut dyn Bench,
    plan: &Plan,
    around: Around<'_>,
) -> Result<(Body, Option<Halt>), ChainError> {
    let terms = plan.terms(bench.info())?;
    let (info, stack) = (bench.info().clone(), bench.stack());
    let before = bench.snapshot();
    let setup = Setup {
        engine: around.engine.to_owned(),
        region: terms.region,
        may_write: terms.may_write,
        time_budget_ns: terms.time_budget,
        write_budget_bytes: terms.write_budget,
        seed: terms.seed,
        given: plan.given.clone(),
    };
    let origin = (around.layout)().origin();
    let Earlier { done: earlier, replay } = around.earlier;
    let recorder = RefCell::new(around.recorder);
    let mut work = Work::new(plan, &recorder);
    let mut keeper = Shared(&recorder);
    let mut desk = Desk::new(bench, terms, &mut keeper);
    desk.begins_at(origin);
    let ended = if replay {
        work.all(&mut desk, &plan.tasks, &earlier)
    } else {
        desk.account(earlier.iter().map(|done| done.spent));
        earlier.into_iter().for_each(|done| work.take(done));
        if matches!(plan.tasks.as_slice(), [Task::Full(_), ..]) {
            desk.renew();
        }
        work.all(&mut desk, &plan.tasks, &[])
    };
    let (spent, after) = (desk.spent(), desk.snapshot());
    let (interrupted, broken) = match ended {
        Ok(()) => (false, None),
        Err(Ended::Diverged(probe)) => return Err(ChainError::Diverged(probe)),
        Err(Ended::Halted(Halt::Interrupted)) => (true, None),
        Err(Ended::Halted(halt)) => (true, Some(halt)),
    };
    let Work { mut known, done, .. } = work;
    let mut caveats =
        conditions::caveats(&info, &stack, (&before, &after), (!interrupted).then_some(spent));
    let mut evidence = Evidence::default();
    let mut probes: Vec<Worked> = Vec::with_capacity(done.len());
    for done in done {
        caveats.extend(done.caveats);
        evidence.take(done.evidence);
        // The parts of a full write are one probe.
        if let Some(last) = probes.last_mut().filter(|last| last.probe == done.probe) {
            last.spent.add(done.spent);
            continue;
        }
        probes.push(Worked { probe: done.probe, spent: done.spent, halted: done.halted });
    }
    if let Some(full) = &evidence.full {
        known.learn(&[capacity::full::infer(full)]);
    }
    let mut body = Body {
        findings: known.findings(),
        advice: advice::with_doubt(&known, &info, &(around.layout)(), around.write_flags),
        claims: claims::check(around.claims, &known),
        classes: around.classes.to_vec(),
        target: info,
        stack,
        setup,
        probes,
        evidence,
        spent,
        caveats,
        interrupted,
    };
    let assessments: Vec<Assessment> = body.findings.iter().map(|f| body.assessment(f)).collect();
    for (finding, assessment) in body.findings.iter_mut().zip(assessments) {
        finding.assessment = assessment;
    }
    Ok((body, broken))
}

/// State of a probe run: findings and finished probes so far.
struct Work<'s, 'a> {
    recorder: &'s RefCell<&'a mut dyn Recorder>,
    known: Known,
    done: Vec<Done>,
    /// Answers of *none* from reads alone. They are not final: a drive may hide the property from reads.
    unseen: Vec<Finding>,
}

/// Reason why the work ended before its plan was done.
enum Ended {
    Halted(Halt),
    /// The probe that came out otherwise than it is recorded.
    Diverged(&'static str),
}

impl<'s, 'a> Work<'s, 'a> {
    fn new(plan: &Plan, recorder: &'s RefCell<&'a mut dyn Recorder>) -> Work<'s, 'a> {
        let mut known = Known::new();
        plan.given.iter().for_each(|(name, value)| known.give(*name, *value));
        Work { recorder, known, done: Vec::new(), unseen: Vec::new() }
    }

    fn take(&mut self, done: Done) {
        self.known.learn(&done.findings);
        self.known.without_units();
        self.done.push(done);
    }

    /// Works through those of `tasks` that are not done, in order. What is in `recorded` is not recorded again, and
    /// must come out the same.
    fn all(&mut self, desk: &mut Desk<'_>, tasks: &[Task], recorded: &[Done]) -> Result<(), Ended> {
        for (position, task) in tasks.iter().enumerate().skip(self.done.len()) {
            desk.tell(&Event::StepStarted {
                position: position as u32,
                positions: tasks.len() as u32,
                step: task.word().to_owned(),
                run: 0,
                planned: None,
            });
            desk.record(recorded.get(position).is_none());
            let done = self.one(desk, task).map_err(Ended::Halted)?;
            match recorded.get(position) {
                Some(then) if !then.agrees(&done) => return Err(Ended::Diverged(task.word())),
                Some(_) => {}
                None => self.recorder.borrow_mut().finished(&done),
            }
            self.take(done);
        }
        Ok(())
    }

    fn one(&mut self, desk: &mut Desk<'_>, task: &Task) -> Result<Done, Halt> {
        let before = desk.spent();
        let mut evidence = Evidence::default();
        let worked = desk.within(task.time_limit(), |desk| match task {
            Task::Align(_) | Task::OpenAu(_) => {
                desk.on_disk(|desk| probe(desk, &self.known, task, &mut evidence))
            }
            _ => probe(desk, &self.known, task, &mut evidence),
        });
        let (findings, caveats, halted) = match worked {
            Ok((findings, caveats)) => (findings, caveats, None),
            Err(halt) if halt.is_limit() => {
                let unknown = |name: &Name| Finding::unknown(*name, halt.to_string());
                let findings = task.answers().iter().map(unknown).collect();
                (findings, Vec::new(), Some(halt.to_string()))
            }
            Err(halt) => return Err(halt),
        };
        let findings = match task {
            Task::Align(_) => self.set_aside(findings),
            Task::OpenAu(_) => self.confirmed(findings),
            _ => findings,
        };
        let findings = findings.into_iter().map(|finding| self.known.stated(finding)).collect();
        let spent = desk.spent().since(before);
        Ok(Done { probe: task.probe().into(), findings, evidence, caveats, spent, halted })
    }
}

/// Answers that reads alone cannot rule out: reported as unknown until writes have been tested.
impl Work<'_, '_> {
    fn set_aside(&mut self, findings: Vec<Finding>) -> Vec<Finding> {
        let unseen = |finding: &&Finding| finding.verdict == Verdict::None;
        self.unseen = findings.iter().filter(unseen).cloned().collect();
        let open = |finding: Finding| match finding.verdict {
            Verdict::None => {
                let reason = format!("{}; a drive may hide it from reads", finding.reason);
                Finding::unknown(finding.name, reason)
            }
            _ => finding,
        };
        findings.into_iter().map(open).collect()
    }

    /// Confirms that there is no erase block if any number of erase blocks can be written at once: then there are no
    /// boundaries that reads could have shown.
    fn confirmed(&mut self, mut findings: Vec<Finding>) -> Vec<Finding> {
        let limit = findings.iter().find(|finding| finding.name == Name::OpenAuLinear);
        let Some(none) = limit.filter(|finding| finding.verdict == Verdict::None).cloned() else {
            return findings;
        };
        // Pages there are on every flash, mapped one by one or not.
        for unseen in self.unseen.drain(..).filter(|unseen| unseen.name == Name::EraseBlock) {
            let confidence = unseen.confidence.unwrap_or(0.0).min(none.confidence.unwrap_or(0.0));
            let reason = format!("{}, and writes show no limit of open ones", unseen.reason);
            findings.push(Finding::none(unseen.name, confidence, reason));
        }
        findings
    }
}

/// Answers and doubts of a probe.
type Said = (Vec<Finding>, Vec<Caveat>);

/// Lets one probe work, and puts what it saw into `evidence`.
fn probe(
    desk: &mut Desk<'_>,
    known: &Known,
    task: &Task,
    evidence: &mut Evidence,
) -> Result<Said, Halt> {
    let e = evidence;
    match task {
        Task::Align(options) => {
            let (mut findings, caveats) = keep(&mut e.align, align::probe(desk, known, options)?)?;
            if desk.may_write() {
                let (mut more, _) = by_writes(desk, known, &findings, &mut e.boundary)?;
                narrow(&findings, &mut more);
                join_reasons(&mut findings, &more);
                findings.extend(more);
            }
            Ok((findings, caveats))
        }
        Task::OpenAu(options) => keep(&mut e.open_au, open_au::probe(desk, known, options)?),
        Task::Fat => keep(&mut e.fat, fat::probe(desk, known)?),
        Task::Scatter(options) => keep(&mut e.scatter, scatter::probe(desk, known, options)?),
        Task::Interval(options) => keep(&mut e.interval, interval::probe(desk, known, options)?),
        Task::Parallelism => keep(&mut e.parallelism, parallelism::probe(desk, known)?),
        Task::WriteBuffer => keep(&mut e.write_buffer, write_buffer::probe(desk, known)?),
        Task::SlcCache(options) => keep(&mut e.slc_cache, slc_cache::probe(desk, known, options)?),
        Task::Surface(options) => keep(&mut e.surface, surface::probe(desk, known, options)?),
        Task::Capacity(options) => keep(&mut e.capacity, capacity::probe(desk, known, options)?),
        Task::Full(part) => {
            // A time that is over may be given again, and the part resumed.
            let done = capacity::full::probe(desk, part).map_err(|halt| match halt {
                Halt::Time => Halt::Interrupted,
                other => other,
            });
            e.full = Some(done?);
            Ok((Vec::new(), Vec::new()))
        }
        Task::SpeedClass => keep(&mut e.speed_class, speed_class::probe(desk, known)?),
    }
}

/// Holds the unit of programming that writes have shown against the class that reads have: of these the greatest is what
/// is read at once. A lesser one may be that of a log for small writes, and only narrows the class.
fn narrow(findings: &[Finding], more: &mut Vec<Finding>) {
    let is_unit = |finding: &Finding| finding.name == Name::MultiPlanePage;
    let class = findings.iter().find(|finding| is_unit(finding)).map(|f| f.one_of.clone());
    let Some(class) = class.filter(|class| !class.is_empty()) else { return };
    let unit = more.iter().find(|finding| is_unit(finding)).and_then(|finding| finding.value);
    if unit.is_some_and(|unit| class.last() != Some(&unit)) {
        more.retain(|finding| !is_unit(finding));
    }
}

/// Adds to what reads did not show why writes did not show it either: the second may be mended with more time.
fn join_reasons(findings: &mut [Finding], more: &[Finding]) {
    let says_more = |f: &&Finding| f.verdict == Verdict::Unknown && f.reason != open_au::NO_UNIT;
    for unknown in more.iter().filter(says_more) {
        let same = |finding: &&mut Finding| finding.name == unknown.name && finding.value.is_none();
        if let Some(finding) = findings.iter_mut().find(same) {
            finding.reason = format!("{}; by writes: {}", finding.reason, unknown.reason);
        }
    }
}

/// Asks by writes what reads did not show.
fn by_writes(
    desk: &mut Desk<'_>,
    known: &Known,
    findings: &[Finding],
    evidence: &mut Option<open_au::BoundaryEvidence>,
) -> Result<Said, Halt> {
    let mut known = known.clone();
    known.learn(findings);
    let open = |name: Name| known.value(name).is_none();
    if !open(Name::EraseBlock) && !open(Name::MultiPlanePage) {
        return Ok((Vec::new(), Vec::new()));
    }
    keep(evidence, open_au::boundary(desk, &known)?)
}

fn keep<E>(place: &mut Option<E>, outcome: Outcome<E>) -> Result<Said, Halt> {
    *place = Some(outcome.evidence);
    Ok((outcome.findings, outcome.caveats))
}
