//! Context of a run in progress: issues the stretches that tests ask for, one after the other, counts bytes and gaps, and
//! takes over the records of an earlier process.

use std::collections::VecDeque;

use block::{Bytes, DriveInfo, Event, Nanos, Time};
use engine::{EngineError, Failure, Samples};
use stats::LatencyHistogram;
use thiserror::Error;
use workload::plan::{Plan, PlanError, Region, Schedule, Step, Stop};
use workload::rng::mix;

use crate::ask::Ask;
use crate::kept::{Earlier, Keeper, Kept, Standing};
use crate::options::{Limit, Minute, Options, Test};
use crate::rig::{Purged, Rig};
use crate::window::{Latency, Series, Window, cpu_percent, disturbances, moved, phase};

/// A stretch that is disturbed is made again, so often at most; what is measured then stays, with a doubt.
const REPEATS_MAX: usize = 2;

/// Why a test ended before its end.
#[derive(Debug, Error)]
pub enum Halt {
    /// The user asked for it.
    #[error("ended on request")]
    Interrupted,
    /// An I/O failed.
    #[error("{failure} (in {load})")]
    Failed {
        /// The I/O that failed, and its error.
        failure: Failure,
        /// The load at that time.
        load: String,
    },
    /// The drive could not be emptied.
    #[error(
        "the purge before {test} failed: {why}; take another --purge-method, or test the drive as it is with --no-purge"
    )]
    Purge {
        /// The test.
        test: &'static str,
        /// Why.
        why: String,
    },
    /// The write limit is used up.
    #[error(
        "what is left of {} {budget} does not suffice: {} are written; what was measured before is kept; {}",
        limit.flag(), written.human(), limit.remedy()
    )]
    Budget {
        /// The most that may be written.
        budget: Bytes,
        /// Source of the limit.
        limit: Limit,
        /// Bytes written.
        written: Bytes,
    },
    /// The target failed as a whole.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A load does not fit the drive.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The records of an earlier process do not match this run.
    #[error(
        "{load} (stretch {position}) does not come out as it is recorded: the record is of another plan, model or \
         version of drivescope; begin a new run"
    )]
    Diverged {
        /// The load.
        load: String,
        /// Its position.
        position: u32,
    },
}

/// Result of a stretch.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its figures.
    pub window: Window,
    /// Its response times.
    pub latencies: LatencyHistogram,
    /// True for the first stretch after a resumption: the drive was idle for longer than a change of loads takes, and earlier
    /// stretches do not belong to the same continuous run.
    pub after_break: bool,
    /// Stretches of the same that were disturbed: what they wrote counts, what they measured does not.
    pub disturbed: Vec<Window>,
}

/// Context of a run in progress, in which tests issue I/O.
pub struct Desk<'a> {
    rig: &'a mut dyn Rig,
    /// Options of the run.
    pub options: &'a Options,
    keeper: &'a mut dyn Keeper,
    earlier: VecDeque<Kept>,
    replay: bool,
    region: Region,
    position: u32,
    /// The first stretch's first instant.
    began: Option<Time>,
    /// Time that earlier processes had taken.
    before: Nanos,
    /// The last stretch's last instant; none before the first, and after a rest that was meant.
    busy_until: Option<Time>,
    /// True from a resumption on, until the first stretch.
    is_broken: bool,
    /// Bytes written so far.
    pub written: Bytes,
    /// Length of a minute, once it is known.
    minute: Option<Nanos>,
    /// Longest unintended idle time of the drive.
    pub gap_ns_max: u64,
    /// Stretches that were made again, with what disturbed them.
    pub repeated: Vec<String>,
}

impl<'a> Desk<'a> {
    /// A desk for a run of `options` on `rig`.
    ///
    /// # Errors
    /// When the range of addresses does not fit the drive.
    pub fn new(
        rig: &'a mut dyn Rig,
        options: &'a Options,
        earlier: Earlier,
        keeper: &'a mut dyn Keeper,
    ) -> Result<Desk<'a>, Halt> {
        let region = range(options, rig.info())?;
        Ok(Desk {
            rig,
            options,
            keeper,
            is_broken: !earlier.replay && !earlier.kept.is_empty(),
            earlier: earlier.kept,
            replay: earlier.replay,
            region,
            position: 0,
            began: None,
            before: Nanos::ZERO,
            busy_until: None,
            written: Bytes::ZERO,
            minute: None,
            gap_ns_max: 0,
            repeated: Vec::new(),
        })
    }

    /// The drive.
    pub fn info(&self) -> &DriveInfo {
        self.rig.info()
    }

    /// The layers under it.
    pub fn stack(&self) -> &block::Stack {
        self.rig.stack()
    }

    /// Ways to issue I/O.
    pub fn engines(&self) -> Vec<String> {
        self.rig.engines()
    }

    /// Issues I/O in another way from now on.
    pub fn choose(&mut self, engine: &str) {
        self.rig.choose(engine);
    }

    /// The range of addresses in use.
    pub fn region(&self) -> Region {
        self.region
    }

    /// Smallest transfer of the drive.
    pub fn block_min(&self) -> Bytes {
        self.rig.info().logical_block_bytes.max(Bytes(512))
    }

    /// Stops after `count` minutes, or, while the length of a minute is unknown, after writing `count` times the share of the
    /// range that makes one.
    pub fn minutes(&self, count: f64) -> Stop {
        let of = |minute: Nanos| Nanos(((minute.0 as f64 * count) as u64).max(1));
        match (self.options.minute, self.minute) {
            (Minute::Time(minute), _) | (Minute::Fill(_), Some(minute)) => {
                Stop { after: Some(of(minute)), ..Stop::default() }
            }
            (Minute::Fill(share), None) => {
                let bytes = (self.region.length.0 as f64 * share * count) as u64;
                let bytes = Bytes(bytes).round_down(Bytes::mib(1)).max(Bytes::mib(1));
                Stop { bytes: Some(bytes), ..Stop::default() }
            }
        }
    }

    /// A span of minutes, as far as a minute is known.
    pub fn span(&self, minutes: f64) -> Nanos {
        self.minutes(minutes).after.unwrap_or(Nanos::ZERO)
    }

    /// Begins a test: its minute is not known yet when it is a share of the range, and the drive is emptied.
    ///
    /// # Errors
    /// When it cannot be emptied.
    pub fn begin(&mut self, test: Test) -> Result<Option<Purged>, Halt> {
        self.minute = None;
        if !self.options.purge {
            return Ok(None);
        }
        let known = self.earlier.pop_front();
        let diverged = |position| Halt::Diverged { load: "the purge".to_owned(), position };
        let purged = match known {
            Some(Kept::Purged { test: then, purged }) if then == test => {
                if self.replay {
                    self.purge(test)?;
                }
                purged
            }
            Some(_) => return Err(diverged(self.position)),
            None => {
                let what = format!("purging before {}", test.title());
                self.keeper.event(&Event::Preparing {
                    what,
                    done_bytes: Bytes::ZERO,
                    total_bytes: self.region.length,
                });
                let purged = self.purge(test)?;
                self.keeper.keep(&Kept::Purged { test, purged: purged.clone() }, None);
                purged
            }
        };
        self.busy_until = None;
        if !purged.is_good {
            return Err(Halt::Purge { test: test.word(), why: purged.words });
        }
        Ok(Some(purged))
    }

    /// Purges the drive. A purge that the user stopped is not kept, so that a run which is resumed purges again.
    fn purge(&mut self, test: Test) -> Result<Purged, Halt> {
        let purged = self.rig.purge();
        let is_good = purged.as_ref().is_ok_and(|purged| purged.is_good);
        if !is_good && self.rig.is_cancelled() {
            return Err(Halt::Interrupted);
        }
        purged.map_err(|why| Halt::Purge { test: test.word(), why })
    }

    /// Notes that all before is whole.
    ///
    /// # Errors
    /// When an earlier process has noted something else here.
    pub fn whole(&mut self, what: &str) -> Result<(), Halt> {
        match self.earlier.pop_front() {
            None => {
                let written = self.rig.written();
                self.keeper.keep(&Kept::Whole { what: what.to_owned(), written }, None);
                Ok(())
            }
            Some(Kept::Whole { what: then, .. }) if then == what => Ok(()),
            Some(_) => Err(Halt::Diverged { load: what.to_owned(), position: self.position }),
        }
    }

    /// Reports the state of the test.
    pub fn stands(&mut self, standing: &Standing) {
        self.keeper.stands(standing);
    }

    /// Lets the drive rest, which is meant.
    ///
    /// # Errors
    /// When the user ended it.
    pub fn rest(&mut self, span: Nanos) -> Result<(), Halt> {
        if !self.earlier.is_empty() && !self.replay {
            return Ok(());
        }
        self.busy_until = None;
        if self.rig.rest(span) { Ok(()) } else { Err(Halt::Interrupted) }
    }

    /// Issues a stretch; one that is disturbed is issued again.
    ///
    /// # Errors
    /// [`Halt`].
    pub fn stretch(&mut self, ask: &Ask) -> Result<Made, Halt> {
        let mut disturbed: Vec<Window> = Vec::new();
        let mut after_break = false;
        loop {
            let made = self.once(ask)?;
            after_break |= made.after_break;
            if made.window.disturbed.is_empty() || disturbed.len() >= REPEATS_MAX {
                return Ok(Made { disturbed, after_break, ..made });
            }
            let what = made.window.disturbed.join(", ");
            let position = made.window.position;
            self.repeated.push(format!("{} (stretch {position}): {what}", ask.load()));
            disturbed.push(made.window);
        }
    }

    fn once(&mut self, ask: &Ask) -> Result<Made, Halt> {
        let position = self.position;
        self.position += 1;
        let diverged = || Halt::Diverged { load: ask.load(), position };
        let known = match self.earlier.pop_front() {
            None => None,
            Some(Kept::Window { window, latencies })
                if (window.position, &window.load) == (position, &ask.load()) =>
            {
                if !self.replay {
                    self.before = Nanos(window.began_ns + window.duration_ns);
                    return Ok(self.account(*window, latencies, false));
                }
                Some((window, latencies))
            }
            Some(_) => return Err(diverged()),
        };
        self.check_budget(ask)?;
        let (window, latencies, samples) = self.issue(ask, position)?;
        match known {
            Some((then, _)) if *then == window => {}
            Some(_) => return Err(diverged()),
            None => {
                let kept =
                    Kept::Window { window: Box::new(window.clone()), latencies: latencies.clone() };
                self.keeper.keep(&kept, Some(&samples));
            }
        }
        let after_break = std::mem::take(&mut self.is_broken);
        Ok(self.account(window, latencies, after_break))
    }

    fn account(&mut self, window: Window, latencies: LatencyHistogram, after_break: bool) -> Made {
        self.written += Bytes(window.bytes_written);
        self.gap_ns_max = self.gap_ns_max.max(window.gap_ns);
        if let (Minute::Fill(_), None) = (self.options.minute, self.minute)
            && window.bytes_written > 0
        {
            self.minute = self.minute_of(&window);
        }
        Made { window, latencies, after_break, disturbed: Vec::new() }
    }

    /// The time in which a stretch that wrote would have written the share that is a minute.
    fn minute_of(&self, window: &Window) -> Option<Nanos> {
        let Minute::Fill(share) = self.options.minute else { return None };
        let wanted = self.region.length.0 as f64 * share;
        let ns = window.duration_ns as f64 * wanted / window.bytes_written as f64;
        Some(Nanos((ns as u64).max(1_000)))
    }

    fn check_budget(&self, ask: &Ask) -> Result<(), Halt> {
        let limit = self.options.write_limit().filter(|_| ask.read_percent < 100);
        let Some((budget, limit)) = limit else { return Ok(()) };
        let left = budget.saturating_sub(self.written);
        if left < ask.least() + ask.least() {
            return Err(Halt::Budget { budget, limit, written: self.written });
        }
        Ok(())
    }

    /// Stop condition of a stretch, limited to the bytes left in the budget.
    fn within_budget(&self, ask: &Ask) -> Stop {
        // Each submitter ends with its share, and the request that reaches it may exceed it by its length. Reads count too,
        // since in a mix it is not known beforehand which requests will be writes.
        let left = self.options.write_limit().map(|(budget, _)| {
            let left = budget.saturating_sub(self.written).saturating_sub(ask.least());
            left.round_down(ask.least())
        });
        let left = left.filter(|_| ask.read_percent < 100);
        let bytes = match (ask.stop.bytes, left) {
            (Some(bytes), Some(left)) => Some(bytes.min(left)),
            (bytes, left) => bytes.or(left),
        };
        Stop { bytes, ..ask.stop }
    }

    fn issue(
        &mut self,
        ask: &Ask,
        position: u32,
    ) -> Result<(Window, LatencyHistogram, Samples), Halt> {
        let asked = ask.stop.bytes;
        let ask = &Ask { stop: self.within_budget(ask), ..ask.clone() };
        let step = ask.step();
        self.fits(&step)?;
        self.keeper.event(&Event::StepStarted {
            position,
            positions: position + 1,
            step: match ask.round {
                Some(round) => format!("round {round}, {}", step.name),
                None => step.name.clone(),
            },
            run: 0,
            planned: step.planned(),
        });
        let seed = mix(self.options.seed ^ mix(u64::from(position) + 1));
        let samples = self.rig.run(&step, (self.region, seed), self.keeper)?;
        if let Some(failure) = samples.failure.clone() {
            return Err(Halt::Failed { failure, load: step.name });
        }
        if samples.interrupted || self.rig.is_cancelled() {
            return Err(Halt::Interrupted);
        }
        // A stretch that the budget cut short is not a measurement: it is not kept, and repeated under a larger budget.
        let cut = ask.stop.bytes.filter(|cut| asked.is_none_or(|asked| *cut < asked));
        if let (Some((budget, limit)), Some(cut)) = (self.options.write_limit(), cut)
            && samples.totals.bytes() + ask.least() >= cut
        {
            self.written += samples.totals.written;
            return Err(Halt::Budget { budget, limit, written: self.written });
        }
        let (window, latencies) = self.window(ask, position, &samples);
        self.keeper.event(&Event::StepFinished {
            position,
            ios: window.ios,
            bytes: Bytes(window.bytes_read + window.bytes_written),
            duration: Nanos(window.duration_ns),
        });
        Ok((window, latencies, samples))
    }

    /// Asks what can be asked before anything is issued.
    fn fits(&self, step: &Step) -> Result<(), Halt> {
        let plan = Plan {
            schema: workload::plan::SCHEMA.to_owned(),
            seed: 0,
            region: Some(self.region),
            content: workload::plan::Content::default(),
            schedule: Schedule::default(),
            steps: vec![step.clone()],
        };
        plan.check()?;
        plan.fit(self.rig.info())?;
        Ok(())
    }

    fn window(
        &mut self,
        ask: &Ask,
        position: u32,
        samples: &Samples,
    ) -> (Window, LatencyHistogram) {
        let ended = self.rig.now();
        let began = Time(ended.0.saturating_sub(samples.elapsed.0));
        let first = *self.began.get_or_insert(began);
        let gap = self.busy_until.map_or(Nanos::ZERO, |until| began.since(until));
        self.busy_until = Some(ended);
        let phase = phase(samples);
        let latencies = phase.map(engine::PhaseSamples::latency).unwrap_or_default();
        let length = phase.map_or(Nanos::ZERO, |phase| phase.window);
        let (ios, bytes) = phase.map_or((0, Bytes::ZERO), |phase| (phase.ios(), phase.bytes()));
        let per_s = |count: u64| {
            if length == Nanos::ZERO { 0.0 } else { count as f64 * 1e9 / length.0 as f64 }
        };
        let series = phase.map(|phase| Series {
            slice_ns: phase.series.slice.0,
            ios: phase.series.ios.clone(),
            bytes: phase.series.bytes.clone(),
        });
        let window = Window {
            position,
            role: ask.role,
            load: ask.load(),
            round: ask.round,
            engine: self.rig.engine().to_owned(),
            threads: ask.threads,
            depth: ask.depth,
            block_bytes: ask.block.0,
            read_percent: ask.read_percent,
            began_ns: (self.before + began.since(first)).0,
            duration_ns: length.0,
            gap_ns: gap.0,
            ios,
            ios_issued: samples.totals.ios,
            bytes_read: samples.totals.read.0,
            bytes_written: samples.totals.written.0,
            iops: per_s(ios),
            mb_s: per_s(bytes.0) / 1e6,
            latency_ns: Latency::of(&latencies),
            series: series.unwrap_or_default(),
            cpu_percent: cpu_percent(&samples.before, &samples.after, samples.elapsed),
            endurance: moved(&samples.before, &samples.after),
            disturbed: disturbances(&samples.before, &samples.after, samples.elapsed),
            unique_bytes: match ask.read_percent {
                100 => 0,
                _ => samples.audit.unique_bytes.0,
            },
        };
        (window, latencies)
    }
}

/// The range of addresses that `options` mean on this drive.
fn range(options: &Options, info: &DriveInfo) -> Result<Region, Halt> {
    let whole = info.capacity_bytes.round_down(Bytes::mib(1).max(info.logical_block_bytes));
    let region = match (options.region, options.profile) {
        (Some(region), _) => region,
        (None, crate::options::Profile::Enterprise) => {
            Region { offset: Bytes::ZERO, length: whole }
        }
        (None, crate::options::Profile::Client) => {
            let length = Bytes(whole.0 / 4 * 3).round_down(Bytes::mib(1));
            Region { offset: Bytes::ZERO, length }
        }
    };
    let end = region.offset.0.checked_add(region.length.0);
    if end.is_none_or(|end| end > info.capacity_bytes.0) || region.length < RANGE_MIN {
        return Err(Halt::Plan(PlanError::Value {
            place: "the range of addresses".to_owned(),
            what: format!(
                "{} at {} of {}, which holds {}: name a range of {} at least within it",
                region.length.human(),
                region.offset.human(),
                info.name,
                info.capacity_bytes.human(),
                RANGE_MIN.human()
            ),
        }));
    }
    Ok(region)
}

/// Smaller than that a range has too few blocks of a mebibyte for threads and depths to differ.
const RANGE_MIN: Bytes = Bytes::mib(16);
