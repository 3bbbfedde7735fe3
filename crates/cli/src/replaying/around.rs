//! Doubts about a replay that lie in the machine around it.

use std::path::Path;

use block::{Medium, Stack};
use linux::sysfs::Roots;
use stats::Caveat;

/// Doubts about a replay on the drive called `name`, under which `stack` lies.
pub fn caveats(name: &str, stack: &Stack) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let Ok(system) = linux::stack::resolve(&Roots::default(), Path::new("/")) else {
        return caveats;
    };
    let shared = stack.leaves.iter().find(|leaf| {
        leaf.medium == Medium::Device && system.leaves.iter().any(|other| other.name == leaf.name)
    });
    if let Some(leaf) = shared {
        caveats.push(Caveat {
            code: "system_drive".to_owned(),
            subject: name.to_owned(),
            cause: format!(
                "the system's own files lie on {} as well: what it does there comes between the requests of the replay",
                leaf.name
            ),
            remedy: "replay on a drive that nothing else uses, or keep the system still".to_owned(),
        });
    }
    let cached = stack.layers.iter().find_map(|layer| Some((layer, layer.page_cache.as_ref()?)));
    if let Some((layer, words)) = cached {
        caveats.push(Caveat {
            code: "page_cache".to_owned(),
            subject: name.to_owned(),
            cause: format!("a page cache lies between the requests and the drive ({words})"),
            remedy: mark::past_the_cache(layer),
        });
    }
    if stack.leaves.iter().any(|leaf| leaf.medium == Medium::Ram) {
        caveats.push(Caveat {
            code: "memory".to_owned(),
            subject: name.to_owned(),
            cause: "what answers is this machine's memory, and no drive".to_owned(),
            remedy: "take these times for those of the tester".to_owned(),
        });
    }
    caveats
}

/// The I/O schedulers that requests pass, by layer: `loop0: none`.
pub fn schedulers(stack: &Stack) -> Vec<String> {
    let scheduler = |layer: &block::Layer| {
        Some(format!("{}: {}", layer.name, layer.attributes.get("scheduler")?))
    };
    stack.layers.iter().filter_map(scheduler).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a doubt is told of something else than what was replayed to, or its remedy names no device.
    #[test]
    fn a_cache_on_the_way_is_a_doubt_about_the_target() {
        let layer = block::Layer {
            kind: "loop".to_owned(),
            name: "loop3".to_owned(),
            page_cache: Some("loop without direct I/O: /srv/image".to_owned()),
            ..Default::default()
        };
        let stack = Stack { layers: vec![layer], ..Stack::default() };
        let doubts = caveats("/dev/loop3p1", &stack);
        assert_eq!(doubts.len(), 1);
        assert_eq!(doubts[0].subject, "/dev/loop3p1");
        assert!(
            doubts[0].remedy.contains("losetup --direct-io=on /dev/loop3"),
            "{}",
            doubts[0].remedy
        );
    }
}
