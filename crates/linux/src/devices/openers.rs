//! Processes that have a file or a device open, from `/proc/PID/fd` and `/proc/PID/maps`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, OFlags, StatxFlags, statx};
use serde::Serialize;

use crate::sysfs::{DevNo, Roots, names_in, read_text};

/// The initial PID namespace (kernel: `PROC_PID_INIT_INO`).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// A process that has something open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct User {
    /// Its number.
    pub pid: u32,
    /// Its program's name, at most 15 bytes.
    pub name: String,
    /// Its descriptor; `None` for what is only mapped.
    pub descriptor: Option<u32>,
}

/// `qemu-system-x86 (process 4711)`, or this command with its descriptor.
impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid == std::process::id(), self.descriptor) {
            (true, Some(number)) => write!(f, "this command itself (descriptor {number})"),
            (true, None) => f.write_str("this command itself"),
            (false, _) => write!(f, "{} (process {})", self.name, self.pid),
        }
    }
}

/// Something that can be open: a block device by its number, anything else by its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Id {
    Device(DevNo),
    Inode(DevNo, u64),
}

impl Id {
    /// That of a regular file.
    pub fn of_file(meta: &fs::Metadata) -> Id {
        Id::Inode(DevNo::from_raw(meta.dev()), meta.ino())
    }

    /// Looks through a link of `/proc`, without opening what it leads to or asking the server of its filesystem.
    fn behind(link: &Path) -> io::Result<Id> {
        let found = statx(CWD, link, AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS)?;
        if FileType::from_raw_mode(found.stx_mode.into()) == FileType::BlockDevice {
            let (major, minor) = (found.stx_rdev_major, found.stx_rdev_minor);
            return Ok(Id::Device(DevNo { major, minor }));
        }
        let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
        Ok(Id::Inode(DevNo { major, minor }, found.stx_ino))
    }
}

/// A use that was found.
#[derive(Debug)]
pub(crate) struct Opening {
    pub id: Id,
    /// True for a descriptor that can write, and for a mapping.
    pub writes: bool,
    pub user: User,
}

/// Uses found in `/proc`.
#[derive(Debug, Default)]
pub(crate) struct Openers {
    pub all: Vec<Opening>,
    /// Why there may be others.
    pub unseen: Option<String>,
}

/// Processes that have open what `is_sought` says, one entry for each process and thing. `own`, a descriptor of this
/// process, does not count.
pub(crate) fn look(roots: &Roots, own: Option<RawFd>, is_sought: &dyn Fn(Id) -> bool) -> Openers {
    let own = own.and_then(|number| u32::try_from(number).ok());
    let own = own.map(|number| (std::process::id(), number));
    let mut look = Look { roots, own, is_sought, mapped: BTreeMap::new(), found: BTreeMap::new() };
    let mut hidden = false;
    for pid in names_in(&roots.proc).iter().filter_map(|name| name.parse::<u32>().ok()) {
        hidden |= !look.process(pid);
    }
    let all = look.found.into_values().collect();
    Openers { all, unseen: unseen(roots, hidden) }
}

fn unseen(roots: &Roots, hidden: bool) -> Option<String> {
    let namespace = fs::read_link(roots.proc.join("self/ns/pid"));
    if !namespace.is_ok_and(|namespace| namespace == Path::new(INITIAL_NAMESPACE)) {
        return Some("only processes of this container can be seen".to_owned());
    }
    // Mounted with `hidepid`.
    if !roots.proc.join("1").exists() {
        return Some("processes of other users are hidden".to_owned());
    }
    hidden.then(|| "other users' processes cannot be looked into".to_owned())
}

struct Look<'a> {
    roots: &'a Roots,
    /// Process and descriptor that do not count.
    own: Option<(u32, u32)>,
    is_sought: &'a dyn Fn(Id) -> bool,
    /// Files that were met in maps, by number and inode as the kernel writes them.
    mapped: BTreeMap<(String, String), Option<Id>>,
    found: BTreeMap<(u32, Id), Opening>,
}

impl Look<'_> {
    /// False when the process is another user's and could not be looked into. One of the same user that hides itself, such
    /// as what supervises a sandbox, is passed over: it would make a wall of the gate.
    fn process(&mut self, pid: u32) -> bool {
        let dir = self.roots.proc.join(pid.to_string());
        // Gone meanwhile is not hidden.
        let owner = fs::metadata(&dir).map(|meta| meta.uid()).ok();
        let is_ours = owner == Some(rustix::process::geteuid().as_raw());
        let is_seen = |error: &io::Error| {
            is_ours || !matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
        };
        let entries = match fs::read_dir(dir.join("fd")) {
            Ok(entries) => entries,
            Err(error) => return is_seen(&error),
        };
        let mut all_seen = true;
        for number in entries.flatten() {
            let Some(number) = number.file_name().to_str().and_then(|name| name.parse().ok())
            else {
                continue;
            };
            if self.own == Some((pid, number)) {
                continue;
            }
            match Id::behind(&dir.join(format!("fd/{number}"))) {
                Ok(id) if (self.is_sought)(id) => self.descriptor(&dir, pid, id, number),
                Ok(_) => {}
                Err(error) => all_seen &= is_seen(&error),
            }
        }
        match fs::read(dir.join("maps")) {
            Ok(maps) => self.maps(&dir, pid, &String::from_utf8_lossy(&maps)),
            Err(error) => all_seen &= is_seen(&error),
        }
        all_seen
    }

    fn descriptor(&mut self, dir: &Path, pid: u32, id: Id, number: u32) {
        let info = read_text(&dir.join(format!("fdinfo/{number}"))).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).unwrap_or(0);
        let flags = OFlags::from_bits_retain(flags);
        // Such a descriptor reads and writes nothing.
        if !flags.contains(OFlags::PATH) {
            let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
            self.add(dir, pid, id, Some(number), writes);
        }
    }

    fn maps(&mut self, dir: &Path, pid: u32, text: &str) {
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace();
            let (Some(range), Some(device), Some(inode), Some(path)) =
                (fields.next(), fields.nth(2), fields.next(), fields.next())
            else {
                continue;
            };
            if !path.starts_with('/') {
                continue;
            }
            let key = (device.to_owned(), inode.to_owned());
            let id = *self.mapped.entry(key).or_insert_with(|| {
                // Numbers in the names of links have no leading zeros.
                let mut ends = range.split('-').map(|end| end.trim_start_matches('0'));
                let link = format!("map_files/{}-{}", ends.next()?, ends.next()?);
                Id::behind(&dir.join(link)).or_else(|_| Id::behind(Path::new(path))).ok()
            });
            if let Some(id) = id.filter(|id| (self.is_sought)(*id)) {
                self.add(dir, pid, id, None, true);
            }
        }
    }

    fn add(&mut self, dir: &Path, pid: u32, id: Id, descriptor: Option<u32>, writes: bool) {
        let name = || read_text(&dir.join("comm")).unwrap_or_else(|| "?".to_owned());
        let entry = self.found.entry((pid, id));
        let seen = entry.or_insert_with(|| Opening {
            id,
            writes,
            user: User { pid, name: name(), descriptor },
        });
        seen.writes |= writes;
    }
}

/// Looks for users of devices so often before a list says that they are there.
const LOOKS: usize = 3;

/// Processes other than this one that have block devices open, by device. Who has one open for a moment only, such as
/// another list, is left out.
pub(crate) fn of_devices(roots: &Roots) -> BTreeMap<DevNo, BTreeSet<User>> {
    let mut users = opened_devices(roots);
    for _ in 1..LOOKS {
        if users.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        let now = opened_devices(roots);
        users.retain(|number, by| {
            by.retain(|user| now.get(number).is_some_and(|now| now.contains(user)));
            !by.is_empty()
        });
    }
    users
}

fn opened_devices(roots: &Roots) -> BTreeMap<DevNo, BTreeSet<User>> {
    let mut users: BTreeMap<DevNo, BTreeSet<User>> = BTreeMap::new();
    for Opening { id, user, .. } in look(roots, None, &|id| matches!(id, Id::Device(_))).all {
        if let (Id::Device(number), true) = (id, user.pid != std::process::id()) {
            users.entry(number).or_default().insert(user);
        }
    }
    users
}
