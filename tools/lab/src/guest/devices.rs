//! Paths of drives in the guest: the block devices behind the controller in each slot.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::protocol::Place;

/// How often a drive that has not appeared is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Variables of a drive, as soon as all of it has appeared.
pub(super) fn wait(place: &Place, limit: Duration) -> Result<BTreeMap<String, String>> {
    let begun = Instant::now();
    loop {
        let found = find(Path::new("/sys"), place);
        if found.len() == place.namespaces
            && found.iter().all(|(_, name)| Path::new("/dev").join(name).exists())
        {
            return Ok(variables(place, &found));
        }
        if begun.elapsed() > limit {
            bail!("drive {} in slot {} has not appeared", place.variable, place.pci);
        }
        thread::sleep(LOOK);
    }
}

/// Paths in `sys` and names of the block devices of a controller, by namespace.
fn find(sys: &Path, place: &Place) -> Vec<(PathBuf, String)> {
    let Ok(entries) = fs::read_dir(sys.join("block")) else { return Vec::new() };
    let mut found: Vec<(u64, PathBuf, String)> = entries
        .filter_map(|entry| {
            let path = fs::canonicalize(entry.ok()?.path()).ok()?;
            let behind = path.components().any(|part| part.as_os_str() == place.pci.as_str());
            let name = path.file_name()?.to_str()?.to_owned();
            // Boot partitions of cards are devices of their own.
            let is_whole = behind
                && !name.contains("boot")
                && fs::read_to_string(path.join("size")).ok()?.trim() != "0";
            let namespace =
                fs::read_to_string(path.join("nsid")).ok().and_then(|n| n.trim().parse().ok());
            is_whole.then(|| (namespace.unwrap_or(1), path, name))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path, name)| (path, name)).collect()
}

fn variables(place: &Place, found: &[(PathBuf, String)]) -> BTreeMap<String, String> {
    let own = &place.variable;
    let mut variables: BTreeMap<String, String> = [
        (format!("{own}_SERIAL"), place.serial.clone()),
        (format!("{own}_PCI"), place.pci.clone()),
    ]
    .into();
    for (i, (path, name)) in found.iter().enumerate() {
        let variable = if i == 0 { own.clone() } else { format!("{own}{}", i + 1) };
        variables.insert(variable, format!("/dev/{name}"));
        if i == 0 {
            variables.insert(format!("{own}_NAME"), name.clone());
            variables.insert(format!("{own}_SYS"), path.display().to_string());
        }
        let mut above = path.components().map(|part| part.as_os_str().to_string_lossy());
        if above.any(|part| part == "nvme")
            && let Some(controller) = above.next()
        {
            variables.insert(format!("{own}_CTRL"), format!("/dev/{controller}"));
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn device(sys: &Path, below: &str, name: &str, nsid: Option<u32>) {
        let path = sys.join("devices/pci0000:00").join(below).join(name);
        fs::create_dir_all(&path).unwrap();
        fs::create_dir_all(sys.join("block")).unwrap();
        fs::write(path.join("size"), "2048\n").unwrap();
        if let Some(nsid) = nsid {
            fs::write(path.join("nsid"), format!("{nsid}\n")).unwrap();
        }
        symlink(&path, sys.join("block").join(name)).unwrap();
    }

    // The wrong drive under a name makes every step of a scenario show something about another.
    #[test]
    fn a_drive_is_what_stands_behind_its_slot() {
        let sys = tempfile::tempdir().unwrap();
        device(sys.path(), "0000:00:03.0/virtio1/block", "vda", None);
        device(sys.path(), "0000:00:04.0/nvme/nvme0", "nvme0n2", Some(2));
        device(sys.path(), "0000:00:04.0/nvme/nvme0", "nvme0n1", Some(1));
        device(sys.path(), "0000:00:05.0/virtio2/host1/target1:0:0/1:0:0:0/block", "sda", None);
        let place = |pci: &str, namespaces| Place {
            variable: "A".into(),
            pci: pci.into(),
            namespaces,
            serial: "S".into(),
        };
        let nvme = place("0000:00:04.0", 2);
        let found = find(sys.path(), &nvme);
        let variables = variables(&nvme, &found);
        assert_eq!(variables["A"], "/dev/nvme0n1");
        assert_eq!(variables["A2"], "/dev/nvme0n2");
        assert_eq!(variables["A_CTRL"], "/dev/nvme0");
        assert_eq!(variables["A_SERIAL"], "S");
        assert_eq!(find(sys.path(), &place("0000:00:05.0", 1))[0].1, "sda");
        assert_eq!(find(sys.path(), &place("0000:00:03.0", 1))[0].1, "vda");
        assert!(find(sys.path(), &place("0000:00:06.0", 1)).is_empty());
    }
}
