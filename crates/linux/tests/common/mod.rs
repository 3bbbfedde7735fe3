//! Machines to test on: described in a directory, or made of loop devices on this one.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

pub mod fake;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use drivescope_linux::sysfs::{BlockNode, Roots};
use tempfile::TempDir;

/// A machine described by files below a directory.
pub struct Machine {
    dir: TempDir,
    pub roots: Roots,
}

impl Machine {
    pub fn new() -> Machine {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(dir.path()).unwrap().join(name);
        let roots =
            Roots { sys: at("sys"), proc: at("proc"), dev: at("dev"), run_udev: at("run/udev") };
        for sub in
            ["sys/block", "sys/class/block", "sys/dev/block", "proc/self", "dev", "run/udev/data"]
        {
            fs::create_dir_all(at(sub)).unwrap();
        }
        // As on a machine whose /proc reports nothing else: no swap, and a mount that leads to no device.
        fs::write(at("proc/swaps"), "Filename\tType\tSize\tUsed\tPriority\n").unwrap();
        fs::write(at("proc/self/mountinfo"), "22 1 0:21 / /proc rw - proc proc rw\n").unwrap();
        // No other processes, and none that a container hides.
        fs::create_dir_all(at("proc/1")).unwrap();
        fs::create_dir_all(at("proc/self/ns")).unwrap();
        symlink("pid:[4026531836]", at("proc/self/ns/pid")).unwrap();
        Machine { dir, roots }
    }

    /// The directory, without links.
    pub fn path(&self) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap()
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn link(&self, target: &str, link: &str) {
        let link = self.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(self.path().join(target), link).unwrap();
    }

    /// A block device in `sys/devices/<dir>` with its links, a size of 1 GiB, and `attrs`.
    pub fn device(&self, dir: &str, number: &str, attrs: &[(&str, &str)]) -> BlockNode {
        let home = format!("sys/devices/{dir}");
        let name = dir.rsplit('/').next().unwrap();
        self.write(&format!("{home}/dev"), number);
        self.write(&format!("{home}/size"), "2097152");
        self.write(&format!("{home}/stat"), "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
        self.write(&format!("{home}/queue/logical_block_size"), "512");
        for (attr, text) in attrs {
            self.write(&format!("{home}/{attr}"), text);
        }
        self.link(&home, &format!("sys/class/block/{name}"));
        self.link(&home, &format!("sys/dev/block/{number}"));
        if !attrs.iter().any(|(attr, _)| *attr == "partition") {
            self.link(&home, &format!("sys/block/{name}"));
        }
        // As long as the device, or its content could not be read.
        self.write(&format!("dev/{name}"), "");
        let node = self.node(name);
        let file = File::options().write(true).open(node.dev_path(&self.roots)).unwrap();
        file.set_len(node.size().0).unwrap();
        node
    }

    pub fn node(&self, name: &str) -> BlockNode {
        BlockNode::by_name(&self.roots, name).unwrap()
    }

    /// Says that `upper` is built upon `lower`.
    pub fn stack(&self, upper: &str, lower: &str) {
        let dir = |name: &str| {
            let dir = self.node(name).dir().to_owned();
            dir.strip_prefix(self.path()).unwrap().to_str().unwrap().to_owned()
        };
        self.link(&dir(lower), &format!("{}/slaves/{lower}", dir(upper)));
        self.link(&dir(upper), &format!("{}/holders/{upper}", dir(lower)));
    }

    /// A directory `mnt` with a file `file` in it, as mounted with this line's end:
    /// `<number> <root>` and `<fstype> <source> <options>`.
    pub fn mounted(&self, number_and_root: &str, rest: &str) -> PathBuf {
        let mount = self.path().join("mnt");
        fs::create_dir_all(&mount).unwrap();
        fs::write(mount.join("file"), "data").unwrap();
        let (number, root) = number_and_root.split_once(' ').unwrap();
        let line = format!("50 1 {number} {root} {} rw shared:1 - {rest}\n", mount.display());
        self.write("proc/self/mountinfo", line);
        mount.join("file")
    }
}

/// True when this user may make loop devices and mount them.
pub fn is_root_with_loops() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists()
}

/// Skips a test for want of means. Where the means are there, tests do not come here but fail.
pub fn skip(why: &str) {
    println!("skipped: {why}");
}

/// True when all is there that a test on real devices needs; says what is missing otherwise.
pub fn has_means(tools: &[&str]) -> bool {
    if !is_root_with_loops() {
        skip("needs root and /dev/loop-control");
        return false;
    }
    let dirs = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    for tool in tools {
        if !dirs.split(':').any(|dir| Path::new(dir).join(tool).exists()) {
            skip(&format!("needs {tool}"));
            return false;
        }
    }
    true
}

pub fn filesystem_is_known(name: &str) -> bool {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|line| line.split_whitespace().last() == Some(name))
}

/// Runs a program to its good end and returns what it printed. Where another test that looks at all devices holds this one for
/// a moment, it is run again.
pub fn run(program: &str, args: &[&str]) -> String {
    let once = || Command::new(program).args(args).output().unwrap();
    let is_held = |output: &std::process::Output| {
        let error = String::from_utf8_lossy(&output.stderr);
        !output.status.success() && (error.contains("busy") || error.contains("in use"))
    };
    let mut output = once();
    for _ in 0..50 {
        if !is_held(&output) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        output = once();
    }
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs the test `name` of this program once more in a process of its own, for one that looks at what is counted of a whole
/// process, where other tests run beside it. True in there; false where that has ended well.
pub fn has_its_own_process(name: &str) -> bool {
    const HAS: &str = "DRIVESCOPE_TEST_HAS_ITS_OWN_PROCESS";
    if std::env::var_os(HAS).is_some() {
        return true;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", name, "--nocapture", "--quiet"]).env(HAS, name);
    let ran = again.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains(" 1 passed;"), "{said}\n{error}");
    said.lines().filter(|line| line.starts_with("skipped")).for_each(|line| println!("{line}"));
    false
}

/// A loop device on a file of its own.
pub struct Loop {
    pub path: PathBuf,
    pub image: PathBuf,
    _dir: TempDir,
}

impl Loop {
    pub fn new(size: u64, direct: bool) -> Loop {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let image = dir.path().join("image");
        File::create(&image).unwrap().set_len(size).unwrap();
        Loop::on(dir, &image, direct)
    }

    pub fn on(dir: TempDir, image: &Path, direct: bool) -> Loop {
        let flag = if direct { "--direct-io=on" } else { "--direct-io=off" };
        let path = run("losetup", &["-f", "--show", flag, image.to_str().unwrap()]);
        Loop::attached(dir, path, image)
    }

    pub fn attached(dir: TempDir, path: String, image: &Path) -> Loop {
        let made = Loop { path: path.into(), image: image.to_owned(), _dir: dir };
        // Partitions outlive the loop device that they were added to; a killed test may have left one.
        let sys = Path::new("/sys/block").join(made.name());
        if sys.join(format!("{}p1", made.name())).exists() {
            let _ = Command::new("delpart").args([made.dev(), "1"]).status();
        }
        made
    }

    pub fn dev(&self) -> &str {
        self.path.to_str().unwrap()
    }

    pub fn name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }

    pub fn mkfs(&self, fstype: &str) {
        let force = if fstype == "ext4" { "-F" } else { "-f" };
        run(&format!("mkfs.{fstype}"), &["-q", force, self.dev()]);
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", self.dev()]).status();
        // Detaching may end a moment later, and until then the next look finds it in the way.
        let attached = format!("/sys/block/{}/loop/backing_file", self.name());
        for _ in 0..100 {
            if !Path::new(&attached).exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// A partition that `addpart` added to the kernel; it outlives even the loop device unless it is taken back.
#[allow(dead_code, reason = "not every test divides a device")]
pub struct Partition(String);

impl Partition {
    /// The first partition of `device`, from 1 MiB on and 32 MiB long.
    #[allow(dead_code, reason = "not every test divides a device")]
    pub fn of(device: &Loop) -> Partition {
        run("addpart", &[device.dev(), "1", "2048", "65536"]);
        Partition(device.dev().to_owned())
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        let _ = Command::new("delpart").args([&self.0, "1"]).status();
    }
}

/// A mounted filesystem.
pub struct Mounted {
    dir: TempDir,
}

impl Mounted {
    pub fn new(fstype: &str, source: &str, options: &str) -> Mounted {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let point = dir.path().to_str().unwrap();
        let mut args = vec!["-t", fstype];
        if !options.is_empty() {
            args.extend(["-o", options]);
        }
        run("mount", &[&args[..], &[source, point]].concat());
        Mounted { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let umount = |flag: &str| {
            let mut command = Command::new("umount");
            command.arg(flag).arg(self.dir.path()).output().is_ok_and(|o| o.status.success())
        };
        // A program that looks at all mounts may hold it for a moment.
        for _ in 0..100 {
            if umount("-q") {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        umount("-l");
    }
}

/// A zram disk, where the kernel has them.
pub struct Zram {
    id: String,
}

impl Zram {
    pub fn new(size: &str) -> Option<Zram> {
        let control = Path::new("/sys/class/zram-control/hot_add");
        if !control.exists() {
            return None;
        }
        let id = fs::read_to_string(control).unwrap().trim().to_owned();
        let zram = Zram { id };
        fs::write(format!("/sys/block/{}/disksize", zram.name()), size).unwrap();
        Some(zram)
    }

    pub fn name(&self) -> String {
        format!("zram{}", self.id)
    }

    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(self.name())
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write(format!("/sys/block/{}/reset", self.name()), "1");
        let _ = fs::write("/sys/class/zram-control/hot_remove", &self.id);
    }
}
