//! `stacks`: the proof *reached* on filesystems of this machine's own kernel, against what its tracer saw at the leaf.
//!
//! A script makes each stack over files on one disk and measures on it, while `trace record` records what the disk is asked
//! for. Those files' places on the disk are known, so that what others do there does not count. What the lab's emulator
//! cannot have is here: the disk of this machine, daemons (FUSE), and the kernel that is running.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use lab::reached::{Cell, Count, Worth, cells};
use trace::container::Reader;
use trace::{Io, Kind, Source as _};

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::{reached, sheet};

/// Options of `stacks`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Output directory of the table
    #[arg(long, default_value = sheet::DOCS)]
    out: PathBuf,
}

const SCRIPT: &str = "tools/validate/src/stacks/stacks.sh";

/// Measures on all stacks and writes the table; false when a verdict was wrong.
///
/// # Errors
/// When a stack cannot be measured on, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(Some(&options.out), false)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let work = fresh_dir("stacks")?;
    let disk = disk_under(&work)?;
    let Said { stdout, stderr: said } = run_script(SCRIPT, &work, &disk)?;
    let measured = stdout.lines().filter(|line| line.starts_with("cell ")).count();
    let places = places(&work.join("leaf"))?;
    let mut counts = Vec::new();
    for number in 1..=measured {
        let moved = moved(&work.join(format!("{number}.parquet")), &places)?;
        counts.extend([Count::default(), moved]);
    }
    let cells = cells(&stdout, &counts)?;
    let path = out.join("stacks.csv");
    fs::write(&path, reached::csv(&cells, "tracer"))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let left: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("left ")).collect();
    let head = sheet::provenance(
        &commit,
        &Machine::here(),
        "stacks.csv",
        &[
            ("The disk is", disk_words(&disk)),
            ("The files' filesystem", provenance::filesystem(&work)?),
            ("Load average at the start", load),
        ],
    );
    sheet::write(&out.join("stacks.md"), &page(&head, &cells, &left))?;
    fs::remove_dir_all(&work).with_context(|| format!("{}: stays", work.display()))?;
    // I/O of other processes on the disk is in our counters too, and in none of these verdicts.
    Ok(!cells.iter().any(|c| [Worth::WrongProven, Worth::WrongRefuted].contains(&c.worth)))
}

/// Output of a script that measured.
pub struct Said {
    /// With the directory of its files left out, which is of no interest to a reader.
    pub stdout: String,
    pub stderr: String,
}

/// Runs `script` with the directory for its files and the disk that they lie on, and the program in its path.
///
/// # Errors
/// When it cannot be run, or fails.
pub fn run_script(script: &str, work: &Path, disk: &Path) -> Result<Said> {
    let ran = Command::new("bash")
        .arg(script)
        .args([work, disk])
        .env("PATH", with_program(&Binary::find()?)?)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("cannot start bash")?;
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    eprint!("{stderr}");
    ensure!(ran.status.success(), "{script} ended with {}", ran.status);
    let stdout = String::from_utf8_lossy(&ran.stdout).replace(&*work.to_string_lossy(), "…");
    Ok(Said { stdout, stderr })
}

fn page(head: &str, cells: &[Cell], left: &[&str]) -> String {
    let mut text = format!(
        "# Reached, against what the kernel's tracer saw\n\n{}\n\n{head}",
        reached::counted(cells)
    );
    text += "Each row is a test of half a second on a stack of this machine. *Ours* are the bytes that drivescope read off the \
             leaf devices' counters, *charged* those that the kernel charged to it, *true* those that `trace record` saw at the \
             disk within the places of the files underneath, each for a byte issued; *should* is what whoever built the stack \
             knows of it. Proven is wrong where fewer than 0.97 of the least reached the disk or a cache was put between, \
             refuted where they did and none was.\n\n";
    text += &reached::table(cells);
    if !left.is_empty() {
        text += "\n## Left out on this machine\n\n";
        left.iter().for_each(|why| text += &format!("- {why}\n"));
    }
    text
}

/// The disk that holds files of this directory, whole.
///
/// # Errors
/// When the filesystem does not lie plainly on one disk.
pub fn disk_under(dir: &Path) -> Result<PathBuf> {
    let roots = linux::sysfs::Roots::default();
    let stack = linux::stack::resolve(&roots, dir)?;
    match &stack.leaves[..] {
        [leaf] if linux::stack::filesystem_start_on_leaf(&stack).is_some() => {
            Ok(Path::new("/dev").join(&leaf.name))
        }
        _ => bail!(
            "{}: its filesystem does not lie plainly on one disk, so that places on it are not known; \
             set VALIDATE_DIR to a directory of ext4 or XFS on a disk or partition",
            dir.display()
        ),
    }
}

/// The disk in words.
pub fn disk_words(disk: &Path) -> String {
    let name = disk.file_name().unwrap_or_default();
    let rotates = Path::new("/sys/block").join(name).join("queue/rotational");
    let rotates = fs::read_to_string(rotates).is_ok_and(|text| text.trim() == "1");
    format!("`{}`, {}", disk.display(), if rotates { "said to rotate" } else { "does not rotate" })
}

/// An empty directory of this name among test files.
///
/// # Errors
/// When what a run that was killed left there cannot be removed, or it cannot be made.
pub fn fresh_dir(name: &str) -> Result<PathBuf> {
    let dir = fs::canonicalize(sheet::work_dir()?)?.join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir)
            .with_context(|| format!("{}: is left of a run that was killed", dir.display()))?;
    }
    fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    Ok(dir)
}

/// The PATH of a script that calls drivescope.
///
/// # Errors
/// When the binary's directory is not known.
pub fn with_program(binary: &Binary) -> Result<std::ffi::OsString> {
    let own = fs::canonicalize(binary.path())?;
    let mut path = own.parent().context("the binary has no directory")?.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    Ok(path)
}

/// Extents of a directory's files on their disk: beginnings, and ends.
type Places = BTreeMap<u64, u64>;

fn places(dir: &Path) -> Result<Places> {
    let stack = linux::stack::resolve(&linux::sysfs::Roots::default(), dir)?;
    let start = linux::stack::filesystem_start_on_leaf(&stack).context("places are not known")?;
    let mut places = Places::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let told = Command::new("filefrag").args(["-v", "-b1"]).arg(&path).output();
        let told = told.context("filefrag, which comes with e2fsprogs")?;
        for (_, extent) in extents(&String::from_utf8_lossy(&told.stdout)) {
            places.insert(start.0 + extent.start, start.0 + extent.end);
        }
    }
    ensure!(!places.is_empty(), "{}: filefrag tells of no extent", dir.display());
    Ok(places)
}

/// Logical and physical bytes of each extent that `filefrag -v -b1` lists: number, logical and physical range, length, flags.
pub fn extents(told: &str) -> Vec<(Range<u64>, Range<u64>)> {
    let range = |text: &str| {
        let (first, last) = text.split_once("..")?;
        Some(first.trim().parse().ok()?..last.trim().parse::<u64>().ok()? + 1)
    };
    let extent = |line: &str| {
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        let [number, logical, physical, ..] = fields[..] else { return None };
        number.parse::<u64>().ok()?;
        Some((range(logical)?, range(physical)?))
    };
    told.lines().filter_map(extent).collect()
}

/// Bytes of a recording within these places.
fn moved(recording: &Path, places: &Places) -> Result<Count> {
    let mut reader = Reader::open(recording)?;
    let (mut count, mut batch) = (Count::default(), Vec::new());
    loop {
        batch.clear();
        reader.next(&mut batch)?;
        if batch.is_empty() {
            return Ok(count);
        }
        for io in &batch {
            let bytes = overlap(io, places);
            match io.kind {
                Kind::Read => count.read_bytes += bytes,
                Kind::Write => count.write_bytes += bytes,
                _ => {}
            }
        }
    }
}

/// Bytes of an I/O that lie within places, which do not overlap.
fn overlap(io: &Io, places: &Places) -> u64 {
    let (from, to) = (io.offset.0, io.end().0);
    if from == to {
        return 0;
    }
    let before = places.range(..=from).next_back();
    let behind = places.range(from + 1..to);
    before
        .into_iter()
        .chain(behind)
        .map(|(start, end)| to.min(*end).saturating_sub(from.max(*start)))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Nanos};

    #[test]
    fn only_what_lies_within_the_files_counts() {
        let places = Places::from([(100, 200), (300, 400)]);
        let bytes = |offset, length| {
            let io = Io::arriving(Nanos::ZERO, Kind::Read, Bytes(offset), Bytes(length));
            overlap(&io, &places)
        };
        let cases = [
            (0, 100, 0),
            (0, 101, 1),
            (150, 10, 10),
            (190, 120, 20),
            (0, 500, 200),
            (200, 100, 0),
            (150, 0, 0),
        ];
        for (offset, length, wanted) in cases {
            assert_eq!(bytes(offset, length), wanted, "{offset}+{length}");
        }
    }

    #[test]
    fn extents_are_read_as_filefrag_lists_them() {
        let told = "Filesystem type is: ef53\nFile size of f is 8192 (8192 blocks of 1 bytes)\n \
                    ext:     logical_offset:        physical_offset: length:   expected: flags:\n   \
                    0:        0..    4095:      8192..     12287:   4096:             \n   \
                    1:     4096..    8191:     40960..     45055:   4096:      12288: last,eof\n\
                    f: 2 extents found\n";
        assert_eq!(extents(told), [(0..4096, 8192..12288), (4096..8192, 40960..45056)]);
    }
}
