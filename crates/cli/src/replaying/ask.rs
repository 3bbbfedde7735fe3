//! What the flags ask for, in the words of the room that replays.

use anyhow::{Context as _, Result, bail};
use bench::consent;
use block::{Bytes, DriveKind, Waiting};
use drives::TargetSpec;
use engine::replay::Setup;
use trace::Kind;
use trace::replay::{Clock, Count, Fit, Layout, Mode, Options, Plan, Scale, Survey, Writes};
use workload::plan::Content;

use crate::args::{CountName, LayoutName, MapName, ModeName, PlayArgs, Span, TimesName};
use crate::exit::Refused;

/// Most memory for buffers, whatever the slots.
const BUFFERS_MAX: Bytes = Bytes::mib(256);

/// Options of a replay with `seed`, but for what it may write.
///
/// # Errors
/// When two flags do not go together.
pub fn options(args: &PlayArgs, seed: u64) -> Result<Options> {
    let region = args.region.and_then(Span::region);
    let options = Options {
        mode: mode(args)?,
        clock: match args.times {
            TimesName::Queue => Clock::Queue,
            TimesName::Issue => Clock::Issue,
        },
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
    match args.layout {
        LayoutName::Packed => Layout::Packed,
        LayoutName::SideBySide => Layout::SideBySide,
        LayoutName::Overlaid => Layout::Overlaid,
    }
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
        ModeName::Outstanding => Ok(Mode::Outstanding(match args.count {
            CountName::Blocks => Count::Blocks,
            CountName::Ios => Count::Ios,
        })),
        ModeName::Timed | ModeName::Afap if stretches => {
            bail!("--factor is for --mode scaled; say that")
        }
        ModeName::Timed => Ok(Mode::Timed),
        ModeName::Afap => Ok(Mode::Afap(u32::from(args.depth))),
    }
}

/// The options of the replay on the reference drive: the same requests at their own times.
pub fn of_reference(args: &PlayArgs, options: &Options) -> Options {
    let mode = if args.factor == 1.0 { Mode::Timed } else { Mode::Scaled(Scale::by(args.factor)) };
    Options { mode, ..options.clone() }
}

/// What becomes of the trace's writes on `target`: on a virtual drive nobody loses anything; a real
/// one must be said of.
///
/// # Errors
/// [`Refused`] when the trace writes, and nothing was said of it; when there is no such drive.
pub fn writes(args: &PlayArgs, survey: &Survey, target: &TargetSpec) -> Result<Writes> {
    if args.reads_only {
        return Ok(Writes::LeaveOut);
    }
    if args.writes_as_reads {
        return Ok(Writes::AsReads);
    }
    if args.consent.write || !target.is_real() {
        return Ok(Writes::Issue);
    }
    let count = |kind: Kind| survey.ios[kind as usize];
    let changes = count(Kind::Write) + count(Kind::Discard);
    if changes == 0 {
        return Ok(Writes::LeaveOut);
    }
    // A slip in the name is no matter of safety, and what is not there has nothing to lose.
    std::fs::metadata(target.as_path()).with_context(|| {
        format!(
            "{target}: cannot be replayed to; name a device, a file or a virtual drive, such as sim:sata-a"
        )
    })?;
    let consent = consent::flags_for(target.as_str());
    Err(Refused(format!(
        "{target}: the trace has {changes} writes and discards, and what the drive holds would be lost; add {consent}, \
         or --reads-only, or --writes-as-reads"
    ))
    .into())
}

/// Bytes that a replay of the trace by `options` changes, where it changes any; repair of alignment apart.
pub fn changes(survey: &Survey, options: &Options) -> Option<Bytes> {
    let once = |kind: Kind| survey.bytes[kind as usize].0;
    let written =
        once(Kind::Write).saturating_add(if options.discards { once(Kind::Discard) } else { 0 });
    (options.writes == Writes::Issue).then(|| Bytes(written.saturating_mul(options.loops.into())))
}

/// How requests reach a drive of `kind`.
pub fn setup(args: &PlayArgs, plan: &Plan, kind: DriveKind, seed: u64) -> Setup {
    let tester = &args.tester;
    let submitters = if kind == DriveKind::Virtual { 1 } else { tester.submitters };
    Setup {
        submitters,
        slots: tester.slots.div_ceil(submitters),
        block_bytes_max: plan.block_bytes_max(),
        buffer_bytes_max: BUFFERS_MAX,
        content: (plan.options.writes == Writes::Issue).then(Content::default),
        seed,
        waiting: if tester.spin { Waiting::Spin } else { Waiting::SleepThenSpin },
        errors_max: tester.errors,
    }
}
