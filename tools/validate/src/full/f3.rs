//! f3write and f3read on a filesystem, and f3probe on the device.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::Turn;
use super::place::{Place, Spec};

/// Name of the pair in the table.
pub const BOTH: &str = "f3write, f3read";
/// Name of the prober in the table.
pub const PROBE: &str = "f3probe";

fn tool(program: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(words)
        .output()
        .with_context(|| format!("{program} cannot be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {}: {}", words.join(" "), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A filesystem in its place until dropped.
struct Mounted<'a>(&'a Path);

impl Mounted<'_> {
    fn new<'a>(device: &str, at: &'a Path) -> Result<Mounted<'a>> {
        tool("mount", &[device, &at.to_string_lossy()])?;
        Ok(Mounted(at))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// Fills a filesystem on the place, and reads it back.
///
/// # Errors
/// When a program cannot be run.
pub fn write_and_read(place: &Place) -> Result<Turn> {
    let device = place.device.path().to_string_lossy().into_owned();
    // Its own data lies at the beginning, which fakes keep.
    // Small drives would get blocks of 1 KiB, each of which costs a slow card a merge.
    let features =
        ["-q", "-F", "-m0", "-b", "4096", "-O", "^has_journal", "-E", "nodiscard", &device];
    tool("mkfs.ext4", &features)?;
    let at = place.work.join("mounted");
    fs::create_dir_all(&at)?;
    let path = at.to_string_lossy().into_owned();
    let (mut seconds, written) = {
        let _mounted = Mounted::new(&device, &at)?;
        let began = Instant::now();
        tool("f3write", &[&path])?;
        let seconds = began.elapsed().as_secs_f64();
        let files =
            fs::read_dir(&at)?.flatten().filter_map(|file| Some(file.metadata().ok()?.len()));
        (seconds, files.sum::<u64>())
    };
    let said = {
        let _mounted = Mounted::new(&device, &at)?;
        let began = Instant::now();
        // It has no failure of its own where data is lost.
        let output = Command::new("f3read").arg(&path).output().context("f3read")?;
        seconds += began.elapsed().as_secs_f64();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let line = |head: &str| {
        let line = said.lines().find_map(|line| line.trim().strip_prefix(head));
        line.and_then(|line| line.split_once('(')).map(|(size, rest)| (size.trim(), rest))
    };
    let sectors = |rest: &str| rest.split_ascii_whitespace().next()?.parse::<u64>().ok();
    let (ok, _) = line("Data OK:").context("f3read says nothing of what it read")?;
    let (lost, rest) = line("Data LOST:").context("f3read says nothing of what is lost")?;
    let lost_bytes = 512 * sectors(rest).context("f3read gives no count of lost sectors")?;
    let Spec { name, claimed, real, bad, .. } = *place.spec;
    Ok(Turn {
        place: name,
        round: 0,
        program: BOTH,
        written,
        read: written,
        seconds,
        said: format!("{ok} sound, {lost} lost"),
        is_right: match bad {
            Some((_, len)) => lost_bytes == len,
            None => (lost_bytes > 0) == (real < claimed),
        },
    })
}

/// Asks f3probe for the size of a place.
///
/// # Errors
/// When it cannot be run.
pub fn probe(place: &Place) -> Result<Turn> {
    let before = place.counted()?;
    let began = Instant::now();
    let value = size(&place.device.path().to_string_lossy(), place.spec.claimed)?;
    let seconds = began.elapsed().as_secs_f64();
    let after = place.counted()?;
    Ok(Turn {
        place: place.spec.name,
        round: 0,
        program: PROBE,
        written: after.1 - before.1,
        read: after.0 - before.0,
        seconds,
        said: value.map_or("unknown".to_owned(), |value| format!("{value} bytes")),
        is_right: value == Some(place.spec.real),
    })
}

/// Size that f3probe finds of a device that states `claimed` bytes.
///
/// # Errors
/// When it cannot be run.
pub fn size(device: &str, claimed: u64) -> Result<Option<u64>> {
    let output = Command::new("f3probe")
        .args(["--destructive", "--reset-type=2", device])
        .output()
        .context("f3probe")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.contains("is the real thing") {
        return Ok(Some(claimed));
    }
    let size = said.lines().find_map(|line| line.trim().strip_prefix("*Usable* size:"));
    let blocks = size
        .and_then(|size| size.split('(').nth(1))
        .and_then(|size| size.split_ascii_whitespace().next()?.parse::<u64>().ok());
    Ok(blocks.map(|blocks| blocks * 512))
}
