//! Writes to a block device as the kernel counts them, by which a resumed run detects writes by others.

use std::fs;
use std::os::linux::fs::MetadataExt as _;
use std::path::Path;

use block::Bytes;

use crate::sysfs::{DevNo, Roots, SYSFS_SECTOR_BYTES};

/// A count that began when the kernel booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinceBoot {
    /// The boot's name (`/proc/sys/kernel/random/boot_id`): counts of different boots cannot be compared.
    pub boot: String,
    /// Bytes written to the device, by any writer.
    pub bytes: Bytes,
}

/// Returns the kernel's count for the device at `path` itself, not for those under it. `None` for a file, or when the
/// kernel does not report it.
pub fn since_boot(roots: &Roots, path: &Path) -> Option<SinceBoot> {
    let number = DevNo::from_raw(fs::metadata(path).ok()?.st_rdev());
    let stat = roots.sys.join(format!("dev/block/{}:{}/stat", number.major, number.minor));
    let boot = roots.proc.join("sys/kernel/random/boot_id");
    // Kernel: Documentation/block/stat.rst; the seventh field is what was written.
    let stat = fs::read_to_string(stat).ok()?;
    let sectors: u64 = stat.split_whitespace().nth(6)?.parse().ok()?;
    let bytes = Bytes(sectors.checked_mul(SYSFS_SECTOR_BYTES)?);
    Some(SinceBoot { boot: fs::read_to_string(boot).ok()?.trim().to_owned(), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    // The wrong field is another count, and a run would go on after somebody had written.
    #[test]
    fn the_seventh_field_is_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let null = DevNo::from_raw(fs::metadata("/dev/null").unwrap().st_rdev());
        let roots = Roots {
            sys: dir.path().join("sys"),
            proc: dir.path().join("proc"),
            ..Roots::default()
        };
        assert_eq!(since_boot(&roots, Path::new("/dev/null")), None);
        let device = roots.sys.join(format!("dev/block/{}:{}", null.major, null.minor));
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("stat"), " 11 12 13 14 15 16 17 18 19 20 21\n").unwrap();
        fs::create_dir_all(roots.proc.join("sys/kernel/random")).unwrap();
        fs::write(roots.proc.join("sys/kernel/random/boot_id"), "a-boot\n").unwrap();
        let counted = since_boot(&roots, Path::new("/dev/null")).unwrap();
        assert_eq!(counted, SinceBoot { boot: "a-boot".to_owned(), bytes: Bytes(17 * 512) });
        assert_eq!(since_boot(&roots, dir.path()), None);
    }
}
