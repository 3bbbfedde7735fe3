//! Runs command lines and stores what came of each: a directory a line, with files `command`, `code`, `stdout` and
//! `stderr`, and below `files` those that it made or changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::inputs;
use super::list::Group;
use super::masks::{self, Masks};
use crate::stop;
use crate::threads::on_threads;

/// Names under which the program is called.
const NAMES: [&str; 3] = ["drivescope", "flashbench", "diskspd"];
/// Longest time that a line may take, in seconds: it guards against waiting for ever.
const PATIENCE_S: &str = "120";

/// The directory in which lines run, which goes with this value. Its name is of one length, since texts are wrapped by
/// their length.
struct Work(PathBuf);

impl Work {
    fn new() -> Result<Work> {
        let dir = std::env::temp_dir();
        let dir = fs::canonicalize(&dir).with_context(|| format!("{}", dir.display()))?;
        let dir = dir.join(format!("drivescope-outputs-{:010}", std::process::id()));
        fs::create_dir(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        Ok(Work(dir))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Places of one group.
struct Place {
    dir: PathBuf,
    bin: PathBuf,
}

/// Parts of a group's directory whose files are compared: where lines run, and where they record.
const WATCHED: [&str; 3] = ["cwd", "runs", "home"];

/// Records all lines of `groups` over `binary` in the directory `to`, `jobs` groups at a time, and gives how long each
/// line took.
///
/// # Errors
/// When there is no such binary, a line cannot be started, or what came of it cannot be stored.
pub fn all(
    groups: &[Group],
    binary: &Path,
    to: &Path,
    jobs: usize,
) -> Result<Vec<(String, Duration)>> {
    let binary = fs::canonicalize(binary).with_context(|| format!("{}", binary.display()))?;
    let work = Work::new()?;
    let bin = work.0.join("bin");
    fs::create_dir(&bin)?;
    for name in NAMES {
        symlink(&binary, bin.join(name))?;
    }
    let masks = Masks::of(&binary, &work.0)?;
    replace(to)?;
    let stop = stop::stop_flag()?;
    let times = on_threads(jobs.max(1), groups.len(), &stop, |at| {
        let group = &groups[at];
        let place = Place { dir: work.0.join(&group.name), bin: bin.clone() };
        one_group(group, &place, &masks, &to.join(&group.name))
            .with_context(|| format!("[{}]", group.name))
    })?;
    Ok(times.into_iter().flatten().collect())
}

/// Makes the directory `to`, without records of before.
fn replace(to: &Path) -> Result<()> {
    if let Ok(mut entries) = fs::read_dir(to) {
        let is_of_records = |dir: &Path| dir.join("000").join("command").is_file();
        if !entries.all(|entry| entry.is_ok_and(|entry| is_of_records(&entry.path()))) {
            bail!("{}: holds other things than records; name another directory", to.display());
        }
    }
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{}", to.display()))
        }
        _ => fs::create_dir_all(to).with_context(|| format!("{}", to.display())),
    }
}

fn one_group(
    group: &Group,
    place: &Place,
    masks: &Masks,
    to: &Path,
) -> Result<Vec<(String, Duration)>> {
    for part in ["cwd", "runs", "home", "tmp"] {
        fs::create_dir_all(place.dir.join(part))?;
    }
    inputs::write(&place.dir.join("cwd"))?;
    let mut times = Vec::new();
    let mut before = listing(&place.dir)?;
    for (at, line) in group.lines.iter().enumerate() {
        wait_for_another_second(&place.dir.join("runs"));
        let began = Instant::now();
        let output = place.command(line).output().context("cannot start timeout(1)")?;
        times.push((line.clone(), began.elapsed()));
        let now = listing(&place.dir)?;
        let mut files = changed(&before, &now, &place.dir, masks)?;
        before = now;
        let code = output.status.code().map_or("signal".to_owned(), |code| code.to_string());
        files.insert("command".to_owned(), format!("{line}\n").into());
        files.insert("code".to_owned(), format!("{code}\n").into());
        files.insert("stdout".to_owned(), stored(masks, "stdout", output.stdout));
        files.insert("stderr".to_owned(), stored(masks, "stderr", output.stderr));
        let to = to.join(format!("{at:03}"));
        for (name, bytes) in files {
            let path = to.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&to))?;
            fs::write(&path, bytes).with_context(|| format!("{}", path.display()))?;
        }
    }
    Ok(times)
}

impl Place {
    /// A line of shell, with nothing of this machine's around it.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", PATIENCE_S, "sh", "-c", line]);
        command.current_dir(self.dir.join("cwd")).stdin(Stdio::null()).env_clear();
        command.env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.bin.display()));
        command.env("DRIVESCOPE_RUNS_DIR", self.dir.join("runs"));
        command.env("TMPDIR", self.dir.join("tmp"));
        let home = self.dir.join("home");
        for name in ["DATA", "CONFIG", "CACHE", "STATE"] {
            command.env(format!("XDG_{name}_HOME"), home.join(name.to_lowercase()));
        }
        command.env("HOME", home).env("LC_ALL", "C.UTF-8").env("TZ", "UTC").env("COLUMNS", "80");
        command
    }
}

/// Files below the watched parts, each with what changes when it is written.
fn listing(dir: &Path) -> Result<BTreeMap<PathBuf, (u64, i64, i64, u64)>> {
    let mut found = BTreeMap::new();
    let mut open: Vec<PathBuf> = WATCHED.iter().map(|part| dir.join(part)).collect();
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("{}", dir.display()))? {
            let path = entry?.path();
            let meta = path.symlink_metadata()?;
            // The index of runs is made again when it is looked at, and a database is not text.
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("index.") {
                continue;
            }
            if meta.is_dir() {
                open.push(path);
            } else {
                found.insert(path, (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ino()));
            }
        }
    }
    Ok(found)
}

/// Files made, changed or removed between two listings, as files of a record.
fn changed(
    before: &BTreeMap<PathBuf, (u64, i64, i64, u64)>,
    now: &BTreeMap<PathBuf, (u64, i64, i64, u64)>,
    dir: &Path,
    masks: &Masks,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let named = |path: &Path| {
        let path = path.strip_prefix(dir).unwrap_or(path).to_string_lossy().into_owned();
        format!("files/{}", masks.masked("path", &path))
    };
    let mut contents: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for (path, stamp) in now {
        if before.get(path) == Some(stamp) {
            continue;
        }
        let name = named(path);
        let content = match path {
            path if path.is_symlink() => b"[link]\n".to_vec(),
            // Dates of files are packed in it.
            path if path.to_string_lossy().ends_with(".tar.gz") => b"[archive]\n".to_vec(),
            path => stored(masks, &name, fs::read(path)?),
        };
        contents.entry(name).or_default().push(content);
    }
    for path in before.keys().filter(|path| !now.contains_key(*path)) {
        contents.entry(named(path)).or_default().push(b"[removed]\n".to_vec());
    }
    // Runs of one command have one name without their ids, and their order is that of their seconds.
    let mut files = BTreeMap::new();
    for (name, mut same) in contents {
        same.sort();
        for (at, content) in same.into_iter().enumerate() {
            let name = if at == 0 { name.clone() } else { format!("{name}~{at}") };
            files.insert(name, content);
        }
    }
    Ok(files)
}

/// Text with masks; anything else as it is.
fn stored(masks: &Masks, name: &str, bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => masks.masked(name, &text).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

/// Waits while the newest run is one of this second: which of two runs of one second is the last is left to their numbers.
fn wait_for_another_second(runs: &Path) {
    let is_of_now = || {
        let names = fs::read_dir(runs).into_iter().flatten().flatten();
        let now = masks::this_second();
        names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(&now))
    };
    while is_of_now() {
        std::thread::sleep(Duration::from_millis(20));
    }
}
