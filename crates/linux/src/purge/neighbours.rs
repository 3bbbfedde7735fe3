//! Other namespaces that a command for one NVMe namespace may affect.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::passthrough::{Commands, nvme};
use crate::sysfs::{BlockNode, Roots};

/// Another namespace of the same NVM subsystem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Neighbour {
    /// Kernel name, or `nsid:3` for one that no block device of this machine leads to.
    pub name: String,
    /// Its identifier, where it is known.
    pub nsid: Option<u32>,
    /// Its node.
    pub path: Option<PathBuf>,
}

/// All other namespaces of the subsystem that `node` is in: those that this machine has block devices for, and those
/// that the controller lists besides, active or only allocated. Nothing for what is not NVMe.
pub fn neighbours(roots: &Roots, node: &BlockNode, listed: &[u32]) -> Vec<Neighbour> {
    let nsid = |node: &BlockNode| node.attr_u64("nsid").and_then(|nsid| u32::try_from(nsid).ok());
    if !node.has("device/subsysnqn") {
        return Vec::new();
    }
    let (mut known, mut found) = (Vec::from_iter(nsid(node)), Vec::new());
    for other in node.other_namespaces(roots) {
        known.extend(nsid(&other));
        found.push(Neighbour {
            name: other.name().to_owned(),
            nsid: nsid(&other),
            path: Some(other.dev_path(roots)),
        });
    }
    let unseen = listed.iter().filter(|nsid| !known.contains(nsid));
    found.extend(unseen.map(|nsid| Neighbour {
        name: format!("nsid:{nsid}"),
        nsid: Some(*nsid),
        path: None,
    }));
    found.sort();
    found
}

/// Namespaces that a controller lists: the active ones, and where it manages namespaces also those that are allocated
/// and not attached to it. What cannot be asked is not listed.
pub fn listed(commands: &mut dyn Commands, manages: bool) -> Vec<u32> {
    let mut all = Vec::new();
    let lists: &[u8] = if manages { &[0x02, 0x10] } else { &[0x02] };
    for cns in lists {
        // A list ends with zero, and one that is full goes on from its last.
        let mut after = 0;
        while let Ok(bytes) = nvme::identify(commands, *cns, after) {
            let words = bytes.chunks_exact(4).filter_map(|word| word.try_into().ok());
            let page: Vec<u32> =
                words.map(u32::from_le_bytes).take_while(|nsid| *nsid > after).collect();
            all.extend_from_slice(&page);
            match page.last() {
                Some(last) if page.len() == nvme::IDENTIFY_BYTES / 4 => after = *last,
                _ => break,
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { sys: dir.path().join("sys"), ..Roots::default() };
        for (name, text) in files {
            let path = roots.sys.join("block").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (dir, roots)
    }

    // A namespace that a command reaches and that is not found here is lost without a warning.
    #[test]
    fn namespaces_of_one_subsystem_are_found_wherever_they_are_known_from() {
        let (_dir, roots) = machine(&[
            ("nvme0n1/device/subsysnqn", "nqn.a\n"),
            ("nvme0n1/nsid", "1\n"),
            // Of another controller of the same subsystem.
            ("nvme1n1/device/subsysnqn", "nqn.a\n"),
            ("nvme1n1/nsid", "2\n"),
            // A path of a namespace with several paths is not a namespace of its own.
            ("nvme0c0n1/device/subsysnqn", "nqn.a\n"),
            ("nvme0c0n1/nsid", "1\n"),
            ("nvme0c0n1/hidden", "1\n"),
            ("nvme2n1/device/subsysnqn", "nqn.b\n"),
            ("nvme2n1/nsid", "1\n"),
            ("sda/size", "8\n"),
        ]);
        let of = |name: &str, listed: &[u32]| {
            let node = BlockNode::by_name(&roots, name).unwrap();
            let found = neighbours(&roots, &node, listed);
            found.into_iter().map(|other| other.name).collect::<Vec<_>>()
        };
        assert_eq!(of("nvme0n1", &[1, 2, 5]), ["nsid:5", "nvme1n1"]);
        assert_eq!(of("nvme2n1", &[1]), [""; 0]);
        assert_eq!(of("sda", &[]), [""; 0]);
    }
}
