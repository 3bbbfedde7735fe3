//! Original data of `probe capacity`: where it is saved while the drive holds stamps in its place, and what is said of
//! data that a process which was killed has not put back.

use std::fs::{DirBuilder, symlink_metadata};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use block::{Bytes, DriveIdentity, Medium, Stack};
use documents::Decode as _;
use linux::signals::{Protected, protect};
use linux::sysfs::Roots;
use linux::target::{OpenOptions, RealTarget};
use probe::capacity::Kept;
use record::{Guarded, ORIGINALS, Originals, RunId, Vault};
use runner::exit::Refused;
use runner::{messages, place};

use crate::consent;

/// In a runs directory, or in one that the user names.
const FOLDER: &str = ".originals";

/// Directories that are this user's own, for when the runs directory will not do.
fn own() -> Vec<PathBuf> {
    let path = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")));
    let user = rustix::process::geteuid().as_raw();
    let shared = [Some(PathBuf::from("/var/tmp")), path("TMPDIR")].into_iter().flatten();
    let shared = shared.map(|dir| dir.join(format!("drivescope-originals-{user}")));
    cache.map(|cache| cache.join("drivescope/originals")).into_iter().chain(shared).collect()
}

/// Everywhere that original data or a description of it may be, most likely first.
fn dirs(runs_dir: Option<&Path>) -> Vec<PathBuf> {
    let of = |named| place::runs(named).ok().map(|runs| absolute(runs.dir()));
    let runs = [of(runs_dir), of(None)].into_iter().flatten();
    let mut dirs: Vec<PathBuf> = Vec::new();
    for dir in runs.map(|runs| runs.join(FOLDER)).chain(own().into_iter().filter(|dir| is_own(dir)))
    {
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    dirs
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// False where somebody else could have put something.
fn is_own(dir: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    symlink_metadata(dir).is_ok_and(|meta| meta.is_dir() && meta.uid() == user)
}

/// Original data that is still to be put back, newest first.
pub fn pending(runs_dir: Option<&Path>) -> Vec<Originals> {
    let mut all: Vec<Originals> = Vec::new();
    for vault in dirs(runs_dir).into_iter().map(Vault::at) {
        for originals in vault.list() {
            let is_known = all.iter().any(|known| known.run_id == originals.run_id);
            if !is_known && !vault.is_live(&originals) {
                all.push(originals);
            }
        }
    }
    all.sort_by(|one, other| other.run_id.cmp(&one.run_id));
    all
}

/// The original data that is still to be put back on this drive.
fn pending_on(identity: &DriveIdentity, runs_dir: Option<&Path>) -> Vec<Originals> {
    let is_of = |originals: &Originals| {
        DriveIdentity::decode(originals.drive.clone())
            .is_ok_and(|drive| drive.difference(identity).is_none())
    };
    pending(runs_dir).into_iter().filter(is_of).collect()
}

/// The original data that is meant by `name`: the id of its run, the beginning of one, `last`, or a description's path.
///
/// # Errors
/// When there is none, or more than one.
pub fn find(name: &str, runs_dir: Option<&Path>) -> Result<Originals> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(Vault::at(absolute(path.parent().unwrap_or(Path::new(".")))).read(path)?);
    }
    let mut all = pending(runs_dir);
    let ids = all.iter().map(|one| one.run_id.to_string()).collect::<Vec<_>>().join(", ");
    all.retain(|one| name == "last" || !name.is_empty() && one.run_id.as_str().starts_with(name));
    match all.len() {
        0 if ids.is_empty() => {
            bail!("{name}: no run has original data that is still to be put back")
        }
        0 => bail!("{name}: has no original data that is still to be put back; {ids} has"),
        1 => Ok(all.remove(0)),
        _ if name == "last" => Ok(all.remove(0)),
        _ => bail!("{name}: could be any of {ids}; give more of the name"),
    }
}

/// Runs whose original data was reported, so that a command does it only once.
static REPORTED: Mutex<Vec<RunId>> = Mutex::new(Vec::new());

/// Reports `id` no more; false when it was reported before.
pub fn hush(id: &RunId) -> bool {
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_new = !reported.contains(id);
    reported.push(id.clone());
    is_new
}

/// Says which original data is still to be put back on a drive that a command names.
pub fn note_pending(identity: &DriveIdentity) {
    for originals in pending_on(identity, None) {
        if hush(&originals.run_id) {
            let name = &identity.name;
            messages::note(&format!("{name}: {}", in_words(&originals, name)));
        }
    }
}

/// As [`note_pending`], of a device or file that is not open yet.
pub fn note_pending_at(path: &Path) {
    if pending(None).is_empty() {
        return;
    }
    let roots = Roots::default();
    let Ok(stack) = linux::stack::resolve(&roots, path) else { return };
    // The command itself reports a target that cannot be opened.
    let Ok(mut target) = RealTarget::open(path, OpenOptions::default()) else { return };
    target.describe(|info| linux::describe::describe(&roots, &stack, info));
    note_pending(&linux::describe::identify(&roots, &stack, path, target.info()));
}

/// Refuses to overwrite stamps as if they were original data.
///
/// # Errors
/// [`Refused`], with the command that puts the data back.
pub fn refuse(identity: &DriveIdentity, runs_dir: Option<&Path>) -> Result<()> {
    match pending_on(identity, runs_dir).first() {
        None => Ok(()),
        Some(first) => {
            let (name, id) = (&identity.name, &first.run_id);
            Err(Refused(format!(
                "{name}: the original data that run {id} has left to be put back comes first: {}",
                command(first, name)
            ))
            .into())
        }
    }
}

/// Message about data that is to be put back, with the command for it.
pub fn in_words(originals: &Originals, name: &str) -> String {
    format!(
        "probe run {} was killed before it had put back {} of original data, which is saved in {}; put it back: {}",
        originals.run_id,
        Bytes(originals.bytes()).about(),
        originals.data.display(),
        command(originals, name)
    )
}

/// The command that puts it back.
fn command(originals: &Originals, name: &str) -> String {
    let (id, flags) = (&originals.run_id, consent::flags_for(name));
    format!("drivescope probe --restore {id} {} {flags}", block::quoted(name))
}

/// The saved original data of one probe run.
pub struct Saving {
    /// `None` where the user agreed that it is kept in memory only.
    dir: Option<PathBuf>,
    /// Directory in which commands that do not know `dir` find descriptions.
    known: Option<PathBuf>,
    /// All but salt and places.
    of: Originals,
    saved: Option<Guarded>,
    protected: Option<Protected>,
}

impl Saving {
    /// Saves what run `run_id` overwrites on the drive `identity` in `dir`.
    ///
    /// # Errors
    /// When the drive cannot be described.
    pub fn new(dir: Option<PathBuf>, run_id: &RunId, identity: &DriveIdentity) -> Result<Saving> {
        let known = place::runs(None).ok();
        let known = known.map(|runs| absolute(runs.dir()).join(FOLDER));
        let of = Originals {
            schema: ORIGINALS.to_owned(),
            run_id: run_id.clone(),
            target: identity.name.clone(),
            drive: serde_json::to_value(identity)?,
            salt: 0,
            places: Vec::new(),
            data: PathBuf::new(),
            sha256: String::new(),
        };
        let known = known.filter(|known| Some(known) != dir.as_ref());
        Ok(Saving { dir, known, of, saved: None, protected: None })
    }

    /// Saves what is about to be overwritten; from then on no signal ends the process until it is put back.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn secure(&mut self, salt: u64, kept: &Kept) -> Result<(), String> {
        if let Some(saved) = &self.saved {
            return Err(format!(
                "that of an earlier trial could not be put back, and is in {}",
                saved.originals.data.display()
            ));
        }
        if let Some(dir) = &self.dir {
            let originals = Originals { salt, places: kept.places().collect(), ..self.of.clone() };
            let saved = Vault::at(dir).save(originals, &mut kept.pieces());
            let saved = saved.map_err(|error| error.to_string())?;
            if let Some(known) = &self.known
                && make(known).is_ok()
            {
                // A convenience: the data itself is safe.
                let _ = Vault::at(known).describe(&saved.originals);
            }
            self.saved = Some(saved);
        }
        self.protected = Some(protect("putting the original data back"));
        Ok(())
    }

    /// The data is on the drive again, unless some of it could not be written.
    pub fn restored(&mut self, is_whole: bool) {
        self.protected = None;
        let Some(saved) = self.saved.take_if(|_| is_whole) else { return };
        let known =
            self.known.as_ref().map_or(Ok(()), |dir| Vault::at(dir).discard(&saved.originals));
        if let Err(error) = saved.discard().and(known) {
            messages::note(&format!("the original data was put back, and its copy stays: {error}"));
        }
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        if let Some(saved) = &self.saved {
            let (name, data) = (&self.of.target, saved.originals.data.display());
            messages::note(&format!(
                "{name}: not all of its original data could be put back; it is saved in {data}; when the drive works \
                 again: {}",
                command(&saved.originals, name)
            ));
        }
    }
}

/// Removes original data that was put back, and every description of it.
///
/// # Errors
/// The answer of a file operation.
pub fn discard(originals: &Originals, runs_dir: Option<&Path>) -> Result<()> {
    let beside = originals.data.parent().map(Path::to_path_buf);
    for dir in beside.into_iter().chain(dirs(runs_dir)) {
        Vault::at(dir).discard(originals)?;
    }
    Ok(())
}

/// Makes a directory that only this user can look into.
fn make(dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Chooses where up to `most` of original data of `target` is saved, before anything is overwritten: in the directory that
/// the user named, in the runs directory, or in another of the user's own where that lies on the drive itself. `None` when
/// there is none and the user agreed to go on.
///
/// # Errors
/// When the directory that the user named will not do, and [`Refused`].
pub fn choose(
    named: Option<&Path>,
    runs_dir: Option<&Path>,
    target: &str,
    most: Bytes,
) -> Result<Option<PathBuf>> {
    let drive = devices(&linux::stack::resolve(&Roots::default(), Path::new(target))?);
    if let Some(dir) = named {
        let dir = absolute(dir).join(FOLDER);
        let said = || format!("--keep-originals {}: cannot be used", dir.display());
        fits(&dir, &drive, most).map_err(anyhow::Error::msg).with_context(said)?;
        return Ok(Some(dir));
    }
    let runs = place::runs(runs_dir).ok().map(|runs| absolute(runs.dir()).join(FOLDER));
    let why = match runs.as_ref().map(|dir| (dir, fits(dir, &drive, most))) {
        Some((dir, Ok(_))) => return Ok(Some(dir.clone())),
        Some((dir, Err(why))) => format!("{}: {why}", dir.display()),
        None => "no runs directory is known".to_owned(),
    };
    // Memory does not outlive a power cut: a place elsewhere has to.
    let is_other = |dir: &PathBuf| fits(dir, &drive, most) == Ok(true) && is_own(dir);
    if let Some(dir) = own().into_iter().find(is_other) {
        messages::note(&format!("{why}; the original data is kept in {}", dir.display()));
        return Ok(Some(dir));
    }
    if !consent::at_terminal() {
        return Err(Refused(format!(
            "{target}: no place for its original data can be written: {why}\n    hint: name a directory on another drive \
             with --keep-originals DIR, or add --destructive if what it holds may be lost"
        ))
        .into());
    }
    messages::note(&format!("{why}, and no other filesystem can be written"));
    match messages::ask(&format!(
        "Without a saved copy, what {target} holds is lost if this is killed or the power fails. Go on? [y/N] "
    ))? {
        true => Ok(None),
        false => Err(Refused(format!("{target}: nothing was written")).into()),
    }
}

/// Whether original data can be saved in `dir`: true when that is not in memory.
fn fits(dir: &Path, drive: &[String], most: Bytes) -> Result<bool, String> {
    let there = dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"));
    let stack = linux::stack::resolve(&Roots::default(), there).map_err(|e| e.to_string())?;
    if stack.layers.iter().any(|layer| drive.contains(&layer.name)) {
        return Err("lies on the drive that is probed".to_owned());
    }
    make(dir).map_err(|error| format!("cannot be made: {error}"))?;
    linux::scratch::may_create(dir).map_err(|error| error.to_string())?;
    linux::scratch::check_space(dir, most)
        .map_err(|_| format!("has no room for {}", most.human()))?;
    Ok(stack.leaves.iter().all(|leaf| leaf.medium != Medium::Ram))
}

/// The devices that a target is or lies on as a device. What holds the file under a loop device is another drive, and so
/// is what holds a file that is probed: only the file is overwritten.
fn devices(stack: &Stack) -> Vec<String> {
    let (mut names, mut next) = (Vec::new(), vec![0]);
    while let Some(layer) = next.pop().and_then(|at| stack.layers.get(at)) {
        if layer.kind == "file" {
            continue;
        }
        names.push(layer.name.clone());
        if layer.kind != "loop" {
            next.extend(&layer.below);
        }
    }
    names
}
