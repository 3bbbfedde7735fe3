//! Signatures and partitions that writing to a device would destroy.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use block::Bytes;

use super::Use;
use crate::signature::{self, Usage};
use crate::sysfs::BlockNode;

/// Signatures on the device, and in its partitions through the device itself.
pub(crate) fn inside(node: &BlockNode, file: &File) -> io::Result<Vec<Use>> {
    let mut regions = vec![(node.name().to_owned(), Bytes::ZERO, node.size())];
    regions.extend(node.partitions().iter().map(|partition| {
        (partition.name().to_owned(), partition.start().unwrap_or_default(), partition.size())
    }));
    let mut uses = Vec::new();
    for (device, start, size) in regions {
        let found = signature::probe(size, &mut |offset, buffer| {
            file.read_exact_at(buffer, start.0 + offset)
        })?;
        for signature in found {
            // The kernel may not have read the table; then nothing else told of partitions.
            let told = uses.iter().any(|seen| matches!(seen, Use::Partitioned { .. }));
            if signature.usage == Usage::Table && !told {
                uses.push(Use::Partitioned { device: device.clone(), partitions: Vec::new() });
            }
            uses.push(Use::Signed { device: device.clone(), signature });
        }
    }
    Ok(uses)
}
