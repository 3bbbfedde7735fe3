//! `drivescope mark`: the quick benchmark.

use anyhow::{Context as _, Result};
use block::{Bytes, WallClock};
use mark::{Direction, Options};
use record::RunId;
use report::{RateUnit, Style};
use workload::plan::{Content, Order, Share, Until};

use crate::args::{LoadArgs, MarkArgs, OrderName, OutputArgs};
use crate::envelope::{SystemClock, document};
use crate::exit::Exit;
use crate::measure::{Job, Measured, measure};
use crate::progress::Progress;
use crate::samples::SamplesFile;
use crate::verbs::run;
use crate::{talk, view};

/// Size of a test file by default.
const SIZE: Bytes = Bytes::gib(1);
/// Size of a test file with `--quick`.
const QUICK_SIZE: Bytes = Bytes::mib(256);

/// Runs the verb.
///
/// # Errors
/// What makes a measurement impossible.
pub fn main(args: &MarkArgs) -> Result<Exit> {
    if let Some(path) = &args.plan {
        return run::plan("mark", path, &args.target, args.load.seed, &args.output);
    }
    let seed = seed_of(args.load.seed)?;
    let run_id = run_id(seed);
    let job = Job {
        target: &args.target,
        plan: &|may_write| {
            let plan = options(&args.load, seed, may_write).plan();
            plan.check()?;
            Ok(plan)
        },
        default_size: if args.load.quick { QUICK_SIZE } else { SIZE },
        default_span: Some(SIZE),
        run_id: &run_id.to_string(),
        drive_seed: args.load.seed,
        trace_cap: args.output.trace_cap(),
    };
    show("mark", &job, run_id, &args.output)
}

/// Measures and shows the result; `verb` is what the user called it.
///
/// # Errors
/// What makes a measurement impossible, or its result unwritable.
pub fn show(verb: &str, job: &Job<'_>, run_id: RunId, output: &OutputArgs) -> Result<Exit> {
    let create = |path| SamplesFile::create(path, &job.target.target);
    let mut samples = output.samples.as_deref().map(create).transpose()?;
    let measured = {
        let mut progress = Progress::new(!output.no_progress);
        measure(job, &mut progress, &mut |run| {
            if let Some(samples) = &mut samples {
                samples.write(&run);
            }
        })?
    };
    if let Some(samples) = samples {
        samples.finish()?;
    }
    let Measured { body, broken, notes, .. } = measured;
    notes.iter().for_each(|note| talk::note(note));
    let rate = if output.mib { RateUnit::Mib } else { RateUnit::Mb };
    if output.json {
        let document = document("drivescope.mark/1", run_id, &SystemClock, &body);
        talk::result(&document.to_json().context("cannot write the result as JSON")?)?;
    } else {
        let sheet = view::mark::sheet(verb, &body, rate);
        talk::result(&report::render_sheet(&sheet, Style { rate, ..Style::default() }))?;
    }
    if let Some(broken) = broken {
        return Err(broken.into());
    }
    Ok(match (body.interrupted, body.refuted()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::No,
        (false, false) => Exit::Done,
    })
}

/// A name for this run. Not made of the seed alone: two runs of one seed may begin in the same second and
/// in the same directory, and each has its own test file.
pub fn run_id(seed: u64) -> RunId {
    RunId::new(SystemClock.now(), linux::host::fresh_seed().unwrap_or(seed))
}

/// The seed that was asked for, or a fresh one.
///
/// # Errors
/// When the kernel gives no randomness.
pub fn seed_of(asked: Option<u64>) -> Result<u64> {
    match asked {
        Some(seed) => Ok(seed),
        None => linux::host::fresh_seed().context("cannot draw a seed; give one with --seed"),
    }
}

/// What the flags ask for. A target that may not be written to is only read.
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
    if let Some(reads) = args.mix {
        directions.push(Direction::Mix(reads));
    }
    Options {
        tests: args.tests.clone().unwrap_or_else(|| mark::Profile::from(args.profile).tests()),
        directions,
        duration: quick(args.duration, Options::QUICK_DURATION, Options::DURATION),
        warm_up: quick(args.warm_up, Options::QUICK_WARM_UP, Options::WARM_UP),
        pause: quick(args.pause, Options::QUICK_PAUSE, Options::PAUSE),
        runs: args.runs,
        discard_first: args.discard_first,
        order: match args.order {
            OrderName::Interleaved => Order::Interleaved,
            OrderName::Blocked => Order::Blocked,
        },
        until: args
            .until
            .map(|half_width_percent| Until { half_width_percent, budget: args.budget }),
        seed,
        region: None,
        content: Content { compressible_percent: args.compressible, dedup_percent: args.dedup },
        durable: args.dsync,
        share: if args.shared_cursor { Share::Cursor } else { Share::Partition },
    }
}
