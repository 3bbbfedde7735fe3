//! Caveats about a replay for the machine around it.

use std::fs::File;
use std::path::Path;

use block::{Bytes, Medium, Stack};
use linux::sysfs::Roots;
use stats::Caveat;
use stats::remedy::Trace;

/// Caveats about a replay on the drive `name` with `stack` under it.
pub fn caveats(name: &str, stack: &Stack) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let Ok(system) = linux::stack::resolve(&Roots::default(), Path::new("/")) else {
        return caveats;
    };
    let shared = stack.leaves.iter().find(|leaf| {
        leaf.medium == Medium::Device && system.leaves.iter().any(|other| other.name == leaf.name)
    });
    if let Some(leaf) = shared {
        caveats.push(Caveat::new(
            "system_drive",
            name,
            format!(
                "the system's own files lie on {} as well: what it does there comes between the requests of the replay",
                leaf.name
            ),
            Trace::QuietDrive,
        ));
    }
    let cached = stack.layers.iter().find_map(|layer| Some((layer, layer.page_cache.as_ref()?)));
    if let Some((layer, words)) = cached {
        caveats.push(Caveat::new(
            "page_cache",
            name,
            format!("a page cache lies between the requests and the drive ({words})"),
            mark::past_the_cache(layer),
        ));
    }
    if let Some((holes, all)) = unwritten(Path::new(name)) {
        caveats.push(Caveat::new(
            "unwritten",
            name,
            format!(
                "{} of the file's {} were never written: the filesystem answers reads of them itself, and no drive",
                holes.human(),
                all.human()
            ),
            Trace::WriteFileFirst,
        ));
    }
    if stack.leaves.iter().any(|leaf| leaf.medium == Medium::Ram) {
        caveats.push(Caveat::new(
            "memory",
            name,
            "what answers is this machine's memory, and no drive",
            Trace::TimesOfTester,
        ));
    }
    caveats
}

/// Bytes of a file that were never written, and its length; `None` of a device, and where they are not more than one in a
/// thousand.
fn unwritten(path: &Path) -> Option<(Bytes, Bytes)> {
    let file =
        File::open(path).ok().filter(|file| file.metadata().is_ok_and(|meta| meta.is_file()))?;
    let layout = linux::extents::of(&file);
    let holes = layout.hole_bytes + layout.unwritten_bytes;
    (holes.0 > layout.file_bytes.0 / 1000).then_some((holes, layout.file_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a caveat is about something else than the target of the replay, or its remedy names no device.
    #[test]
    fn a_cache_on_the_way_is_a_doubt_about_the_target() {
        let layer = block::Layer {
            kind: "loop".to_owned(),
            name: "loop3".to_owned(),
            page_cache: Some("loop without direct I/O: /srv/image".to_owned()),
            ..Default::default()
        };
        let stack = Stack { layers: vec![layer], ..Stack::default() };
        let dir = tempfile::tempdir().unwrap();
        let sparse = dir.path().join("sparse");
        File::create(&sparse).unwrap().set_len(1 << 20).unwrap();
        let doubts = caveats(sparse.to_str().unwrap(), &Stack::default());
        assert_eq!(doubts.len(), 1, "{doubts:?}");
        assert!(doubts[0].cause.starts_with("1 MiB of the file's 1 MiB were never written"));
        std::fs::write(&sparse, vec![7; 1 << 20]).unwrap();
        assert_eq!(caveats(sparse.to_str().unwrap(), &Stack::default()), []);
        let doubts = caveats("/dev/loop3p1", &stack);
        assert_eq!(doubts.len(), 1);
        assert_eq!(doubts[0].subject, "/dev/loop3p1");
        let remedy = views::remedies::sentence(&doubts[0]);
        assert!(remedy.contains("losetup --direct-io=on /dev/loop3"), "{remedy}");
    }
}
