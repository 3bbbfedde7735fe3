//! Mounted filesystems and swap areas, from `/proc`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::sysfs::{DevNo, Roots, names_in};

/// One line of `mountinfo` (proc(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number of the filesystem; anonymous for those without one block device.
    pub device: DevNo,
    /// The directory of the filesystem that is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Options of the mount.
    pub options: String,
    /// Name of the filesystem's driver, with subtype (`ext4`, `fuse.sshfs`).
    pub fstype: String,
    /// What is mounted, as the filesystem wishes to say it (`/dev/sda1`, `tank/home`, `host:/path`).
    pub source: PathBuf,
    /// Options of the filesystem itself.
    pub super_options: String,
    /// The process whose mount namespace shows it; `None` for our own.
    pub seen_by: Option<u32>,
}

/// Mounts that this process sees, in the order of mounting; none where `/proc` does not tell.
pub fn own(roots: &Roots) -> Vec<Mount> {
    parse(&roots.proc.join("self/mountinfo"), None)
}

/// Mounts of this process, then those of other mount namespaces, as far as `/proc` shows them to us.
/// Each namespace is read once, by way of the first process found in it.
///
/// # Errors
/// When our own mounts are not told: `mountinfo` cannot be read, has a line that is not understood, or
/// is empty, though nothing runs without a mount. Who asks what may be written to must not take that for
/// "nothing is mounted".
pub fn all_namespaces(roots: &Roots) -> io::Result<Vec<Mount>> {
    let path = roots.proc.join("self/mountinfo");
    let bytes = fs::read(&path).map_err(|error| named(&path, error))?;
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let understood: Option<Vec<Mount>> = lines.map(|line| parse_line(line, None)).collect();
    let mut mounts = understood
        .filter(|mounts| !mounts.is_empty())
        .ok_or_else(|| named(&path, "it does not tell every mount"))?;
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    known.extend(fs::read_link(roots.proc.join("self/ns/mnt")).ok());
    for name in names_in(&roots.proc) {
        let Ok(pid) = name.parse::<u32>() else { continue };
        let dir = roots.proc.join(&name);
        if let Ok(namespace) = fs::read_link(dir.join("ns/mnt"))
            && known.insert(namespace)
        {
            mounts.extend(parse(&dir.join("mountinfo"), Some(pid)));
        }
    }
    Ok(mounts)
}

fn named(path: &Path, why: impl fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

fn parse(path: &Path, seen_by: Option<u32>) -> Vec<Mount> {
    let bytes = fs::read(path).unwrap_or_default();
    bytes.split(|&byte| byte == b'\n').filter_map(|line| parse_line(line, seen_by)).collect()
}

fn parse_line(line: &[u8], seen_by: Option<u32>) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    // Optional fields of any count stand between the sixth and a lone hyphen.
    let hyphen = 6 + fields.get(6..)?.iter().position(|field| *field == b"-")?;
    let path = |at: usize| fields.get(at).map(|field| unescape(field));
    let text = |at: usize| path(at).map(|path| path.to_string_lossy().into_owned());
    Some(Mount {
        device: text(2)?.parse().ok()?,
        root: path(3)?,
        mount_point: path(4)?,
        options: text(5)?,
        fstype: text(hyphen + 1)?,
        source: path(hyphen + 2)?,
        super_options: text(hyphen + 3).unwrap_or_default(),
        seen_by,
    })
}

/// The kernel writes white space and backslashes in paths as three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|digits| digits.iter().all(|d| (b'0'..b'8').contains(d)));
        match (byte, digits) {
            (b'\\', Some(digits)) => {
                let code =
                    digits.iter().fold(0_u32, |code, digit| code * 8 + u32::from(digit - b'0'));
                out.push(code as u8);
                rest = &tail[3..];
            }
            _ => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

impl Mount {
    /// The value of a filesystem option such as `upperdir`, with the kernel's escapes undone.
    pub fn super_option(&self, name: &str) -> Option<&str> {
        self.super_options
            .split(',')
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The mount that a path with no links in it lies on.
///
/// The longest mount point that leads to it, the latest among equals: later mounts hide earlier
/// ones. Where a mount with exactly the file's `st_dev` leads to it too, that one is right: a longer
/// one may be hidden below a later mount of a shorter path.
pub fn of_path<'a>(mounts: &'a [Mount], path: &Path, st_dev: DevNo) -> Option<&'a Mount> {
    let leading = || mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    let longest = |best: Option<&'a Mount>, mount: &'a Mount| match best {
        Some(best) if best.mount_point.as_os_str().len() > mount.mount_point.as_os_str().len() => {
            Some(best)
        }
        _ => Some(mount),
    };
    let exact = leading().filter(|mount| mount.device == st_dev).fold(None, longest);
    exact.or_else(|| leading().fold(None, longest))
}

/// Active swap areas: devices and files (`/proc/swaps`).
///
/// # Errors
/// When the kernel does not tell: the file cannot be read, or has no head. A kernel without swap has no
/// such file, and says in `/proc/meminfo` that there is none; that is no error.
pub fn swaps(roots: &Roots) -> io::Result<Vec<PathBuf>> {
    let path = roots.proc.join("swaps");
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && has_no_swap(roots) => {
            return Ok(Vec::new());
        }
        read => read.map_err(|error| named(&path, error))?,
    };
    if !bytes.starts_with(b"Filename") {
        return Err(named(&path, "it is not the kernel's list"));
    }
    let lines = bytes.split(|&byte| byte == b'\n').skip(1);
    Ok(lines
        .filter_map(|line| line.split(u8::is_ascii_whitespace).next())
        .filter(|field| !field.is_empty())
        .map(unescape)
        .filter(|path| path.as_os_str().as_bytes().starts_with(b"/"))
        .collect())
}

fn has_no_swap(roots: &Roots) -> bool {
    let text = fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("SwapTotal:"));
    total.is_some_and(|total| total.split_whitespace().next() == Some("0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
        40 27 0:44 /@home /srv/my\\040disk rw shared:5 master:2 - btrfs /dev/sdb rw,subvol=/@home\n\
        41 27 8:1 / /srv rw - xfs /dev/sda1 rw\n";

    fn mounts() -> Vec<Mount> {
        LINES.split(|&byte| byte == b'\n').filter_map(|line| parse_line(line, None)).collect()
    }

    /// If optional fields or escapes were misread, a device in use would look free.
    #[test]
    fn mountinfo_lines_with_optional_fields_and_escapes() {
        let mounts = mounts();
        assert_eq!(mounts.len(), 3);
        assert_eq!(mounts[1].mount_point, Path::new("/srv/my disk"));
        assert_eq!(mounts[1].fstype, "btrfs");
        assert_eq!(mounts[1].source, Path::new("/dev/sdb"));
        assert_eq!(mounts[1].super_option("subvol"), Some("/@home"));
        assert_eq!(mounts[1].super_option("sub"), None);
        assert!(mounts[1].device.is_anonymous());
    }

    /// If the longest prefix were taken blindly, a file on a later, shorter mount would be charged
    /// to the filesystem that this mount hides.
    #[test]
    fn the_mount_of_a_path_is_the_longest_unless_the_number_says_otherwise() {
        let mounts = mounts();
        let find = |path: &str, major, minor| {
            let mount = of_path(&mounts, Path::new(path), DevNo { major, minor });
            mount.map(|mount| mount.fstype.as_str())
        };
        assert_eq!(find("/etc/passwd", 254, 0), Some("ext4"));
        assert_eq!(
            find("/srv/my disk/a", 0, 99),
            Some("btrfs"),
            "subvolumes have numbers of their own"
        );
        assert_eq!(find("/srv/my disk/a", 8, 1), Some("xfs"), "xfs was mounted over it");
        assert_eq!(find("/srvother", 254, 0), Some("ext4"), "prefixes end at a slash");
    }
}
