//! Filesystems on loop devices, taken down when dropped.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The filesystems under the store of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// ext4 with its usual `data=ordered`.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Ext4, Format::Xfs, Format::Btrfs];

    /// As mount(8) and mkfs(8) name it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ext4 => "ext4",
            Format::Xfs => "xfs",
            Format::Btrfs => "btrfs",
        }
    }

    /// Size of the disk, in bytes: the least that its mkfs makes without complaint, and room for a test file.
    pub fn disk_bytes(self) -> u64 {
        match self {
            Format::Ext4 => 192 << 20,
            Format::Xfs => 320 << 20,
            Format::Btrfs => 256 << 20,
        }
    }

    /// Makes the filesystem on `device`.
    ///
    /// # Errors
    /// When its mkfs is missing or fails.
    pub fn make(self, device: &Path) -> Result<()> {
        let flags: &[&str] = match self {
            // All of it now: what is put off would be written while promises are made.
            Format::Ext4 => &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
            Format::Xfs | Format::Btrfs => &["-q", "-f"],
        };
        let program = format!("mkfs.{}", self.name());
        run(Command::new(program).args(flags).arg(device)).map(drop)
    }
}

/// A filesystem in use.
#[derive(Debug)]
pub struct Mounted {
    device: PathBuf,
    dir: PathBuf,
    is_up: bool,
}

impl Mounted {
    /// Puts a loop device over `file`, after `make` was there, and mounts it on `dir`.
    ///
    /// # Errors
    /// Without root, or when the filesystem cannot be mounted.
    pub fn new(file: &Path, dir: &Path, format: Format, is_new: bool) -> Result<Mounted> {
        let name = file.to_string_lossy();
        let device = run(Command::new("losetup").args(["--find", "--show", &name]))?;
        // From here on, dropping it detaches the device.
        let mut mounted =
            Mounted { device: device.trim().into(), dir: dir.to_owned(), is_up: false };
        if is_new {
            format.make(&mounted.device)?;
        }
        let mut mount = Command::new("mount");
        // Many states of one filesystem are mounted, with one UUID, by which XFS and Btrfs distinguish filesystems.
        let options = if format == Format::Xfs { "noatime,nouuid" } else { "noatime" };
        run(mount.args(["-t", format.name(), "-o", options]).arg(&mounted.device).arg(dir))?;
        mounted.is_up = true;
        Ok(mounted)
    }

    /// The mount point.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes everything and takes it down.
    ///
    /// # Errors
    /// When somebody uses it still.
    pub fn unmount(mut self) -> Result<()> {
        run(Command::new("umount").arg(&self.dir))?;
        self.is_up = false;
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // There is no caller left to report an error to; `losetup` lists a device that stays.
        if self.is_up && run(Command::new("umount").arg(&self.dir)).is_err() {
            let _ = run(Command::new("umount").arg("--lazy").arg(&self.dir));
        }
        let _ = run(Command::new("losetup").arg("--detach").arg(&self.device));
    }
}

/// Runs a program to its good end, and returns what it printed.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} ended with {}: {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
