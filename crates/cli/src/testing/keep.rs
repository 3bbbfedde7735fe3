//! The record of a run of tests: an entry for each part that is whole, with its stretches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use block::{Bytes, DriveIdentity, Event, RunSink};
use documents::Decode as _;
use engine::Samples;
use linux::sysfs::Roots;
use linux::written;
use pts::kept::{Earlier, Keeper, Kept, Standing};
use pts::options::{Minute, Options};
use pts::window::Written;
use record::{Document, Envelope, Run, RunId, RunWriter, State, StepEntry, Summary};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::KeepArgs;
use crate::envelope::{SystemClock, envelope};
use crate::exit::Refused;
use crate::keeping::{Beginning, Keeping};
use crate::live::page;
use crate::progress::Progress;
use crate::{recording, talk};

/// What goes on when the record does not.
const WHAT: &str = "test";

/// Keeps what tests leave, and shows how they go.
pub struct PtsRecord {
    keeping: Keeping,
    /// What was kept of the part at hand. It counts when it is whole, and so reaches the disk then.
    part: Vec<Kept>,
    /// What its stretches wrote.
    part_bytes: Bytes,
    position: u32,
    progress: Progress,
    /// What stretches wrote in this process, and the most that may be written.
    written: (Bytes, Option<Bytes>),
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
        Ok(PtsRecord {
            keeping,
            part: Vec::new(),
            part_bytes: Bytes::ZERO,
            position: 0,
            progress,
            written: (Bytes::ZERO, None),
        })
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
        let wholes = earlier.kept.iter().filter(|kept| matches!(kept, Kept::Whole { .. })).count();
        let last = earlier.kept.iter().rev().find_map(|kept| match kept {
            Kept::Whole { what, .. } => Some(what.as_str()),
            _ => None,
        });
        let after = last.unwrap_or("nothing");
        let first = match earlier.replay && wholes > 0 {
            true => {
                "; a virtual drive keeps nothing, so it is first brought to where it was, by the same I/O"
            }
            false => "",
        };
        talk::note(&format!("going on with {} after {after}, part {wholes}{first}", run.id));
        let all = run.steps.len();
        let now = envelope(&run.envelope.schema, run.id.clone(), &SystemClock);
        let mut circumstances = serde_json::to_value(now)?;
        circumstances[WHOLE] = earlier.kept.len().into();
        circumstances[ENTRIES] = all.into();
        writer.note(recording::RESUMED, &circumstances)?;
        let keeping = Keeping::of(writer, WHAT);
        let (part, position) = (Vec::new(), run.steps.len() as u32);
        let part_bytes = Bytes::ZERO;
        let written = (Bytes::ZERO, None);
        Ok(PtsRecord { keeping, part, part_bytes, position, progress, written })
    }

    /// Shows from now on what is written beside the most that may be.
    pub fn tell_budget(&mut self, budget: Option<Bytes>) {
        self.written.1 = budget;
    }

    /// Keeps what the drive was written when a part was broken off in order: what is written later others wrote.
    pub fn ended_early(&mut self, written: &[Written]) {
        self.write("what is not whole");
        if !written.is_empty() {
            self.keeping.note(ENDED_EARLY, &json!(written));
        }
    }

    /// Ends the record; the run's name when it is whole.
    ///
    /// # Errors
    /// When it is not.
    pub fn close<B: Serialize>(
        mut self,
        document: &Document<B>,
        state: State,
        summary: &Summary,
    ) -> Result<Option<RunId>> {
        self.write("what is not whole");
        drop(self.progress);
        self.keeping.close(document, state, summary)
    }
}

/// How many stretches, purges and parts counted when a run was gone on with: what came after was made again.
const WHOLE: &str = "whole";
/// What a part had written after each of its stretches, and how many steps the record had then.
const SO_FAR: &str = "written so far";
/// What the drive was written when a run was ended before its end.
const ENDED_EARLY: &str = "ended early";
/// How many steps the record had then.
const ENTRIES: &str = "steps";

impl PtsRecord {
    /// Writes the part at hand, under a name.
    fn write(&mut self, name: &str) {
        let part = std::mem::take(&mut self.part);
        self.part_bytes = Bytes::ZERO;
        if !part.is_empty() {
            self.keeping.step(self.position, name, &part, Vec::new());
            self.position += 1;
        }
    }
}

impl RunSink for PtsRecord {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
    }
}

impl Keeper for PtsRecord {
    fn keep(&mut self, kept: &Kept, _: Option<&Samples>) {
        self.part.push(kept.clone());
        match kept {
            Kept::Window { window, .. } => {
                self.written.0 += Bytes(window.bytes_written);
                self.part_bytes += Bytes(window.bytes_written);
                // A virtual drive is made anew, and nobody else can write to it.
                if window.engine != "virtual" && self.keeping.keeps() {
                    let so_far = json!({ ENTRIES: self.position, "bytes": self.part_bytes });
                    self.keeping.note(SO_FAR, &so_far);
                }
                let (written, budget) = self.written;
                let facts = || page::of_window(window, written, budget);
                self.progress.tell(|model| model.facts = facts());
            }
            Kept::Purged { test, .. } => self.write(&format!("purge before {}", test.word())),
            Kept::Whole { what, .. } => self.write(what),
        }
    }

    fn stands(&mut self, standing: &Standing) {
        self.progress.note(views::pts::standing(standing));
        self.progress.tell(|model| {
            model.standing = Some(page::of_standing(standing));
            model.tracked = Some(page::tracked(standing));
            model.tell_left(standing.left);
        });
    }
}

/// What `run` holds that can be gone on from.
///
/// # Errors
/// When it is not in the form of this version.
pub fn earlier(run: &Run, replay: bool) -> Result<Earlier> {
    let read = |step: &StepEntry| {
        Vec::<Kept>::decode(step.figures.clone()).with_context(|| {
            format!("{}: step {} is not in the form of this version", run.id, step.position)
        })
    };
    let all = run.steps.iter().map(read).collect::<Result<Vec<Vec<Kept>>>>()?;
    let (mut kept, mut from) = (Vec::new(), 0);
    // Each resumption made again what came after the last whole part: of that, the later entries count.
    for (_, payload) in run.notes.iter().filter(|(kind, _)| kind == recording::RESUMED) {
        let count = |name: &str| payload[name].as_u64().map(|count| count as usize);
        if let (Some(whole), Some(entries)) = (count(WHOLE), count(ENTRIES)) {
            kept.extend(all.get(from..entries).unwrap_or_default().iter().flatten().cloned());
            kept.truncate(whole);
            from = entries;
        }
    }
    kept.extend(all.get(from..).unwrap_or_default().iter().flatten().cloned());
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
        "{}: is not the drive of the record: {difference}; connect that one, name where it is now (--device), or begin a new run",
        identity.name
    );
    Err(Refused(refusal).into())
}

/// Asks whether somebody wrote to the drive since the last whole part; `now` is what is counted now.
///
/// # Errors
/// When more was written than the part that was broken off can have; the run has to begin anew then.
pub fn check_unwritten(
    run: &Run,
    earlier: &Earlier,
    (now, capacity): (&[Written], Bytes),
    minute: Minute,
) -> Result<()> {
    if earlier.replay || earlier.kept.is_empty() {
        return Ok(());
    }
    let wholes = earlier.kept.iter().filter_map(|kept| match kept {
        Kept::Whole { written, .. } => Some(written),
        _ => None,
    });
    let wholes: Vec<&Vec<Written>> = wholes.collect();
    let count = |written: &[Written], by: &str| {
        written.iter().find(|written| written.by == by).map(|written| written.bytes)
    };
    let counted = |written: &[Written]| {
        now.iter().find_map(|now| {
            let then = count(written, &now.by)?;
            Some(Bytes(now.bytes.checked_sub(then)?))
        })
    };
    // It was ended in order, and counted then; a later process may have been killed.
    let last = run
        .notes
        .iter()
        .rev()
        .find(|(kind, _)| [ENDED_EARLY, recording::RESUMED].contains(&kind.as_str()));
    let ended = last.filter(|(kind, _)| kind == ENDED_EARLY);
    let ended = ended.and_then(|(_, then)| Vec::<Written>::decode(then.clone()).ok());
    if let Some(since) = ended.and_then(|then| counted(&then)) {
        if since.0 > 2 * COUNT_STEP_BYTES {
            return Err(written_since(
                run,
                &format!("{} were written to the drive since it was ended", since.about()),
            ));
        }
        return Ok(());
    }
    let both = now.iter().find_map(|now| {
        let then = wholes.last().and_then(|last| count(last, &now.by))?;
        Some((&now.by, now.bytes.checked_sub(then)?))
    });
    let Some((by, since)) = both else {
        talk::note(
            "nobody has counted what the drive was written since: whether others wrote to it meanwhile is not known",
        );
        return Ok(());
    };
    let counts: Vec<u64> = wholes.iter().filter_map(|whole| count(whole, by)).collect();
    let parts = counts.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    // Of the first one nothing tells how much it writes; some write all of the drive.
    let part = parts.max().unwrap_or(capacity.0);
    let most = part.max(COUNT_STEP_BYTES).saturating_mul(2);
    let most = most.max(written_by_itself(run, earlier, minute));
    if since > most {
        let (since, most) = (Bytes(since).about(), Bytes(most).about());
        let what = format!(
            "{since} were written to the drive since its last whole part, and the part that was broken off writes \
             {most} at most"
        );
        return Err(written_since(run, &what));
    }
    Ok(())
}

/// What was written by its own word since the last part that is whole, by all processes that tried the next; and of each, but
/// amid a fill, the stretch that nobody has told of, at twice the greatest rate until then.
fn written_by_itself(run: &Run, earlier: &Earlier, minute: Minute) -> u64 {
    let is_whole = |step: &StepEntry| {
        // [`Kept::Whole`], as it stands in the journal.
        let mut kept = step.figures.as_array().into_iter().flatten();
        kept.any(|kept| kept.get("whole").is_some())
    };
    let whole = run.steps.iter().rposition(is_whole).map_or(0, |at| at as u64 + 1);
    // The last word of each process on each part that is not whole.
    let mut told: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut process = 0;
    for (kind, payload) in &run.notes {
        let count = |name: &str| payload[name].as_u64();
        match (kind.as_str(), count(ENTRIES), count("bytes")) {
            (recording::RESUMED, ..) => process += 1,
            (SO_FAR, Some(steps), Some(bytes)) if steps >= whole => {
                told.insert((process, steps), bytes);
            }
            _ => {}
        }
    }
    let so_far = told.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    let cut_off = told.keys().map(|(process, _)| process).collect::<BTreeSet<_>>().len().max(1);
    let minute_ns = match minute {
        Minute::Time(minute) => minute.0,
        Minute::Fill(_) => 0,
    };
    let windows = earlier.kept.iter().filter_map(|kept| match kept {
        Kept::Window { window, .. } => Some(window),
        _ => None,
    });
    let (mut rate, mut longest) = (0.0_f64, minute_ns);
    for window in windows.filter(|window| window.duration_ns > 0) {
        rate = rate.max(window.bytes_written as f64 / window.duration_ns as f64);
        longest = longest.max(window.duration_ns);
    }
    let stretch = if earlier.is_amid_fill() { 0.0 } else { 2.0 * rate * longest as f64 };
    so_far.saturating_add((stretch * cut_off as f64) as u64)
}

fn written_since(run: &Run, what: &str) -> anyhow::Error {
    let id = &run.id;
    let words = "its state is no longer that of the record; begin anew with a purge";
    Refused(format!("{id}: {what}: {words}")).into()
}

/// NVMe drives count in steps of a thousand blocks of 512 bytes.
const COUNT_STEP_BYTES: u64 = 512_000;

/// What the kernel counts of writes to a block device.
pub fn counted(device: &Path) -> Option<Written> {
    let counted = written::since_boot(&Roots::default(), device)?;
    Some(Written { by: format!("kernel since boot {}", counted.boot), bytes: counted.bytes.0 })
}
