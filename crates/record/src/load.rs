//! Reading a run's directory.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::Files;
use crate::journal::Said;
use crate::store::{self, DOCUMENT, END, ENVELOPE, JOURNAL, PLAN, RECORD, SAMPLES, SETUP};
use crate::sums::{self, Sums};
use crate::{Envelope, RecordError, RunId, SamplesFormat, State, StepEntry, Summary};
use crate::{journal, migrate};

/// A run as its directory tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// Where it is.
    pub dir: PathBuf,
    /// Where, when and by what it was made.
    pub envelope: Envelope,
    /// The plan in its text form; empty when only a document was imported.
    pub plan: String,
    /// What its maker left to repeat it.
    pub setup: Value,
    /// How it ended, if it did.
    pub state: State,
    /// Its finished steps, in the order made.
    pub steps: Vec<StepEntry>,
    /// Positions in its schedule, as far as known.
    pub steps_known: Option<u32>,
    /// What else was noted, as kind and payload, in the order noted.
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
    pub steps: Option<u32>,
    pub samples_lost: Vec<(u32, String)>,
    pub summary: Summary,
}

/// A record of the present version as one value.
#[derive(Deserialize)]
pub(crate) struct Whole {
    #[serde(flatten)]
    pub record: RecordFile,
    pub envelope: Envelope,
    pub plan: String,
    pub setup: Value,
    pub entries: Vec<Value>,
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
    /// What its plan, envelope and setup were.
    pub sums: Option<Sums>,
    /// When it began, in nanoseconds since 1970.
    pub begun_ns: Option<i64>,
}

/// How often a run is read again that ended or went on while it was read.
const TRIES: u32 = 4;

/// Reads the run in `dir`, whose name is `id`.
pub(crate) fn load<F: Files>(files: &F, dir: &Path, id: &RunId) -> Result<Found, RecordError> {
    let end = || store::read_if(files, &dir.join(END));
    let mut seen = end()?;
    for _ in 1..TRIES {
        let found = load_ended(files, dir, id, seen.as_deref());
        if found.is_ok() {
            return found;
        }
        // Damage is only what stands still: a run that is resumed grows beyond the end it had.
        let now = end()?;
        if now == seen {
            return found;
        }
        seen = now;
    }
    load_ended(files, dir, id, seen.as_deref())
}

/// Reads a run whose `end.json` is known. That is looked for before the journal is read: the other way
/// round, a run that ends in between would seem to have lost its last steps.
fn load_ended<F: Files>(
    files: &F,
    dir: &Path,
    id: &RunId,
    end: Option<&[u8]>,
) -> Result<Found, RecordError> {
    let end = end.map_or(Ok(Value::Null), |bytes| json_of(&dir.join(END), bytes))?;
    let read = |name: &str| store::read(files, &dir.join(name));
    let record: Value = json_of(&dir.join(RECORD), &read(RECORD)?)?;
    let version = migrate::version(&dir.join(RECORD), record["schema"].as_str())?;
    let journal = journal::read(&dir.join(JOURNAL), &read(JOURNAL)?)?;
    let document = match (end.is_null(), store::read_if(files, &dir.join(DOCUMENT))?) {
        (false, Some(bytes)) => json_of(&dir.join(DOCUMENT), &bytes)?,
        _ => Value::Null,
    };
    let (entries, whole_bytes) = (journal.entries.len() as u64, journal.whole);
    let mut value = record;
    value["envelope"] = json_of(&dir.join(ENVELOPE), &read(ENVELOPE)?)?;
    value["plan"] = store::text(&dir.join(PLAN), read(PLAN)?)?.into();
    value["setup"] = json_of(&dir.join(SETUP), &read(SETUP)?)?;
    value["entries"] = journal.entries.into();
    value["end"] = end;
    value["document"] = document;
    let whole = whole(dir, migrate::migrate(value, version))?;
    check(dir, id, &whole, entries, journal.torn)?;
    let samples = samples(files, dir, whole.record.samples)?;
    let (sums, begun_ns) = (whole.record.sha256.clone(), whole.record.begun_ns);
    let run = run(dir, whole, samples, journal.torn)?;
    Ok(Found { run, entries, whole_bytes, sums, begun_ns })
}

/// A value of the present version, as types. `path` is for errors.
pub(crate) fn whole(path: &Path, value: Value) -> Result<Whole, RecordError> {
    serde_json::from_value(value)
        .map_err(|e| RecordError::damaged(path, format!("is no record: {e}")))
}

fn check(dir: &Path, id: &RunId, whole: &Whole, lines: u64, torn: u64) -> Result<(), RecordError> {
    let record = dir.join(RECORD);
    if whole.record.run_id != *id || whole.envelope.run_id != *id {
        let what = format!("is of run {}, and its directory is named {id}", whole.record.run_id);
        return Err(RecordError::damaged(&record, what));
    }
    match &whole.end {
        Some(end) if end.entries != lines || torn > 0 => {
            let what = format!("has {lines} whole lines, and the run ended with {}", end.entries);
            Err(RecordError::damaged(&dir.join(JOURNAL), what))
        }
        _ => Ok(()),
    }
}

fn run(dir: &Path, whole: Whole, samples: Vec<PathBuf>, torn: u64) -> Result<Run, RecordError> {
    let (mut steps, mut notes) = (Vec::new(), Vec::new());
    for (number, entry) in whole.entries.into_iter().enumerate() {
        let said = serde_json::from_value(entry).map_err(|e| RecordError::Damaged {
            path: dir.join(JOURNAL),
            line: Some(number as u64 + 1),
            what: format!("is no entry of a journal: {e}"),
        })?;
        match said {
            Said::Step(step) => steps.push(step),
            Said::Note { kind, payload } => notes.push((kind, payload)),
        }
    }
    let text = |name: &str| whole.setup[name].as_str().unwrap_or_default().to_owned();
    let begun = Summary {
        verb: text("verb"),
        target: text("target"),
        drive: text("drive"),
        headline: String::new(),
    };
    let (state, steps_known, samples_lost, summary) = match whole.end {
        // Only a count that was there from the beginning is one.
        Some(end) => {
            let steps = whole.record.steps.and(end.steps);
            (end.state, steps, end.samples_lost, end.summary)
        }
        None => (State::Running, whole.record.steps, Vec::new(), begun),
    };
    Ok(Run {
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

/// JSON of any form, or a word on the file that holds none.
pub(crate) fn json_of(path: &Path, bytes: &[u8]) -> Result<Value, RecordError> {
    serde_json::from_slice(bytes)
        .map_err(|e| RecordError::damaged(path, format!("is no JSON: {e}")))
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
