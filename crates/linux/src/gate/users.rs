//! Other users of a target, who hold it by neither a claim nor a lock.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use crate::devices::openers::{self, Id, Openers};
use crate::devices::{Use, User};
use crate::syscalls::{self, Lease};
use crate::sysfs::{BlockNode, Roots};

/// Number of checks and the pause between them, for brief users to finish: udev and blkid look at what changed, the
/// kernel takes down an io_uring of a process that has ended, and a child has copies of descriptors until it executes
/// its program.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Filesystems where a server decides about leases, by `f_type` of statfs(2): NFS, SMB 2 and CIFS.
const SERVERS: [u32; 3] = [0x6969, 0xFE53_4D42, 0xFF53_4D42];

/// Users of a regular file that is open as `file` and in no other way in this process: the kernel's answer to a lease
/// decides, and processes in `/proc` name them.
pub(super) fn of_file(roots: &Roots, device: &str, file: &File) -> Option<Use> {
    let unknown = |why| Some(Use::UsersUnknown { device: device.to_owned(), why });
    match patiently(|| syscalls::sole_user(file), |answer| *answer == Lease::InUse) {
        Lease::Idle => None,
        Lease::Unknown(code) => {
            let error = io::Error::from_raw_os_error(code);
            unknown(format!("its filesystem grants no lease: {error}"))
        }
        Lease::InUse if is_of_server(file) => {
            unknown("the server of its filesystem grants no lease".to_owned())
        }
        Lease::InUse => {
            let by = users_of(roots, file);
            match by.is_empty() && counts_names() {
                true => unknown("this kernel counts its names as users".to_owned()),
                false => Some(Use::Open { device: device.to_owned(), by }),
            }
        }
    }
}

fn users_of(roots: &Roots, file: &File) -> Vec<User> {
    let Ok(meta) = file.metadata() else { return Vec::new() };
    let id = Id::of_file(&meta);
    let Openers { all, .. } = openers::look(roots, Some(file.as_raw_fd()), &|other| other == id);
    all.into_iter().map(|opening| opening.user).collect()
}

fn is_of_server(file: &File) -> bool {
    let kind = rustix::fs::fstatfs(file).map(|answer| answer.f_type as u32);
    kind.is_ok_and(|kind| SERVERS.contains(&kind))
}

/// Before Linux 5.3 a lease was refused for a second name in the cache, too.
fn counts_names() -> bool {
    let name = rustix::system::uname();
    let mut parts = name.release().to_str().unwrap_or_default().split('.');
    let mut part = || parts.next().and_then(|part| part.parse::<u32>().ok());
    part().zip(part()).is_some_and(|version| version < (5, 3))
}

/// Processes that have a device open, without a claim: of a partition also those that write to its disk.
pub(super) fn of_device(roots: &Roots, node: &BlockNode) -> Option<Use> {
    let own: Vec<Id> = std::iter::once(node)
        .chain(&node.partitions())
        .filter_map(|node| node.number().map(Id::Device))
        .collect();
    let disk = node.disk().number().map(Id::Device).filter(|disk| !own.contains(disk));
    let look = || {
        let seen = openers::look(roots, None, &|id| own.contains(&id) || Some(id) == disk);
        let counts = seen.all.into_iter().filter(|opening| {
            let is_ours = opening.user.pid == std::process::id();
            !is_ours && (opening.writes || own.contains(&opening.id))
        });
        let mut by: Vec<User> = counts.map(|opening| opening.user).collect();
        by.sort();
        by.dedup_by_key(|user| user.pid);
        (by, seen.unseen)
    };
    let device = node.name().to_owned();
    match patiently(look, |(by, _)| !by.is_empty()) {
        (by, _) if !by.is_empty() => Some(Use::Open { device, by }),
        (_, Some(why)) => Some(Use::UsersUnknown { device, why }),
        _ => None,
    }
}

/// Asks again while somebody is there.
fn patiently<T>(mut ask: impl FnMut() -> T, is_there: impl Fn(&T) -> bool) -> T {
    let mut answer = ask();
    for _ in 0..TRIES {
        if !is_there(&answer) {
            break;
        }
        thread::sleep(PAUSE);
        answer = ask();
    }
    answer
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Another descriptor of the same opening does not count as another user.
    #[test]
    fn whoever_else_has_a_file_open_is_known_and_nobody_else() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "data").unwrap();
        let options = |write| File::options().read(true).write(write).open(&path).unwrap();
        for (ours, theirs) in [(false, false), (false, true), (true, false), (true, true)] {
            let file = options(ours);
            assert_eq!(syscalls::sole_user(&file), Lease::Idle);
            let again = file.as_fd().try_clone_to_owned().unwrap();
            assert_eq!(syscalls::sole_user(&file), Lease::Idle);
            drop(again);
            let other = options(theirs);
            assert_eq!(syscalls::sole_user(&file), Lease::InUse);
            drop(other);
            assert_eq!(syscalls::sole_user(&file), Lease::Idle);
        }
    }

    /// The kernel signals the holder of a lease when the file is opened: were that `SIGIO`, it would end the process.
    #[test]
    fn opening_a_file_that_is_looked_at_ends_nobody() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "data").unwrap();
        let done = AtomicBool::new(false);
        let opened = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    drop(File::open(&path).unwrap());
                    opened.store(true, Ordering::Relaxed);
                }
            });
            let file = File::open(&path).unwrap();
            let mut in_use = 0;
            for _ in 0..10_000 {
                in_use += u32::from(syscalls::sole_user(&file) == Lease::InUse);
            }
            while !opened.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            println!("{in_use} of 10000 looks met the other");
            done.store(true, Ordering::Relaxed);
        });
    }

    /// A file that does not support leases is reported neither as free nor as in use.
    #[test]
    fn without_leases_users_are_not_known() {
        let null = File::open("/dev/null").unwrap();
        assert_eq!(syscalls::sole_user(&null), Lease::Unknown(libc::EINVAL));
        let found = of_file(&Roots::default(), "null", &null);
        assert!(matches!(found, Some(Use::UsersUnknown { .. })), "{found:?}");
        assert!(!found.unwrap().is_final());
    }
}
