//! `drivescope sweep`: one load under many settings.

use anyhow::{Result, bail};
use instruments::mark::{Job, RunMode, Setup};
use mark::Options;
use mark::sweep::{Factor, Limits, Load, Planned, Setting, Sweep, Swept};
use workload::plan::{Content, Plan, Share};

use crate::args::{Given, Span, SweepArgs, SweepLoadArgs, TargetArgs};
use crate::envelope::{run_id, seed_of};
use crate::exit::Exit;
use crate::messages;
use crate::session::Session;
use crate::verbs::mark::SIZE;
use crate::verbs::print_json;
use crate::verbs::resume::{self, Asked};

/// The form of what `--plan --json` prints.
const PLAN_SCHEMA: &str = "drivescope.sweep-plan/1";

/// Runs the verb; `given` are the flags that the user typed.
///
/// # Errors
/// What makes a measurement impossible.
pub fn main(args: &SweepArgs, given: &Given) -> Result<Exit> {
    if let Some(run) = &args.record.resume {
        return go_on(run, args, given);
    }
    args.output.check(&args.record.keep, given)?;
    let seed = seed_of(args.load.seed)?;
    let swept = swept(args)?;
    check_size(&swept.sweep, args)?;
    check_engine(&swept.sweep, &args.target)?;
    let common = common(&args.load, seed);
    let plan = swept.sweep.plan(&common);
    plan.check()?;
    let settings = swept.sweep.settings();
    let planned = planned(&swept.sweep, &settings, &plan);
    if args.plan {
        match args.output.files.result.json {
            true => print_json(PLAN_SCHEMA, &planned)?,
            false => messages::result(&views::sweep::plan(&planned))?,
        }
        return Ok(Exit::Done);
    }
    let (target, keep) = (&args.target.settings(), &args.record.keep);
    let run_id = run_id(seed);
    let default_size = swept.sweep.size_max().unwrap_or(SIZE);
    let job = Job {
        target,
        plan: &|_| Ok(plan.clone()),
        default_size,
        default_span: Some(SIZE),
        may_widen: false,
        run_id: &run_id.to_string(),
        drive_seed: args.load.seed,
        trace_cap: args.output.trace_cap(keep),
        turn: None,
    };
    let file_bytes = target.size.unwrap_or(default_size);
    let samples_max = args.output.samples_max;
    let setup = Setup::new("sweep", target, file_bytes, args.load.seed, &keep.keep(), samples_max);
    let setup = Setup { sweep: Some(swept.clone()), ..setup };
    let session = Session {
        job: &job,
        run_id: run_id.clone(),
        setup,
        course: RunMode::New,
        keep,
        output: &args.output,
    };
    session.run_as_sweep(&swept)
}

/// Resumes a recorded sweep.
fn go_on(run: &str, args: &SweepArgs, given: &Given) -> Result<Exit> {
    let is_told = !args.vary.is_empty();
    let plan_flags = plan_flags(given);
    // A seed is compared with that of the record wherever it comes from.
    if let (false, Some(flag)) = (is_told, plan_flags.iter().find(|name| *name != "seed")) {
        let flag = flag.replace('_', "-");
        bail!("--{flag}: is in the record; leave it out, or say the whole sweep again");
    }
    let asked = |seed: u64| -> Result<Option<Plan>> {
        if !is_told {
            return Ok(None);
        }
        let common = common(&args.load, args.load.seed.unwrap_or(seed));
        Ok(Some(swept(args)?.sweep.plan(&common)))
    };
    let seed = args.load.seed;
    let asked = Asked { target: &args.target, given, plan: &asked, plan_flags, seed };
    resume::with(run, &asked, &args.record.keep, &args.output, |session| {
        let id = &session.run_id;
        let Some(recorded) = session.setup.sweep.clone() else {
            let place = args.record.keep.place.flag();
            bail!("{id}: is not a sweep; resume it: drivescope run --resume {id}{place}");
        };
        let limits = limits(args);
        let differs = [
            ("unstable-above", limits.r_over_avg_of_20 != recorded.limits.r_over_avg_of_20),
            ("margin", limits.margin != recorded.limits.margin),
        ];
        let is_typed = |flag: &str| given.has(&flag.replace('-', "_"));
        if let Some((flag, _)) = differs.iter().find(|(flag, differs)| *differs && is_typed(flag)) {
            bail!(
                "{id}: its record says otherwise; leave out what is not about output: --{flag} is not that of the \
                 record; leave it out with --resume"
            );
        }
        session.run_as_sweep(&recorded)
    })
}

/// The typed flags that say what is swept and how it is loaded.
fn plan_flags(given: &Given) -> Vec<String> {
    const OF_SWEEP: [&str; 6] = ["vary", "one_at_a_time", "base", "op", "unstable_above", "margin"];
    let own = OF_SWEEP.into_iter().filter(|name| given.has(name)).map(str::to_owned);
    own.chain(given.of_part::<SweepLoadArgs>()).collect()
}

fn swept(args: &SweepArgs) -> Result<Swept> {
    let load = &args.load;
    let is_engine_varied = args.vary.iter().any(|vary| vary.factor == Factor::Engine);
    let base = Load {
        pattern: args.base.pattern,
        block: args.base.block,
        depth: args.base.depth,
        threads: args.base.threads,
        op: args.op,
        size: None,
        warm_up: load.warm_up,
        duration: load.duration,
        order: load.order,
        engine: is_engine_varied.then(|| args.target.settings().kernel_engine()),
    };
    let sweep = Sweep::new(args.vary.clone(), args.one_at_a_time, base)?;
    Ok(Swept { sweep, limits: limits(args) })
}

fn limits(args: &SweepArgs) -> Limits {
    Limits { r_over_avg_of_20: args.unstable_above / 100.0, margin: args.margin / 100.0 }
}

/// Options that all settings share.
fn common(load: &SweepLoadArgs, seed: u64) -> Options {
    Options {
        pause: load.pause,
        runs: load.runs,
        discard_first: load.discard_first,
        cache_probe: load.how.cache_probe,
        seed,
        content: Content {
            compressible_percent: load.how.compressible,
            dedup_percent: load.how.dedup,
        },
        durable: load.how.dsync,
        share: if load.how.shared_cursor { Share::Cursor } else { Share::Partition },
        ..Options::default()
    }
}

/// A size that is varied is not also given, and fits where it is to be.
fn check_size(sweep: &Sweep, args: &SweepArgs) -> Result<()> {
    let Some(most) = sweep.size_max() else { return Ok(()) };
    if args.target.size.is_some() {
        bail!("--size: is varied; leave it out");
    }
    match args.target.span {
        Some(Span::Part(region)) if region.length < most => {
            bail!(
                "--span: {} do not hold the largest size that is varied to, {}",
                region.length.human(),
                most.human()
            )
        }
        _ => Ok(()),
    }
}

/// Engines that are varied are those of the kernel, and can do what is asked.
fn check_engine(sweep: &Sweep, target: &TargetArgs) -> Result<()> {
    if !sweep.varies(Factor::Engine) {
        return Ok(());
    }
    let name = &target.target;
    if !name.is_real() {
        bail!(
            "{name}: is not reached through the kernel, so it is the same by any engine: leave out --vary engine, or \
             name a directory, a file or a device"
        );
    }
    if target.iopoll {
        bail!("--iopoll: only io_uring polls; leave it out, or leave out --vary engine");
    }
    Ok(())
}

fn planned<'a>(sweep: &'a Sweep, settings: &'a [Setting], plan: &Plan) -> Planned<'a> {
    let runs_of_each = plan.schedule.runs.saturating_add(plan.schedule.discard_first);
    Planned {
        sweep,
        settings: settings.iter().map(|setting| setting.name.as_str()).collect(),
        runs_of_each,
        runs: settings.len() as u64 * u64::from(runs_of_each),
        time_ns: Sweep::time(plan),
        size_max: sweep.size_max(),
    }
}
