//! Mounted filesystems and swap areas, from `/proc`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::sysfs::{DevNo, Roots, names_in};

/// One line of `mountinfo` (proc(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number of the filesystem; anonymous for those without one block device.
    pub device: DevNo,
    /// The directory of the filesystem that is mounted.
    pub root: PathBuf,
    /// Mount point.
    pub mount_point: PathBuf,
    /// Options of the mount.
    pub options: String,
    /// Name of the filesystem's driver, with subtype (`ext4`, `fuse.sshfs`).
    pub fstype: String,
    /// Source of the mount, as the filesystem writes it (`/dev/sda1`, `tank/home`, `host:/path`).
    pub source: PathBuf,
    /// Options of the filesystem itself.
    pub super_options: String,
    /// The same as the kernel writes them, where a comma within a value has an escape.
    escaped_options: Vec<u8>,
    /// The process whose mount namespace shows it; `None` for our own.
    pub seen_by: Option<u32>,
}

/// Mounts that this process sees, in the order of mounting; empty when `/proc` does not list them.
pub fn own(roots: &Roots) -> Vec<Mount> {
    parse(&roots.proc.join("self/mountinfo"), None)
}

/// Mounts of this process, then those of other mount namespaces, as far as `/proc` shows them to us.
/// Each namespace is read once, by way of the first process in it that shows its mounts.
///
/// # Errors
/// When our own mounts are not known: `mountinfo` cannot be read, has a line that is not understood, or is empty,
/// though nothing runs without a mount. A caller that asks what may be written to must not take that for "nothing is
/// mounted".
pub fn all_namespaces(roots: &Roots) -> io::Result<Vec<Mount>> {
    let path = roots.proc.join("self/mountinfo");
    let bytes = fs::read(&path).map_err(|error| named(&path, error))?;
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let understood: Option<Vec<Mount>> = lines.map(|line| parse_line(line, None)).collect();
    let mut mounts = understood
        .filter(|mounts| !mounts.is_empty())
        .ok_or_else(|| named(&path, "it does not list every mount"))?;
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    known.extend(fs::read_link(roots.proc.join("self/ns/mnt")).ok());
    for name in names_in(&roots.proc) {
        let Ok(pid) = name.parse::<u32>() else { continue };
        let dir = roots.proc.join(&name);
        if let Ok(namespace) = fs::read_link(dir.join("ns/mnt"))
            && !known.contains(&namespace)
        {
            // Another process of the namespace may show what this one hides.
            let seen = parse(&dir.join("mountinfo"), Some(pid));
            if !seen.is_empty() {
                known.insert(namespace);
                mounts.extend(seen);
            }
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
    // Any number of optional fields lies between the sixth and a lone hyphen.
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
        escaped_options: fields.get(hyphen + 3).map_or_else(Vec::new, |field| field.to_vec()),
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

fn without_backslashes(path: &Path) -> PathBuf {
    let mut plain = Vec::new();
    let mut bytes = path.as_os_str().as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        plain.extend(if byte == b'\\' { bytes.next() } else { Some(&byte) });
    }
    PathBuf::from(OsString::from_vec(plain))
}

impl Mount {
    /// The value of a filesystem option such as `upperdir`, with the kernel's escapes undone.
    pub fn option(&self, name: &str) -> Option<PathBuf> {
        self.values(name).next().map(unescape)
    }

    /// Lower directories of an overlay, the uppermost first.
    pub fn lower_dirs(&self) -> Vec<PathBuf> {
        // Either each has an option of its own, or they are parted by colons; a colon in a name is escaped, by older
        // kernels as it was typed, with a backslash before it.
        let joined = self.values("lowerdir").map(|list| {
            let list = String::from_utf8_lossy(list);
            list.replace("\\134:", "\\072").replace("\\:", "\\072")
        });
        let joined: Vec<String> = joined.collect();
        let each = joined.iter().flat_map(|list| list.split(':')).map(str::as_bytes);
        each.chain(self.values("lowerdir+")).filter(|dir| !dir.is_empty()).map(unescape).collect()
    }

    /// An upper or work directory of an overlay. Kernels differ in whether they show backslashes with which signs in its
    /// name were typed, so there may be two readings.
    pub fn layer_dirs(&self, name: &str) -> Vec<PathBuf> {
        let dir = self.option(name);
        let plain = dir
            .as_ref()
            .map(|dir| without_backslashes(dir))
            .filter(|plain| Some(plain) != dir.as_ref());
        dir.into_iter().chain(plain).collect()
    }

    /// A path below the mount point as one within the filesystem, without the root's slash.
    pub(crate) fn within(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(&self.mount_point).unwrap_or(Path::new(""));
        self.root.strip_prefix("/").unwrap_or(Path::new("")).join(below)
    }

    /// The reverse of [`Mount::within`]; `None` for what the mount does not show.
    fn shown(&self, within: &Path) -> Option<PathBuf> {
        let root = self.root.strip_prefix("/").unwrap_or(Path::new(""));
        Some(self.mount_point.join(within.strip_prefix(root).ok()?))
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let options = self.escaped_options.split(|&byte| byte == b',');
        options.filter_map(move |option| option.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    }

    /// The path as a process that sees the mount finds it, from here.
    fn seen(&self, roots: &Roots, path: &Path) -> PathBuf {
        match self.seen_by {
            None => path.to_owned(),
            Some(pid) => {
                let below = path.strip_prefix("/").unwrap_or(path);
                roots.proc.join(pid.to_string()).join("root").join(below)
            }
        }
    }
}

/// Mounts whose source is this file, without a block device between: an image of erofs, of a FUSE server. The source is
/// what the filesystem wishes to show, so that one without a path leads nowhere.
pub(crate) fn of_image<'a>(
    roots: &'a Roots,
    mounts: &'a [Mount],
    meta: &'a fs::Metadata,
) -> impl Iterator<Item = &'a Mount> {
    let id = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    let of_file = move |mount: &&Mount| {
        mount.device.is_anonymous()
            && mount.source.is_absolute()
            && fs::metadata(mount.seen(roots, &mount.source))
                .is_ok_and(|at| at.is_file() && id(&at) == id(meta))
    };
    mounts.iter().filter(of_file)
}

/// A layer of an overlay that a path lies in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    /// The overlay.
    pub mount: &'a Mount,
    /// `upper` or `work`.
    pub name: &'static str,
    /// False when the overlay names the directory by a relative path, or in another mount namespace, and it fits.
    pub is_certain: bool,
}

/// The overlay whose upper or work directory holds `real`, an absolute path without links.
///
/// Lower directories do not count: a whole system may lie below an overlay, and what is open through it is open for a
/// lease too.
pub(crate) fn layer_of<'a>(roots: &Roots, mounts: &'a [Mount], real: &Path) -> Option<Layer<'a>> {
    let id = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    let above: Vec<_> = real.ancestors().skip(1).filter_map(|dir| Some((dir, id(dir)?))).collect();
    let layers = mounts.iter().filter(|mount| mount.fstype == "overlay").flat_map(|mount| {
        ["upper", "work"].into_iter().flat_map(move |name| {
            let dirs = mount.layer_dirs(&format!("{name}dir")).into_iter();
            dirs.map(move |dir| (mount, name, dir))
        })
    });
    layers
        .filter_map(|(mount, name, dir)| {
            let holds =
                |dir: &Path| id(dir).is_some_and(|at| above.iter().any(|(_, id)| *id == at));
            let is_certain = dir.is_absolute() && holds(&mount.seen(roots, &dir));
            // A container does not see the directories of its own overlay; then the path is one of ours, or of the
            // process that mounted it.
            let may_hold = match dir.is_absolute() {
                true => mount.seen_by.is_some() && holds(&dir),
                false => above.iter().any(|(at, _)| at.ends_with(&dir)),
            };
            (is_certain || may_hold).then_some(Layer { mount, name, is_certain })
        })
        .max_by_key(|layer| layer.is_certain)
}

/// Most files that are looked at for [`overlay_twins`]: an overlay may lie on an overlay.
const TWINS_MAX: usize = 16;

/// Inodes (`st_dev` and `st_ino`) that the file `real` has in overlays that show it, and in the layer that an overlay
/// shows it from. Writing to one of them changes what is read from `real`.
pub(crate) fn overlay_twins(mounts: &[Mount], real: &Path) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut next = vec![real.to_owned()];
    while let Some(path) = next.pop().filter(|_| found.len() < TWINS_MAX) {
        for twin in above(mounts, &path).into_iter().chain(below(mounts, &path)) {
            let id = fs::metadata(&twin).ok().filter(fs::Metadata::is_file);
            let Some(id) = id.map(|meta| (meta.dev(), meta.ino())) else { continue };
            if !found.contains(&id) {
                found.push(id);
                next.push(twin);
            }
        }
    }
    found
}

/// The paths by which overlays show a file of their upper directory.
fn above(mounts: &[Mount], path: &Path) -> Vec<PathBuf> {
    let id = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    let dirs: Vec<_> = path.ancestors().skip(1).filter_map(|dir| Some((dir, id(dir)?))).collect();
    let overlays = mounts.iter().filter(|mount| mount.fstype == "overlay");
    overlays
        .filter_map(|mount| {
            let upper = mount.layer_dirs("upperdir").iter().find_map(|dir| id(dir))?;
            let (dir, _) = dirs.iter().find(|(_, id)| *id == upper)?;
            mount.shown(path.strip_prefix(dir).ok()?)
        })
        .collect()
}

/// The file that an overlay shows as `path`: that of the uppermost layer that has it.
fn below(mounts: &[Mount], path: &Path) -> Option<PathBuf> {
    let number = DevNo::from_raw(fs::metadata(path).ok()?.dev());
    let mount = of_path(mounts, path, number).filter(|mount| mount.fstype == "overlay")?;
    let within = mount.within(path);
    let dirs = mount.layer_dirs("upperdir").into_iter().chain(mount.lower_dirs());
    dirs.map(|dir| dir.join(&within)).find_map(|file| fs::canonicalize(file).ok())
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
/// When the kernel does not report them: the file cannot be read, or has no head. A kernel without swap has no such
/// file, and says in `/proc/meminfo` that there is none; that is not an error.
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
        assert_eq!(mounts[1].option("subvol"), Some("/@home".into()));
        assert_eq!(mounts[1].option("sub"), None);
        assert!(mounts[1].device.is_anonymous());
    }

    /// If a comma or a colon in the name of a layer parted it, a file in it would look free.
    #[test]
    fn layers_of_an_overlay_with_signs_in_their_names() {
        let line = |options: &str| {
            let line = format!("50 1 0:50 / /merged rw - overlay overlay rw,{options}");
            parse_line(line.as_bytes(), None).unwrap()
        };
        let mount = line("lowerdir=/a:/b\\072c::/d\\134:e,upperdir=/x\\054y\\040z,workdir=/w");
        assert_eq!(mount.lower_dirs(), ["/a", "/b:c", "/d:e"].map(PathBuf::from));
        assert_eq!(mount.option("upperdir"), Some("/x,y z".into()));
        let mount = line("lowerdir=/a,upperdir=/x\\134\\054y,workdir=/w");
        assert_eq!(mount.layer_dirs("upperdir"), ["/x\\,y", "/x,y"].map(PathBuf::from));
        assert_eq!(mount.layer_dirs("workdir"), ["/w"].map(PathBuf::from));
        let mount = line("lowerdir+=/a:1,lowerdir+=/b,datadir+=/c");
        assert_eq!(mount.lower_dirs(), ["/a:1", "/b"].map(PathBuf::from));
        assert_eq!(mount.option("upperdir"), None);

        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        let (upper, work) = (dir.join("up,per"), dir.join("work"));
        for dir in [upper.join("sub"), work.clone(), dir.join("upper")] {
            fs::create_dir_all(dir).unwrap();
        }
        let escaped = upper.display().to_string().replace(',', "\\054");
        let mounts = [
            line(&format!("lowerdir=/,upperdir={escaped},workdir={}", work.display())),
            line("lowerdir=/,upperdir=there/sub,workdir=there/work"),
            line("lowerdir=/"),
        ];
        let layer = |file: &Path| {
            let layer = layer_of(&Roots::default(), &mounts, file)?;
            Some((layer.name, layer.is_certain))
        };
        assert_eq!(layer(&upper.join("sub/file")), Some(("upper", true)));
        assert_eq!(layer(&work.join("file")), Some(("work", true)));
        assert_eq!(layer(&dir.join("upper/file")), None, "of another name");
        assert_eq!(layer(&dir.join("file")), None, "beside them");
        // A container that has no such directory itself.
        let mut mounts_there = [mounts[0].clone()];
        mounts_there[0].seen_by = Some(4711);
        let roots = Roots { proc: dir.join("proc"), ..Roots::default() };
        let layer_there = layer_of(&roots, &mounts_there, &upper.join("file")).unwrap();
        assert_eq!((layer_there.name, layer_there.is_certain), ("upper", false));
        assert!(layer_of(&roots, &mounts_there, &dir.join("file")).is_none());
        fs::create_dir_all(dir.join("there/sub")).unwrap();
        assert_eq!(layer(&dir.join("there/sub/file")), Some(("upper", false)));
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
