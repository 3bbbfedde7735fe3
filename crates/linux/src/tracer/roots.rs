//! Where the kernel's tracers are, and whose.

use std::path::PathBuf;

use crate::mounts;
use crate::sysfs::Roots;

/// Directories that the tracers use. A test may put others in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracerRoots {
    /// What is told of devices.
    pub devices: Roots,
    /// Where tracefs is mounted (`/sys/kernel/tracing`).
    pub tracefs: PathBuf,
    /// Where debugfs is mounted (`/sys/kernel/debug`).
    pub debugfs: PathBuf,
    /// Where it is noted which tracers are ours, for whoever cleans up after us (`/run/drivescope`).
    pub run: PathBuf,
}

impl TracerRoots {
    /// Where they are mounted on this machine, or where they would be.
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
