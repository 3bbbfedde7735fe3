//! Directories of the kernel's tracers, and of the notes on their owners.

use std::path::PathBuf;

use crate::mounts;
use crate::sysfs::Roots;

/// Directories that the tracers use. A test may put others in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracerRoots {
    /// Directories that describe devices.
    pub devices: Roots,
    /// Mount point of tracefs (`/sys/kernel/tracing`).
    pub tracefs: PathBuf,
    /// Mount point of debugfs (`/sys/kernel/debug`).
    pub debugfs: PathBuf,
    /// Directory of notes on the tracers that are ours, for cleaning up (`/run/drivescope`).
    pub run: PathBuf,
}

impl TracerRoots {
    /// Returns the mount points on this machine, or the usual ones if they are not mounted.
    pub fn here() -> TracerRoots {
        let devices = Roots::default();
        let mounts = mounts::own(&devices);
        let mounted = |fstype: &str, usual: &str| {
            let all =
                || mounts.iter().filter(|mount| mount.fstype == fstype).map(|m| &m.mount_point);
            let usual = PathBuf::from(usual);
            if all().any(|point| *point == usual) {
                usual
            } else {
                all().next_back().cloned().unwrap_or(usual)
            }
        };
        TracerRoots {
            tracefs: mounted("tracefs", "/sys/kernel/tracing"),
            debugfs: mounted("debugfs", "/sys/kernel/debug"),
            run: "/run/drivescope".into(),
            devices,
        }
    }
}

impl Default for TracerRoots {
    fn default() -> TracerRoots {
        TracerRoots::here()
    }
}
