//! Sensors that the kernel reads.

use std::path::{Path, PathBuf};

use crate::sysfs::names_in;

/// Temperature inputs that belong to a disk: `nvme` puts its sensor under the controller,
/// `drivetemp` under the SCSI device. The first input of each is the drive's composite temperature.
pub(crate) fn thermometers(dir: &Path) -> Vec<PathBuf> {
    let device = dir.join("device");
    [device.join("hwmon"), device]
        .iter()
        .flat_map(|parent| {
            names_in(parent)
                .into_iter()
                .filter(|name| name.starts_with("hwmon") && name != "hwmon")
                .map(|name| parent.join(name).join("temp1_input"))
                .collect::<Vec<_>>()
        })
        .filter(|path| path.exists())
        .collect()
}
