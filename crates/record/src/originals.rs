//! Original data: what a probe overwrites for a while, saved before it does, so that another process can put it back.
//!
//! `RUN.data` holds the bytes of all places, one after the other, and `RUN.json` says whose they are and where they belong:
//! with `dd` they can be put back without drivescope. The description is written last, when the data is on disk, and removed
//! first. The data file is locked while the process that saved it lives.

use std::borrow::Cow;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::{Files, OutFile as _, RealFiles};
use crate::store;
use crate::sums::Hasher;
use crate::{RecordError, RunId};

/// Form of the description.
pub const ORIGINALS: &str = "drivescope.originals/1";

const DATA: &str = ".data";
const DESCRIPTION: &str = ".json";
/// Callback for a piece of data and its offset.
type Each<'a, E> = dyn FnMut(u64, &[u8]) -> Result<(), E> + 'a;

/// Longest place: what is read at a time when data is put back.
const PLACE_MAX: u64 = 64 << 20;
/// Longest description.
const DESCRIPTION_MAX: usize = 64 << 20;

/// Original data of a drive, as described in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Originals {
    /// [`ORIGINALS`].
    pub schema: String,
    /// The run that overwrote it.
    pub run_id: RunId,
    /// Absolute name of the target that was probed.
    pub target: String,
    /// Identity of the drive.
    pub drive: Value,
    /// Salt of the stamps written in its place.
    pub salt: u64,
    /// Places of the data on the drive: offset and length in bytes, in the order of the data.
    pub places: Vec<(u64, u64)>,
    /// The file with the data.
    pub data: PathBuf,
    /// SHA-256 of the data; empty until it is saved.
    pub sha256: String,
}

impl Originals {
    /// Length of the data.
    pub fn bytes(&self) -> u64 {
        self.places.iter().map(|(_, length)| length).sum()
    }
}

/// A directory of original data.
#[derive(Clone, Debug)]
pub struct Vault<F: Files = RealFiles> {
    files: F,
    dir: PathBuf,
}

/// Original data that this process has saved.
pub struct Guarded<F: Files = RealFiles> {
    vault: Vault<F>,
    /// Its description.
    pub originals: Originals,
    _lock: F::Lock,
}

impl Vault<RealFiles> {
    /// The original data in `dir`, an absolute path.
    pub fn at(dir: impl Into<PathBuf>) -> Vault {
        Vault { files: RealFiles, dir: dir.into() }
    }
}

impl<F: Files> Vault<F> {
    /// The original data in `dir` of the filesystem `files`.
    pub fn with(files: F, dir: impl Into<PathBuf>) -> Vault<F> {
        Vault { files, dir: dir.into() }
    }

    fn description(&self, id: &RunId) -> PathBuf {
        self.dir.join(format!("{id}{DESCRIPTION}"))
    }

    /// Saves `pieces`, which belong to the places of `originals`. When this returns, all of it is on disk.
    ///
    /// # Errors
    /// What a file operation answered; then nothing is saved.
    pub fn save(
        &self,
        mut originals: Originals,
        pieces: &mut dyn Iterator<Item = Cow<'_, [u8]>>,
    ) -> Result<Guarded<F>, RecordError> {
        let path = self.dir.join(format!("{}{DATA}", originals.run_id));
        let changing = self.changing()?;
        self.sweep();
        let mut file = self.files.create_new(&path).map_err(RecordError::io("create it", &path))?;
        let lock = self.files.lock(&path, false).map_err(RecordError::io("lock it", &path))?;
        let lock = lock.ok_or_else(|| RecordError::Busy { id: originals.run_id.clone() })?;
        drop(changing);
        let mut hasher = Hasher::default();
        let mut write = || -> std::io::Result<()> {
            for piece in &mut *pieces {
                hasher.add(&piece);
                file.write_all(&piece)?;
            }
            Ok(())
        };
        let written = write()
            .map_err(RecordError::io("write it", &path))
            .and_then(|()| file.sync().map_err(RecordError::io("sync it", &path)));
        drop(file);
        originals.data.clone_from(&path);
        originals.sha256 = hasher.finish();
        // With the name of the data durable before the description's, what has one is whole, also after a power cut.
        let sync = || self.files.sync_dir(&self.dir).map_err(RecordError::io("sync it", &self.dir));
        let described = written.and_then(|()| sync()).and_then(|()| self.describe(&originals));
        if let Err(error) = described {
            // Nothing was overwritten yet; the first error is the one to report.
            let _ = self.discard(&originals);
            return Err(error);
        }
        Ok(Guarded { vault: self.clone(), originals, _lock: lock })
    }

    /// Writes the description of data that lies here or elsewhere.
    ///
    /// # Errors
    /// What a file operation answered.
    pub fn describe(&self, originals: &Originals) -> Result<(), RecordError> {
        let text = serde_json::to_vec_pretty(originals);
        let text = text.map_err(|source| RecordError::Json { what: "description", source })?;
        let name = format!("{}{DESCRIPTION}", originals.run_id);
        store::replace(&self.files, &self.dir, &name, &text)
    }

    /// The descriptions here, newest first. One that cannot be read is left out.
    pub fn list(&self) -> Vec<Originals> {
        let entries = self.files.list(&self.dir).unwrap_or_default();
        let ids = entries.iter().filter_map(|entry| entry.name.strip_suffix(DESCRIPTION));
        let mut ids: Vec<RunId> = ids.filter_map(|id| id.parse().ok()).collect();
        ids.sort();
        ids.iter().rev().filter_map(|id| self.read(&self.description(id)).ok()).collect()
    }

    /// The description in the file at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or is not one.
    pub fn read(&self, path: &Path) -> Result<Originals, RecordError> {
        let open = self.files.open(path).map_err(RecordError::io("open it", path))?;
        let mut text = Vec::new();
        let read = open.take(DESCRIPTION_MAX as u64 + 1).read_to_end(&mut text);
        read.map_err(RecordError::io("read it", path))?;
        let damaged = |what: &dyn std::fmt::Display| RecordError::damaged(path, what.to_string());
        if text.len() > DESCRIPTION_MAX {
            return Err(damaged(&"is too long"));
        }
        let originals: Originals =
            serde_json::from_slice(&text).map_err(|error| damaged(&error))?;
        if originals.schema != ORIGINALS {
            return Err(RecordError::Newer {
                path: path.to_owned(),
                schema: originals.schema,
                newest: ORIGINALS,
            });
        }
        let is_sound = |&(offset, length): &(u64, u64)| {
            (1..=PLACE_MAX).contains(&length) && offset.checked_add(length).is_some()
        };
        match originals.places.iter().all(is_sound) {
            true => Ok(originals),
            false => Err(damaged(&"names places that cannot be")),
        }
    }

    /// True while the process that saved it lives: it puts the data back itself.
    pub fn is_live(&self, originals: &Originals) -> bool {
        matches!(self.files.lock(&originals.data, false), Ok(None))
    }

    /// Hands out the data with the place of each piece. Nothing is handed out unless all of it is as it was saved.
    ///
    /// # Errors
    /// When it cannot be read or is damaged, and the errors of `each`.
    pub fn data<E: From<RecordError>>(
        &self,
        originals: &Originals,
        each: &mut Each<'_, E>,
    ) -> Result<(), E> {
        let path = &originals.data;
        let pieces = |each: &mut Each<'_, E>| -> Result<(), E> {
            let mut file = self.files.open(path).map_err(RecordError::io("open it", path))?;
            let mut piece = Vec::new();
            for &(offset, length) in &originals.places {
                piece.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
                file.read_exact(&mut piece).map_err(RecordError::io("read it", path))?;
                each(offset, &piece)?;
            }
            Ok(())
        };
        let mut hasher = Hasher::default();
        pieces(&mut |_, piece| {
            hasher.add(piece);
            Ok(())
        })?;
        if hasher.finish() != originals.sha256 {
            return Err(RecordError::damaged(path, "is not what was saved").into());
        }
        pieces(each)
    }

    /// Removes the description here, and the data when it lies here too.
    ///
    /// # Errors
    /// What a file operation answered.
    pub fn discard(&self, originals: &Originals) -> Result<(), RecordError> {
        let sync = || self.files.sync_dir(&self.dir).map_err(RecordError::io("sync it", &self.dir));
        if store::remove_if(&self.files, &self.description(&originals.run_id))? {
            sync()?;
        }
        if originals.data.parent() == Some(&self.dir)
            && store::remove_if(&self.files, &originals.data)?
        {
            sync()?;
        }
        Ok(())
    }

    /// Locks the directory until new data has a lock of its own, so that `sweep` does not take it for data of a dead process.
    fn changing(&self) -> Result<F::Lock, RecordError> {
        store::make_dirs(&self.files, &self.dir)?;
        store::lock_directory(&self.files, &self.dir)
    }

    /// Removes data without a description whose process is dead: it had not overwritten anything yet, or had put all back.
    fn sweep(&self) {
        let entries = self.files.list(&self.dir).unwrap_or_default();
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        for id in entries.iter().filter_map(|entry| entry.name.strip_suffix(DATA)) {
            let path = self.dir.join(format!("{id}{DATA}"));
            if !has(&format!("{id}{DESCRIPTION}"))
                && matches!(self.files.lock(&path, false), Ok(Some(_)))
            {
                let _ = self.files.remove_file(&path);
            }
        }
    }
}

impl<F: Files> Guarded<F> {
    /// Removes what was saved: it was put back.
    ///
    /// # Errors
    /// What a file operation answered.
    pub fn discard(self) -> Result<(), RecordError> {
        self.vault.discard(&self.originals)
    }
}
