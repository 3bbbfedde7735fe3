//! Unpacking runs, from files that may have been made to do harm.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use tar::{Archive, EntryType};

use crate::files::{Files, OutFile as _};
use crate::load::{Found, Run};
use crate::run::{lay_out, seal, write_derived};
use crate::store::{self, DOCUMENT, DOCUMENT_MAX, HISTOGRAMS, JOURNAL, SAMPLES, SERIES};
use crate::sums;
use crate::{RecordError, RunId, Runs, load, migrate, removal};

/// Runs of an imported archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Runs that are new here.
    pub added: Vec<RunId>,
    /// Runs that were here already, with the same content.
    pub skipped: Vec<RunId>,
}

/// Limits on the content of an archive: a small file can unpack to one that fills a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Runs.
    pub runs: usize,
    /// Files of all runs.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of one journal: every entry of it is read before the run is taken in. One of 10,000 steps has
    /// some 100 MiB.
    pub journal_bytes: u64,
    /// Bytes for each byte of the archive, beyond the first 64 MiB. Deflate reaches 1032; journals and
    /// samples some 20.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            runs: 10_000,
            files: 1_000_000,
            bytes: 256 << 30,
            journal_bytes: store::JOURNAL_MAX,
            ratio: 200,
        }
    }
}

/// Survey rows beside the runs, as scripts/field-trial puts them there.
const ROWS: &str = "rows.txt";

/// Unpacked content of a gzip archive, for a search for lines of text; other content is returned unchanged.
///
/// # Errors
/// When it is broken, or its content longer than `most` bytes.
pub fn unpacked(bytes: Vec<u8>, most: u64) -> io::Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let from: Box<dyn Read> = Box::new(io::Cursor::new(bytes));
    let mut content = Vec::new();
    GzDecoder::new(from).take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other(format!("unpacks to more than {most} bytes")));
    }
    Ok(content)
}

/// Bytes that an archive may unpack to whatever its own size.
const FREE_BYTES: u64 = 64 << 20;

impl<F: Files> Runs<F> {
    /// Unpacks an archive that [`Runs::export`] made, or takes in a document as `--json` printed it, when
    /// its form is one of `accepted`, such as `drivescope.mark/1`: not all that is printed in that way is
    /// a result. All of it or nothing: what cannot be read or checked leaves this directory as it was.
    ///
    /// # Errors
    /// [`RecordError::Archive`] says what is wrong; [`RecordError::Exists`] when a run of the same name
    /// has other content here.
    pub fn import(&self, path: &Path, accepted: &[&str]) -> Result<Imported, RecordError> {
        self.import_within(path, accepted, &Limits::default())
    }

    /// [`Runs::import`] with limits of the caller's choice.
    ///
    /// # Errors
    /// As there.
    pub fn import_within(
        &self,
        path: &Path,
        accepted: &[&str],
        limits: &Limits,
    ) -> Result<Imported, RecordError> {
        // Opened once: what a pipe has said is gone.
        let mut input = self.files.open_input(path).map_err(RecordError::io("open it", path))?;
        let mut magic = Vec::new();
        let begun = input.by_ref().take(2).read_to_end(&mut magic);
        begun.map_err(RecordError::io("read it", path))?;
        let is_archive = magic == [0x1f, 0x8b];
        let input: Box<dyn Read> = Box::new(io::Cursor::new(magic).chain(input));
        store::make_dirs(&self.files, &self.dir)?;
        let _changing = self.changing()?;
        removal::sweep(&self.files, &self.dir);
        let staged = if is_archive {
            self.unpack(path, input, limits)
        } else {
            self.take_document(path, input, accepted)
        };
        // Before anything gets its name, all of it is looked at.
        let placed =
            staged.and_then(|ids| self.look_over(path, &ids)).and_then(|all| self.place(all));
        removal::sweep(&self.files, &self.dir);
        placed
    }

    /// Unpacks to directories that are not runs yet.
    fn unpack(
        &self,
        path: &Path,
        from: Box<dyn Read>,
        limits: &Limits,
    ) -> Result<Vec<RunId>, RecordError> {
        let wrong = |what: String| RecordError::Archive { path: path.to_owned(), what };
        let size = self.files.stat(path).map_err(RecordError::io("look at it", path))?.len;
        let most = limits.bytes.min(FREE_BYTES.saturating_add(size.saturating_mul(limits.ratio)));
        // Headers and padding count, too: 1 KiB a file is more than they take.
        let headroom = most.saturating_add(limits.files as u64 * 1024);
        let mut archive = Archive::new(GzDecoder::new(from).take(headroom));
        let (mut runs, mut files, mut bytes) = (BTreeMap::new(), 0, 0);
        // Raw: a long-name or pax header would be read into memory, whatever its size, and a name in
        // it be taken for the next entry's.
        let entries = archive.entries().map_err(|e| wrong(format!("is not an archive: {e}")))?;
        for entry in entries.raw(true) {
            let mut entry = entry.map_err(|e| wrong(format!("is broken: {e}")))?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if name == ROWS {
                continue;
            }
            let place = place_of(entry.header().entry_type(), &name).map_err(wrong)?;
            let Some((id, inside)) = place else { continue };
            files += 1;
            bytes = entry.size().saturating_add(bytes);
            if files > limits.files || bytes > most {
                let what = format!("unpacks to more than {most} bytes in {} files", limits.files);
                return Err(wrong(what));
            }
            let most = most_of(&inside, limits);
            if entry.size() > most {
                return Err(wrong(format!(
                    "{name} has more than the {most} bytes that it may have"
                )));
            }
            if !runs.contains_key(&id) {
                if runs.len() == limits.runs {
                    return Err(wrong(format!("holds more than {} runs", limits.runs)));
                }
                runs.insert(id.clone(), self.stage(&id)?);
            }
            let staging = &runs[&id];
            self.unpack_file(&staging.join(&inside), &mut entry).map_err(|error| match error {
                Unpack::Read(error) => wrong(format!("{name} is broken: {error}")),
                Unpack::Twice => wrong(format!("{name} is there twice")),
                Unpack::Record(error) => error,
            })?;
        }
        // To its very end, where gzip has the checksum of all that was read.
        io::copy(&mut archive.into_inner(), &mut io::sink())
            .map_err(|e| wrong(format!("is broken: {e}")))?;
        if runs.is_empty() {
            return Err(wrong("holds no runs".to_owned()));
        }
        Ok(runs.into_keys().collect())
    }

    fn stage(&self, id: &RunId) -> Result<PathBuf, RecordError> {
        let staging = store::staging(&self.dir, id);
        for dir in [staging.clone(), staging.join(SAMPLES)] {
            self.files.make_dir(&dir).map_err(RecordError::io("create it", &dir))?;
        }
        Ok(staging)
    }

    fn unpack_file(&self, to: &Path, from: &mut impl Read) -> Result<(), Unpack> {
        let io = |action| move |source| RecordError::Io { action, path: to.to_owned(), source };
        let mut file = match self.files.create_new(to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Unpack::Twice);
            }
            other => other.map_err(io("create it"))?,
        };
        let mut buffer = vec![0; 256 << 10];
        loop {
            let n = from.read(&mut buffer).map_err(Unpack::Read)?;
            if n == 0 {
                break;
            }
            file.write_all(&buffer[..n]).map_err(io("write it"))?;
        }
        Ok(file.sync().map_err(io("sync it"))?)
    }

    /// Takes in a bare document: a record of version 0.
    fn take_document(
        &self,
        path: &Path,
        from: Box<dyn Read>,
        accepted: &[&str],
    ) -> Result<Vec<RunId>, RecordError> {
        let wrong = |what: String| RecordError::Archive { path: path.to_owned(), what };
        let mut bytes = Vec::new();
        let read = from.take(DOCUMENT_MAX + 1).read_to_end(&mut bytes);
        read.map_err(RecordError::io("read it", path))?;
        if bytes.len() as u64 > DOCUMENT_MAX {
            return Err(wrong(format!("is larger than {DOCUMENT_MAX} bytes, and no archive")));
        }
        if bytes.is_empty() {
            return Err(wrong("is empty".to_owned()));
        }
        let document: Value = serde_json::from_slice(&bytes).map_err(|_| {
            wrong(
                "is neither an archive of runs nor a whole document as --json prints it".to_owned(),
            )
        })?;
        let Some(schema) = document["envelope"]["schema"].as_str() else {
            let lacks = match document["envelope"].is_object() {
                true => "its envelope names no schema",
                false => "it has no envelope",
            };
            return Err(wrong(format!("is JSON, but nothing that drivescope printed: {lacks}")));
        };
        accept(schema, accepted).map_err(wrong)?;
        let whole = load::whole(path, migrate::migrate(document, 0))
            .map_err(|e| wrong(format!("is not a document of drivescope: {e}")))?;
        let staging = store::staging(&self.dir, &whole.record.run_id);
        lay_out(&self.files, &staging, &whole.record, &whole.envelope, &whole.plan, &whole.setup)?;
        write_derived(&self.files, &staging, &whole.envelope)?;
        if let Some(end) = &whole.end {
            seal(&self.files, &staging, &bytes, end)?;
        }
        Ok(vec![whole.record.run_id])
    }

    /// Reads the unpacked runs, and reports which of them are new here.
    fn look_over(&self, path: &Path, ids: &[RunId]) -> Result<Imported, RecordError> {
        let wrong = |id: &RunId, what: String| RecordError::Archive {
            path: path.to_owned(),
            what: format!("run {id} in it: {what}"),
        };
        let mut imported = Imported::default();
        for id in ids {
            let staging = store::staging(&self.dir, id);
            let found = load::look_over(&self.files, &staging, id);
            let Found { run, sums, .. } = found.map_err(|e| wrong(id, e.to_string()))?;
            if run.samples_format.is_none() {
                // Made for every run before it was known whether this one has samples.
                let _ = self.files.remove_dir(&staging.join(SAMPLES));
            }
            self.check(&run, sums.as_ref()).map_err(|error| match error {
                RecordError::Altered { files, .. } => {
                    wrong(id, format!("was altered: {}", files.join(", ")))
                }
                other => other,
            })?;
            let here = self.path(id);
            if self.files.stat(&here).is_err() {
                imported.added.push(id.clone());
            } else if self.is_same(&here, &run)? {
                imported.skipped.push(id.clone());
            } else {
                return Err(RecordError::Exists { dir: here });
            }
        }
        Ok(imported)
    }

    /// True when the directory `here` holds the run that was unpacked. A bare document is the same run
    /// as one that has it.
    fn is_same(&self, here: &Path, unpacked: &Run) -> Result<bool, RecordError> {
        if !unpacked.is_bare() {
            let own = |dir| {
                let mut sums = sums::of_dir(&self.files, dir)?;
                if !unpacked.is_ended() {
                    // Of a run that was killed, these are made when it is packed.
                    sums.retain(|name, _| name != SERIES && name != HISTOGRAMS);
                }
                Ok::<_, RecordError>(sums)
            };
            return Ok(own(here)? == own(&unpacked.dir)?);
        }
        let path = here.join(DOCUMENT);
        let bytes = store::read_if(&self.files, &path)?;
        let document = bytes.map(|bytes| load::json_of(&path, &bytes)).transpose()?;
        Ok(document == unpacked.document)
    }

    /// Gives the new runs their names.
    fn place(&self, imported: Imported) -> Result<Imported, RecordError> {
        for id in &imported.added {
            let (staging, path) = (store::staging(&self.dir, id), self.path(id));
            for dir in [staging.join(SAMPLES), staging.clone()] {
                match self.files.sync_dir(&dir) {
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                    other => other.map_err(RecordError::io("sync it", &dir))?,
                }
            }
            let named = self.files.rename(&staging, &path);
            named.map_err(RecordError::io("give it its name", &path))?;
        }
        self.files.sync_dir(&self.dir).map_err(RecordError::io("sync it", &self.dir))?;
        Ok(imported)
    }
}

/// How long a file of a run may be. What is never read in whole has no limit of its own.
fn most_of(inside: &Path, limits: &Limits) -> u64 {
    let is = |name: &str| inside == Path::new(name);
    if is(JOURNAL) {
        limits.journal_bytes
    } else if is(SERIES) || is(HISTOGRAMS) || inside.starts_with(SAMPLES) {
        u64::MAX
    } else {
        DOCUMENT_MAX
    }
}

/// Refuses a document whose form is not one of `accepted`, and says what to do about it.
fn accept(schema: &str, accepted: &[&str]) -> Result<(), String> {
    if accepted.contains(&schema) {
        return Ok(());
    }
    let version = |schema: &str| {
        let (name, version) = schema.rsplit_once('/')?;
        Some((name.to_owned(), version.parse::<u32>().ok()?))
    };
    let is_newer = |than: &&str| match (version(schema), version(than)) {
        (Some((name, n)), Some((known, newest))) => name == known && n > newest,
        _ => false,
    };
    let shown: String = schema.chars().take(100).collect();
    let known = accepted.join(", ");
    Err(if accepted.iter().any(is_newer) {
        format!(
            "is a document of form {shown:?}, which a newer drivescope printed than this one, that reads \
             {known}: import it with that one"
        )
    } else {
        format!("is a document of form {shown:?}, which describes no run; those of form {known} do")
    })
}

/// Why a file of an archive was not unpacked.
enum Unpack {
    /// The archive's fault.
    Read(io::Error),
    /// The archive has two of this name.
    Twice,
    /// This machine's fault.
    Record(RecordError),
}

impl From<RecordError> for Unpack {
    fn from(error: RecordError) -> Unpack {
        Unpack::Record(error)
    }
}

/// The run that an entry belongs to and its path in the run's directory; `None` for a directory, which
/// is made when a file needs it. Only what an export writes is let in: `ID/NAME` and `ID/samples/NAME`,
/// with names of letters, digits and `._-` that do not begin with a dot.
fn place_of(kind: EntryType, name: &str) -> Result<Option<(RunId, PathBuf)>, String> {
    let shown: String = name.chars().take(100).collect();
    match kind {
        EntryType::Regular | EntryType::Continuous => {}
        EntryType::Directory => return Ok(None),
        EntryType::XHeader | EntryType::XGlobalHeader | EntryType::GNULongName => {
            return Err(format!("{shown:?} has a header of pax or GNU; pack with --format=ustar"));
        }
        other => return Err(format!("{shown:?} is not a regular file but {other:?}")),
    }
    let outside = || format!("{shown:?} is not a file of a run");
    let mut parts = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str().ok_or_else(outside)?),
            Component::CurDir => {}
            _ => return Err(outside()),
        }
    }
    let plain = |part: &str| {
        let odd = |c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c);
        !part.starts_with('.') && !part.contains(odd)
    };
    let (id, inside) = match parts.as_slice() {
        [id, file] if plain(file) && *file != SAMPLES => (id, PathBuf::from(file)),
        [id, dir, file] if *dir == SAMPLES && plain(file) => (id, Path::new(dir).join(file)),
        _ => return Err(outside()),
    };
    Ok(Some((id.parse().map_err(|_| outside())?, inside)))
}
