//! Sides of a comparison that are measured now, in turns.

use std::fs;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use bench::consent;
use drives::TargetSpec;
use instruments::announce::{Foreseen, together};
use instruments::mark::{Job, RunMode, Setup, TargetSettings, Turn, Turns, WriteConsent, foresee};
use linux::scratch;
use mark::compare::letter;
use mark::{Deciding, Options};
use record::RunId;
use runner::instrument::Resumed;
use serde::{Deserialize, Serialize};
use serde_json::json;
use stats::Design;
use workload::plan::Plan;
use workload::rng::Rng;

use crate::args::{CompareArgs, FilesArgs, KeepArgs, LiveArgs, OutputArgs, ResultArgs};
use crate::envelope::run_id;
use crate::exit::Refused;
use crate::messages;
use crate::session::{Made, Notes, Session};
use crate::verbs::mark::{SIZE, default_size, options};
use crate::verbs::resume::Recorded;

/// Most single I/Os kept of a run, when they are kept.
const SAMPLES_MAX: u64 = 1_000_000;
/// The kind of the note by which runs that were measured in turns know each other.
pub const BLOCKS: &str = "blocks";

/// A side that is measured, as the comparison's record has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Live {
    /// Its place among the sides.
    pub index: usize,
    /// Its run.
    pub run: RunId,
}

/// A side that is still to be measured.
pub enum Begun {
    /// From its beginning.
    New(Live),
    /// From where it was stopped.
    Resumed(Live, Box<Resumed>),
}

impl Begun {
    /// The side.
    pub fn side(&self) -> &Live {
        match self {
            Begun::New(side) | Begun::Resumed(side, _) => side,
        }
    }
}

/// The sides at the places `live`, with names for their runs.
pub fn prepared(seed: u64, live: &[usize]) -> Vec<Live> {
    let side = |&index: &usize| Live { index, run: run_id(own_seed(seed, index)) };
    live.iter().map(side).collect()
}

/// The seed of a side's own noise. Two virtual drives of one kind are two drives, unless they are named as one.
fn own_seed(seed: u64, index: usize) -> u64 {
    Rng::for_path(seed, &[index as u64]).next_u64()
}

/// The plan by which sides are measured; refuses one that writes to what is there.
///
/// # Errors
/// When the flags make no plan, or as above.
pub fn plan(args: &CompareArgs, live: &[Live], seed: u64) -> Result<Plan> {
    let runs = runs_of_each(args, live.len(), options(&args.load, seed, true).plan().steps.len());
    // Before the other side is begun: a comparison takes no consent.
    if plan_of(args, seed, false, runs)?.alters() {
        for name in live.iter().map(|side| args.sides[side.index].as_str()) {
            if fs::metadata(name).is_ok_and(|meta| !meta.is_dir()) {
                return Err(Refused(format!(
                    "{name}: the plan writes, and a comparison only reads what is there; mark each by itself with {}, and \
                     compare the two runs",
                    consent::flags_for(name)
                ))
                .into());
            }
        }
    }
    plan_of(args, seed, true, runs)
}

/// Checks that each side which is measured from its beginning can be, before any record is begun.
///
/// # Errors
/// The reason why one cannot.
pub fn check(args: &CompareArgs, begun: &[Begun]) -> Result<()> {
    let new = begun.iter().filter(|begun| matches!(begun, Begun::New(_)));
    let targets = new.map(|begun| &args.sides[begun.side().index]);
    // Resumed from elsewhere, a name may not lead there.
    for target in targets.filter(|target| !target.is_real() || target.as_path().exists()) {
        if drives::look(target)?.is_directory {
            scratch::may_create(target.as_path()).with_context(|| {
                format!("{target}: no test file can be made there; name a directory that you may write to")
            })?;
        }
    }
    Ok(())
}

/// Settings that all sides share.
#[derive(Clone, Copy)]
pub struct Common<'a> {
    /// The flags.
    pub args: &'a CompareArgs,
    /// The targets, by names that are valid from any directory, in the order of the sides.
    pub targets: &'a [String],
    /// The plan.
    pub plan: &'a Plan,
    /// Root of all randomness.
    pub seed: u64,
    /// The comparison, which links the runs of its sides.
    pub comparison: &'a RunId,
    /// Whether and where to record them.
    pub keep: &'a KeepArgs,
}

/// Measures sides in turns.
///
/// # Errors
/// When a measurement is impossible. Then the others end too.
pub fn measure(common: Common<'_>, sides: Vec<Begun>) -> Result<Vec<Made>> {
    let Common { args, plan, seed, .. } = common;
    let blocks = plan.schedule.runs.saturating_add(args.load.discard_first);
    let names: Vec<String> =
        sides.iter().map(|begun| args.sides[begun.side().index].to_string()).collect();
    let turns = Turns::among(&names, seed, blocks, !args.files.result.no_progress);
    let Some(first) = turns.first() else { return Ok(Vec::new()) };
    let _orderly = linux::signals::orderly(&first.cancel());
    let one = |turn: &Turn, begun: Begun| {
        let _leaving = Leaving(turn);
        turn.prepare();
        let made = common.one(turn, begun);
        turn.leave(made.is_err());
        made
    };
    thread::scope(|scope| {
        let begun: Vec<_> = turns
            .iter()
            .zip(sides)
            .map(|(turn, begun)| scope.spawn(move || one(turn, begun)))
            .collect();
        let ended = begun.into_iter().map(|thread| thread.join());
        ended
            .map(|ended| ended.unwrap_or_else(|_| Err(anyhow!("a measurement ended badly"))))
            .collect()
    })
}

/// Runs of each test: the requested number, or the fewest blocks that can distinguish all tests of all pairs
/// together. Six have intervals, but of eight tests they leave each undecided, however far the sides are apart.
fn runs_of_each(args: &CompareArgs, live: usize, tests: usize) -> u32 {
    let pairs = live * live.saturating_sub(1) / 2;
    let fewest = Design::Blocks.fewest_runs(tests * pairs);
    let usual = u32::try_from(fewest).unwrap_or(u32::MAX).max(Options::RUNS);
    if let Some(asked) = args.load.runs {
        if pairs > 0 && asked < usual {
            messages::note(&format!(
                "with fewer than {usual} runs of each, not all of {} can be faster or slower at 98% together",
                report::number::counted(tests * pairs, "comparison")
            ));
        }
        return asked;
    }
    usual
}

fn plan_of(args: &CompareArgs, seed: u64, may_write: bool, runs: u32) -> Result<Plan> {
    let usual = options(&args.load, seed, may_write);
    // Each side has as many runs as the other, of the same length.
    let plan = Options { runs, decides: Deciding::Never, at_least_ios: None, ..usual }.plan();
    plan.check()?;
    Ok(plan)
}

/// Leaves also when the measurement panics: the others would wait for ever.
struct Leaving<'a>(&'a Turn);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave(thread::panicking());
    }
}

impl Common<'_> {
    /// Measures one side as if it were alone, but for the turns that it takes.
    fn one(&self, turn: &Turn, begun: Begun) -> Result<Made> {
        let side = letter(begun.side().index);
        let note = json!({ "comparison": self.comparison.to_string(), "side": side });
        let derive = |_: &mark::Body| Ok(vec![(BLOCKS, note.clone())]);
        match begun {
            Begun::New(side) => self.whole(&side, turn, &derive),
            Begun::Resumed(_, resumed) => {
                let recorded = Recorded::of(&resumed.run)?;
                let target = recorded.setup.target(WriteConsent::default())?;
                let output = self.output();
                let with = (self.keep, &output);
                recorded.resume(*resumed, &target, Some(turn), with, |one| one.make(&derive))
            }
        }
    }

    fn output(&self) -> OutputArgs {
        OutputArgs {
            files: FilesArgs {
                result: ResultArgs {
                    json: self.args.files.result.json,
                    no_progress: true,
                    ..ResultArgs::default()
                },
                ..FilesArgs::default()
            },
            mib: self.args.mib,
            live: LiveArgs::default(),
            samples: None,
            samples_max: SAMPLES_MAX,
        }
    }

    /// A side from its beginning.
    fn whole(
        &self,
        side: &Live,
        turn: &Turn,
        derive: &dyn Fn(&mark::Body) -> Result<Notes>,
    ) -> Result<Made> {
        let (keep, output) = (self.keep, self.output());
        self.with_job(side, Some(turn), |job, setup| {
            let (run_id, course) = (side.run.clone(), RunMode::New);
            Session { job, run_id, setup, course, keep, output: &output }.make(derive)
        })
    }

    /// Foresees a side.
    fn foresee(&self, side: &Live) -> Result<Foreseen> {
        self.with_job(side, None, |job, _| foresee(job, "test"))
    }

    /// Lets `go` have a side to measure, with the setup of its record.
    fn with_job<R>(
        &self,
        side: &Live,
        turn: Option<&Turn>,
        go: impl FnOnce(&Job<'_>, Setup) -> Result<R>,
    ) -> Result<R> {
        let Common { args, targets, plan, seed, keep, .. } = *self;
        let named = &args.sides[side.index];
        // Resumed from elsewhere, the name that was typed may not lead there.
        let is_here = !named.is_real() || named.as_path().exists();
        let target = TargetSettings {
            anyway: args.anyway,
            write_budget: args.write_budget,
            target: if is_here { named.clone() } else { TargetSpec::of(&targets[side.index]) },
            size: args.size,
            span: args.span,
            engine: args.engine,
            iopoll: false,
            buffered: args.buffered,
            no_cow: args.no_cow,
            cpus: args.cpus.clone(),
            consent: WriteConsent::default(),
        };
        let output = self.output();
        let is_drawn = named.as_virtual().is_some_and(|spec| !spec.has_seed());
        let drive_seed = is_drawn.then(|| own_seed(seed, side.index));
        let default_size = default_size(&args.load);
        let job = Job {
            target: &target,
            plan: &|may_write| plan_of(args, seed, may_write, plan.schedule.runs),
            default_size,
            default_span: Some(SIZE),
            may_widen: false,
            run_id: side.run.as_str(),
            drive_seed,
            trace_cap: output.trace_cap(keep),
            turn,
        };
        let file_bytes = target.size.unwrap_or(default_size);
        let setup =
            Setup::new("compare", &target, file_bytes, drive_seed, &keep.keep(), SAMPLES_MAX);
        go(&job, setup)
    }
}

/// Foresees all sides that are measured from their beginning, together; `None` where there are none.
///
/// # Errors
/// When one cannot be looked at.
pub fn foreseen(common: Common<'_>, sides: &[Begun]) -> Result<Option<Foreseen>> {
    let new: Vec<_> = sides.iter().filter(|begun| matches!(begun, Begun::New(_))).collect();
    let all = new.iter().map(|begun| common.foresee(begun.side()));
    let all = all.reduce(|all, next| {
        let (all, next) = (all?, next?);
        let is_pointless = all.is_pointless || next.is_pointless;
        Ok(Foreseen { announced: together(all.announced, next.announced), is_pointless })
    });
    let mut all = all.transpose()?;
    if let Some(all) = all.as_mut().filter(|_| new.len() > 1) {
        all.announced.work += &format!(", of {} targets in turns", new.len());
    }
    Ok(all)
}
