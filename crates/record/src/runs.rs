//! A directory of runs: making, finding, reading and removing them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::files::{Files, RealFiles};
use crate::index::{self, Listing};
use crate::load::{self, Found, Run};
use crate::run::RunWriter;
use crate::store::{self, RECORD};
use crate::sums::{self, Integrity, Sums};
use crate::{Head, RecordError, RunId, State, age, removal};

/// How many runs an error names.
const NAMED: usize = 5;

/// A directory of runs.
#[derive(Clone, Debug)]
pub struct Runs<F: Files = RealFiles> {
    pub(crate) files: F,
    pub(crate) dir: PathBuf,
}

impl Runs<RealFiles> {
    /// The runs in `dir`. Touches nothing: the directory is made with the first run.
    pub fn at(dir: impl Into<PathBuf>) -> Runs {
        Runs { files: RealFiles, dir: dir.into() }
    }
}

/// Default directory of runs: `DRIVESCOPE_RUNS_DIR`, else `drivescope/runs` in `XDG_DATA_HOME`, else in
/// `~/.local/share`. Base directories that are not absolute do not count (XDG Base Directory
/// Specification, "All paths must be absolute").
pub fn default_dir(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name| variable(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = |name| path(name).filter(|p| p.is_absolute());
    path("DRIVESCOPE_RUNS_DIR").or_else(|| {
        let data = base("XDG_DATA_HOME").or_else(|| Some(base("HOME")?.join(".local/share")));
        Some(data?.join("drivescope/runs"))
    })
}

impl<F: Files> Runs<F> {
    /// The runs in `dir` of the filesystem `files`.
    pub fn with(files: F, dir: impl Into<PathBuf>) -> Runs<F> {
        Runs { files, dir: dir.into() }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the directory, and finds out whether names can be made in it: before hours are spent on
    /// what is to be kept there.
    ///
    /// # Errors
    /// What a file operation answered, or [`RecordError::DirectoryBusy`].
    pub fn prepare(&self) -> Result<(), RecordError> {
        store::make_dirs(&self.files, &self.dir)?;
        let _changing = self.changing()?;
        removal::sweep(&self.files, &self.dir);
        // The lock's file may be there since the directory could be written; a new name cannot.
        let probe = self.dir.join(format!("{}probe-{}", store::NEW, std::process::id()));
        self.files.make_dir(&probe).map_err(RecordError::io("write in it", &self.dir))?;
        self.files.remove_dir(&probe).map_err(RecordError::io("write in it", &self.dir))
    }

    /// Begins a run. When this returns, its directory is on disk, whole.
    ///
    /// # Errors
    /// [`RecordError::Exists`], or what a file operation answered; then there is no new run.
    pub fn create(&self, head: &Head) -> Result<RunWriter<F>, RecordError> {
        store::make_dirs(&self.files, &self.dir)?;
        let _changing = self.changing()?;
        removal::sweep(&self.files, &self.dir);
        age::note(&self.files, &self.dir, &head.envelope.run_id)?;
        RunWriter::create(&self.files, &self.dir, head)
    }

    /// Resumes a run that was interrupted, broken or killed: locks it, and also returns what it has recorded so far. Until
    /// something is added, all of it stays as it is, its end included.
    ///
    /// # Errors
    /// [`RecordError::Busy`], [`RecordError::NotResumable`], or why it cannot be read or written.
    /// [`RecordError::Altered`] when its files are not those that it was begun or ended with: what is made
    /// by another plan is another run.
    pub fn resume(&self, id: &RunId) -> Result<(RunWriter<F>, Run), RecordError> {
        let lock = self.lock(id)?;
        let found = load::load(&self.files, &self.path(id), id)?;
        let why = match &found.run {
            run if run.is_bare() => "it was imported as a document alone, which has no plan",
            run if run.state == State::Finished => "it is finished",
            run => {
                self.check(run, found.sums.as_ref())?;
                let writer = RunWriter::resume(&self.files, &self.dir, &found, lock)?;
                return Ok((writer, found.run));
            }
        };
        Err(RecordError::NotResumable { id: id.clone(), why })
    }

    /// The run that is meant by `name`: a whole id, the beginning of one, or `last`, the newest. Where that is a part of
    /// another, which its setup names as `part_of`, the other one is meant: it is what the user asked for.
    ///
    /// # Errors
    /// [`RecordError::Unknown`] and [`RecordError::Ambiguous`] name runs that it could be.
    pub fn find(&self, name: &str) -> Result<RunId, RecordError> {
        let ids = store::ids(&self.files, &self.dir)?;
        let newest = age::newest(&self.files, &self.dir, &ids).next();
        let Some(last) = newest else {
            return Err(RecordError::NoRuns { dir: self.dir.clone() });
        };
        if name == "last" {
            return Ok(self.whole_of(&last).unwrap_or(last));
        }
        let begins = |id: &RunId| !name.is_empty() && id.as_str().starts_with(name);
        let mut candidates: Vec<RunId> = ids.iter().filter(|id| begins(id)).cloned().collect();
        match candidates.len() {
            0 => Err(self.unknown(name, &ids)),
            1 => Ok(candidates.remove(0)),
            _ => {
                candidates = age::newest(&self.files, &self.dir, &candidates).take(NAMED).collect();
                Err(RecordError::Ambiguous { name: name.to_owned(), candidates })
            }
        }
    }

    /// True of a part of another run that is there.
    pub fn is_part(&self, id: &RunId) -> bool {
        self.whole_of(id).is_some()
    }

    /// The run that this one is a part of, where that is there.
    fn whole_of(&self, id: &RunId) -> Option<RunId> {
        let setup = store::read(&self.files, &self.path(id).join(store::SETUP)).ok()?;
        let setup: serde_json::Value = serde_json::from_slice(&setup).ok()?;
        let whole: RunId = setup["part_of"].as_str()?.parse().ok()?;
        self.known(&whole).is_ok().then_some(whole)
    }

    /// The runs that are parts of this one, newest first: those that began after it and whose setup names it.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn parts_of(&self, whole: &RunId) -> Result<Vec<RunId>, RecordError> {
        let ids = store::ids(&self.files, &self.dir)?;
        let later = age::newest(&self.files, &self.dir, &ids).take_while(|id| id != whole);
        Ok(later.filter(|id| self.whole_of(id).as_ref() == Some(whole)).collect())
    }

    /// The names of all runs, newest first, by their directories alone: nothing is read, and no index is made.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn ids(&self) -> Result<Vec<RunId>, RecordError> {
        let ids = store::ids(&self.files, &self.dir)?;
        Ok(age::newest(&self.files, &self.dir, &ids).collect())
    }

    /// Reads a run.
    ///
    /// # Errors
    /// [`RecordError::Unknown`], [`RecordError::Newer`], or [`RecordError::Damaged`] with file and line.
    pub fn load(&self, id: &RunId) -> Result<Run, RecordError> {
        self.known(id)?;
        load::load(&self.files, &self.path(id), id).map(|found| found.run)
    }

    /// Holds a run's files against their checksums: all of them when it has ended, else those that are
    /// the same from its beginning.
    ///
    /// # Errors
    /// Why the run cannot be read; an altered file is not an error here.
    pub fn verify(&self, id: &RunId) -> Result<Integrity, RecordError> {
        self.known(id)?;
        let Found { run, sums, .. } = load::load(&self.files, &self.path(id), id)?;
        sums::verify(&self.files, &run.dir, sums.as_ref(), run.is_ended())
    }

    /// Holds a run that was read against its checksums.
    ///
    /// # Errors
    /// [`RecordError::Altered`].
    pub(crate) fn check(&self, run: &Run, beginning: Option<&Sums>) -> Result<(), RecordError> {
        match sums::verify(&self.files, &run.dir, beginning, run.is_ended())? {
            Integrity::AsRecorded { .. } | Integrity::Unsealed => Ok(()),
            Integrity::Altered(files) => Err(RecordError::Altered { id: run.id.clone(), files }),
        }
    }

    /// True when a process is writing the run now.
    pub fn is_live(&self, id: &RunId) -> bool {
        index::is_live(&self.files, &self.path(id))
    }

    /// All runs, newest first, and what could not be read.
    ///
    /// # Errors
    /// When the directory cannot be listed. The index is only a cache: whatever is wrong with it is
    /// put right from the directories, and where it cannot be written it is done without.
    pub fn list(&self) -> Result<Listing, RecordError> {
        index::list(&self.files, &self.dir)
    }

    /// Rebuilds the index; returns the number of runs in it.
    ///
    /// # Errors
    /// When the directory cannot be listed or the index not be written.
    pub fn reindex(&self) -> Result<usize, RecordError> {
        store::make_dirs(&self.files, &self.dir)?;
        let _changing = self.changing()?;
        removal::sweep(&self.files, &self.dir);
        index::rebuild(&self.files, &self.dir)
    }

    /// Removes a run: in one step from sight, then from the disk. Files in its directory that no run writes stay, in the
    /// directory that is returned.
    ///
    /// # Errors
    /// [`RecordError::Busy`], [`RecordError::Unknown`], or what a file operation answered.
    pub fn remove(&self, id: &RunId) -> Result<Option<PathBuf>, RecordError> {
        self.known(id)?;
        let _changing = self.changing()?;
        removal::sweep(&self.files, &self.dir);
        // A damaged run may have no file to lock; then no process is writing it either.
        let _lock = match self.lock(id) {
            Err(error) if error.is_absence() || error.is_no_file() => None,
            other => Some(other?),
        };
        let (path, aside) = (self.path(id), removal::aside(&self.dir, id));
        self.files.rename(&path, &aside).map_err(RecordError::io("remove it", &path))?;
        self.files.sync_dir(&self.dir).map_err(RecordError::io("sync it", &self.dir))?;
        let removed = removal::remove(&self.files, &self.dir, &aside);
        // Should this fail, the next list drops the extra row.
        let _ = index::forget(&self.files, &self.dir, id);
        removed
    }

    pub(crate) fn path(&self, id: &RunId) -> PathBuf {
        self.dir.join(id.as_str())
    }

    /// Locks a run.
    pub(crate) fn lock(&self, id: &RunId) -> Result<F::Lock, RecordError> {
        self.known(id)?;
        let path = self.path(id).join(RECORD);
        let lock = store::lock_soon(&self.files, &path, false);
        let lock = lock.map_err(RecordError::io("lock it", &path))?;
        lock.ok_or_else(|| RecordError::Busy { id: id.clone() })
    }

    /// Locks the directory against others that make or remove names in it.
    pub(crate) fn changing(&self) -> Result<F::Lock, RecordError> {
        store::lock_directory(&self.files, &self.dir)
    }

    fn known(&self, id: &RunId) -> Result<(), RecordError> {
        if self.files.stat(&self.path(id)).is_ok() {
            return Ok(());
        }
        let ids = store::ids(&self.files, &self.dir)?;
        if ids.is_empty() {
            return Err(RecordError::NoRuns { dir: self.dir.clone() });
        }
        Err(self.unknown(id.as_str(), &ids))
    }

    fn unknown(&self, name: &str, ids: &[RunId]) -> RecordError {
        RecordError::Unknown {
            name: name.to_owned(),
            dir: self.dir.clone(),
            newest: age::newest(&self.files, &self.dir, ids).take(NAMED).collect(),
        }
    }
}
