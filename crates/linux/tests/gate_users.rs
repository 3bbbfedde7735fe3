//! Users of a target that hold it by neither a claim nor a lock: the gate refuses, and what they use is as it was.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Loop, Machine, Mounted, Partition, filesystem_is_known, has_means, run, skip};
use drivescope_linux::devices::{self, Use};
use drivescope_linux::gate::{self, GateError, Reason, Request};
use drivescope_linux::sysfs::{DevNo, Roots};
use tempfile::TempDir;

/// A directory with the file `data.img` in it.
fn with_file() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("data.img");
    fs::write(&path, vec![7; 1 << 20]).unwrap();
    (dir, path)
}

fn consented(path: &Path) -> Request {
    let roots = Roots::default();
    let everything = ["partitions", "signature:ext4", "unknown:users", "unknown:content"];
    Request {
        consent: gate::word(&roots, path),
        allow: everything.iter().map(|word| word.parse().unwrap()).collect(),
        ..Request::default()
    }
}

/// Returns the only use for which writing is refused, and which no flag overrides; the file must not change.
#[track_caller]
fn only_use(path: &Path) -> Use {
    let state = |path: &Path| {
        let meta = fs::metadata(path).unwrap();
        (fs::read(path).unwrap(), meta.mtime(), meta.mtime_nsec())
    };
    let before = state(path);
    let found = match gate::check(&Roots::default(), path, &consented(path)) {
        Err(GateError::Refused(refusal)) => match &refusal.reasons[..] {
            [Reason::InUse(found)] => found.clone(),
            _ => panic!("{refusal}"),
        },
        other => panic!("not refused: {other:?}"),
    };
    assert!(found.is_final());
    assert!(gate::look(&Roots::default(), path, &consented(path)).is_err());
    assert!(state(path) == before, "it was changed");
    found
}

#[track_caller]
fn granted(path: &Path) {
    gate::check(&Roots::default(), path, &consented(path)).unwrap();
    gate::look(&Roots::default(), path, &consented(path)).unwrap();
}

/// A program that runs until it is dropped.
struct Running(Child);

impl Running {
    fn new(command: &mut Command) -> Running {
        Running(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// A program that has this open for reading, and nothing else.
    fn reader(path: &Path) -> Running {
        Running::new(Command::new("sleep").arg("1000").stdin(File::open(path).unwrap()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn is_open_in(path: &Path, running: &Running, name: &str) {
    let Use::Open { by, .. } = only_use(path) else { panic!("{:?}", only_use(path)) };
    assert_eq!(by.len(), 1, "{by:?}");
    assert_eq!((by[0].pid, by[0].name.as_str()), (running.0.id(), name));
}

/// An image that a virtual machine or a database has open without a lock.
#[test]
fn a_file_that_a_program_has_open_is_refused_with_its_name() {
    let (_dir, path) = with_file();
    granted(&path);
    let running = Running::reader(&path);
    is_open_in(&path, &running, "sleep");
    let text = gate::check(&Roots::default(), &path, &consented(&path)).unwrap_err().to_string();
    let who = format!("is open in sleep (process {}): end that program first", running.0.id());
    assert!(text.contains(&who) && text.contains("no flag overrides this"), "{text}");
    drop(running);
    let options = File::options().append(true).open(&path).unwrap();
    let writer = Running::new(Command::new("sleep").arg("1000").stdin(options));
    is_open_in(&path, &writer, "sleep");
    drop(writer);
    granted(&path);
}

/// Redirected by mistake: `< data.img`.
#[test]
fn a_file_that_this_process_has_open_too_is_refused_and_says_so() {
    let (_dir, path) = with_file();
    let file = File::open(&path).unwrap();
    let text = gate::check(&Roots::default(), &path, &consented(&path)).unwrap_err().to_string();
    assert!(text.contains("this command itself (descriptor "), "{text}");
    assert!(text.contains("do not redirect"), "{text}");
    drop(file);
    granted(&path);
}

/// A mapping holds a file though no descriptor does.
#[test]
fn a_file_that_is_only_mapped_is_refused() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let Some(library) = library.into_iter().find(|path| path.contains("/libc.so")) else {
        return skip("needs /lib/libc.so.6");
    };
    let (_dir, path) = with_file();
    fs::copy(library, &path).unwrap();
    let running = Running::new(Command::new("sleep").arg("1000").env("LD_PRELOAD", &path));
    // From its fork on it is a child; the mapping is made when its program begins.
    let mapped = || {
        let maps = fs::read_to_string(format!("/proc/{}/maps", running.0.id()));
        maps.is_ok_and(|maps| maps.contains("data.img"))
    };
    while !mapped() {
        std::thread::sleep(Duration::from_millis(5));
    }
    is_open_in(&path, &running, "sleep");
    drop(running);
    granted(&path);
}

#[test]
fn a_program_that_runs_is_refused() {
    let (dir, _) = with_file();
    let path = dir.path().join("sleeper");
    // By a process of its own: a child of another test could have a copy of our descriptor, and nothing that is open for
    // writing can be run.
    run("cp", &["/bin/sleep", text(&path)]);
    let running = Running::new(Command::new(&path).arg("1000"));
    assert!(matches!(only_use(&path), Use::Open { .. }));
    drop(running);
    granted(&path);
}

/// udev, blkid and a child before its exec have a file open for a moment; a refusal for them would be a riddle.
#[test]
fn a_file_that_is_open_for_a_moment_is_waited_for() {
    let (_dir, path) = with_file();
    let stdin = File::open(&path).unwrap();
    let mut running = Command::new("sleep").arg("0.5").stdin(stdin).spawn().unwrap();
    gate::check(&Roots::default(), &path, &consented(&path)).unwrap();
    running.wait().unwrap();
}

/// A directory to mount on, and what unmounts it.
struct Point(TempDir);

impl Point {
    fn new() -> Point {
        Point(tempfile::tempdir_in("/var/tmp").unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // Its server may still have files open; the mount is gone from here at once.
        let _ = Command::new("umount").args(["-q", "-l"]).arg(self.0.path()).status();
    }
}

/// A directory with a file, to make an image of.
fn content() -> TempDir {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(dir.path().join("file"), vec![1; 100_000]).unwrap();
    dir
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The kernel itself has the image open, without a loop device, a claim or a lock.
#[test]
fn an_image_that_erofs_has_mounted_is_refused() {
    if !has_means(&["mkfs.erofs"]) {
        return;
    }
    if !filesystem_is_known("erofs") {
        return skip("the kernel has no erofs");
    }
    let (_dir, path) = with_file();
    run("mkfs.erofs", &["--quiet", text(&path), text(content().path())]);
    granted(&path);
    let point = Point::new();
    // mount(8) would make a loop device of its own accord.
    let flags = rustix::mount::MountFlags::RDONLY;
    match rustix::mount::mount(&path, point.path(), "erofs", flags, None) {
        Err(rustix::io::Errno::NOTBLK) => return skip("this kernel mounts no files"),
        mounted => mounted.unwrap(),
    }
    let Use::Mounted { mount_point, fstype, .. } = only_use(&path) else {
        panic!("{:?}", only_use(&path))
    };
    assert_eq!((mount_point.as_path(), fstype.as_str()), (point.path(), "erofs"));
    drop(point);
    granted(&path);
}

/// A server in user space has the image open.
fn is_served(path: &Path, server: &str, arguments: &[&str], name: &str) {
    granted(path);
    let point = Point::new();
    run(server, &[arguments, &[text(path), text(point.path())]].concat());
    let shown = fs::read(point.path().join("file"));
    assert_eq!(shown.unwrap().len(), 100_000);
    match only_use(path) {
        Use::Open { by, .. } => assert!(by.iter().any(|user| user.name == name), "{by:?}"),
        Use::Mounted { mount_point, .. } => assert_eq!(mount_point, point.path()),
        // fuse2fs locks what it may write to.
        Use::Busy { .. } => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_image_that_fuse2fs_has_mounted_is_refused() {
    if !has_means(&["fuse2fs", "mkfs.ext4"]) || !Path::new("/dev/fuse").exists() {
        return;
    }
    let (_dir, path) = with_file();
    fs::write(&path, vec![0; 8 << 20]).unwrap();
    run("mkfs.ext4", &["-q", "-d", text(content().path()), text(&path)]);
    for options in [&["-o", "ro"][..], &[]] {
        is_served(&path, "fuse2fs", options, "fuse2fs");
    }
}

#[test]
fn an_image_that_squashfuse_has_mounted_is_refused() {
    if !has_means(&["squashfuse", "mksquashfs"]) || !Path::new("/dev/fuse").exists() {
        return;
    }
    let (_dir, path) = with_file();
    let content = content();
    run("mksquashfs", &[text(content.path()), text(&path), "-noappend", "-quiet"]);
    is_served(&path, "squashfuse", &[], "squashfuse");
}

/// Below an overlay a file may be shown under another name, and need not be open now.
#[test]
fn a_file_in_a_layer_that_an_overlay_writes_to_is_refused() {
    if !has_means(&["mount"]) {
        return;
    }
    if !filesystem_is_known("overlay") {
        return skip("needs overlay");
    }
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["lower", "up,per", "work"] {
        fs::create_dir(at(name)).unwrap();
    }
    let (lower, upper) = (at("lower/file"), at("up,per/data.img"));
    fs::write(&lower, vec![1; 4096]).unwrap();
    fs::write(&upper, vec![2; 4096]).unwrap();
    granted(&upper);
    let option = |name: &str| text(&at(name)).replace(',', "\\,");
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        option("lower"),
        option("up,per"),
        option("work")
    );
    let mounted = Mounted::new("overlay", "overlay", &options);
    let Use::Layer { layer, mount_point, .. } = only_use(&upper) else {
        panic!("{:?}", only_use(&upper))
    };
    assert_eq!((layer, mount_point.as_path()), ("upper", mounted.path()));
    granted(&mounted.path().join("data.img"));
    granted(&lower);
    let above = Running::reader(&mounted.path().join("file"));
    assert!(matches!(only_use(&lower), Use::Open { .. }));
    drop(above);
    drop(mounted);
    granted(&upper);
}

/// A virtual machine with the disk passed through, a server of a filesystem: neither claims it.
#[test]
fn a_device_that_a_program_has_open_is_refused_with_its_name() {
    if !has_means(&["losetup", "addpart", "delpart"]) {
        return;
    }
    let device = Loop::new(64 << 20, true);
    granted(&device.path);
    let running = Running::reader(&device.path);
    is_open_in(&device.path, &running, "sleep");
    let listed = devices::list(&Roots::default());
    let listed = listed.iter().find(|listed| listed.path == device.path).unwrap();
    assert!(!listed.ready);
    assert!(matches!(&listed.why_not[..], [Use::Open { .. }]), "{:?}", listed.why_not);

    // A reader of a disk does not block writing to its partition; a writer to the disk does.
    let _partition = Partition::of(&device);
    let part = PathBuf::from(format!("{}p1", device.dev()));
    granted(&part);
    let file = File::options().write(true).open(&device.path).unwrap();
    let writer = Running::new(Command::new("sleep").arg("1000").stdin(file));
    is_open_in(&part, &writer, "sleep");
    drop((writer, running));
    granted(&part);
    // And a reader of the partition blocks writing to the disk.
    let reader = Running::reader(&part);
    is_open_in(&device.path, &reader, "sleep");
    drop(reader);
    granted(&device.path);
}

#[test]
fn a_device_that_is_open_for_a_moment_is_waited_for() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(16 << 20, true);
    let stdin = File::open(&device.path).unwrap();
    let mut running = Command::new("sleep").arg("0.5").stdin(stdin).spawn().unwrap();
    gate::check(&Roots::default(), &device.path, &consented(&device.path)).unwrap();
    running.wait().unwrap();
}

/// Storage that is exported to another machine has no user here.
#[test]
fn what_is_exported_is_refused() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(16 << 20, true);
    let number = DevNo::from_raw(fs::metadata(&device.path).unwrap().rdev()).to_string();
    let (_dir, file) = with_file();
    let sorts = [
        ("nvmet/subsystems/nqn.x/namespaces/1", "device_path", "the NVMe target nqn.x/1"),
        ("target/core/fileio_0/disk", "udev_path", "the SCSI target fileio_0/disk"),
        ("usb_gadget/g/functions/mass_storage.0/lun.0", "file", "the USB gadget g/mass_storage.0"),
    ];
    for (dir, lent, by) in sorts {
        for (target, word) in [(&device.path, "sda"), (&file, "data.img")] {
            let machine = Machine::new();
            machine.device("pci0/sda", &number, &[("size", "32768")]);
            let consented = Request { consent: Some(word.to_owned()), ..Request::default() };
            gate::check(&machine.roots, target, &consented).unwrap();
            let at = format!("sys/kernel/config/{dir}");
            machine.write(&format!("{at}/{lent}"), format!("{}\n", target.display()));
            machine.write(&format!("{at}/enable"), "1\n");
            let refusal = gate::check(&machine.roots, target, &consented).unwrap_err().to_string();
            assert!(refusal.contains(&format!("is exported by {by}: disable")), "{refusal}");
            if lent != "file" {
                machine.write(&format!("{at}/enable"), "0\n");
                gate::check(&machine.roots, target, &consented).unwrap();
            }
        }
    }
}
