//! Identity reported by the leaves of a stack, added to what an open file reports of a target.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use block::{
    Bytes, DriveIdentity, DriveInfo, DriveKind, Layer, Leaf, LeafIdentity, Stack, WriteCache,
};

use crate::devices::{Identity, identity};
use crate::sysfs::{BlockNode, Roots};

/// Fills what only identity knows: model, serial, rotation, write cache, link. With several leaves
/// only what is true of the whole is filled: it turns if one turns, it is volatile if one is, and no
/// serial number names it.
pub fn describe(roots: &Roots, stack: &Stack, info: &mut DriveInfo) {
    let leaves: Vec<Identity> =
        stack.leaves.iter().filter_map(|leaf| of_leaf(roots, leaf)).collect();
    if leaves.is_empty() {
        return;
    }
    let any =
        |of: &dyn Fn(&Identity) -> Option<bool>| leaves.iter().filter_map(of).reduce(|a, b| a || b);
    info.rotational = any(&|leaf| leaf.rotational);
    let volatile = any(&|leaf| leaf.write_cache.map(|cache| cache == WriteCache::WriteBack));
    info.write_cache = volatile
        .map(|volatile| if volatile { WriteCache::WriteBack } else { WriteCache::WriteThrough });
    if let [leaf] = leaves.as_slice() {
        info.model = leaf.model.clone();
        info.serial = leaf.serial.clone();
        info.link_bytes_per_s = leaf.link_bytes_per_s;
        if info.kind == DriveKind::File {
            info.physical_block_bytes =
                Bytes(info.physical_block_bytes.0.max(leaf.physical_block_bytes.0));
        }
    }
}

/// Returns the identity of the target at `path`, which a resumed run is compared with. For a
/// directory, `path` is the directory itself and not the test file in it, which is temporary.
pub fn identify(roots: &Roots, stack: &Stack, path: &Path, info: &DriveInfo) -> DriveIdentity {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let meta = fs::metadata(&real).ok();
    let is_dir = meta.as_ref().is_some_and(fs::Metadata::is_dir);
    let is_file = meta.as_ref().is_some_and(fs::Metadata::is_file);
    let filesystem = (is_dir || is_file).then(|| stack.layers.get(1)).flatten();
    let filesystem = filesystem.map(|layer| layer.kind.clone());
    DriveIdentity {
        kind: info.kind,
        name: real.display().to_string(),
        capacity_bytes: if is_dir { Bytes::ZERO } else { info.capacity_bytes },
        filesystem_id: filesystem.as_deref().and_then(|kind| filesystem_id(kind, &real)),
        filesystem,
        inode: meta.filter(|_| is_file).map(|meta| meta.ino()),
        part: stack.layers.iter().find_map(part),
        leaves: stack.leaves.iter().map(|leaf| leaf_identity(roots, leaf)).collect(),
    }
}

/// Describes the part of a disk or file that a layer covers, by properties that survive renaming.
fn part(layer: &Layer) -> Option<String> {
    let attribute = |name: &str| layer.attributes.get(name);
    match layer.kind.as_str() {
        "partition" => Some(format!("the partition at byte {}", attribute("start_bytes")?)),
        "loop" => {
            let file = attribute("backing_file")?;
            // A device has another inode after a restart.
            let file = match fs::metadata(file) {
                Ok(meta) if meta.is_file() => format!("inode {}", meta.ino()),
                _ => file.clone(),
            };
            let offset = attribute("loop_offset_bytes").map_or("0", String::as_str);
            Some(format!("the loop on {file} from byte {offset}"))
        }
        "dm" => Some(format!("the mapping {}", attribute("dm_uuid")?)),
        _ => None,
    }
}

/// The filesystem's number, where it is made of what is on the disk (its UUID); others make it of the
/// device's number, which changes.
fn filesystem_id(kind: &str, path: &Path) -> Option<u64> {
    let kept = matches!(kind, "ext2" | "ext3" | "ext4" | "btrfs");
    let id = rustix::fs::statvfs(path).ok().filter(|_| kept)?.f_fsid;
    (id != 0).then_some(id)
}

/// Returns the identity of the device that `leaf` names.
pub fn leaf_identity(roots: &Roots, leaf: &Leaf) -> LeafIdentity {
    let identity = of_leaf(roots, leaf).unwrap_or_default();
    LeafIdentity {
        name: leaf.name.clone(),
        model: identity.model.or_else(|| leaf.model.clone()),
        serial: identity.serial,
        wwid: identity.wwid,
        size_bytes: identity.size_bytes,
    }
}

fn of_leaf(roots: &Roots, leaf: &Leaf) -> Option<Identity> {
    identity(roots, BlockNode::by_name(roots, &leaf.name)?.number()?)
}
