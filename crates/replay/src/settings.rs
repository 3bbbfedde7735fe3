//! Settings of a replay, and what follows from them for a trace and a drive.

use anyhow::{Context as _, Result};
use bench::consent;
use block::{Bytes, DriveKind, EngineChoice, Waiting};
use drives::TargetSpec;
use engine::replay::Setup;
use runner::exit::Refused;
use trace::Kind;
use trace::replay::{Mode, Options, Plan, Scale, Survey, Writes};
use workload::plan::Content;

/// Most memory for buffers, whatever the slots.
const BUFFERS_MAX: Bytes = Bytes::mib(256);

/// Settings of a replay, the same for each drive.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests and their times, but for what may be written.
    pub options: Options,
    /// A drive to replay on first, to derive outstanding requests from.
    pub reference: Option<ReferenceDrive>,
    /// Treatment of writes; `None`: issued on a virtual drive, refused on a real one.
    pub writes: Option<Writes>,
    /// Words of consent, in the order of the real drives.
    pub consent: Vec<String>,
    /// Hazards that the user allowed, by name.
    pub allow: Vec<String>,
    /// How requests reach a drive.
    pub tester: Tester,
    /// Root of all randomness.
    pub seed: u64,
}

/// A drive to replay on first.
#[derive(Clone, Debug)]
pub struct ReferenceDrive {
    /// The drive.
    pub target: TargetSpec,
    /// Factor of times on it.
    pub factor: f64,
}

/// How requests reach a drive.
#[derive(Clone, Debug)]
pub struct Tester {
    /// Engine for a real drive.
    pub engine: EngineChoice,
    /// Submitters.
    pub submitters: u16,
    /// Most requests outstanding, over all submitters.
    pub slots: u16,
    /// How submitters wait.
    pub waiting: Waiting,
    /// CPUs that submitters are kept on.
    pub cpus: Option<Vec<usize>>,
    /// I/O errors that a replay continues after.
    pub errors_max: u64,
    /// I/O scheduler to set while a replay lasts.
    pub scheduler: Option<String>,
}

impl Settings {
    /// Options of a replay of the trace on `target`, with what is written there.
    ///
    /// # Errors
    /// [`Refused`] when the trace writes to a real drive without consent; when there is no such drive.
    pub fn options_on(
        &self,
        options: &Options,
        survey: &Survey,
        target: &TargetSpec,
    ) -> Result<Options> {
        let writes = self.writes_on(survey, target)?;
        Ok(Options { writes, discards: writes == Writes::Issue, ..options.clone() })
    }

    fn writes_on(&self, survey: &Survey, target: &TargetSpec) -> Result<Writes> {
        if let Some(writes) = self.writes {
            return Ok(writes);
        }
        // A virtual drive has no data to lose.
        if !target.is_real() {
            return Ok(Writes::Issue);
        }
        let count = |kind: Kind| survey.ios[kind as usize];
        let changes = count(Kind::Write) + count(Kind::Discard);
        if changes == 0 {
            return Ok(Writes::LeaveOut);
        }
        // A slip in the name is not a matter of safety, and a drive that is not there has nothing to lose.
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

    /// Options of the replay on a reference drive: the same requests at their own times.
    pub fn reference_options(&self, reference: &ReferenceDrive) -> Options {
        let factor = reference.factor;
        let mode = if factor == 1.0 { Mode::Timed } else { Mode::Scaled(Scale::by(factor)) };
        Options { mode, ..self.options.clone() }
    }

    /// Setup of the engine for a replay by `plan` on a drive of `kind`.
    pub fn setup(&self, plan: &Plan, kind: DriveKind, seed: u64) -> Setup {
        let Tester { submitters, slots, waiting, errors_max, .. } = self.tester;
        let submitters = if kind == DriveKind::Virtual { 1 } else { submitters };
        Setup {
            submitters,
            slots: slots.div_ceil(submitters),
            block_bytes_max: plan.block_bytes_max(),
            buffer_bytes_max: BUFFERS_MAX,
            content: (plan.options.writes == Writes::Issue).then(Content::default),
            seed,
            waiting,
            errors_max,
        }
    }
}

/// Bytes that a replay of the trace by `options` changes, where it changes any; repair of alignment apart.
pub fn bytes_changed(survey: &Survey, options: &Options) -> Option<Bytes> {
    let once = |kind: Kind| survey.bytes[kind as usize].0;
    let written =
        once(Kind::Write).saturating_add(if options.discards { once(Kind::Discard) } else { 0 });
    (options.writes == Writes::Issue).then(|| Bytes(written.saturating_mul(options.loops.into())))
}
