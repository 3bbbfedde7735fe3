//! Exports of this machine: backing files and devices of NVMe and SCSI targets and of USB gadgets, from configfs.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::sysfs::{DevNo, Roots, names_in, read_text};

/// Kinds of export: name, directories below configfs, file with the exported path, file that says whether it is
/// enabled.
const SORTS: [(&str, &[&str], &str, Option<&str>); 3] = [
    (
        "the NVMe target",
        &["nvmet/subsystems", "*", "namespaces", "*"],
        "device_path",
        Some("enable"),
    ),
    ("the SCSI target", &["target/core", "*", "*"], "udev_path", Some("enable")),
    ("the USB gadget", &["usb_gadget", "*", "functions", "*", "*"], "file", None),
];

/// Something that is lent.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    /// `the NVMe target nqn.x`.
    pub by: String,
    path: PathBuf,
    inode: Option<(u64, u64)>,
    number: Option<DevNo>,
}

impl Export {
    /// True when it is this file.
    pub fn is_file(&self, real: &Path, meta: &fs::Metadata) -> bool {
        self.path == real || self.inode == Some((meta.dev(), meta.ino()))
    }

    /// True when it is the block device of this number.
    pub fn is_device(&self, number: Option<DevNo>) -> bool {
        self.number.is_some() && self.number == number
    }
}

/// All exports that are on. Without configfs there are none.
pub(crate) fn all(roots: &Roots) -> Vec<Export> {
    let config = roots.sys.join("kernel/config");
    let mut found = Vec::new();
    for (sort, pattern, lent, enabled) in SORTS {
        for (name, dir) in matching(&config, pattern) {
            let is_on =
                enabled.is_none_or(|file| read_text(&dir.join(file)).as_deref() == Some("1"));
            let Some(path) = read_text(&dir.join(lent)).filter(|_| is_on) else { continue };
            let meta = fs::metadata(&path).ok();
            let device = meta.as_ref().filter(|meta| meta.file_type().is_block_device());
            found.push(Export {
                by: format!("{sort} {name}"),
                number: device.map(|meta| DevNo::from_raw(meta.rdev())),
                inode: meta.as_ref().map(|meta| (meta.dev(), meta.ino())),
                path: path.into(),
            });
        }
    }
    found
}

/// Directories that match the pattern, each with the names that its first two stars matched.
fn matching(config: &Path, pattern: &[&str]) -> Vec<(String, PathBuf)> {
    let mut found = vec![(Vec::<String>::new(), config.to_owned())];
    for part in pattern {
        found = found
            .into_iter()
            .flat_map(|(stars, dir)| match *part {
                "*" => names_in(&dir)
                    .into_iter()
                    .map(|name| {
                        ([&stars[..], std::slice::from_ref(&name)].concat(), dir.join(name))
                    })
                    .collect(),
                name => vec![(stars, dir.join(name))],
            })
            .collect();
    }
    found.into_iter().map(|(stars, dir)| (stars[..2.min(stars.len())].join("/"), dir)).collect()
}
