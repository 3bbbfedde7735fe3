//! Tests as the runner sees them: an entry for each part that is whole, with its stretches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use block::{Bytes, DriveIdentity, DriveKind, Event, RunSink};
use documents::Decode as _;
use engine::Samples;
use linux::sysfs::Roots;
use linux::written;
use live::Progress;
use live::page;
use pts::body::Body;
use pts::desk::Halt;
use pts::kept::{Earlier, Keeper, Kept, Standing};
use pts::options::{Minute, Options};
use pts::rig::Rig;
use pts::run::{Bodies, Ran};
use pts::window::Written;
use record::{Run, RunId, SamplesFormat, State, StepEntry, Summary};
use runner::exit::Refused;
use runner::instrument::{AnotherDrive, Instrument, Measure, Outcome, Resumption};
use runner::messages;
use runner::recorder::{Beginning, Noted, RESUMED, Recorder, drive_words};
use serde::{Serialize, Serializer};
use serde_json::json;

/// Tests on an open drive.
pub struct Tests<'a> {
    /// The drive.
    pub rig: &'a mut dyn Rig,
    /// Its identity.
    pub identity: &'a DriveIdentity,
    /// The tests, and how they are run.
    pub options: &'a Options,
    /// Verb as the user typed it.
    pub verb: &'a str,
    /// Target as the user named it.
    pub target: &'a str,
    /// The method of purging, as typed.
    pub purge: String,
    /// Form of the single I/Os.
    pub samples: SamplesFormat,
    /// Taken by the run.
    pub progress: Option<Progress>,
    /// Parts of a recorded run, and the number of its steps.
    pub earlier: (Earlier, u32),
    /// The reason for an early end.
    pub halt: Option<Halt>,
}

/// The bodies of the tests that were run. One is printed without a list.
pub enum TestBodies {
    /// Of one test.
    One(Box<Body>),
    /// Of none or several.
    Many(Bodies),
}

impl TestBodies {
    /// All of them.
    pub fn all(&self) -> &[Body] {
        match self {
            TestBodies::One(body) => std::slice::from_ref(body),
            TestBodies::Many(bodies) => &bodies.tests,
        }
    }
}

impl Serialize for TestBodies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TestBodies::One(body) => body.serialize(serializer),
            TestBodies::Many(bodies) => bodies.serialize(serializer),
        }
    }
}

impl Instrument for Tests<'_> {
    type Step = Vec<Kept>;

    fn schema(&self) -> &'static str {
        documents::instrument::PTS
    }

    fn noun(&self) -> &'static str {
        "test"
    }

    fn beginning(&self) -> Result<Beginning> {
        Ok(Beginning {
            plan: self.options.to_toml().context("the plan has no text form")?,
            setup: json!({
                "verb": self.verb,
                "target": self.identity.name,
                "drive": drive_words(self.identity),
                "purge": self.purge,
            }),
            steps: None,
            drive: Some(self.identity.clone()),
            samples: Some(self.samples),
        })
    }

    fn another_drive(&self, difference: &AnotherDrive) -> anyhow::Error {
        Refused(difference.message("(--device)")).into()
    }

    fn resume(&mut self, run: &Run, steps: Vec<Vec<Kept>>) -> Result<Resumption> {
        let entries = steps.len();
        let earlier = earlier(run, steps, self.identity.kind == DriveKind::Virtual);
        let now = (&*self.rig.written(), self.identity.capacity_bytes);
        check_unwritten(run, &earlier, now, self.options.minute)?;
        let wholes = earlier.kept.iter().filter(|kept| matches!(kept, Kept::Whole { .. })).count();
        let last = earlier.kept.iter().rev().find_map(|kept| match kept {
            Kept::Whole { what, .. } => Some(what.as_str()),
            _ => None,
        });
        let last = last.unwrap_or("nothing");
        let first = match earlier.replay && wholes > 0 {
            true => {
                "; a virtual drive keeps nothing, so it is first brought to where it was, by the same I/O"
            }
            false => "",
        };
        let after = format!("{last}, part {wholes}{first}");
        let more = vec![(WHOLE, earlier.kept.len().into()), (ENTRIES, entries.into())];
        self.earlier = (earlier, entries as u32);
        // A part writes to the drive long before it is whole.
        Ok(Resumption { after, more, noted: Noted::AtOnce })
    }
}

impl Measure for Tests<'_> {
    type Body = TestBodies;

    fn measure(&mut self, _: &RunId, recorder: &mut Recorder) -> Result<Outcome<TestBodies>> {
        let (earlier, position) = std::mem::take(&mut self.earlier);
        let mut sink = Sink {
            recorder,
            part: Vec::new(),
            part_bytes: Bytes::ZERO,
            position,
            progress: self.progress.take().unwrap_or_else(|| Progress::new(false)),
            written: Bytes::ZERO,
            budget: self.options.write_limit().map(|(most, _)| most),
        };
        let Ran { mut bodies, halt } = pts::run::run(self.rig, self.options, earlier, &mut sink)?;
        bodies.iter_mut().for_each(|body| views::remedies::write(&mut body.caveats));
        sink.write("what is not whole");
        if halt.is_some() {
            let written = self.rig.written();
            if !written.is_empty() {
                sink.recorder.note(ENDED_EARLY, &written);
            }
        }
        let state = match &halt {
            None => State::Finished,
            Some(Halt::Interrupted | Halt::Budget { .. }) => State::Interrupted,
            Some(_) => State::Broken,
        };
        self.halt = halt;
        let body = match <[Body; 1]>::try_from(bodies) {
            Ok([one]) => TestBodies::One(Box::new(one)),
            Err(tests) => TestBodies::Many(Bodies { tests }),
        };
        Ok(Outcome::new(body, state))
    }

    fn summary(&self, bodies: &TestBodies) -> Summary {
        Summary {
            verb: self.verb.to_owned(),
            target: self.target.to_owned(),
            drive: drive_words(self.identity),
            headline: views::pts::headline(bodies.all()),
        }
    }
}

/// Keeps what tests leave, and shows how they go.
struct Sink<'a> {
    recorder: &'a mut Recorder,
    /// Entries of the part at hand. It counts when it is whole, and so reaches the disk then.
    part: Vec<Kept>,
    /// Bytes that its stretches wrote.
    part_bytes: Bytes,
    position: u32,
    progress: Progress,
    /// Bytes that stretches wrote in this process.
    written: Bytes,
    /// The most that may be written.
    budget: Option<Bytes>,
}

/// How many stretches, purges and parts counted when a run was gone on with: what came after was made again.
const WHOLE: &str = "whole";
/// Kind of notes with the bytes that a part had written after each stretch, and the steps of the record by then.
const SO_FAR: &str = "written so far";
/// Kind of the note with the bytes that the drive was written by the early end of a run.
const ENDED_EARLY: &str = "ended early";
/// How many steps the record had then.
const ENTRIES: &str = "steps";

impl Sink<'_> {
    /// Writes the part at hand, under a name.
    fn write(&mut self, name: &str) {
        let part = std::mem::take(&mut self.part);
        self.part_bytes = Bytes::ZERO;
        if !part.is_empty() {
            self.recorder.step(self.position, name, &part, Vec::new());
            self.position += 1;
        }
    }
}

impl RunSink for Sink<'_> {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
    }
}

impl Keeper for Sink<'_> {
    fn keep(&mut self, kept: &Kept, _: Option<&Samples>) {
        self.part.push(kept.clone());
        match kept {
            Kept::Window { window, .. } => {
                self.written += Bytes(window.bytes_written);
                self.part_bytes += Bytes(window.bytes_written);
                // A virtual drive starts over, and no other program can write to it.
                if window.engine != "virtual" && self.recorder.keeps() {
                    let so_far = json!({ ENTRIES: self.position, "bytes": self.part_bytes });
                    self.recorder.note(SO_FAR, &so_far);
                }
                let facts = || page::of_window(window, self.written, self.budget);
                self.progress.update(|model| model.facts = facts());
            }
            Kept::Purged { test, .. } => self.write(&format!("purge before {}", test.word())),
            Kept::Whole { what, .. } => self.write(what),
        }
    }

    fn stands(&mut self, standing: &Standing) {
        self.progress.note(views::pts::standing(standing));
        self.progress.update(|model| {
            model.standing = Some(page::of_standing(standing));
            model.tracked = Some(page::tracked(standing));
            model.set_left(standing.left);
        });
    }
}

/// The part of the recorded `run` from which tests can resume; `all` are its steps.
fn earlier(run: &Run, all: Vec<Vec<Kept>>, replay: bool) -> Earlier {
    let (mut kept, mut from) = (Vec::new(), 0);
    // Each resumption made again what came after the last whole part: of that, the later entries count.
    for (_, payload) in run.notes.iter().filter(|(kind, _)| kind == RESUMED) {
        let count = |name: &str| payload[name].as_u64().map(|count| count as usize);
        if let (Some(whole), Some(entries)) = (count(WHOLE), count(ENTRIES)) {
            kept.extend(all.get(from..entries).unwrap_or_default().iter().flatten().cloned());
            kept.truncate(whole);
            from = entries;
        }
    }
    kept.extend(all.get(from..).unwrap_or_default().iter().flatten().cloned());
    let earlier = Earlier { kept: kept.into(), replay };
    if replay { earlier } else { earlier.up_to_whole() }
}

/// Checks that no other program wrote to the drive since the last whole part; `now` is what is counted now.
///
/// # Errors
/// When more was written than the part that was broken off can have; a new run is needed then.
fn check_unwritten(
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
    let last =
        run.notes.iter().rev().find(|(kind, _)| [ENDED_EARLY, RESUMED].contains(&kind.as_str()));
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
        messages::note(
            "nobody has counted what the drive was written since: whether others wrote to it meanwhile is not known",
        );
        return Ok(());
    };
    let counts: Vec<u64> = wholes.iter().filter_map(|whole| count(whole, by)).collect();
    let parts = counts.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    // How much the first one writes is not known; some write the whole drive.
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

/// Bytes that were written since the last whole part by the run's own count, by all processes that tried the next; and of each, but
/// amid a fill, the stretch that was not counted, at twice the greatest rate until then.
fn written_by_itself(run: &Run, earlier: &Earlier, minute: Minute) -> u64 {
    let is_whole = |step: &StepEntry| {
        // [`Kept::Whole`], as the journal holds it.
        let mut kept = step.figures.as_array().into_iter().flatten();
        kept.any(|kept| kept.get("whole").is_some())
    };
    let whole = run.steps.iter().rposition(is_whole).map_or(0, |at| at as u64 + 1);
    // The last word of each process on each part that is not whole.
    let mut counts: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut process = 0;
    for (kind, payload) in &run.notes {
        let count = |name: &str| payload[name].as_u64();
        match (kind.as_str(), count(ENTRIES), count("bytes")) {
            (RESUMED, ..) => process += 1,
            (SO_FAR, Some(steps), Some(bytes)) if steps >= whole => {
                counts.insert((process, steps), bytes);
            }
            _ => {}
        }
    }
    let so_far = counts.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    let cut_off = counts.keys().map(|(process, _)| process).collect::<BTreeSet<_>>().len().max(1);
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
    let words = "its state is no longer that of the record; start again with a purge";
    Refused(format!("{id}: {what}: {words}")).into()
}

/// NVMe drives count in steps of a thousand blocks of 512 bytes.
const COUNT_STEP_BYTES: u64 = 512_000;

/// The kernel's count of bytes written to a block device.
pub fn counted(device: &Path) -> Option<Written> {
    let counted = written::since_boot(&Roots::default(), device)?;
    Some(Written { by: format!("kernel since boot {}", counted.boot), bytes: counted.bytes.0 })
}
