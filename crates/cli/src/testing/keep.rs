//! The record of a run of tests: an entry for each stretch, each purge, and each part that is whole.

use anyhow::{Context as _, Result};
use block::{DriveIdentity, Event, RunSink, Snapshot};
use engine::Samples;
use pts::desk::{Earlier, Keeper, Kept};
use pts::options::Options;
use pts::window::Written;
use record::{Document, Envelope, Run, RunId, RunWriter, State, Summary};
use serde::Serialize;
use serde_json::Value;

use crate::args::KeepArgs;
use crate::envelope::{SystemClock, envelope};
use crate::exit::Refused;
use crate::keeping::{Beginning, Keeping};
use crate::progress::Progress;
use crate::{recording, talk};

/// What goes on when the record does not.
const WHAT: &str = "test";

/// Keeps what tests leave, and shows how they go.
pub struct PtsRecord {
    keeping: Keeping,
    position: u32,
    progress: Progress,
}

impl PtsRecord {
    /// Begins the record, where one is to be kept; completes `envelope` with the drive.
    ///
    /// # Errors
    /// When the place that the user named cannot be written to.
    pub fn begin(
        keep: &KeepArgs,
        envelope: &mut Envelope,
        options: &Options,
        setup: Value,
        identity: &DriveIdentity,
        progress: Progress,
    ) -> Result<PtsRecord> {
        let plan = options.to_toml().context("the plan has no text form")?;
        let beginning = Beginning { plan, setup, steps: None, drives: &[identity] };
        let keeping = Keeping::begin(keep, envelope, beginning, WHAT)?;
        Ok(PtsRecord { keeping, position: 0, progress })
    }

    /// Goes on with the record of `run`, of which `earlier` is what counts.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub fn go_on(
        mut writer: RunWriter,
        run: &Run,
        earlier: &Earlier,
        progress: Progress,
    ) -> Result<PtsRecord> {
        let (all, kept) = (run.steps.len(), earlier.kept.len());
        talk::note(&format!("going on with {} after {kept} stretches and parts", run.id));
        if kept < all {
            talk::note(&format!(
                "{} stretches after the last whole part are made again",
                all - kept
            ));
        }
        let now = envelope(&run.envelope.schema, run.id.clone(), &SystemClock);
        let mut circumstances = serde_json::to_value(now)?;
        circumstances[WHOLE] = kept.into();
        circumstances[ENTRIES] = all.into();
        writer.note(RESUMED, &circumstances)?;
        let keeping = Keeping::of(writer, WHAT);
        Ok(PtsRecord { keeping, position: run.steps.len() as u32, progress })
    }

    /// Ends the record; the run's name when it is whole.
    ///
    /// # Errors
    /// When it is not.
    pub fn close<B: Serialize>(
        self,
        document: &Document<B>,
        state: State,
        summary: &Summary,
    ) -> Result<Option<RunId>> {
        drop(self.progress);
        self.keeping.close(document, state, summary)
    }
}

/// Kind of the notes that tell of resumptions.
const RESUMED: &str = "resumed";
/// How many entries counted when a run was gone on with: those after them were made again.
const WHOLE: &str = "whole_entries";
/// How many entries there were then.
const ENTRIES: &str = "entries";

impl RunSink for PtsRecord {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
    }
}

impl Keeper for PtsRecord {
    fn keep(&mut self, kept: &Kept, _: Option<&Samples>) {
        let name = match kept {
            Kept::Window { window, .. } => window.load.clone(),
            Kept::Purged { test, .. } => format!("purge before {}", test.word()),
            Kept::Whole { what, .. } => what.clone(),
        };
        self.keeping.step(self.position, &name, kept, Vec::new());
        self.position += 1;
    }
}

/// What `run` holds that can be gone on from.
///
/// # Errors
/// When it is not in the form of this version.
pub fn earlier(run: &Run, replay: bool) -> Result<Earlier> {
    let read = |step: &record::StepEntry| {
        serde_json::from_value::<Kept>(step.figures.clone()).with_context(|| {
            format!("{}: step {} is not in the form of this version", run.id, step.position)
        })
    };
    let all = run.steps.iter().map(read).collect::<Result<Vec<Kept>>>()?;
    let (mut kept, mut from) = (Vec::new(), 0);
    // Each resumption made again what came after the last whole part: of that, the later entries count.
    for (_, payload) in run.notes.iter().filter(|(kind, _)| kind == RESUMED) {
        let count = |name: &str| payload[name].as_u64().map(|count| count as usize);
        if let (Some(whole), Some(entries)) = (count(WHOLE), count(ENTRIES)) {
            kept.extend(all.get(from..entries).unwrap_or_default().iter().cloned());
            kept.truncate(whole);
            from = entries;
        }
    }
    kept.extend(all.get(from..).unwrap_or_default().iter().cloned());
    let earlier = Earlier { kept: kept.into(), replay };
    Ok(if replay { earlier } else { earlier.up_to_whole() })
}

/// Asks whether `identity` is the drive of the record.
///
/// # Errors
/// When it is another; nothing has been written then.
pub fn check_same(run: &Run, identity: &DriveIdentity) -> Result<()> {
    let Some(difference) = recording::identity_of(run)?.difference(identity) else { return Ok(()) };
    let refusal = format!(
        "{}: is not the drive of the record: {difference}; connect that one, or begin a new run",
        identity.name
    );
    Err(Refused(refusal).into())
}

/// Asks whether somebody wrote to the drive since the last whole part.
///
/// # Errors
/// When more was written than the part that was broken off can have; the run has to begin anew then.
pub fn check_unwritten(run: &Run, earlier: &Earlier, now: &Snapshot) -> Result<()> {
    if earlier.replay || earlier.kept.is_empty() {
        return Ok(());
    }
    let wholes = earlier.kept.iter().filter_map(|kept| match kept {
        Kept::Whole { written: Some(written), .. } => Some(written),
        _ => None,
    });
    let wholes: Vec<&Written> = wholes.collect();
    let (Some(last), Some(now)) = (wholes.last(), Written::of(now)) else {
        talk::note(
            "nobody counts what the drive is written: whether others wrote to it meanwhile is not known",
        );
        return Ok(());
    };
    if last.by != now.by || now.bytes < last.bytes {
        talk::note(
            "the count of what the drive was written began anew since: whether others wrote to it is not known",
        );
        return Ok(());
    }
    let parts = wholes.windows(2).map(|pair| pair[1].bytes.saturating_sub(pair[0].bytes));
    let most = 2 * parts.max().unwrap_or(last.bytes).max(1 << 20);
    let since = now.bytes - last.bytes;
    if since > most {
        let refusal = format!(
            "{}: {since} bytes were written to the drive since its last whole part, and the part that was broken off \
             writes {most} at most: its state is no longer that of the record; begin anew with a purge",
            run.id
        );
        return Err(Refused(refusal).into());
    }
    Ok(())
}
