//! Doubts about a result that the layers of its target raise before anything is measured.

use block::{Layer, Medium, Stack};
use workload::plan::Content;

/// Doubts about numbers of a target with these layers, a sentence each; `content` is the data written, where any is.
pub fn known(stack: &Stack, buffered: bool, content: Option<Content>) -> Vec<String> {
    let mut doubts = Vec::new();
    if stack.is_memory() {
        doubts.push(IN_MEMORY.to_owned());
    }
    let caches = stack.layers.iter().filter_map(|layer| layer.page_cache.as_deref());
    doubts.extend(
        caches.map(|cache| format!("a page cache may answer instead of the drive: {cache}")),
    );
    if buffered {
        doubts.push("--buffered: the page cache may answer instead of the drive".to_owned());
    }
    let is_packed = content.is_some_and(|content| content != Content::default());
    let packing = stack.layers.iter().filter(|_| is_packed).find(|layer| packs(layer));
    doubts.extend(packing.map(|layer| {
        format!("{} compresses, and so does the data: the drive moves fewer bytes", layer.kind)
    }));
    let leaf = |medium: Medium| stack.leaves.iter().find(move |leaf| leaf.medium == medium);
    doubts.extend(leaf(Medium::Network).map(|leaf| {
        format!("{} is on another machine: the network is part of the numbers", leaf.name)
    }));
    doubts.extend(
        leaf(Medium::Unknown)
            .filter(|_| stack.layers.iter().all(|layer| layer.kind != "null"))
            .map(|leaf| format!("it is not known what holds the data of {}", leaf.name)),
    );
    doubts
}

/// The doubt about a target in memory.
pub const IN_MEMORY: &str =
    "the target lies in this machine's memory: there is no drive to measure";

/// True of a filesystem that is known to compress what is written to it.
fn packs(layer: &Layer) -> bool {
    let options = layer.attributes.get("options").map_or("", String::as_str);
    let mut options =
        options.split(',').map(|option| option.split_once('=').unwrap_or((option, "")));
    options.any(|(name, value)| {
        matches!(name, "compress" | "compress-force" | "compression" | "compress_algorithm")
            && !matches!(value, "no" | "none" | "off")
    })
}
