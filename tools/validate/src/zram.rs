//! A zram device of our own, full of data that does not compress.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};
use block::Bytes;

use crate::loop_device::{read_trimmed, write_noise};

const CONTROL: &str = "/sys/class/zram-control";

/// Removed when dropped.
#[derive(Debug)]
pub struct Zram(String);

impl Zram {
    /// Adds a device of `size` and writes all of it: pages that do not compress are kept as they are,
    /// so that a read copies a page and does nothing else.
    ///
    /// # Errors
    /// Without root or zram, or memory for it; when `stop` was raised.
    pub fn filled(size: Bytes, stop: &AtomicBool) -> Result<Zram> {
        // Reading this file adds a device and gives its number.
        let id = read_trimmed(&Path::new(CONTROL).join("hot_add"))
            .context("cannot add a zram device, which takes root and the kernel's zram")?;
        let zram = Zram(id);
        let disksize = zram.sys().join("disksize");
        fs::write(&disksize, size.0.to_string())
            .with_context(|| format!("{}: cannot be set", disksize.display()))?;
        let path = zram.path();
        let write = |mut file: File| write_noise(&mut file, size, stop);
        OpenOptions::new()
            .write(true)
            .open(&path)
            .map_err(Into::into)
            .and_then(write)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(zram)
    }

    /// Under `/dev`.
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(format!("zram{}", self.0))
    }

    fn sys(&self) -> PathBuf {
        Path::new("/sys/block").join(format!("zram{}", self.0))
    }
}

impl Drop for Zram {
    /// The kernel refuses while anybody has it open; programs that look at each new device close it
    /// soon.
    fn drop(&mut self) {
        let remove = || {
            fs::write(self.sys().join("reset"), "1")?;
            fs::write(Path::new(CONTROL).join("hot_remove"), &self.0)
        };
        for _ in 0..50 {
            if remove().is_ok() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        if let Err(error) = remove() {
            eprintln!("warning: zram{}: cannot be removed: {error}", self.0);
        }
    }
}
