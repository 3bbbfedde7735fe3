//! From a plan and a named target to the findings.

mod in_memory;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use bench::consent;
use bench::limit::Limit;
use bench::opening::{note_rounding, note_without_effect};
use bench::originals;
use bench::other_engine::EngineWay;
use bench::outputs;
use block::quoted;
use block::{
    Bytes, DriveIdentity, DriveInfo, EngineKind, Environment, Event, Extents, Op, RunSink,
};
use drives::{Look, OpenDrive, OpenRequest, TargetSpec, TestFile, unopened};
use engine::{Control, TargetBench, Way};
use linux::gate::Permit;
use linux::scratch::{self, Copying, Leftover, ScratchFile};
use linux::sysfs::Roots;
use linux::target::RealTarget;
use mark::{Around, Body, Broken, Ceiling, Engines, Executed, cache, findings, needs_more};
use runner::messages;
use workload::content::SectorContent;
use workload::plan::{Plan, Region};

use super::job::Job;
use super::recording::Recording;
use super::watch::Watch;

/// Result of a benchmark.
pub struct Measured {
    /// Its body.
    pub body: Body,
    /// The I/O that ended it early, if one did.
    pub broken: Option<Broken>,
    /// Requests that the kernel refused, where a slower way was taken instead.
    pub notes: Vec<String>,
}

/// Everything that stays the same while a job runs.
struct Session<'a> {
    job: &'a Job<'a>,
    cancel: Arc<AtomicBool>,
    recording: &'a mut Recording,
}

/// Measures, and keeps what each run leaves in `recording`.
///
/// # Errors
/// When it is impossible, each with what to do; [`runner::exit::Refused`] inside when it is the safety
/// gate that says no.
pub fn measure(job: &Job<'_>, recording: &mut Recording) -> Result<Measured> {
    let cancel = match job.turn {
        // Shared by all who take turns.
        Some(turn) => turn.cancel(),
        None => Arc::new(AtomicBool::new(false)),
    };
    let _orderly = linux::signals::orderly(&cancel);
    let mut session = Session { job, cancel, recording };
    let target = &job.target.target;
    if job.target.no_cow && !target.as_path().is_dir() {
        bail!("{target}: --no-cow is about the test file that a directory gets; leave it out");
    }
    let args = job.target;
    let others = [("--iopoll", args.iopoll), ("--buffered", args.buffered)];
    note_without_effect(target, args.engine, args.cpus.as_deref(), &others);
    let path = match target {
        TargetSpec::Virtual(_) | TargetSpec::Null => return session.on_emulated(),
        TargetSpec::Path(path) => Path::new(path),
    };
    outputs::protect(path)?;
    let meta = fs::metadata(path).with_context(|| {
        format!("{target}: cannot be measured; name a directory, a file, a device or sim:hdd-7200")
    })?;
    if meta.is_dir() {
        session.on_directory(path)
    } else {
        session.on_existing(path, meta.is_file())
    }
}

impl Session<'_> {
    /// A virtual drive or `null:`, which are whole when their name is known.
    fn on_emulated(&mut self) -> Result<Measured> {
        let drive = drives::open(self.request(None))?;
        let OpenDrive { target, mut environment, identity, .. } = drive;
        let capacity = target.info().capacity_bytes;
        if let TargetSpec::Virtual(spec) = &self.job.target.target {
            note_rounding(spec, capacity);
        }
        let mut plan = self.job.plan_for(true, Some(capacity))?;
        self.job.widen(&mut plan, target.info());
        self.job.budget(&mut plan, Bytes::ZERO)?;
        let mut target = target.engine()?;
        let how = OpenedAs::not_real(target.engine(), identity);
        let target = (target.io_path(), Engines::default());
        self.run(plan, target, &mut *environment, &[], &how)
    }

    /// A directory: its filesystem is measured in a test file of our own.
    fn on_directory(&mut self, dir: &Path) -> Result<Measured> {
        let name = self.job.target.target.to_string();
        if self.job.target.span.is_some() {
            bail!("{name}: --span is for files and devices; for a directory, give --size");
        }
        scratch::may_create(dir).with_context(|| {
            format!(
                "{name}: no test file can be made there; name a directory that you may write to"
            )
        })?;
        let Look { stack, identity, .. } = drives::look(&self.job.target.target)?;
        self.recording.check_drive(&identity)?;
        self.leftovers(dir)?;
        let size = self.job.target.size.unwrap_or(self.job.default_size);
        let mut plan = (self.job.plan)(true)?;
        // In the plan, so that the record has the part that was measured.
        plan.region.get_or_insert(Region { offset: Bytes::ZERO, length: size });
        if plan.region.is_some_and(|r| r.offset.0.saturating_add(r.length.0) > size.0) {
            bail!(
                "{name}: the plan's region ends beyond a test file of {}; give a larger --size",
                size.human()
            );
        }
        self.job.budget(&mut plan, size)?;
        // Failures that can be foreseen come before gigabytes are written; the rest when it is open.
        let info = DriveInfo { capacity_bytes: size, ..unopened(&name) };
        let region = plan.fit(&info)?;
        if self.is_pointless(&stack) {
            return self.nothing(&plan, region, &stack, (info, identity));
        }
        let copying = if self.job.target.no_cow { Copying::Off } else { Copying::Usual };
        let mut payload = SectorContent::new(plan.content, plan.seed, u16::MAX);
        let (sink, run_id) = (&mut *self.recording, self.job.run_id);
        let mut progress = |done_bytes, total_bytes| {
            let what = "writing the test file".to_owned();
            sink.event(&Event::Preparing { what, done_bytes, total_bytes });
        };
        let scratch = ScratchFile::create_with(
            copying,
            dir,
            size,
            run_id,
            &mut payload,
            &mut progress,
            &self.cancel,
        )?;
        let own = TestFile { file: &scratch, top: scratch.path() };
        let request = OpenRequest { test_file: Some(own), ..self.request(None) };
        let opened = drives::open_path(request)
            .with_context(|| format!("{name}: its test file cannot be measured"))?;
        let measured = self.on_real(opened, scratch.path(), true, plan);
        let what = format!("{} ({})", scratch.path().display(), size.human());
        match scratch.remove() {
            Ok(true) => {}
            Ok(false) => messages::note(&format!(
                "the test file {what} was gone when the run ended: somebody removed it, or its directory, while it was \
                 measured"
            )),
            Err(error) => messages::note(&format!(
                "the test file {what} could not be removed: {error}; when its filesystem can be written to again, remove it, or let the next run do so with --remove-leftovers"
            )),
        }
        measured
    }

    /// A file or device that exists: read, and written to only with consent.
    fn on_existing(&mut self, path: &Path, is_file: bool) -> Result<Measured> {
        // An existing file is as large as its owner wanted it measured; a device is not.
        let capacity = if is_file { None } else { Some(linux::target::size_of(path)?) };
        let mut plan = self.job.plan_for(self.job.target.consent.write, capacity)?;
        self.job.check_writes(&plan, is_file)?;
        self.job.budget(&mut plan, Bytes::ZERO)?;
        if !plan.alters() {
            let opened = drives::open_path(self.request(None))?;
            self.job.widen(&mut plan, opened.target.info());
            return self.on_real(opened, path, false, plan);
        }
        let args = &self.job.target.consent;
        let answer = consent::Consent { consent: args.consent.as_ref(), allow: &args.allow };
        let permit = consent::ask(answer, path, consent::bytes_to_write(&plan))?;
        let opened = drives::open_path(self.request(Some(permit)))?;
        self.on_real(opened, path, false, plan)
    }

    /// A file or device at `path`, which is open; `own_file` when it is a test file of this run.
    fn on_real(
        &mut self,
        drive: OpenDrive<RealTarget>,
        path: &Path,
        own_file: bool,
        plan: Plan,
    ) -> Result<Measured> {
        // Held to the end of the run: it keeps other programs away from the device.
        let OpenDrive { target: opened, mut environment, identity, permit: _held } = drive;
        if self.job.target.iopoll
            && let Some(name) =
                linux::stack::without_polling(&Roots::default(), environment.stack())
        {
            bail!(
                "{}: {name} has no queue for polling (its queue/io_poll is 0): leave out --iopoll, \
                 or give the driver such queues (nvme.poll_queues=1 on the kernel's command line)",
                path.display()
            );
        }
        self.recording.check_drive(&identity)?;
        if self.is_pointless(environment.stack()) {
            let region = plan.fit(opened.info())?;
            let about = (opened.info().clone(), identity);
            return self.nothing(&plan, region, environment.stack(), about);
        }
        originals::note_pending(&identity);
        let region = plan.fit(opened.info())?;
        let extents = environment.extents_within(region.offset, region.length);
        environment.survey_layers(region.offset, region.length);
        let args = self.job.target;
        let how = OpenedAs {
            engine: self.engine().to_string(),
            direct: !args.buffered,
            polling: args.iopoll,
            in_place: scratch::is_written_in_place(opened.file()),
            extents,
            own_file,
            identity,
        };
        let (ceilings, mut notes) = self.ceilings(&plan, opened.info().capacity_bytes)?;
        let others = self.engines(&plan).into_iter().skip(1);
        let open = |engine| Ok(EngineWay::new(engine, opened.again(engine)?));
        let mut ways = others.map(open).collect::<Result<Vec<EngineWay>>>()?;
        let others = ways.iter_mut().map(|way| way as &mut (dyn Way + 'static)).collect();
        let engines = Engines { own: Some(self.engine()), others };
        let mut target = opened.engine()?;
        let target = drives::of_real(&mut target);
        let measured =
            self.run(plan, (&mut *target, engines), &mut *environment, &ceilings, &how)?;
        // A note from both measurements is reported once.
        let own = target.notes();
        notes.retain(|note| !own.contains(note));
        let of_the_limit = |note| format!("{note} (while the tester's own limit was measured)");
        let all = own.into_iter().chain(ways.iter_mut().flat_map(EngineWay::notes));
        let notes = all.chain(notes.into_iter().map(of_the_limit)).collect();
        Ok(Measured { notes, ..measured })
    }

    fn run(
        &mut self,
        plan: Plan,
        (target, engines): (&mut dyn engine::IoPath, Engines<'_>),
        environment: &mut dyn Environment,
        ceilings: &[Option<Ceiling>],
        how: &OpenedAs,
    ) -> Result<Measured> {
        let earlier = self.recording.begin(&plan, &how.identity)?;
        let ops = || plan.steps.iter().flat_map(|s| &s.phases).flat_map(|p| &p.ops);
        let durable = ops().any(|o| o.fua) && ops().all(|o| o.fua || o.op != Op::Write);
        self.recording.set_open(plan.schedule.until.is_some());
        self.recording.watched(Watch {
            plan: plan.clone(),
            info: target.info().clone(),
            stack: environment.stack().clone(),
            extents: how.extents.clone(),
            engine: how.engine.clone(),
            direct: how.direct,
            durable,
            in_place: how.in_place,
            own_file: how.own_file,
            cpus: self.cpus(),
            polling: how.polling,
            proven: BTreeMap::new(),
        });
        let control = Control { cancel: &self.cancel, trace_cap: self.job.trace_cap };
        let keeper = &mut *self.recording;
        let around = Around { engines, ceilings, earlier, control, keeper, needs_more };
        let mut executed = mark::execute(&plan, target, environment, around)?;
        let capacity = target.info().capacity_bytes;
        self.look_again(&plan, capacity, &mut executed)?;
        let cache = self.cache(&plan, target, environment, &executed, how.direct);
        let region = executed.region;
        environment.survey_layers(region.offset, region.length);
        let extents_after = environment.extents_within(region.offset, region.length);
        let context = findings::Context {
            info: target.info(),
            stack: environment.stack(),
            extents: how.extents.clone(),
            engine: &how.engine,
            direct: how.direct,
            durable,
            cpus: self.cpus(),
            polling: how.polling,
            in_place: how.in_place,
            extents_after,
            own_file: how.own_file,
            cache,
        };
        let body = findings::body(&plan, &executed, &context);
        Ok(Measured { body, broken: executed.broken, notes: Vec::new() })
    }

    /// Content of the drive's own cache, where that decides what the runs show and the drive does not report it. The runs
    /// are kept even if this fails.
    fn cache(
        &self,
        plan: &Plan,
        target: &mut dyn engine::IoPath,
        environment: &mut dyn Environment,
        executed: &Executed,
        direct: bool,
    ) -> Option<cache::Found> {
        if !cache::is_wanted(plan, executed, target.info(), direct) {
            return None;
        }
        let area = cache::area(executed.region, target.info().capacity_bytes);
        let name = target.info().name.clone();
        let mut bench = TargetBench::new(target, environment, &self.cancel);
        let found = cache::ask(&mut bench, area, plan.schedule.cache_probe, plan.seed);
        let tell = |error| {
            messages::note(&format!("{name}: what its cache holds could not be asked: {error}"));
        };
        found.map_err(tell).ok()
    }

    /// Limit of the tester for each step, and requests that the kernel refused meanwhile.
    fn ceilings(
        &self,
        plan: &Plan,
        capacity: Bytes,
    ) -> Result<(Vec<Option<Ceiling>>, Vec<String>)> {
        let mut limit = self.limit(capacity);
        let ceilings =
            plan.steps.iter().map(|step| limit.of(step, plan)).collect::<Result<_, _>>()?;
        Ok((ceilings, limit.notes()))
    }

    /// Measures the limit once more where it decides what is found.
    fn look_again(&self, plan: &Plan, capacity: Bytes, executed: &mut Executed) -> Result<()> {
        let mut limit = None;
        mark::look_again(plan, executed, |step| {
            limit.get_or_insert_with(|| self.limit(capacity)).of(step, plan)
        })?;
        Ok(())
    }

    fn limit(&self, capacity: Bytes) -> Limit<'_> {
        let args = self.job.target;
        Limit::new(self.engine(), capacity, args.cpus.clone(), &self.cancel)
    }

    /// The engine of the flags, or the one that the kernel allows instead.
    fn engine(&self) -> EngineKind {
        self.job.target.kernel_engine()
    }

    /// That engine, and then the others that steps of `plan` name.
    fn engines(&self, plan: &Plan) -> Vec<EngineKind> {
        let mut engines = vec![self.engine()];
        for engine in plan.steps.iter().filter_map(|step| step.engine) {
            if !engines.contains(&engine) {
                engines.push(engine);
            }
        }
        engines
    }

    /// CPUs that the submitters can run on.
    fn cpus(&self) -> usize {
        let here = std::thread::available_parallelism().map_or(1, usize::from);
        let named = self.job.target.cpus.as_ref();
        let distinct = named.map(|cpus| cpus.iter().collect::<BTreeSet<_>>().len().max(1));
        distinct.map_or(here, |named| named.min(here))
    }

    /// The target as the flags want it opened.
    fn request(&self, permit: Option<Permit>) -> OpenRequest<'_> {
        let args = self.job.target;
        OpenRequest {
            direct: !args.buffered,
            polling: args.iopoll,
            cpus: args.cpus.as_deref(),
            seed: self.job.drive_seed,
            permit,
            ..OpenRequest::read(&args.target, self.engine())
        }
    }

    /// Reports test files that a killed run left behind, and removes them on request. A test file of the resumed run
    /// itself is removed without asking: it is in the way of its next one.
    fn leftovers(&self, dir: &Path) -> Result<()> {
        let own = scratch::reclaim(dir, self.job.run_id);
        let own = own.with_context(|| {
            format!("{}: cannot remove the test file of {}", dir.display(), self.job.run_id)
        })?;
        if let Some(own) = own {
            messages::note(&format!(
                "removed {} ({}), left by this run",
                own.path.display(),
                own.size.human()
            ));
        }
        for leftover in scratch::leftovers(dir) {
            let what = format!("{} ({})", leftover.path.display(), leftover.size.human());
            let path = quoted(&leftover.path.to_string_lossy());
            if !leftover.is_ours {
                messages::note(&format!(
                    "{what} is named like a test file of drivescope and does not carry its header, so it stays; if it is \
                     not yours: rm {path}"
                ));
            } else if self.job.target.consent.remove_leftovers || agreed(&leftover)? {
                leftover.remove().with_context(|| format!("cannot remove {what}"))?;
                messages::note(&format!("removed {what}, left by a run that was killed"));
            } else {
                messages::note(&format!(
                    "an earlier run was killed and left {what}; to remove it: rm {path}, or mark with --remove-leftovers"
                ));
            }
        }
        Ok(())
    }
}

/// Facts about the open target, for the findings.
struct OpenedAs {
    engine: String,
    direct: bool,
    polling: bool,
    /// A filesystem that copies on write does not do so with the target.
    in_place: bool,
    extents: Option<Extents>,
    /// True when this run made the target's file and wrote all of it.
    own_file: bool,
    identity: DriveIdentity,
}

impl OpenedAs {
    /// A target without layers under it, which is who its name says.
    fn not_real(engine: &str, identity: DriveIdentity) -> OpenedAs {
        OpenedAs {
            engine: engine.to_owned(),
            direct: true,
            polling: false,
            in_place: false,
            extents: None,
            own_file: false,
            identity,
        }
    }
}

/// Asks a person at a terminal; anybody else has not agreed.
fn agreed(leftover: &Leftover) -> Result<bool> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(false);
    }
    messages::ask(&format!(
        "An earlier run was killed and left {} ({}). Remove it? [y/N] ",
        leftover.path.display(),
        leftover.size.human()
    ))
}
