//! Reading a run's directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::Files;
use crate::journal::{Lines, Said};
use crate::migrate;
use crate::store::{self, DOCUMENT, END, ENVELOPE, JOURNAL, PLAN, RECORD, SAMPLES, SETUP};
use crate::sums::{self, Sums};
use crate::{Envelope, RecordError, RunId, SamplesFormat, State, StepEntry, Summary};

/// A run as read from its directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// Its directory.
    pub dir: PathBuf,
    /// Its origin: machine, date and program.
    pub envelope: Envelope,
    /// The plan in its text form; empty when only a document was imported.
    pub plan: String,
    /// Data by which its maker can repeat it.
    pub setup: Value,
    /// How it ended, if it did.
    pub state: State,
    /// Its finished steps, in the order made.
    pub steps: Vec<StepEntry>,
    /// Positions in its schedule, as far as known.
    pub steps_known: Option<u32>,
    /// Other notes, as kind and payload, in the order recorded.
    pub notes: Vec<(String, Value)>,
    /// The document, once it has ended.
    pub document: Option<Value>,
    /// Verb, target, drive and headline, as far as known.
    pub summary: Summary,
    /// Form of its single I/Os, when they are kept.
    pub samples_format: Option<SamplesFormat>,
    /// Files of single I/Os, one for each position that has them, in order.
    pub samples: Vec<PathBuf>,
    /// Positions whose single I/Os could not be written, with the reason.
    pub samples_lost: Vec<(u32, String)>,
    /// Bytes at the end of its journal that belong to a step that was never finished.
    pub torn_bytes: u64,
}

impl Run {
    /// True when an end was written, whichever.
    pub fn is_ended(&self) -> bool {
        self.state != State::Running
    }

    /// True when only a document is known of it, so that it can be shown and not gone on with.
    pub fn is_bare(&self) -> bool {
        self.setup["bare"].as_bool() == Some(true)
    }
}

/// `record.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordFile {
    pub schema: String,
    pub run_id: RunId,
    pub steps: Option<u32>,
    pub samples: Option<SamplesFormat>,
    /// When it began, in nanoseconds since 1970; `None` in records that were made before this was written
    /// down, and where a clock was centuries off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_ns: Option<i64>,
    /// Checksums of the other files that are the same from the first moment, by name; `None` in records
    /// that were made before there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sums>,
}

/// `end.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct End {
    pub state: State,
    /// Lines of the journal, so that one cut at the end of a line is noticed.
    pub entries: u64,
    /// Bytes of them, so that a list notices that, too, without reading them; here and below, `None` is
    /// from the time before this was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_bytes: Option<u64>,
    /// Those of the lines that are steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_done: Option<u32>,
    /// Positions in the schedule.
    pub steps: Option<u32>,
    pub samples_lost: Vec<(u32, String)>,
    pub summary: Summary,
}

/// A record of the present version as one value.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Whole {
    #[serde(flatten)]
    pub record: RecordFile,
    pub envelope: Envelope,
    pub plan: String,
    pub setup: Value,
    pub entries: Vec<Said>,
    pub end: Option<End>,
    pub document: Option<Value>,
}

/// A run, and what only who writes on needs to know of it.
pub(crate) struct Found {
    pub run: Run,
    /// Lines in its journal.
    pub entries: u64,
    /// Bytes of them.
    pub whole_bytes: u64,
    /// Checksums of its plan, envelope and setup, from its beginning.
    pub sums: Option<Sums>,
}

/// How much of a run is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Nothing of its journal and document.
    Front,
    /// All of it is looked at, and no entry kept: what is imported or packed may be of any size.
    Checked,
    /// All of it.
    Kept,
}

/// How often a run is read again that changed while it was read.
const TRIES: u32 = 4;

/// Reads the run in `dir`, whose name is `id`.
pub(crate) fn load<F: Files>(files: &F, dir: &Path, id: &RunId) -> Result<Found, RecordError> {
    settled(files, dir, |end| found(files, dir, id, end, Extent::Kept))
}

/// Reads a run to the last line, and keeps no step and no note of it.
pub(crate) fn look_over<F: Files>(files: &F, dir: &Path, id: &RunId) -> Result<Found, RecordError> {
    settled(files, dir, |end| found(files, dir, id, end, Extent::Checked))
}

/// Reads what may change meanwhile. `end.json` is looked for before anything else: the other way round, a
/// run that ends in between would seem to have lost its last steps.
pub(crate) fn settled<F: Files, T>(
    files: &F,
    dir: &Path,
    read: impl Fn(Option<&[u8]>) -> Result<T, RecordError>,
) -> Result<T, RecordError> {
    let look = || {
        let end = store::read_if(files, &dir.join(END))?;
        Ok::<_, RecordError>((end, files.stat(&dir.join(JOURNAL)).ok()))
    };
    let mut seen = look()?;
    for _ in 1..TRIES {
        let told = read(seen.0.as_deref());
        if told.is_ok() {
            return told;
        }
        // It is damaged only if it did not change meanwhile: a run that is resumed grows beyond the end it had.
        let now = look()?;
        if now == seen {
            return told;
        }
        seen = now;
    }
    read(seen.0.as_deref())
}

fn found<F: Files>(
    files: &F,
    dir: &Path,
    id: &RunId,
    end: Option<&[u8]>,
    extent: Extent,
) -> Result<Found, RecordError> {
    let Parts { whole, entries, whole_bytes, torn_bytes } = parts(files, dir, end, extent)?;
    check_name(dir, id, &whole)?;
    if let Some(end) = &whole.end
        && (end.entries != entries || torn_bytes > 0)
    {
        let what = format!("has {entries} whole lines, and the run ended with {}", end.entries);
        return Err(RecordError::damaged(&dir.join(JOURNAL), what));
    }
    let samples = samples(files, dir, whole.record.samples)?;
    let sums = whole.record.sha256.clone();
    let run = run(dir, whole, samples, torn_bytes);
    Ok(Found { run, entries, whole_bytes, sums })
}

/// Reads what is known of a run without its journal.
pub(crate) fn front<F: Files>(
    files: &F,
    dir: &Path,
    id: &RunId,
    end: Option<&[u8]>,
) -> Result<Whole, RecordError> {
    let whole = parts(files, dir, end, Extent::Front)?.whole;
    check_name(dir, id, &whole)?;
    Ok(whole)
}

/// A record as it was read, and what its journal is.
#[derive(Debug, PartialEq)]
struct Parts {
    whole: Whole,
    entries: u64,
    whole_bytes: u64,
    torn_bytes: u64,
}

fn parts<F: Files>(
    files: &F,
    dir: &Path,
    end: Option<&[u8]>,
    extent: Extent,
) -> Result<Parts, RecordError> {
    #[derive(Deserialize)]
    struct Schema {
        schema: Option<String>,
    }
    let path = dir.join(RECORD);
    let record = store::read(files, &path)?;
    let schema: Schema = json_of(&path, &record)?;
    let version = migrate::version(&path, schema.schema.as_deref())?;
    if migrate::is_present(version) {
        present(files, dir, &record, end, extent)
    } else {
        older(files, dir, &record, version, end, extent)
    }
}

/// A record of the present version: each line of its journal becomes what it is at once.
fn present<F: Files>(
    files: &F,
    dir: &Path,
    record: &[u8],
    end: Option<&[u8]>,
    extent: Extent,
) -> Result<Parts, RecordError> {
    let read = |name: &str| store::read(files, &dir.join(name));
    let mut entries = Vec::new();
    let mut lines = journal(files, dir, extent)?;
    if let Some(lines) = &mut lines {
        while let Some(said) = lines.next_said()? {
            if extent == Extent::Kept {
                entries.push(said);
            }
        }
    }
    let whole = Whole {
        record: json_of(&dir.join(RECORD), record)?,
        document: document(files, dir, end, extent)?,
        envelope: json_of(&dir.join(ENVELOPE), &read(ENVELOPE)?)?,
        plan: store::text(&dir.join(PLAN), read(PLAN)?)?,
        setup: json_of(&dir.join(SETUP), &read(SETUP)?)?,
        entries,
        end: end.map(|bytes| json_of(&dir.join(END), bytes)).transpose()?,
    };
    Ok(Parts::new(whole, lines.as_ref()))
}

/// A record of an earlier version: it becomes one value, and that is taken to the present version.
fn older<F: Files>(
    files: &F,
    dir: &Path,
    record: &[u8],
    version: usize,
    end: Option<&[u8]>,
    extent: Extent,
) -> Result<Parts, RecordError> {
    let read = |name: &str| store::read(files, &dir.join(name));
    let mut entries: Vec<Value> = Vec::new();
    let mut lines = journal(files, dir, extent)?;
    if let Some(lines) = &mut lines {
        while let Some(entry) = lines.next_value()? {
            entries.push(entry);
        }
    }
    let mut value: Value = json_of(&dir.join(RECORD), record)?;
    value["document"] = document(files, dir, end, extent)?.into();
    value["envelope"] = json_of(&dir.join(ENVELOPE), &read(ENVELOPE)?)?;
    value["plan"] = store::text(&dir.join(PLAN), read(PLAN)?)?.into();
    value["setup"] = json_of(&dir.join(SETUP), &read(SETUP)?)?;
    value["entries"] = entries.into();
    value["end"] = end.map_or(Ok(Value::Null), |bytes| json_of(&dir.join(END), bytes))?;
    let mut whole = whole(dir, migrate::migrate(value, version))?;
    if extent != Extent::Kept {
        whole.entries.clear();
    }
    Ok(Parts::new(whole, lines.as_ref()))
}

impl Parts {
    fn new(whole: Whole, lines: Option<&Lines>) -> Parts {
        Parts {
            whole,
            entries: lines.map_or(0, Lines::entries),
            whole_bytes: lines.map_or(0, Lines::whole_bytes),
            torn_bytes: lines.map_or(0, Lines::torn_bytes),
        }
    }
}

fn journal<F: Files>(files: &F, dir: &Path, extent: Extent) -> Result<Option<Lines>, RecordError> {
    let wanted = (extent != Extent::Front).then(|| Lines::open(files, &dir.join(JOURNAL)));
    wanted.transpose()
}

/// The document of a run that has ended. A resumed run still has the one of its last end, which is not read.
fn document<F: Files>(
    files: &F,
    dir: &Path,
    end: Option<&[u8]>,
    extent: Extent,
) -> Result<Option<Value>, RecordError> {
    if end.is_none() || extent == Extent::Front {
        return Ok(None);
    }
    let path = dir.join(DOCUMENT);
    let bytes = store::read_if(files, &path)?;
    bytes.map(|bytes| json_of(&path, &bytes)).transpose()
}

/// A value of the present version, as types. `path` is for errors.
pub(crate) fn whole(path: &Path, value: Value) -> Result<Whole, RecordError> {
    serde_json::from_value(value)
        .map_err(|e| RecordError::damaged(path, format!("is not a record: {e}")))
}

fn check_name(dir: &Path, id: &RunId, whole: &Whole) -> Result<(), RecordError> {
    if whole.record.run_id == *id && whole.envelope.run_id == *id {
        return Ok(());
    }
    let what = format!("is of run {}, and its directory is named {id}", whole.record.run_id);
    Err(RecordError::damaged(&dir.join(RECORD), what))
}

fn run(dir: &Path, whole: Whole, samples: Vec<PathBuf>, torn: u64) -> Run {
    let (mut steps, mut notes, mut lost) = (Vec::new(), Vec::new(), BTreeMap::new());
    for said in whole.entries {
        match said {
            Said::Step(step) => steps.push(step),
            Said::Note { kind, payload } => notes.push((kind, payload)),
            Said::SamplesLost { position, why } => drop(lost.insert(position, why)),
        }
    }
    // Single I/Os that were lost at first may have been written later.
    let is_there = |position| {
        let name = whole.record.samples.map(|format| sample_name(position, format));
        name.is_some_and(|name| samples.iter().any(|path| path.ends_with(&name)))
    };
    lost.retain(|position, _| !is_there(*position));
    let (state, steps_known) = told(&whole.record, whole.end.as_ref());
    let summary = summary(&whole.setup, whole.end.as_ref());
    let samples_lost = whole.end.map_or(lost.into_iter().collect(), |end| end.samples_lost);
    Run {
        id: whole.record.run_id,
        dir: dir.to_owned(),
        envelope: whole.envelope,
        plan: whole.plan,
        setup: whole.setup,
        state,
        steps,
        steps_known,
        notes,
        document: whole.document,
        summary,
        samples_format: whole.record.samples,
        samples,
        samples_lost,
        torn_bytes: torn,
    }
}

/// How a run ended, and how many positions its schedule has: a count is one only where it was there from
/// the beginning.
pub(crate) fn told(record: &RecordFile, end: Option<&End>) -> (State, Option<u32>) {
    match end {
        Some(end) => (end.state, record.steps.and(end.steps)),
        None => (State::Running, record.steps),
    }
}

/// The summary of a run: that of its end, or else one made of its setup.
pub(crate) fn summary(setup: &Value, end: Option<&End>) -> Summary {
    let text = |name: &str| setup[name].as_str().unwrap_or_default().to_owned();
    end.map(|end| end.summary.clone()).unwrap_or_else(|| Summary {
        verb: text("verb"),
        target: text("target"),
        drive: text("drive"),
        headline: String::new(),
    })
}

fn samples<F: Files>(
    files: &F,
    dir: &Path,
    format: Option<SamplesFormat>,
) -> Result<Vec<PathBuf>, RecordError> {
    let Some(format) = format else { return Ok(Vec::new()) };
    let dir = dir.join(SAMPLES);
    let entries = files.list(&dir).map_err(RecordError::io("list it", &dir))?;
    let ours = |name: &str| position_of(name, format).is_some();
    let mut names: Vec<String> = entries.into_iter().map(|e| e.name).filter(|n| ours(n)).collect();
    names.sort_by_key(|name| position_of(name, format));
    Ok(names.into_iter().map(|name| dir.join(name)).collect())
}

/// The position whose single I/Os are in the file of this name.
pub(crate) fn position_of(name: &str, format: SamplesFormat) -> Option<u32> {
    let stem = name.strip_suffix(format.extension())?.strip_suffix('.')?;
    let position = stem.parse().ok()?;
    (sample_name(position, format) == name).then_some(position)
}

/// The name of the file with the single I/Os of a position.
pub(crate) fn sample_name(position: u32, format: SamplesFormat) -> String {
    format!("{position:04}.{}", format.extension())
}

/// Parses the content of a JSON file; an error states the fault.
pub(crate) fn json_of<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, RecordError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let what = if error.is_data() { "is not what it should be" } else { "is not JSON" };
        RecordError::damaged(path, format!("{what}: {error}"))
    })
}

/// Files of a run that are the same from its first moment, with their content.
pub(crate) fn fixed_files(
    record: &RecordFile,
    envelope: &Envelope,
    plan: &str,
    setup: &Value,
) -> Result<Vec<(&'static str, Vec<u8>)>, RecordError> {
    let mut files = vec![
        (PLAN, plan.as_bytes().to_vec()),
        (ENVELOPE, pretty("envelope", envelope)?),
        (SETUP, pretty("setup", setup)?),
    ];
    let sums = files.iter().map(|(name, bytes)| ((*name).to_owned(), sums::of_bytes(bytes)));
    let record = RecordFile { sha256: Some(sums.collect()), ..record.clone() };
    files.push((RECORD, pretty("head", &record)?));
    Ok(files)
}

/// Indented JSON with a line feed at its end.
pub(crate) fn pretty(what: &'static str, value: &impl Serialize) -> Result<Vec<u8>, RecordError> {
    let mut bytes =
        serde_json::to_vec_pretty(value).map_err(|source| RecordError::Json { what, source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::{document, head, step};
    use crate::{RealFiles, Runs};

    #[test]
    fn a_record_of_an_earlier_version_is_read_as_one_of_the_present_is() {
        // The way of the migrations is not taken until there is a next version, and must be there then.
        let root = tempfile::tempdir().unwrap();
        let mut writer = Runs::at(root.path()).create(&head()).unwrap();
        for position in 0..2 {
            writer.step(&step(position, "s")).unwrap();
            writer.note("k", &json!([0.1])).unwrap();
        }
        let dir = writer.finish(&document(), State::Broken, &Summary::default()).unwrap().dir;
        let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
        let (record, end) = (read(RECORD), read(END));
        for extent in [Extent::Front, Extent::Checked, Extent::Kept] {
            let straight = present(&RealFiles, &dir, &record, Some(&end), extent).unwrap();
            assert_eq!(older(&RealFiles, &dir, &record, 1, Some(&end), extent).unwrap(), straight);
            let kept = if extent == Extent::Kept { 4 } else { 0 };
            assert_eq!(straight.whole.entries.len(), kept);
        }
    }
}
