//! `drivescope mark`: the quick benchmark.

use anyhow::Result;
use block::Bytes;
use instruments::mark::{Job, RunMode, Setup};
use mark::{Deciding, Direction, Options};
use workload::plan::{Content, Plan, Share, Until};

use crate::args::{Given, LoadArgs, MarkArgs, RecordArgs};
use crate::envelope::{run_id, seed_of};
use crate::exit::Exit;
use crate::session::Session;
use crate::verbs::resume::{self, Asked};
use crate::verbs::run;

/// Size of a test file by default.
pub const SIZE: Bytes = Bytes::gib(1);
/// Size of a test file with `--quick`.
const QUICK_SIZE: Bytes = Bytes::mib(256);

/// Runs the verb; `given` are the flags that the user typed.
///
/// # Errors
/// What makes a measurement impossible.
pub fn main(args: &MarkArgs, given: &Given) -> Result<Exit> {
    let MarkArgs { target, plan, load, record: RecordArgs { keep, resume }, output } = args;
    load.check()?;
    if resume.is_none() {
        output.check(keep, given)?;
        if let Some(path) = plan {
            return run::plan("mark", path, target, load.seed, keep, output);
        }
    }
    begin(args, given, |session| session.run())
}

/// Prepares the run that the flags under Load and Repetition describe, or resumes a recorded one, and passes it to `go`.
///
/// # Errors
/// When a measurement is impossible.
pub fn begin<R>(
    args: &MarkArgs,
    given: &Given,
    go: impl FnOnce(Session<'_>) -> Result<R>,
) -> Result<R> {
    let MarkArgs { target, plan, load, record: RecordArgs { keep, resume }, output } = args;
    if let Some(run) = resume {
        let asked = |seed: u64| -> Result<Option<Plan>> {
            match plan {
                Some(path) => run::read(path).map(Some),
                None if given.any_of::<LoadArgs>() => {
                    Ok(Some(options(load, load.seed.unwrap_or(seed), true).plan()))
                }
                None => Ok(None),
            }
        };
        let plan_flags = given.of_part::<LoadArgs>().chain(["plan".to_owned()]).collect();
        let asked = Asked { target, given, plan: &asked, plan_flags, seed: load.seed };
        return resume::with(run, &asked, keep, output, go);
    }
    let seed = seed_of(load.seed)?;
    let run_id = run_id(seed);
    let default_size = default_size(load);
    let target = &target.settings();
    let job = Job {
        target,
        plan: &|may_write| {
            let plan = options(load, seed, may_write).plan();
            plan.check()?;
            Ok(plan)
        },
        default_size,
        default_span: Some(SIZE),
        may_widen: true,
        run_id: &run_id.to_string(),
        drive_seed: load.seed,
        trace_cap: output.trace_cap(keep),
        turn: None,
    };
    let file_bytes = target.size.unwrap_or(default_size);
    let setup = Setup::new("mark", target, file_bytes, load.seed, &keep.keep(), output.samples_max);
    go(Session { job: &job, run_id, setup, course: RunMode::New, keep, output })
}

/// Size of a test file when the user names none.
pub fn default_size(load: &LoadArgs) -> Bytes {
    if load.quick { QUICK_SIZE } else { SIZE }
}

/// Options from the flags. A target that may not be written to is only read.
pub fn options(args: &LoadArgs, seed: u64, may_write: bool) -> Options {
    let quick =
        |value: Option<_>, short, long| value.unwrap_or(if args.quick { short } else { long });
    let mut directions = Vec::new();
    if !args.write_only {
        directions.push(Direction::Read);
    }
    if args.write_only || (may_write && !args.read_only) {
        directions.push(Direction::Write);
    }
    if args.is_commit() {
        directions = vec![Direction::Write, Direction::Commit];
    }
    if let Some(reads) = args.mix {
        directions.push(Direction::Mix(reads));
    }
    Options {
        tests: args.tests.clone().unwrap_or_else(|| args.profile.tests()),
        directions,
        duration: quick(args.duration, Options::QUICK_DURATION, Options::DURATION),
        warm_up: quick(args.warm_up, Options::QUICK_WARM_UP, Options::WARM_UP),
        pause: quick(args.pause, Options::QUICK_PAUSE, Options::PAUSE),
        settle: quick(args.settle, Options::QUICK_SETTLE, Options::SETTLE),
        runs: args.runs.unwrap_or(Options::RUNS),
        discard_first: args.discard_first,
        order: args.order,
        cache_probe: args.how.cache_probe,
        until: args
            .until
            .map(|half_width_percent| Until { half_width_percent, budget: args.budget }),
        decides: match (args.decide_within, args.runs) {
            (Some(span), _) => Deciding::Within(span),
            (None, Some(_)) => Deciding::Never,
            (None, None) => Deciding::ByHalf,
        },
        at_least_ios: Some(Options::AT_LEAST_IOS),
        seed,
        region: None,
        content: Content {
            compressible_percent: args.how.compressible,
            dedup_percent: args.how.dedup,
        },
        durable: args.how.dsync,
        share: if args.how.shared_cursor { Share::Cursor } else { Share::Partition },
    }
}
