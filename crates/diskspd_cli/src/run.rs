//! Carries out a command line: permissions, files that are created first, and all targets loaded at once.

use std::ops::Range;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, anyhow, bail};
use bench::consent::{self, Consent};
use bench::limit::Limit;
use bench::opening::{self, Opened, Place, Visitor, Writes};
use bench::{engines, outputs};
use block::{Bytes, DriveKind, EngineChoice, EngineKind, Environment, Nanos};
use drives::TargetSpec;
use engine::{Control, IoPath};
use linux::gate::{self, Permit, Request};
use linux::sysfs::Roots;
use mark::diskspd::{Engine, How, Look, Threads, run};
use runner::exit::Exit;
use runner::messages;
use workload::plan::Step;

use crate::command_line::{CommandLine, Loaded};
use crate::observer::LoadObserver;
use crate::start::{GivenUp, Seat, Start};
use crate::{create, report};

/// Most single I/Os of one target that are kept to count them by intervals: some 70 MB.
const SAMPLES_MAX: usize = 1_000_000;

/// Preparation that a target needs before it is loaded.
enum Preparation {
    /// Nothing: it is only read, or it is virtual.
    Nothing,
    /// It is written to.
    Permitted(Permit),
    /// A file to which these bytes are added first.
    Grow(Permit, Range<u64>),
    /// A file of this size that is made first.
    Make(Bytes),
}

impl CommandLine<'_> {
    /// Carries it out; prints the report on stdout, and verdicts on it on stderr.
    ///
    /// # Errors
    /// When a target cannot be loaded; an I/O that failed.
    pub fn carry_out(&self) -> Result<Exit> {
        let (options, manner) = (self.options, self.own.manner);
        self.targets.iter().try_for_each(|target| outputs::protect(target.as_path()))?;
        let kinds = self.targets.iter().map(|target| self.kind(target));
        let kinds: Vec<DriveKind> = kinds.collect::<Result<_>>()?;
        for deviation in options.deviations(&kinds, manner) {
            messages::note(&deviation);
        }
        let cancel = Arc::new(AtomicBool::new(false));
        let _orderly = linux::signals::orderly(&cancel);
        let permits = self.permits(&kinds, &cancel)?;
        let seed = match options.named_seed(manner) {
            Some(seed) => seed,
            None => linux::host::fresh_seed().context("cannot draw a seed; give one with -z")?,
        };
        messages::note(&format!("seed {seed}; -z{seed} draws the same offsets again"));
        let loaded = self.load(&kinds, permits, seed, &cancel)?;
        let interrupted = loaded.iter().any(|one| one.outcome.body.interrupted);
        messages::plain(&report::report(self, &loaded))?;
        let refuted = report::verdicts(self, &loaded);
        for Loaded { outcome, .. } in loaded {
            if let Some(broken) = outcome.broken {
                return Err(broken.into());
            }
        }
        Ok(match (interrupted, refuted && self.own.strict) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::No,
            (false, false) => Exit::Done,
        })
    }

    /// Kind of a target before it is opened. A file that is to be created is one.
    fn kind(&self, target: &TargetSpec) -> Result<DriveKind> {
        let name = match target {
            TargetSpec::Virtual(_) => return Ok(DriveKind::Virtual),
            TargetSpec::Null => return Ok(DriveKind::Null),
            TargetSpec::Path(name) => name,
        };
        if name.is_empty() {
            bail!("a name is wanted of what is to be loaded, and it is empty");
        }
        let meta = std::fs::metadata(name);
        if meta.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
            bail!("{name}: is a directory; name a file in it, which -c creates");
        }
        match meta.map(|meta| meta.file_type().is_block_device()) {
            Ok(true) if self.options.create.is_some() => {
                bail!("-c: {name} is a device, and is not created; leave -c out")
            }
            Ok(true) => Ok(DriveKind::BlockDevice),
            Ok(false) => Ok(DriveKind::File),
            Err(_) if self.options.create.is_some() => Ok(DriveKind::File),
            Err(error) => Err(anyhow!(error).context(format!(
                "{name}: cannot be loaded; name a file, a device or such as sim:hdd-7200, or create a file with -c"
            ))),
        }
    }

    /// Loads all targets at once, each from a thread of its own, from the moment on when all are ready.
    fn load(
        &self,
        kinds: &[DriveKind],
        permits: Vec<Option<Permit>>,
        seed: u64,
        cancel: &AtomicBool,
    ) -> Result<Vec<Loaded>> {
        let start = Start::of(kinds.len());
        // One is opened after the other, and measures alone what this machine can do.
        let opening_lock = Mutex::new(());
        let one = |index: usize, permit: Option<Permit>| -> Result<Loaded> {
            let seat = start.seat();
            let target = &self.targets[index];
            let held = Some(opening_lock.lock().unwrap_or_else(PoisonError::into_inner));
            let kind = kinds[index];
            let mut load = Load { command: self, index, kind, kinds, seed, cancel, seat, held };
            let cpus = self.cpus(index);
            let place = Place {
                target,
                engine: self.engine(),
                cpus: cpus.as_deref(),
                buffered: !self.options.caching.direct,
                write: self.options.write_percent > 0,
                // The gate was asked.
                consent: None,
                allow: &[],
                seed: match self.options.seed {
                    mark::diskspd::Seed::Given(seed) => Some(seed),
                    _ => None,
                },
                what: "loaded",
            };
            let writes = match self.options.write_percent {
                0 => Writes::Nothing,
                _ => Writes::Unbounded,
            };
            opening::open_held(place, writes, permit, &mut load)
        };
        let one = &one;
        let all = std::thread::scope(|scope| {
            let each = permits.into_iter().enumerate();
            let handles: Vec<_> =
                each.map(|(index, permit)| scope.spawn(move || one(index, permit))).collect();
            handles.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        let mut loaded = Vec::with_capacity(all.len());
        let mut given_up = None;
        for one in all {
            match one {
                Ok(Ok(one)) => loaded.push(one),
                // Of several errors, those that only follow from another are not printed.
                Ok(Err(error)) if error.is::<GivenUp>() => given_up = Some(error),
                Ok(Err(error)) => return Err(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        match given_up {
            Some(error) => Err(error),
            None => Ok(loaded),
        }
    }

    /// The right to write to each target that is written to, and files that `-c` asks for. The safety gate is asked of all
    /// before anything is made or made larger.
    fn permits(&self, kinds: &[DriveKind], cancel: &AtomicBool) -> Result<Vec<Option<Permit>>> {
        let targets = || self.options.targets.iter().zip(kinds);
        let preparations: Vec<Preparation> =
            targets().map(|(name, kind)| self.preparation(name, *kind)).collect::<Result<_>>()?;
        let writes = self.options.write_percent > 0;
        let made = targets().zip(preparations).map(|((name, _), preparation)| match preparation {
            Preparation::Nothing => Ok(None),
            Preparation::Permitted(permit) => Ok(Some(permit)),
            Preparation::Grow(permit, missing) => {
                create::grow(name, &permit, missing, cancel)?;
                Ok(writes.then_some(permit))
            }
            Preparation::Make(size) => {
                create::make(name, size, cancel)?;
                // It is drivescope's own file.
                let request = Request { bytes_to_write: None, ..Request::default() };
                let check = || gate::check_named(&Roots::default(), Path::new(name), &request);
                Ok(writes.then(check).transpose()?)
            }
        });
        made.collect()
    }

    /// Finds the preparation that a target needs; changes nothing.
    fn preparation(&self, name: &str, kind: DriveKind) -> Result<Preparation> {
        let path = Path::new(name);
        if kind != DriveKind::File {
            if self.options.create.is_some() {
                messages::note(&format!("-c: {name} is there already"));
            }
            let is_written = kind == DriveKind::BlockDevice && self.options.write_percent > 0;
            return Ok(if is_written {
                Preparation::Permitted(self.ask(path)?)
            } else {
                Preparation::Nothing
            });
        }
        let wanted = self.options.create;
        let meta = match (std::fs::metadata(path), wanted) {
            (Err(_), Some(size)) => {
                create::check_new(name, Bytes(size))?;
                return Ok(Preparation::Make(Bytes(size)));
            }
            (meta, _) => meta.with_context(|| format!("{name}: cannot be loaded"))?,
        };
        if wanted.is_some() && !meta.is_file() {
            bail!("-c: {name} is not a file, and is not created");
        }
        let missing = wanted.filter(|size| *size > meta.len()).map(|size| meta.len()..size);
        if meta.is_file() && meta.len() == 0 && missing.is_none() {
            bail!("{name}: is empty; -c with a size, such as -c1G, fills it first");
        }
        if let Some(missing) = &missing {
            create::check_larger(path, missing)
                .with_context(|| format!("-c: {name} cannot be made larger"))?;
        }
        Ok(match (missing, self.options.write_percent > 0) {
            (None, false) => Preparation::Nothing,
            (None, true) => Preparation::Permitted(self.ask(path)?),
            (Some(missing), true) => Preparation::Grow(self.ask(path)?, missing),
            // The file's content stays, so that no word is asked for.
            (Some(missing), false) => {
                let allow = self.own.allow.iter().map(|word| word.parse());
                let request = Request {
                    bytes_to_write: Some(Bytes(missing.end - missing.start)),
                    allow: allow.collect::<Result<_, _>>()?,
                    consent: None,
                };
                let permit = gate::check_named(&Roots::default(), path, &request)?;
                Preparation::Grow(permit, missing)
            }
        })
    }

    /// Asks the safety gate. Of several words of consent, a target's own counts.
    fn ask(&self, path: &Path) -> Result<Permit> {
        let own = gate::consent(&Roots::default(), path);
        let is_own = |word: &&String| own.as_ref().is_some_and(|own| own.is_given_by(word));
        let words = &self.own.consent;
        let consent = words.iter().find(is_own).or(words.first());
        consent::ask(Consent { consent, allow: &self.own.allow }, path, None)
    }

    fn engine(&self) -> EngineChoice {
        self.own.engine.unwrap_or(match self.options.engine {
            Engine::Libaio => EngineChoice::From(EngineKind::Libaio),
            Engine::PosixAio => EngineChoice::Only(EngineKind::Psync),
        })
    }

    /// The processors of this target's threads, which go around over the threads of all targets; `None` with `-n`.
    fn cpus(&self, index: usize) -> Option<Vec<usize>> {
        if self.options.no_affinity {
            return None;
        }
        let named = self.options.cpus.clone();
        let mut cpus = named.unwrap_or_else(linux::host::allowed_processors);
        if let Threads::PerTarget(threads) = self.options.threads
            && !cpus.is_empty()
        {
            let before = index * usize::try_from(threads).unwrap_or(0);
            let first = before % cpus.len();
            cpus.rotate_left(first);
        }
        (!cpus.is_empty()).then_some(cpus)
    }
}

/// Loads one target.
struct Load<'a> {
    command: &'a CommandLine<'a>,
    index: usize,
    kind: DriveKind,
    kinds: &'a [DriveKind],
    seed: u64,
    cancel: &'a AtomicBool,
    seat: Seat<'a>,
    held: Option<MutexGuard<'a, ()>>,
}

impl Visitor for Load<'_> {
    type Out = Loaded;

    fn visit(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        opened: &Opened<'_>,
    ) -> Result<Loaded> {
        let (options, info) = (self.command.options, target.info().clone());
        // Each target has offsets of its own; the first has those of the seed.
        let seed = self.seed.wrapping_add(self.index as u64);
        let plan = options.plan(&info, seed, self.command.own.manner)?;
        let region = plan.fit(&info)?;
        let is_real = !matches!(self.kind, DriveKind::Virtual | DriveKind::Null);
        let here = std::thread::available_parallelism().map_or(1, usize::from);
        let cpus = self.command.cpus(self.index);
        let engine = engines::chosen(&self.command.targets[self.index], self.command.engine());
        let limit = || Limit::new(engine, info.capacity_bytes, cpus, self.cancel);
        let mut limit = is_real.then(limit);
        environment.survey_layers(region.offset, region.length);
        let mut how = How {
            engine: &opened.engine,
            direct: options.caching.direct || !is_real,
            cpus: self.command.options.cpus.as_ref().map_or(here, |cpus| cpus.len().min(here)),
            extents: environment.extents_within(region.offset, region.length),
            ceiling: limit.as_mut().map_or(Ok(None), |limit| limit.of(&plan.steps[0], &plan))?,
            look_again: None,
            interval: options.iops_interval_ms.map(|ms| Nanos::millis(u64::from(ms))),
        };
        self.held = None;
        self.seat.ready(self.cancel)?;
        let trace_cap = if how.interval.is_some() { SAMPLES_MAX } else { 0 };
        let control = Control { cancel: self.cancel, trace_cap };
        let is_first = self.index == 0;
        let mut observer = LoadObserver::new(&plan, options.verbose, is_first && is_real, is_real);
        let of = &plan;
        let mut again = limit.map(|mut limit| move |step: &Step| limit.of(step, of));
        how.look_again = again.as_mut().map(|again| again as Look<'_>);
        let mut outcome = run(&plan, target, environment, how, control, &mut observer)?;
        report::of_several(&mut outcome.body, self.kinds);
        let (stack, processors) = (environment.stack().clone(), observer.processors());
        Ok(Loaded { info, stack, plan, outcome, processors })
    }
}
