//! Writing a run: from its first file to its last.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use block::{Bytes, Event, RunSink};
use serde::Serialize;
use serde_json::Value;

use crate::derived::Derived;
use crate::files::{Files, OutFile as _, RealFiles};
use crate::journal::{self, What};
use crate::load::{self, End, Found, RecordFile};
use crate::store::{
    self, DOCUMENT, DOCUMENT_MAX, END, HISTOGRAMS, JOURNAL, JOURNAL_MAX, LINE_MAX, RECORD, SAMPLES,
    SERIES, SUMS,
};
use crate::{Document, Envelope, RecordError, RunId, SampleRow, Saved, State, StepEntry, Summary};
use crate::{Head, SamplesFormat};
use crate::{index, migrate, removal, samples, sums};

/// A run in the making. It is locked against other processes until it is dropped; dropped without
/// [`RunWriter::finish`], or killed, it leaves a run that can be resumed. A resumed run is not changed before the first
/// step, note, samples or end: dropped before, it stays as it was.
///
/// As a [`RunSink`] it writes nothing: what goes to the disk while I/O is measured would be measured,
/// too. It only learns how many positions the schedule has, where [`Head::steps`] said that they can be
/// counted.
pub struct RunWriter<F: Files = RealFiles> {
    files: F,
    runs: PathBuf,
    id: RunId,
    dir: PathBuf,
    envelope: Envelope,
    format: Option<SamplesFormat>,
    known: Option<u32>,
    journal: F::File,
    /// Whole lines of the journal, and their bytes.
    entries: u64,
    journal_bytes: u64,
    /// How many there can be, and whether something was refused since there would have been more.
    journal_bytes_max: u64,
    is_full: bool,
    /// Work to be done before anything of a resumed run may change.
    reopen: Option<Reopen>,
    /// True when it began a run, false when it resumed one.
    is_new: bool,
    /// True when single I/Os were given to it, whatever became of them.
    has_samples: bool,
    positions: BTreeSet<u32>,
    last: Option<(u32, String)>,
    samples_lost: Vec<(u32, String)>,
    failed: Option<String>,
    _lock: F::Lock,
}

/// A resumed run that is still on disk as it was found.
struct Reopen {
    /// True when the journal ends in the middle of a line.
    is_torn: bool,
}

impl<F: Files> RunWriter<F> {
    /// Makes a run's directory under `runs`, whose lock the caller holds.
    pub(crate) fn create(files: &F, runs: &Path, head: &Head) -> Result<RunWriter<F>, RecordError> {
        let id = head.envelope.run_id.clone();
        let dir = runs.join(id.as_str());
        if files.stat(&dir).is_ok() {
            return Err(RecordError::Exists { dir });
        }
        let staging = store::staging(runs, &id);
        let prepared = prepare(files, &staging, head);
        let placed = prepared.and_then(|made| {
            files.rename(&staging, &dir).map_err(RecordError::io("give it its name", &dir))?;
            Ok(made)
        });
        let (journal, lock) = placed.inspect_err(|_| {
            // A later process sweeps away what this one cannot.
            let _ = removal::remove_own(files, &staging);
        })?;
        files.sync_dir(runs).map_err(RecordError::io("sync it", runs)).inspect_err(|_| {
            // Not removed: if the power fails, it may be back under the run's name, and must be whole.
            let _ = files.rename(&dir, &staging);
        })?;
        Ok(RunWriter {
            files: files.clone(),
            runs: runs.to_owned(),
            id,
            dir,
            envelope: head.envelope.clone(),
            format: head.samples,
            known: head.steps,
            journal,
            entries: 0,
            journal_bytes: 0,
            journal_bytes_max: JOURNAL_MAX,
            is_full: false,
            reopen: None,
            is_new: true,
            has_samples: false,
            positions: BTreeSet::new(),
            last: None,
            samples_lost: Vec::new(),
            failed: None,
            _lock: lock,
        })
    }

    /// Resumes the run that was found, which `lock` holds. Changes nothing on disk.
    pub(crate) fn resume(
        files: &F,
        runs: &Path,
        found: &Found,
        lock: F::Lock,
    ) -> Result<RunWriter<F>, RecordError> {
        let run = &found.run;
        let path = run.dir.join(JOURNAL);
        let journal = files.append(&path).map_err(RecordError::io("open it", &path))?;
        Ok(RunWriter {
            files: files.clone(),
            runs: runs.to_owned(),
            id: run.id.clone(),
            dir: run.dir.clone(),
            envelope: run.envelope.clone(),
            format: run.samples_format,
            known: run.steps_known,
            journal,
            entries: found.entries,
            journal_bytes: found.whole_bytes,
            journal_bytes_max: JOURNAL_MAX,
            is_full: false,
            reopen: Some(Reopen { is_torn: run.torn_bytes > 0 }),
            is_new: false,
            has_samples: false,
            positions: run.steps.iter().map(|s| s.position).collect(),
            last: run.steps.last().map(|s| (s.position, s.step.clone())),
            samples_lost: run.samples_lost.clone(),
            failed: None,
            _lock: lock,
        })
    }

    /// Makes a resumed run an unfinished one again, before the first change to it. Not when it is resumed: much is found out
    /// after that, such as that this is another drive, and none of it may cost a run the end that it has.
    fn open_again(&mut self) -> Result<(), RecordError> {
        match self.reopen.take() {
            None => Ok(()),
            Some(reopen) => self.reopened(&reopen).map_err(|error| self.stop(&error)),
        }
    }

    fn reopened(&mut self, reopen: &Reopen) -> Result<(), RecordError> {
        let dir = &self.dir;
        // First the end, so that at no moment an ended run has another content than it ended with.
        if store::remove_if(&self.files, &dir.join(END))? {
            self.files.sync_dir(dir).map_err(RecordError::io("sync it", dir))?;
        }
        // Files made from the journal as it was are made again at the next end.
        for name in [SUMS, SERIES, HISTOGRAMS] {
            store::remove_if(&self.files, &dir.join(name))?;
        }
        let path = dir.join(JOURNAL);
        if reopen.is_torn {
            let cut = self.journal.truncate(self.journal_bytes);
            cut.map_err(RecordError::io("cut it", &path))?;
        }
        // Also when nothing was cut: what was read may have been in memory alone.
        self.journal.sync().map_err(RecordError::io("sync it", &path))?;
        drop_orphans(&self.files, dir, self.format, &self.positions)
    }

    /// The run's name.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The run's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// True while a run is new and nothing was recorded or refused: it holds what it was begun with.
    pub fn is_untouched(&self) -> bool {
        self.is_new && self.entries == 0 && !self.has_samples && self.failed.is_none()
    }

    /// Records a finished step. When this returns, the step is on disk.
    ///
    /// # Errors
    /// [`RecordError::Repeated`], which changes nothing; [`RecordError::Full`]: neither this step nor any
    /// later one is saved, all before it are, and the run can be ended; or [`RecordError::Stopped`]: the
    /// step is not saved, all before it are, and every later call fails in the same way.
    pub fn step(&mut self, step: &StepEntry) -> Result<(), RecordError> {
        self.check()?;
        if self.positions.contains(&step.position) {
            return Err(RecordError::Repeated { id: self.id.clone(), position: step.position });
        }
        self.append(What::Step(step))?;
        self.positions.insert(step.position);
        self.last = Some((step.position, step.step.clone()));
        Ok(())
    }

    /// Records anything else. When this returns, it is on disk.
    ///
    /// # Errors
    /// [`RecordError::Full`] and [`RecordError::Stopped`], as for a step.
    pub fn note(&mut self, kind: &str, payload: &Value) -> Result<(), RecordError> {
        self.check()?;
        self.append(What::Note { kind, payload })
    }

    /// Records the single I/Os of a position; best before its step, so that a step that is there has
    /// them. They take their name only when whole, and replace what was there for this position.
    ///
    /// # Errors
    /// Names the file. No step is lost by it, and the run continues; the end lists the positions whose I/Os are missing.
    pub fn samples(
        &mut self,
        position: u32,
        rows: &mut dyn Iterator<Item = SampleRow>,
    ) -> Result<(), RecordError> {
        self.check()?;
        let format = self.format.ok_or_else(|| RecordError::NoSamples { id: self.id.clone() })?;
        self.open_again()?;
        self.has_samples = true;
        let dir = self.dir.join(SAMPLES);
        let written = write_samples(&self.files, &dir, format, position, rows);
        self.samples_lost.retain(|(lost, _)| *lost != position);
        written.inspect_err(|error| {
            let why = error.to_string();
            // Should this fail, the journal fails, and every later call reports it.
            let _ = self.append(What::SamplesLost { position, why: &why });
            self.samples_lost.push((position, why));
        })
    }

    /// Ends the run: derives what other programs read, writes the document and the checksums, and last the file that
    /// says that the run has ended. [`State::Running`] is not an end and counts as interrupted.
    ///
    /// # Errors
    /// [`RecordError::Stopped`]: then the run has not ended, and can be resumed.
    pub fn finish<B: Serialize>(
        self,
        document: &Document<B>,
        state: State,
        summary: &Summary,
    ) -> Result<Saved, RecordError> {
        self.finish_with(document.to_json(), state, summary)
    }

    /// As [`RunWriter::finish`], with the text of the document: compiled once for all documents.
    ///
    /// # Errors
    /// As [`RunWriter::finish`].
    pub fn finish_with(
        mut self,
        document: serde_json::Result<String>,
        state: State,
        summary: &Summary,
    ) -> Result<Saved, RecordError> {
        self.check()?;
        let state = if state == State::Running { State::Interrupted } else { state };
        let text = document.map_err(|source| RecordError::Json { what: "document", source })?;
        if text.len() as u64 > DOCUMENT_MAX {
            return Err(self.stop(&too_large(&self.dir.join(DOCUMENT), text.len(), DOCUMENT_MAX)));
        }
        self.open_again()?;
        if let Err(error) = self.seal(text.as_bytes(), state, summary) {
            return Err(self.stop(&error));
        }
        let row = index::read_row(&self.files, &self.dir, &self.id);
        let bytes = row.as_ref().map_or(Bytes(0), |kept| kept.bytes());
        let noted = row.and_then(|row| index::note(&self.files, &self.runs, row));
        Ok(Saved {
            id: self.id.clone(),
            dir: self.dir.clone(),
            state,
            steps: self.steps(),
            bytes,
            samples_lost: std::mem::take(&mut self.samples_lost),
            index: noted.err().map(|error| error.to_string()),
        })
    }

    fn seal(&self, document: &[u8], state: State, summary: &Summary) -> Result<(), RecordError> {
        let entries = write_derived(&self.files, &self.dir, &self.envelope)?;
        if entries != self.entries {
            let what = format!("has {entries} whole lines, and {} were written", self.entries);
            return Err(RecordError::damaged(&self.dir.join(JOURNAL), what));
        }
        let end = End {
            state,
            entries,
            journal_bytes: Some(self.journal_bytes),
            steps_done: Some(self.steps()),
            steps: self.known,
            samples_lost: self.samples_lost.clone(),
            summary: summary.clone(),
        };
        seal(&self.files, &self.dir, document, &end)
    }

    fn append(&mut self, what: What<'_>) -> Result<(), RecordError> {
        let line = journal::line(self.entries, what);
        let line = line.map_err(|source| RecordError::Json { what: "entry", source })?;
        let path = self.dir.join(JOURNAL);
        let bytes = self.journal_bytes.saturating_add(line.len() as u64);
        if line.len() as u64 > LINE_MAX {
            return Err(self.stop(&too_large(&path, line.len(), LINE_MAX)));
        }
        // Also nothing shorter after it: a journal has no gaps.
        self.is_full |= bytes > self.journal_bytes_max;
        if self.is_full {
            let (steps, most_bytes) = (self.steps(), self.journal_bytes_max);
            return Err(RecordError::Full { path, steps, most_bytes });
        }
        self.open_again()?;
        let written = self.journal.write_all(line.as_bytes());
        let written = written.map_err(RecordError::io("write it", &path));
        let synced =
            written.and_then(|()| self.journal.sync().map_err(RecordError::io("sync it", &path)));
        if let Err(error) = synced {
            return Err(self.stop(&error));
        }
        // The kernel takes what is written to a file without a name, and keeps none of it.
        if self.files.stat(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let why = "somebody removed the run's directory while it was written";
            let gone = io::Error::new(io::ErrorKind::NotFound, why);
            return Err(self.stop(&RecordError::io("find it again", &path)(gone)));
        }
        self.entries += 1;
        self.journal_bytes = bytes;
        Ok(())
    }

    fn check(&self) -> Result<(), RecordError> {
        match &self.failed {
            None => Ok(()),
            Some(cause) => Err(self.stopped(cause)),
        }
    }

    fn stop(&mut self, cause: &RecordError) -> RecordError {
        let cause = self.failed.insert(cause.to_string()).clone();
        self.stopped(&cause)
    }

    fn stopped(&self, cause: &str) -> RecordError {
        RecordError::Stopped {
            id: self.id.clone(),
            dir: self.dir.clone(),
            steps: self.steps(),
            until: self.last.clone(),
            cause: cause.to_owned(),
        }
    }

    fn steps(&self) -> u32 {
        u32::try_from(self.positions.len()).unwrap_or(u32::MAX)
    }
}

impl<F: Files> RunSink for RunWriter<F> {
    fn event(&mut self, event: &Event) {
        // In a schedule without an end, the known positions grow with each step and are not the total: "1078 of 1079"
        // would be false.
        if let (Event::StepStarted { positions, .. }, Some(known)) = (event, &mut self.known) {
            *known = (*known).max(*positions);
        }
    }
}

/// Error for a piece that is not written, since it is too large to be read back.
fn too_large(path: &Path, bytes: usize, most: u64) -> RecordError {
    let why = format!("{bytes} bytes in one piece, and at most {most} are read back");
    RecordError::io("write it", path)(io::Error::new(io::ErrorKind::FileTooLarge, why))
}

/// Writes the first files of a run and locks it.
fn prepare<F: Files>(
    files: &F,
    dir: &Path,
    head: &Head,
) -> Result<(F::File, F::Lock), RecordError> {
    let record = RecordFile {
        schema: migrate::SCHEMA.to_owned(),
        run_id: head.envelope.run_id.clone(),
        steps: head.steps,
        samples: head.samples,
        begun_ns: i64::try_from(head.begun.0).ok(),
        sha256: None,
    };
    let journal = lay_out(files, dir, &record, &head.envelope, &head.plan, &head.setup)?;
    let path = dir.join(RECORD);
    let lock = files.lock(&path, false).map_err(RecordError::io("lock it", &path))?;
    let lock = lock.ok_or_else(|| RecordError::Busy { id: head.envelope.run_id.clone() })?;
    Ok((journal, lock))
}

/// Makes a directory with the files that a run has from its first moment, all of them durable.
pub(crate) fn lay_out<F: Files>(
    files: &F,
    dir: &Path,
    record: &RecordFile,
    envelope: &Envelope,
    plan: &str,
    setup: &Value,
) -> Result<F::File, RecordError> {
    files.make_dir(dir).map_err(RecordError::io("create it", dir))?;
    for (name, bytes) in load::fixed_files(record, envelope, plan, setup)? {
        store::write_new(files, &dir.join(name), &bytes)?;
    }
    if record.samples.is_some() {
        let samples = dir.join(SAMPLES);
        files.make_dir(&samples).map_err(RecordError::io("create it", &samples))?;
    }
    let path = dir.join(JOURNAL);
    let mut journal = files.create_new(&path).map_err(RecordError::io("create it", &path))?;
    journal.sync().map_err(RecordError::io("sync it", &path))?;
    files.sync_dir(dir).map_err(RecordError::io("sync it", dir))?;
    Ok(journal)
}

/// Writes document, checksums and end, in this order: with the end, everything is there.
pub(crate) fn seal<F: Files>(
    files: &F,
    dir: &Path,
    document: &[u8],
    end: &End,
) -> Result<(), RecordError> {
    store::replace(files, dir, DOCUMENT, document)?;
    let end = load::pretty("end", end)?;
    let mut checksums = sums::of_dir(files, dir)?;
    checksums.insert(END.to_owned(), sums::of_bytes(&end));
    store::replace(files, dir, SUMS, sums::to_text(&checksums).as_bytes())?;
    store::replace(files, dir, END, &end)
}

/// Writes what other programs read of the steps, from the journal in `dir`. Returns the number of entries in the
/// journal.
pub(crate) fn write_derived<F: Files>(
    files: &F,
    dir: &Path,
    envelope: &Envelope,
) -> Result<u64, RecordError> {
    let mut entries = 0;
    for derived in Derived::ALL {
        entries = store::replace_with(files, dir, derived.name(), |write| {
            derived.make(files, dir, envelope, write)
        })?;
    }
    Ok(entries)
}

fn write_samples<F: Files>(
    files: &F,
    dir: &Path,
    format: SamplesFormat,
    position: u32,
    rows: &mut dyn Iterator<Item = SampleRow>,
) -> Result<(), RecordError> {
    let name = load::sample_name(position, format);
    let part = dir.join(store::part(&name));
    store::remove_if(files, &part)?;
    let file = files.create_new(&part).map_err(RecordError::io("create it", &part))?;
    let written = samples::write(file, format, position, rows)
        .map_err(RecordError::io("write it", &part))
        .and_then(|mut file| file.sync().map_err(RecordError::io("sync it", &part)))
        .and_then(|()| store::put(files, dir, &part, &name));
    if written.is_err() {
        // A leftover file is recognised by its name.
        let _ = files.remove_file(&part);
    }
    written
}

/// Removes single I/Os of steps that were never finished, which will be made again, and of files that
/// were never whole.
fn drop_orphans<F: Files>(
    files: &F,
    dir: &Path,
    format: Option<SamplesFormat>,
    positions: &BTreeSet<u32>,
) -> Result<(), RecordError> {
    let Some(format) = format else { return Ok(()) };
    let dir = dir.join(SAMPLES);
    for entry in files.list(&dir).map_err(RecordError::io("list it", &dir))? {
        let orphan = match load::position_of(&entry.name, format) {
            Some(position) => !positions.contains(&position),
            None => entry.name.ends_with(store::PART),
        };
        if orphan {
            store::remove_if(files, &dir.join(&entry.name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Runs;
    use crate::fixtures::{document, head, id, step};

    #[test]
    fn a_journal_never_grows_beyond_what_is_read_back() {
        // A step too many would not be lost alone: the whole run could not be read.
        let root = tempfile::tempdir().unwrap();
        let runs = Runs::at(root.path());
        let mut writer = runs.create(&head()).unwrap();
        writer.step(&step(0, "short")).unwrap();
        let long = step(1, &"long ".repeat(100));
        writer.journal_bytes_max = writer.journal_bytes + 500;
        let length =
            || std::fs::metadata(runs.dir().join(id().as_str()).join(JOURNAL)).unwrap().len();
        let before = length();
        for refused in [
            writer.step(&long).unwrap_err(),
            // It would fit, and a journal without position 1 would be one with a gap.
            writer.step(&step(2, "short")).unwrap_err(),
            writer.note("k", &Value::Null).unwrap_err(),
        ] {
            assert!(matches!(refused, RecordError::Full { steps: 1, .. }), "{refused}");
            assert!(refused.to_string().contains("begin another run"), "{refused}");
        }
        assert_eq!(length(), before);
        writer.finish(&document(), State::Broken, &Summary::default()).unwrap();
        let run = runs.load(&id()).unwrap();
        assert_eq!((run.state, run.steps.len()), (State::Broken, 1));
        // To the last byte it is filled.
        let (mut writer, _) = runs.resume(&id()).unwrap();
        let line = journal::line(writer.entries, What::Step(&long)).unwrap();
        writer.journal_bytes_max = before + line.len() as u64;
        writer.step(&long).unwrap();
    }
}
