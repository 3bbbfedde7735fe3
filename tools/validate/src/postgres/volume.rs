//! A mounted ext4 on a loop device with direct I/O, over a file made for it. Taken down when dropped.

use std::fs::{self, File};
use std::ops::Sub;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use block::Bytes;

use crate::loop_device::read_trimmed;

/// A filesystem of its own.
#[derive(Debug)]
pub struct Volume {
    device: PathBuf,
    point: PathBuf,
    is_mounted: bool,
}

/// The kernel's counts on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Counters {
    /// Reads `/sys/block/*/stat`: sectors of 512 bytes read are the third number, written the seventh.
    fn read(text: &str) -> Option<Counters> {
        let numbers: Vec<u64> =
            text.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        Some(Counters { read_bytes: numbers.get(2)? * 512, written_bytes: numbers.get(6)? * 512 })
    }
}

impl Sub for Counters {
    type Output = Counters;

    fn sub(self, before: Counters) -> Counters {
        Counters {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
        }
    }
}

impl Volume {
    /// Makes one of `size` in `dir`.
    ///
    /// # Errors
    /// Without root; when a program is missing or fails.
    pub fn make(dir: &Path, size: Bytes) -> Result<Volume> {
        let (file, point) = (dir.join("disk"), dir.join("mount"));
        File::create(&file)?.set_len(size.0)?;
        fs::create_dir(&point)?;
        let file = file.to_string_lossy().into_owned();
        let device = tool("losetup", &["--find", "--show", "--direct-io=on", &file])
            .context("cannot make a loop device, which takes root")?;
        let mut volume = Volume { device: device.into(), point, is_mounted: false };
        // Nothing is left to be zeroed in the background, which the kernel would count as written.
        let whole = "lazy_itable_init=0,lazy_journal_init=0";
        tool("mkfs.ext4", &["-q", "-F", "-E", whole, &volume.device.to_string_lossy()])?;
        volume.mount()?;
        Ok(volume)
    }

    /// The device.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// Its mount point.
    pub fn point(&self) -> &Path {
        &self.point
    }

    fn mount(&mut self) -> Result<()> {
        tool("mount", &[&self.device.to_string_lossy(), &self.point.to_string_lossy()])?;
        self.is_mounted = true;
        Ok(())
    }

    /// Mounts it again, so that nothing of it is in the page cache.
    ///
    /// # Errors
    /// When it is in use.
    pub fn mount_again(&mut self) -> Result<()> {
        tool("umount", &[&self.point.to_string_lossy()])?;
        self.is_mounted = false;
        self.mount()
    }

    /// The kernel's counts so far.
    ///
    /// # Errors
    /// Returns an error if sysfs does not give them.
    pub fn counters(&self) -> Result<Counters> {
        let name = self.device.file_name().unwrap_or_default();
        let text = read_trimmed(&Path::new("/sys/block").join(name).join("stat"))?;
        Counters::read(&text).with_context(|| format!("{text}: is no device's stat"))
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if self.is_mounted
            && let Err(error) = tool("umount", &["--lazy", &self.point.to_string_lossy()])
        {
            eprintln!("warning: {error:#}");
        }
        if let Err(error) = tool("losetup", &["--detach", &self.device.to_string_lossy()]) {
            eprintln!("warning: {error:#}");
        }
    }
}

/// Runs a program to its good end and returns what it printed.
///
/// # Errors
/// Its own words.
pub fn tool(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("{program} is missing"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {}: {}", arguments.join(" "), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The columns of merged requests and times lie between those that are read.
    #[test]
    fn a_devices_bytes_are_read_from_their_columns() {
        let text = "    1238       7  2808832     5000     10 20 30 0 0 0 0 0 0 0 0 0 0";
        let counters = Counters { read_bytes: 2_808_832 * 512, written_bytes: 30 * 512 };
        assert_eq!(Counters::read(text), Some(counters));
        assert_eq!(Counters::read("1 2 3"), None);
    }
}
