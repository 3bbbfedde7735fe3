//! The index: what a list of runs shows, in an SQLite file that may be lost at any time.
//!
//! It is read and written whole, through the record's own file operations, and held in memory in
//! between: SQLite never locks nor journals a file of its own. That was chosen over a database that is
//! open on disk because runs directories lie on network filesystems, where its locks are not to be
//! trusted, and because like this two processes see an old index or a new one and nothing else. What one
//! of them overwrites, the next list finds missing and reads again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use block::Bytes;
use rusqlite::{Connection, MAIN_DB, params};
use serde::Serialize;

use crate::files::Files;
use crate::load::{self, End};
use crate::store::{self, DIRECTORY_LOCK, END, ENVELOPE, INDEX, JOURNAL, RECORD, SUMS};
use crate::{RecordError, RunId, State, age, journal};

/// Version of the table's form; an index of another version is rebuilt.
const USER_VERSION: i32 = 2;

const TABLE: &str = "CREATE TABLE runs (
    id TEXT PRIMARY KEY, date TEXT NOT NULL, verb TEXT NOT NULL, target TEXT NOT NULL,
    drive TEXT NOT NULL, host TEXT NOT NULL, kernel TEXT NOT NULL, version TEXT NOT NULL,
    state TEXT NOT NULL, steps_done INTEGER NOT NULL, steps_known INTEGER, headline TEXT NOT NULL,
    bytes INTEGER NOT NULL, stamp TEXT NOT NULL, begun_ns INTEGER
) STRICT";

/// One run in a list of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name.
    pub id: RunId,
    /// RFC 3339, UTC.
    pub date: String,
    /// The verb that the user called.
    pub verb: String,
    /// The target as the user named it.
    pub target: String,
    /// The drive, in a few words.
    pub drive: String,
    /// Name of the machine.
    pub host: String,
    /// Its kernel's release.
    pub kernel: String,
    /// Version of drivescope.
    pub version: String,
    /// How it ended, if it did.
    pub state: State,
    /// True while a process is writing it; a running run that is not live was killed.
    pub live: bool,
    /// Steps in its journal.
    pub steps_done: u32,
    /// Positions in its schedule, as far as known.
    pub steps_known: Option<u32>,
    /// The result, in one line.
    pub headline: String,
    /// Size on disk.
    pub bytes: Bytes,
}

/// All runs of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Newest first.
    pub runs: Vec<Row>,
    /// Runs that cannot be read, with the reason; newest first.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Index entry of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    row: Row,
    /// When it began: what sorts runs of one second.
    begun_ns: Option<i64>,
    /// The stamp of the files that this was made from.
    stamp: String,
}

impl Kept {
    /// Size of the run's files on disk.
    pub(crate) fn bytes(&self) -> Bytes {
        self.row.bytes
    }
}

/// Brings the index up to date and returns its content.
pub(crate) fn list<F: Files>(files: &F, dir: &Path) -> Result<Listing, RecordError> {
    let known = read(files, dir).unwrap_or_default();
    let (rows, listing) = gather(files, dir, &known)?;
    if rows != known {
        // A directory that cannot be written, or that another process is changing, is listed as well.
        let lock = files.lock(&dir.join(DIRECTORY_LOCK), true);
        if let Ok(Some(_changing)) = lock {
            let _ = write(files, dir, &rows);
        }
    }
    Ok(listing)
}

/// Rebuilds the index. The caller holds the directory's lock.
pub(crate) fn rebuild<F: Files>(files: &F, dir: &Path) -> Result<usize, RecordError> {
    let (rows, _) = gather(files, dir, &BTreeMap::new())?;
    write(files, dir, &rows)?;
    Ok(rows.len())
}

/// Puts one run in the index.
pub(crate) fn note<F: Files>(files: &F, dir: &Path, kept: Kept) -> Result<(), RecordError> {
    let _changing = store::lock_directory(files, dir)?;
    let mut rows = read(files, dir).unwrap_or_default();
    rows.insert(kept.row.id.clone(), kept);
    write(files, dir, &rows)
}

/// Takes one run out of the index. The caller holds the directory's lock.
pub(crate) fn forget<F: Files>(files: &F, dir: &Path, id: &RunId) -> Result<(), RecordError> {
    let Some(mut rows) = read(files, dir) else { return Ok(()) };
    if rows.remove(id).is_some() { write(files, dir, &rows) } else { Ok(()) }
}

/// True when a process is writing the run in `dir`.
pub(crate) fn is_live<F: Files>(files: &F, dir: &Path) -> bool {
    matches!(files.lock(&dir.join(RECORD), false), Ok(None))
}

/// Rows for all runs: those of `known` whose files are as they were, and others read from their
/// directories.
fn gather<F: Files>(
    files: &F,
    dir: &Path,
    known: &BTreeMap<RunId, Kept>,
) -> Result<(BTreeMap<RunId, Kept>, Listing), RecordError> {
    let mut rows = BTreeMap::new();
    let mut listing = Listing::default();
    let ids = store::ids(files, dir)?;
    for id in ids.iter().rev().cloned() {
        let path = dir.join(id.as_str());
        let cached = known.get(&id).filter(|kept| kept.stamp == stamp_of(files, &path));
        let kept = match cached {
            Some(kept) => Ok(kept.clone()),
            None => read_row(files, &path, &id),
        };
        match kept {
            Ok(kept) => {
                rows.insert(id, kept);
            }
            // Not damaged but removed since the directory was listed.
            Err(_) if files.stat(&path).is_err() => {}
            Err(error) => listing.unreadable.push((path, error.to_string())),
        }
    }
    let begun_ns = |id: &RunId| rows.get(id).and_then(|kept| kept.begun_ns);
    let newest: Vec<RunId> = age::newest_by(files, dir, &ids, begun_ns).collect();
    let kept = newest.iter().filter_map(|id| rows.get(id));
    listing.runs = kept.map(|kept| live(files, dir, &kept.row)).collect();
    Ok((rows, listing))
}

/// A row with what cannot be kept: whether somebody is writing the run now.
fn live<F: Files>(files: &F, dir: &Path, row: &Row) -> Row {
    let live = row.state == State::Running && is_live(files, &dir.join(row.id.as_str()));
    Row { live, ..row.clone() }
}

/// Reads the index entry of a run from its directory.
pub(crate) fn read_row<F: Files>(files: &F, dir: &Path, id: &RunId) -> Result<Kept, RecordError> {
    load::settled(files, dir, |end| row(files, dir, id, end))
}

fn row<F: Files>(
    files: &F,
    dir: &Path,
    id: &RunId,
    end: Option<&[u8]>,
) -> Result<Kept, RecordError> {
    // Before the files are read: what changes meanwhile then has another stamp the next time.
    let stamp = stamp_of(files, dir);
    let whole = load::front(files, dir, id, end)?;
    let steps_done = steps_done(files, dir, whole.end.as_ref())?;
    let mut bytes = 0;
    for name in store::inventory(files, dir)? {
        bytes += files.stat(&dir.join(name)).map_or(0, |stat| stat.len);
    }
    let (state, steps_known) = load::told(&whole.record, whole.end.as_ref());
    let summary = load::summary(&whole.setup, whole.end.as_ref());
    let row = Row {
        id: whole.record.run_id,
        date: whole.envelope.date,
        verb: summary.verb,
        target: summary.target,
        drive: summary.drive,
        host: whole.envelope.host.name,
        kernel: whole.envelope.host.kernel,
        version: whole.envelope.version,
        state,
        live: false,
        steps_done,
        steps_known,
        headline: summary.headline,
        bytes: Bytes(bytes),
    };
    Ok(Kept { row, begun_ns: whole.record.begun_ns, stamp })
}

/// Steps in a run's journal: as its end has it, when the journal is as long as it was then, so that a list
/// of long runs reads none of them. What was changed without a change of length, `verify` finds.
fn steps_done<F: Files>(files: &F, dir: &Path, end: Option<&End>) -> Result<u32, RecordError> {
    let path = dir.join(JOURNAL);
    if let Some(End { journal_bytes: Some(then), steps_done: Some(steps), .. }) = end {
        let now = files.stat(&path).map_err(RecordError::io("look at it", &path))?.len;
        if now == *then {
            return Ok(*steps);
        }
        let what = format!("has {now} bytes, and the run ended with {then}");
        return Err(RecordError::damaged(&path, what));
    }
    let count = journal::count(files, &path)?;
    match end {
        Some(end) if end.entries != count.entries => {
            let (now, then) = (count.entries, end.entries);
            let what = format!("has {now} whole lines, and the run ended with {then}");
            Err(RecordError::damaged(&path, what))
        }
        _ => Ok(count.steps),
    }
}

/// Lengths and dates of the files that a row is made from: cheap, and other when one was written.
fn stamp_of<F: Files>(files: &F, dir: &Path) -> String {
    let stamp = |name: &str| match files.stat(&dir.join(name)) {
        Ok(stat) => format!("{}@{}", stat.len, stat.modified_ns),
        Err(_) => "-".to_owned(),
    };
    [RECORD, ENVELOPE, JOURNAL, END, SUMS].map(stamp).join(" ")
}

/// The index as it is on disk; `None` for whatever reason it cannot be used.
fn read<F: Files>(files: &F, dir: &Path) -> Option<BTreeMap<RunId, Kept>> {
    let bytes = store::read(files, &dir.join(INDEX)).ok()?;
    decode(&bytes).ok().flatten()
}

fn decode(bytes: &[u8]) -> rusqlite::Result<Option<BTreeMap<RunId, Kept>>> {
    let mut db = Connection::open_in_memory()?;
    db.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
    let version: i32 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let sound: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if version != USER_VERSION || sound != "ok" {
        return Ok(None);
    }
    let mut statement = db.prepare(
        "SELECT id, date, verb, target, drive, host, kernel, version, state, steps_done,
                steps_known, headline, bytes, stamp, begun_ns FROM runs",
    )?;
    let rows = statement.query_map([], |from| {
        let Some(row) = decode_row(from)? else { return Ok(None) };
        Ok(Some(Kept { row, stamp: from.get(13)?, begun_ns: from.get(14)? }))
    })?;
    rows.map(|kept| Ok(kept?.map(|kept| (kept.row.id.clone(), kept)))).collect()
}

/// A row; `None` when it says what no index of ours says.
fn decode_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Row>> {
    let Ok(id) = row.get::<_, String>(0)?.parse() else { return Ok(None) };
    let Some(state) = state_of(&row.get::<_, String>(8)?) else { return Ok(None) };
    Ok(Some(Row {
        id,
        date: row.get(1)?,
        verb: row.get(2)?,
        target: row.get(3)?,
        drive: row.get(4)?,
        host: row.get(5)?,
        kernel: row.get(6)?,
        version: row.get(7)?,
        state,
        live: false,
        steps_done: row.get(9)?,
        steps_known: row.get(10)?,
        headline: row.get(11)?,
        bytes: Bytes(row.get::<_, i64>(12)?.unsigned_abs()),
    }))
}

fn state_of(word: &str) -> Option<State> {
    let all = [State::Running, State::Interrupted, State::Broken, State::Finished];
    all.into_iter().find(|state| state.word() == word)
}

fn write<F: Files>(files: &F, dir: &Path, rows: &BTreeMap<RunId, Kept>) -> Result<(), RecordError> {
    let bytes = encode(rows).map_err(|error| {
        RecordError::damaged(&dir.join(INDEX), format!("cannot be made by SQLite: {error}"))
    })?;
    store::replace(files, dir, INDEX, &bytes)
}

fn encode(rows: &BTreeMap<RunId, Kept>) -> rusqlite::Result<Vec<u8>> {
    let mut db = Connection::open_in_memory()?;
    let transaction = db.transaction()?;
    transaction.execute_batch(TABLE)?;
    transaction.pragma_update(None, "user_version", USER_VERSION)?;
    {
        let mut insert = transaction.prepare(
            "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?;
        for Kept { row, begun_ns, stamp } in rows.values() {
            insert.execute(params![
                row.id.as_str(),
                row.date,
                row.verb,
                row.target,
                row.drive,
                row.host,
                row.kernel,
                row.version,
                row.state.word(),
                row.steps_done,
                row.steps_known,
                row.headline,
                row.bytes.0.cast_signed(),
                stamp,
                begun_ns
            ])?;
        }
    }
    transaction.commit()?;
    Ok(db.serialize(MAIN_DB)?.to_vec())
}
