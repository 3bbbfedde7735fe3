//! Replays between flags and exit codes: flags become settings, and a run without a result ends.

use std::path::Path;

use anyhow::{Result, bail};
use bench::opening;
use block::{Bytes, Waiting};
use drives::TargetSpec;
use instruments::announce::Cost;
use replay::{EndedEarly, ReferenceDrive, Replayer, Settings, Tester, TraceFile};
use trace::replay::{Fit, Layout, Mode, Options, Scale, Writes};

use crate::args::{MapName, ModeName, PlayArgs, ReadingArgs, Span};
use crate::envelope::seed_of;
use crate::exit::Exit;
use crate::records;
use crate::trace_files::opened;

/// Reads the trace in the file at `path` once, to replay it.
///
/// # Errors
/// When flags do not go together, or the trace cannot be read.
pub fn replayer(path: &Path, reading: &ReadingArgs, args: &PlayArgs) -> Result<Replayer> {
    let settings = settings(args)?;
    let trace = TraceFile::new(path, reading.options())?;
    let mut source = opened(trace.files(), trace.options())?;
    Replayer::new(settings, trace, source.as_mut())
}

/// Cost of `rounds` of the replay on `target`.
///
/// # Errors
/// When it is a directory or not there, and as [`Replayer::outlook`].
pub fn cost(replayer: &Replayer, target: &TargetSpec, rounds: u32) -> Result<Cost> {
    opening::check_name(target, "replayed to")?;
    let [time_ns, read, written] =
        replayer.outlook(target)?.map(|bounds| bounds.times(u64::from(rounds)));
    let trace = replayer.trace.path().display();
    let each = if rounds > 1 { format!(", {rounds} times") } else { String::new() };
    Ok(Cost { work: format!("replay of {trace}{each}"), time_ns, read: Some(read), written })
}

fn settings(args: &PlayArgs) -> Result<Settings> {
    let seed = seed_of(args.tester.seed)?;
    let (tester, consent) = (&args.tester, &args.consent);
    let reference = |target| ReferenceDrive { target, factor: args.factor };
    Ok(Settings {
        options: options(args, seed)?,
        reference: args.reference.clone().map(reference),
        writes: match (args.reads_only, args.writes_as_reads, consent.write) {
            (true, ..) => Some(Writes::LeaveOut),
            (_, true, _) => Some(Writes::AsReads),
            (.., true) => Some(Writes::Issue),
            _ => None,
        },
        consent: consent.consent.clone(),
        allow: consent.allow.clone(),
        tester: Tester {
            engine: tester.engine,
            submitters: tester.submitters,
            slots: tester.slots,
            waiting: if tester.spin { Waiting::Spin } else { Waiting::SleepThenSpin },
            cpus: tester.cpus.clone(),
            errors_max: tester.errors,
            scheduler: tester.scheduler.clone(),
        },
        seed,
    })
}

/// Requests and their times, but for what may be written.
fn options(args: &PlayArgs, seed: u64) -> Result<Options> {
    let region = args.region.and_then(Span::region);
    let options = Options {
        mode: mode(args)?,
        clock: args.times,
        from: args.from.unwrap_or_default(),
        until: args.until,
        loops: args.loops,
        layout: layout(args),
        fit: match args.map {
            MapName::Fit => Fit::Identity,
            MapName::Wrap => Fit::Wrap,
            MapName::Scale => Fit::Scale,
            MapName::Hash => Fit::Hash { seed },
        },
        start: region.map_or(Bytes::ZERO, |region| region.offset),
        span: region.map(|region| region.length),
        writes: Writes::LeaveOut,
        discards: false,
    };
    Ok(options)
}

fn layout(args: &PlayArgs) -> Layout {
    if !args.space.is_empty() {
        return Layout::At(args.space.clone());
    }
    args.layout.clone()
}

fn mode(args: &PlayArgs) -> Result<Mode> {
    let stretches = args.factor != 1.0;
    let idle = args.idle_max.is_some() || args.idle_only;
    if let Some(name) = args.reference.as_ref().filter(|_| args.mode != ModeName::Outstanding) {
        bail!("--reference {name}: is for --mode outstanding; say that, or leave it out");
    }
    match args.mode {
        ModeName::Scaled => {
            let scale =
                Scale { factor: args.factor, idle_max: args.idle_max, idle_only: args.idle_only };
            Ok(Mode::Scaled(scale))
        }
        _ if idle => bail!("--idle-max and --idle-only are for --mode scaled; add it"),
        ModeName::Outstanding if stretches && args.reference.is_none() => {
            bail!(
                "--mode outstanding has no times to multiply by --factor; leave it out, or give --reference DRIVE"
            )
        }
        ModeName::Outstanding => Ok(Mode::Outstanding(args.count)),
        ModeName::Timed | ModeName::Afap if stretches => {
            bail!("--factor is for --mode scaled; say that")
        }
        ModeName::Timed => Ok(Mode::Timed),
        ModeName::Afap => Ok(Mode::Afap(u32::from(args.depth))),
    }
}

/// Ends a run of replays that has no result.
///
/// # Errors
/// The I/O errors that ended it.
pub fn ended_early(early: EndedEarly) -> Result<Exit> {
    records::tell_to_make_anew();
    match early {
        EndedEarly::Stopped => Ok(Exit::Interrupted),
        EndedEarly::Broken(error) => Err(error),
    }
}
