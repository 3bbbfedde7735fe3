//! A loop device of our own, with direct I/O, over a file that is fully written.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Detached when dropped.
#[derive(Debug)]
pub struct LoopDevice(PathBuf);

impl LoopDevice {
    /// Puts a device over `backing`. Devices that a run which was killed left over it are removed.
    ///
    /// # Errors
    /// Without root or losetup; when the kernel does not do direct I/O on that filesystem.
    pub fn attach(backing: &Path) -> Result<LoopDevice> {
        LoopDevice::over(backing, &["--read-only"])
    }

    /// As [`LoopDevice::attach`], of a file that may be written to.
    ///
    /// # Errors
    /// Those of [`LoopDevice::attach`].
    pub fn attach_writable(backing: &Path) -> Result<LoopDevice> {
        LoopDevice::over(backing, &[])
    }

    fn over(backing: &Path, flags: &[&str]) -> Result<LoopDevice> {
        let file = backing.to_string_lossy().into_owned();
        let left = losetup(&["--associated", &file, "--noheadings", "--output", "NAME"])?;
        for device in left.lines().map(str::trim).filter(|line| !line.is_empty()) {
            losetup(&["--detach", device])?;
        }
        let usual = ["--find", "--show", "--direct-io=on", &file];
        let device = losetup(&[flags, &usual].concat())
            .context("cannot make a loop device, which takes root")?;
        let device = LoopDevice(PathBuf::from(device.trim()));
        let name = device.0.file_name().unwrap_or_default();
        let direct = Path::new("/sys/block").join(name).join("loop/dio");
        if read_trimmed(&direct)? != "1" {
            bail!(
                "the filesystem of {file} has no direct I/O for loop devices; take another directory"
            );
        }
        Ok(device)
    }

    /// Under `/dev`.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Its number as the kernel holds it inside and trace events show it: major and minor, with 20 bits
    /// for the latter (`MKDEV` in `<linux/kdev_t.h>`).
    ///
    /// # Errors
    /// When sysfs does not report it.
    pub fn kernel_number(&self) -> Result<u32> {
        let name = self.0.file_name().unwrap_or_default();
        let text = read_trimmed(&Path::new("/sys/block").join(name).join("dev"))?;
        let parts =
            text.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let (major, minor): (u32, u32) =
            parts.with_context(|| format!("{text}: is no device number"))?;
        Ok(major << 20 | minor)
    }

    /// The kernel's counts so far.
    ///
    /// # Errors
    /// Returns an error if sysfs does not give them.
    pub fn counters(&self) -> Result<Counters> {
        let name = self.0.file_name().unwrap_or_default();
        let text = read_trimmed(&Path::new("/sys/block").join(name).join("stat"))?;
        Counters::read(&text).with_context(|| format!("{text}: is no device's stat"))
    }
}

/// A loop device over a file made for it. Fields are dropped in order: the device before its file.
#[derive(Debug)]
pub struct LoopOnNewFile {
    /// The device.
    pub device: LoopDevice,
    _file: Removed,
}

impl LoopOnNewFile {
    /// Makes a file of `size` in `dir`, full of data that does not compress, and a device over it.
    ///
    /// # Errors
    /// Those of [`prepare`] and [`LoopDevice::attach`].
    pub fn make(dir: &Path, size: Bytes, stop: &AtomicBool) -> Result<LoopOnNewFile> {
        let file = dir.join(format!("drivescope-validate-{}.img", std::process::id()));
        prepare(&file, size, stop)?;
        let file = Removed(file);
        Ok(LoopOnNewFile { device: LoopDevice::attach(&file.0)?, _file: file })
    }
}

/// A file that is removed when dropped.
#[derive(Debug)]
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            eprintln!("warning: {}: cannot be removed: {error}", self.0.display());
        }
    }
}

/// Requests and bytes that the device has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Requests completed, after merging.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
}

impl Counters {
    /// Reads `/sys/block/*/stat`: reads, reads merged, sectors of 512 bytes read, … (the kernel's
    /// Documentation/block/stat.rst).
    fn read(text: &str) -> Option<Counters> {
        let mut numbers = text.split_ascii_whitespace().map(|n| n.parse::<u64>().ok());
        let reads = numbers.next()??;
        let read_bytes = numbers.nth(1)?? * 512;
        Some(Counters { reads, read_bytes })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let Err(error) = losetup(&["--detach", &self.0.to_string_lossy()]) {
            eprintln!("warning: {error:#}");
        }
    }
}

fn losetup(arguments: &[&str]) -> Result<String> {
    let output = Command::new("losetup")
        .args(arguments)
        .output()
        .context("losetup (util-linux) is missing")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("losetup {}: {}", arguments.join(" "), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Makes `path` a file of `size` that is written in full with data that does not compress, unless it
/// is one already: it gets its name only when complete.
///
/// # Errors
/// When it cannot be written, or `stop` was raised.
pub fn prepare(path: &Path, size: Bytes, stop: &AtomicBool) -> Result<()> {
    if fs::metadata(path).is_ok_and(|meta| meta.len() == size.0) {
        return Ok(());
    }
    let part = path.with_extension("part");
    eprintln!("writing a file of {size}");
    write(&part, size, stop)
        .and_then(|()| Ok(fs::rename(&part, path)?))
        .inspect_err(|_| drop(fs::remove_file(&part)))
        .with_context(|| format!("{}: cannot be written", part.display()))
}

fn write(path: &Path, size: Bytes, stop: &AtomicBool) -> Result<()> {
    write_noise(&mut File::create(path)?, size, stop)
}

/// Writes `size` of data that does not compress, and makes it durable.
///
/// # Errors
/// Those of the writes, and when `stop` was raised.
pub fn write_noise(file: &mut File, size: Bytes, stop: &AtomicBool) -> Result<()> {
    let mut noise = Xoshiro256PlusPlus::seed_from_u64(size.0);
    let mut chunk = vec![0u8; 1 << 20];
    let mut left = size.0;
    while left > 0 {
        if stop.load(Ordering::Relaxed) {
            bail!("stopped");
        }
        noise.fill_bytes(&mut chunk);
        let length = left.min(chunk.len() as u64);
        file.write_all(&chunk[..length as usize])?;
        left -= length;
    }
    Ok(file.sync_all()?)
}

/// Reads a small file of the kernel's, without the line's end.
///
/// # Errors
/// Names the file.
pub fn read_trimmed(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The column of merged requests lies between the two that are read.
    #[test]
    fn a_devices_counters_are_read_from_their_columns() {
        let text = "    1238       7  2808832     5000     0 0 0 0 0 0 0 0 0 0 0 0 0";
        let counters = Counters { reads: 1238, read_bytes: 2_808_832 * 512 };
        assert_eq!(Counters::read(text), Some(counters));
        assert_eq!(Counters::read("12 7"), None);
    }

    // A file cut short would be read past its end, or only in part.
    #[test]
    fn a_backing_file_is_whole_or_not_there() {
        let dir = std::env::temp_dir().join(format!("validate-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("loop.img");
        let (going, stopped) = (AtomicBool::new(false), AtomicBool::new(true));
        assert!(prepare(&path, Bytes::mib(2), &stopped).is_err());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        prepare(&path, Bytes(3 << 19), &going).unwrap();
        let data = fs::read(&path).unwrap();
        assert_eq!(data.len(), 3 << 19);
        assert!(data[data.len() - 4096..].iter().any(|b| *b != 0));
        prepare(&path, Bytes::mib(1), &going).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20, "another size is made anew");
        fs::remove_dir_all(&dir).unwrap();
    }
}
