//! One run of enterprise tests from its first note to its exit code: planned, consented to, made, recorded, shown.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};
use bench::consent;
use bench::opening::{self, Place, Writes};
use block::DriveInfo;
use documents::instrument::{Instrument, bodies_of_tests};
use drives::TargetSpec;
use instruments::announce::Cost;
use instruments::pts::{Planned, TestBodies, Tester, Tests, Work, estimate};
use instruments::purge::Settings;
use linux::purge::Method;
use live::{Display, Progress};
use pts::body::Body;
use pts::desk::Halt;
use pts::kept::Earlier;
use pts::options::{Limit, Options, Profile, Test};
use record::{Announced, Document, SamplesFormat};
use report::Style;
use runner::instrument::{self, Resumed};
use runner::place::Keep;
use runner::recorder::Closed;
use serde::Serialize;

use crate::announcing::{Next, announced};
use crate::args::{Given, NamedTests, PtsArgs, PtsConsentArgs};
use crate::envelope::{run_id, seed_of};
use crate::exit::{Exit, Refused};
use crate::recorded::of_printed;
use crate::records::{self, Next as Then};
use crate::{files, messages};

/// The form of a body of one test, or of several.
pub use documents::instrument::PTS as SCHEMA;

/// Description of a test run.
struct Job<'a> {
    /// Verb and test, as typed: `pts iops`.
    verb: String,
    target: TargetSpec,
    options: Options,
    args: &'a PtsArgs,
    purge: Settings,
    /// A recorded run that goes on; its lock is held.
    resumed: Option<Resumed>,
    cost: Cost,
    /// Announcement, kept for the record.
    announced: Option<Box<Announced>>,
}

/// Runs `test` on `target` as the flags say.
///
/// # Errors
/// What makes it impossible; [`Refused`] inside when it is refused for safety.
pub fn run(test: NamedTests, target: &TargetSpec, args: &PtsArgs) -> Result<Exit> {
    let options = options(test, args)?;
    options.check()?;
    args.output.live.when(true).check()?;
    let planned = estimate(&options, target)?;
    planned.refuse(target, args.consent.write_budget, args.tbw)?;
    if args.plan && target.is_virtual() && !args.output.files.result.json {
        messages::note(
            "time is the virtual drive's own: the tests take as long as it takes to compute them",
        );
    }
    if args.plan && !agreed(&planned, args.output.files.result.json)? {
        return Ok(Exit::Done);
    }
    let (job, writes) = job(test, target, (options, &planned), args)?;
    job.run(writes)
}

/// Runs a test on a target as the flags say, or resumes a recorded run, and shows nothing.
///
/// # Errors
/// As [`run`] and [`resume`].
pub fn make(args: &PtsArgs, given: &Given) -> Result<Made> {
    let (job, writes) = match &args.resume {
        Some(run) => resumed(run, args.device.as_ref(), args, given)?,
        None => {
            let (test, target) = args.test.zip(args.target.as_ref()).context("no test")?;
            let options = options(test, args)?;
            options.check()?;
            let planned = estimate(&options, target)?;
            planned.refuse(target, args.consent.write_budget, args.tbw)?;
            job(test, target, (options, &planned), args)?
        }
    };
    job.make(writes)
}

fn job<'a>(
    test: NamedTests,
    target: &TargetSpec,
    (options, planned): (Options, &Planned),
    args: &'a PtsArgs,
) -> Result<(Job<'a>, Writes)> {
    must_write(target, &args.consent)?;
    let job = Job {
        verb: format!("pts {}", test.name),
        target: target.clone(),
        purge: Settings::part(target, args.purge_method.0, options.seed),
        cost: planned.cost(options.tests.len()),
        announced: None,
        options,
        args,
        resumed: None,
    };
    Ok((job, planned.writes))
}

/// Resumes the recorded run of this name; `target` is the present name of its drive if it has changed.
///
/// # Errors
/// As [`run`], and when the drive is not the one of the record.
pub fn resume(
    name: &str,
    target: Option<&TargetSpec>,
    args: &PtsArgs,
    given: &Given,
) -> Result<Exit> {
    let going_on = || {
        let (job, writes) = resumed(name, target, args, given)?;
        job.run(writes)
    };
    match target {
        Some(device) => going_on().with_context(|| format!("--device {device}")),
        None => going_on(),
    }
}

fn resumed<'a>(
    name: &str,
    target: Option<&TargetSpec>,
    args: &'a PtsArgs,
    given: &Given,
) -> Result<(Job<'a>, Writes)> {
    if let Some(word) = ["test", "target"].into_iter().find(|word| given.has(word)) {
        bail!(
            "the {word} is in the record; leave it out: drivescope pts --resume {name}; when the drive has another name \
             now, add --device DEVICE"
        );
    }
    records::check_beside_resume(given.recorded())?;
    args.output.live.when(true).check()?;
    let runs = args.keep.place.runs()?;
    let id = records::to_resume(&runs, name, Instrument::Tests)?;
    let resumed = records::resume(&runs, &id, Instrument::Tests, &args.keep.place)?;
    let run = &resumed.run;
    let mut options =
        Options::from_toml(&run.plan).with_context(|| format!("{id}: its plan.toml"))?;
    if args.consent.write_budget.is_some() {
        options.write_budget = args.consent.write_budget;
    }
    let told = |name: &str| run.setup[name].as_str().map(str::to_owned);
    let target = target.cloned().or_else(|| run.setup["target"].as_str().map(TargetSpec::of));
    let target = target.with_context(|| format!("{id}: does not say what it is of"))?;
    let verb = told("verb").unwrap_or_else(|| "pts".to_owned());
    let purge = told("purge").unwrap_or_else(|| "auto".to_owned());
    let asked = crate::args::purge_method(&purge).map_err(|why| anyhow!("{id}: {why}"))?;
    let planned = estimate(&options, &target)?;
    planned.refuse(&target, args.consent.write_budget, options.tbw)?;
    must_write(&target, &args.consent)?;
    let job = Job {
        verb,
        purge: Settings::part(&target, asked.0, options.seed),
        target,
        cost: planned.cost(options.tests.len()),
        announced: None,
        options,
        args,
        resumed: Some(resumed),
    };
    Ok((job, planned.writes))
}

/// Refuses what can do nothing without writing, when it may not.
fn must_write(target: &TargetSpec, consent: &PtsConsentArgs) -> Result<()> {
    if !target.is_real() || consent.writing.write {
        return Ok(());
    }
    opening::check_name(target, "tested")?;
    Err(Refused(format!(
        "{target}: pts writes all over the drive, and what it holds is lost; add {}",
        consent::flags_for(target.as_str())
    ))
    .into())
}

fn options(test: NamedTests, args: &PtsArgs) -> Result<Options> {
    if args.purge_method.0 == Some(Method::Zero) {
        bail!(
            "--purge-method zero: to a drive zeros are data, and it would be full after them, not empty; take another \
             method, or --no-purge"
        );
    }
    let profile = if args.client { Profile::Client } else { Profile::Enterprise };
    let options = Options::new(test.tests.to_vec(), profile, seed_of(args.seed)?);
    Ok(Options {
        minute: args.minute,
        region: args.range.and_then(crate::args::Span::region),
        threads: args.threads,
        depth: args.depth,
        rounds_max: args.rounds_max,
        until: args.until,
        addresses: args.addresses,
        purge: !args.no_purge,
        wipc_fills: args.fills,
        wsat: args.load,
        dirth: args.load,
        write_budget: args.consent.write_budget,
        tbw: args.tbw,
        over_provisioning: args.over_provisioning.map(|percent| percent / 100.0),
        in_place: args.in_place,
        open_loop: args.open_loop.map(|percent| percent / 100.0),
        ..options
    })
}

/// Shows the plan and asks the user whether to continue; without a terminal the answer is `false`.
///
/// # Errors
/// When it cannot be shown.
fn agreed(planned: &Planned, json: bool) -> Result<bool> {
    if json {
        messages::json(&(serde_json::to_string_pretty(&planned.estimate)? + "\n"))?;
        return Ok(false);
    }
    let text = report::render_listing(&views::pts::plan(&planned.estimate), Style::default());
    messages::result(&text)?;
    if !consent::at_terminal() {
        return Ok(false);
    }
    messages::ask("Go on? [y/N] ")
}

/// Completed test run, recorded as far as possible.
pub struct Made {
    document: Document<TestBodies>,
    /// Error that ended it early, if any.
    pub halt: Option<Halt>,
    /// Its record.
    pub closed: Closed,
}

impl Made {
    /// A body for each test.
    pub fn bodies(&self) -> &[Body] {
        self.document.body.all()
    }
}

impl Job<'_> {
    fn run(mut self, writes: Writes) -> Result<Exit> {
        if let Some(exit) = self.announce()? {
            return Ok(exit);
        }
        let resumed = self.resumed.take();
        let made = self.on_target(writes, resumed)?;
        self.end(made)
    }

    /// Announces what the tests take; `Some` where that was all.
    fn announce(&mut self) -> Result<Option<Exit>> {
        let (files, anyway) = (&self.args.output.files, self.args.consent.anyway);
        let cost = |_: &DriveInfo| self.cost.clone();
        match announced(&self.target, &cost, files, anyway)? {
            Next::Run(announced) => self.announced = announced,
            Next::End(exit) => return Ok(Some(exit)),
        }
        Ok(None)
    }

    fn make(mut self, writes: Writes) -> Result<Made> {
        self.announce()?;
        let resumed = self.resumed.take();
        self.on_target(writes, resumed)
    }

    fn on_target(&self, writes: Writes, resumed: Option<Resumed>) -> Result<Made> {
        let cancel = Arc::new(AtomicBool::new(false));
        let _orderly = linux::signals::orderly(&cancel);
        let how = &self.args.consent;
        opening::note_without_effect(&self.target, how.engine, how.cpus.as_deref(), &[]);
        let place = Place {
            target: &self.target,
            engine: how.engine,
            cpus: how.cpus.as_deref(),
            buffered: false,
            write: how.writing.write,
            consent: how.writing.consent.as_ref(),
            allow: &how.writing.allow,
            seed: None,
            what: "tested",
        };
        // The purge of a resumed run was checked when it began, and may be done already.
        let (purge, is_purged) = (&self.purge, self.options.purge && resumed.is_none());
        let mut resumed = Some(resumed);
        let mut work = |rig: &mut dyn pts::rig::Rig, opened: &opening::Opened<'_>| {
            self.on(rig, opened, resumed.take().flatten())
        };
        let work: Work<'_, Made> = &mut work;
        let side_by_side = self.options.tests.contains(&Test::QdSweep);
        let mut tester = Tester { cancel: &cancel, side_by_side, purge, is_purged, work };
        opening::open(place, writes, &mut tester)
    }

    fn on(
        &self,
        rig: &mut dyn pts::rig::Rig,
        opened: &opening::Opened<'_>,
        resumed: Option<Resumed>,
    ) -> Result<Made> {
        let mut progress = Progress::of(&Display {
            live: self.args.output.live.when(true),
            is_quiet: self.args.output.files.result.no_progress,
            verb: &self.verb,
            target: self.target.as_str(),
        })?;
        progress.update(|model| model.is_open = true);
        let keep = Keep { announced: self.announced.clone(), ..self.args.keep.keep() };
        let mut tests = Tests {
            rig,
            identity: &opened.identity,
            options: &self.options,
            verb: &self.verb,
            target: self.target.as_str(),
            purge: self.purge.method.map_or("auto".to_owned(), |method| method.to_string()),
            samples: keep.samples.unwrap_or(SamplesFormat::Parquet),
            progress: Some(progress.once()),
            earlier: (Earlier::default(), 0),
            halt: None,
        };
        let ended = instrument::run(&mut tests, &keep, run_id(self.options.seed), resumed)?;
        Ok(Made { document: ended.document, halt: tests.halt, closed: ended.closed })
    }

    fn end(&self, made: Made) -> Result<Exit> {
        let Made { document, halt, closed } = made;
        let bodies = document.body.all();
        let files = &self.args.output.files;
        if !files.is_csv_on_stdout() {
            show(&document, bodies, files.result.json)?;
        }
        let ended = files::Ended {
            record: &closed,
            place: &self.args.keep.place,
            is_halted: halt.is_some(),
            document: &|| of_printed(&document.to_json()?, None),
        };
        let written = files::write(files, false, &ended);
        let next = match halt {
            Some(Halt::Budget { limit: Limit::Rating, .. }) => Then::Nothing,
            Some(_) => Then::Resume("pts"),
            None => Then::Show,
        };
        records::end(
            closed,
            next,
            &self.args.keep.place,
            self.args.output.files.result.has_page(),
        )?;
        written?;
        match halt {
            Some(Halt::Interrupted) => return Ok(Exit::Interrupted),
            Some(Halt::Budget { .. }) => {
                let words = halt.map(|halt| halt.to_string()).unwrap_or_default();
                return Err(Refused(words).into());
            }
            Some(halt) => return Err(anyhow!(halt).context(self.target.to_string())),
            None => {}
        }
        Ok(if bodies.iter().all(Body::is_steady) { Exit::Done } else { Exit::No })
    }
}

fn show<B: Serialize>(document: &Document<B>, bodies: &[Body], json: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    messages::result(&views::pts::text(bodies)?)
}

/// Prints a recorded run.
///
/// # Errors
/// When it cannot be printed.
pub fn show_recorded(document: &Document<serde_json::Value>, json: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    messages::result(&views::pts::text(&bodies_of_tests(&document.body)?)?)
}
