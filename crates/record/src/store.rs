//! Names in a run's directory, and the few ways in which files are read and written.

use std::io::{self, BufWriter, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::{Files, Kind, OutFile as _};
use crate::{RecordError, RunId};

/// First file of a run, and the one that is locked while the run is written.
pub(crate) const RECORD: &str = "record.json";
pub(crate) const PLAN: &str = "plan.toml";
pub(crate) const ENVELOPE: &str = "envelope.json";
pub(crate) const SETUP: &str = "setup.json";
pub(crate) const JOURNAL: &str = "journal.jsonl";
pub(crate) const SERIES: &str = "series.csv";
pub(crate) const HISTOGRAMS: &str = "histograms.hlog";
pub(crate) const DOCUMENT: &str = "document.json";
pub(crate) const SAMPLES: &str = "samples";
/// Checksums in the form that `sha256sum -c` reads.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// Last file of a run: with it, the run has ended.
pub(crate) const END: &str = "end.json";

/// In the runs directory: what a list of runs shows.
pub(crate) const INDEX: &str = "index.sqlite";
/// In the runs directory: names of runs in the order in which they were made, one a line.
pub(crate) const ORDER: &str = ".order";
/// In the runs directory: held while names in it are made and removed.
pub(crate) const DIRECTORY_LOCK: &str = ".lock";
/// How names begin that are not runs yet.
pub(crate) const NEW: &str = ".new-";
/// How names begin that are no longer runs.
pub(crate) const REMOVED: &str = ".removed-";
/// How names of files end that are not whole yet.
pub(crate) const PART: &str = ".part";

/// Longest journal. One of 10,000 steps has some 100 MiB.
pub(crate) const JOURNAL_MAX: u64 = 512 << 20;
/// Longest line of a journal.
pub(crate) const LINE_MAX: u64 = 64 << 20;
/// Longest file of a run that is read in whole: a document of 1,000 steps is some 10 MB, and takes ten times its
/// size in memory, or more if it was made to.
pub(crate) const DOCUMENT_MAX: u64 = 64 << 20;
/// Longest index: some 400,000 runs.
const INDEX_MAX: u64 = 256 << 20;

/// Size of the buffer for a file that is written piece by piece.
const BUFFER: usize = 256 << 10;

/// How often a lock is tried, and how long is waited in between: who merely looks whether a run is
/// locked holds its lock for microseconds, and must not be taken for a writer.
const TRIES: u32 = 40;
const WAIT: Duration = Duration::from_millis(5);
/// The same for the lock of a runs directory. Its holder writes an index of many runs, perhaps on a busy machine, and a run
/// that took hours must not be lost to that.
const DIRECTORY_TRIES: u32 = 2000;

/// Locks, waiting for a short while; `None` when it is still locked then.
pub(crate) fn lock_soon<F: Files>(
    files: &F,
    path: &Path,
    create: bool,
) -> io::Result<Option<F::Lock>> {
    lock_within(files, path, create, TRIES)
}

/// Locks a runs directory, for a change of what is in it.
///
/// # Errors
/// [`RecordError::DirectoryBusy`] when another process holds the lock for long, and what a file operation answered.
pub(crate) fn lock_directory<F: Files>(files: &F, dir: &Path) -> Result<F::Lock, RecordError> {
    let path = dir.join(DIRECTORY_LOCK);
    let lock = lock_within(files, &path, true, DIRECTORY_TRIES);
    let lock = lock.map_err(RecordError::io("lock it", &path))?;
    lock.ok_or_else(|| RecordError::DirectoryBusy { dir: dir.to_owned() })
}

fn lock_within<F: Files>(
    files: &F,
    path: &Path,
    create: bool,
    tries: u32,
) -> io::Result<Option<F::Lock>> {
    for _ in 1..tries {
        if let Some(lock) = files.lock(path, create)? {
            return Ok(Some(lock));
        }
        std::thread::sleep(WAIT);
    }
    files.lock(path, create)
}

/// A file's bytes.
pub(crate) fn read<F: Files>(files: &F, path: &Path) -> Result<Vec<u8>, RecordError> {
    let most = if path.ends_with(INDEX) { INDEX_MAX } else { DOCUMENT_MAX };
    let mut bytes = Vec::new();
    let open = open_within(files, path, most)?;
    open.take(most + 1).read_to_end(&mut bytes).map_err(RecordError::io("read it", path))?;
    if bytes.len() as u64 > most {
        return Err(too_long(path, bytes.len() as u64, most));
    }
    Ok(bytes)
}

/// Opens a file that has at most `most` bytes now.
pub(crate) fn open_within<F: Files>(
    files: &F,
    path: &Path,
    most: u64,
) -> Result<Box<dyn Read>, RecordError> {
    match files.stat(path) {
        Ok(stat) if stat.len > most => Err(too_long(path, stat.len, most)),
        // Opening it reports whatever else is wrong.
        _ => files.open(path).map_err(RecordError::io("open it", path)),
    }
}

fn too_long(path: &Path, len: u64, most: u64) -> RecordError {
    RecordError::damaged(path, format!("has {len} bytes, and such a file has at most {most}"))
}

/// A file's bytes, or `None` when there is no such file.
pub(crate) fn read_if<F: Files>(files: &F, path: &Path) -> Result<Option<Vec<u8>>, RecordError> {
    match read(files, path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file's text.
pub(crate) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, RecordError> {
    String::from_utf8(bytes).map_err(|e| RecordError::damaged(path, format!("is not text: {e}")))
}

/// Makes a file that must not exist and whose name is not durable until its directory is synced.
pub(crate) fn write_new<F: Files>(files: &F, path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let mut file = files.create_new(path).map_err(RecordError::io("create it", path))?;
    file.write_all(bytes).map_err(RecordError::io("write it", path))?;
    file.sync().map_err(RecordError::io("sync it", path))
}

/// Puts a whole file at `dir/name`, durably; whatever was there before stays until then.
pub(crate) fn replace<F: Files>(
    files: &F,
    dir: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<(), RecordError> {
    replace_with(files, dir, name, |write| write(bytes))
}

/// [`replace`] with a file that is made piece by piece: `make` hands the pieces to what it is given.
pub(crate) fn replace_with<F: Files, T>(
    files: &F,
    dir: &Path,
    name: &str,
    make: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), RecordError>) -> Result<T, RecordError>,
) -> Result<T, RecordError> {
    let part = dir.join(part(name));
    remove_if(files, &part)?;
    let written = write_pieces(files, &part, make)
        .and_then(|made| put(files, dir, &part, name).map(|()| made));
    if written.is_err() {
        // A leftover file is recognised by its name; the first error is the one to report.
        let _ = files.remove_file(&part);
    }
    written
}

fn write_pieces<F: Files, T>(
    files: &F,
    path: &Path,
    make: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), RecordError>) -> Result<T, RecordError>,
) -> Result<T, RecordError> {
    let file = files.create_new(path).map_err(RecordError::io("create it", path))?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let made = make(&mut |piece| out.write_all(piece).map_err(RecordError::io("write it", path)))?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error);
    let mut file = file.map_err(RecordError::io("write it", path))?;
    file.sync().map_err(RecordError::io("sync it", path))?;
    Ok(made)
}

/// Gives a whole, synced file its name, durably.
pub(crate) fn put<F: Files>(
    files: &F,
    dir: &Path,
    part: &Path,
    name: &str,
) -> Result<(), RecordError> {
    let path = dir.join(name);
    files.rename(part, &path).map_err(RecordError::io("give it its name", &path))?;
    files.sync_dir(dir).map_err(RecordError::io("sync it", dir))
}

/// The name under which a file is prepared.
pub(crate) fn part(name: &str) -> String {
    format!(".{name}{PART}")
}

/// Removes a file; true when there was one.
pub(crate) fn remove_if<F: Files>(files: &F, path: &Path) -> Result<bool, RecordError> {
    match files.remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(RecordError::io("remove it", path)(error)),
    }
}

/// Makes a directory and those above it, durably.
pub(crate) fn make_dirs<F: Files>(files: &F, dir: &Path) -> Result<(), RecordError> {
    match files.stat(dir) {
        Ok(stat) if stat.kind == Kind::File => {
            return Err(RecordError::io("create it", dir)(ErrorKind::NotADirectory.into()));
        }
        Ok(_) => return Ok(()),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(RecordError::io("look at it", dir)(error));
        }
        Err(_) => {}
    }
    let parent = dir.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(parent) = parent {
        make_dirs(files, parent)?;
    }
    match files.make_dir(dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(RecordError::io("create it", dir)(error));
        }
        _ => {}
    }
    let parent = parent.unwrap_or(Path::new("."));
    files.sync_dir(parent).map_err(RecordError::io("sync it", parent))
}

/// Files of a run, relative to its directory, sorted; nothing that is still being prepared.
pub(crate) fn inventory<F: Files>(files: &F, dir: &Path) -> Result<Vec<String>, RecordError> {
    let list = |dir: &Path| files.list(dir).map_err(RecordError::io("list it", dir));
    let mut names = Vec::new();
    for entry in list(dir)?.into_iter().filter(|e| !e.name.starts_with('.')) {
        if entry.kind != Kind::Dir {
            names.push(entry.name);
            continue;
        }
        let inside = list(&dir.join(&entry.name))?;
        let whole = inside.into_iter().filter(|e| !e.name.starts_with('.'));
        names.extend(whole.map(|e| format!("{}/{}", entry.name, e.name)));
    }
    names.sort();
    Ok(names)
}

/// Names in a runs directory that are runs', sorted, so oldest first; none when there is no directory.
pub(crate) fn ids<F: Files>(files: &F, dir: &Path) -> Result<Vec<RunId>, RecordError> {
    let entries = match files.list(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RecordError::io("list it", dir)(error)),
    };
    let dirs = entries.iter().filter(|e| e.kind == Kind::Dir);
    let mut ids: Vec<RunId> = dirs.filter_map(|e| e.name.parse().ok()).collect();
    ids.sort();
    Ok(ids)
}

/// Path at which a run is prepared before it has its name.
pub(crate) fn staging(dir: &Path, id: &RunId) -> PathBuf {
    dir.join(format!("{NEW}{id}"))
}
