//! What the leaves of a stack say of themselves, added to what an open file tells of a target.

use block::{Bytes, DriveInfo, DriveKind, Leaf, Stack, WriteCache};

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

fn of_leaf(roots: &Roots, leaf: &Leaf) -> Option<Identity> {
    identity(roots, BlockNode::by_name(roots, &leaf.name)?.number()?)
}
