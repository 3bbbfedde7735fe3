//! A trace, replayed on a virtual drive.

use std::io::Cursor;
use std::sync::atomic::AtomicBool;

use ::engine::replay::{Replayed, Setup, replay};
use ::trace::replay::{Body, Judge, Options, Plan, ReferenceReader, ReferenceWriter, Survey};
use ::trace::{InMemory, Source};
use anyhow::Result;
use block::{Bytes, Environment, Target};
use workload::plan::Content;

/// Slots of the one submitter: as many as there can be, so that the drive alone bounds what is outstanding.
const SLOTS: u16 = u16::MAX;

/// Results of a replay.
pub(crate) struct Done {
    pub body: Body,
    /// Reference, which another replay uses as the original's times.
    pub reference: Vec<u8>,
}

/// Replays `source` on the virtual drive that `spec` names, with all the slots that there can be.
///
/// # Errors
/// When the drive cannot be opened, or the trace not be replayed on it.
pub(crate) fn run(
    source: &InMemory,
    spec: &str,
    options: &Options,
    reference: Option<Vec<u8>>,
) -> Result<Done> {
    let mut target = ::sim::open(spec)?;
    let mut environment = target.environment();
    let setup = Setup {
        slots: SLOTS,
        content: Some(Content::default()),
        buffer_bytes_max: Bytes(u64::MAX),
        ..Setup::default()
    };
    run_on(&mut target, &mut environment, &setup, source, options, reference)
}

/// Replays `source` on a target that is open.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_on<T: Target>(
    target: &mut T,
    environment: &mut dyn Environment,
    setup: &Setup,
    source: &InMemory,
    options: &Options,
    reference: Option<Vec<u8>>,
) -> Result<Done> {
    let survey = Survey::of(&mut source.clone(), options.from, options.until)?;
    let plan = Plan::new(survey, target.info(), options.clone(), reference.is_some())?;
    let again = source.clone();
    let open = move || Ok(Box::new(again.clone()) as Box<dyn Source>);
    let reader =
        reference.map(|bytes| ReferenceReader::new(Box::new(Cursor::new(bytes)), "reference"));
    let mut stream = plan.stream(Box::new(open), reader)?;
    let mut judge = Judge::new(&plan, None);
    let mut writer = ReferenceWriter::new(Vec::new(), "reference");
    let mut failed = None;
    let mut sink = |batch: &[Replayed]| {
        judge.see(batch);
        if let Err(error) = writer.see(batch) {
            failed = Some(error);
        }
    };
    let setup = Setup { block_bytes_max: plan.block_bytes_max(), ..setup.clone() };
    let cancel = AtomicBool::new(false);
    let ended = replay(target, environment, &mut stream, &setup, &cancel, &mut sink)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let (counts, original) = stream.finish();
    let (reference, _) = writer.finish()?;
    Ok(Done { body: judge.finish(counts, &original, &ended), reference })
}
