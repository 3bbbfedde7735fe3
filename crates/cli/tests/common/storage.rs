//! Loop devices, mounts and zram of one test's own, taken down when the test ends, however it ends.

use std::fs::Permissions;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::{scratch_dir, written_file};

/// Skips a test for want of means. On a CI machine that has root and loop devices nothing may be
/// wanting: there it fails instead.
#[track_caller]
pub fn skip(why: &str) {
    let ci = std::env::var("CI").is_ok_and(|v| v == "true");
    assert!(!(ci && is_root_with_loops()), "this machine should have the means, but: {why}");
    println!("skipped: {why}");
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn is_root_with_loops() -> bool {
    is_root() && Path::new("/dev/loop-control").exists()
}

/// True when all is there that a test on loop devices needs; says what is missing otherwise.
#[track_caller]
pub fn has_means(tools: &[&str]) -> bool {
    if !is_root_with_loops() {
        skip("needs root and /dev/loop-control");
        return false;
    }
    has_tools(tools)
}

/// True when all `tools` are installed; says what is missing otherwise.
#[track_caller]
pub fn has_tools(tools: &[&str]) -> bool {
    let dirs = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let missing =
        tools.iter().find(|tool| !dirs.split(':').any(|dir| Path::new(dir).join(tool).exists()));
    if let Some(tool) = missing {
        skip(&format!("needs {tool}"));
    }
    missing.is_none()
}

pub fn filesystem_is_known(name: &str) -> bool {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|line| line.split_whitespace().last() == Some(name))
}

/// Runs a program to its good end and returns what it printed. Where another test that looks at all devices holds this one for
/// a moment, it is run again.
#[track_caller]
pub fn tool(program: &str, args: &[&str]) -> String {
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
        std::thread::sleep(Duration::from_millis(100));
        output = once();
    }
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A loop device on a fully written file of its own.
pub struct Loop {
    pub path: PathBuf,
    pub image: PathBuf,
    _dir: Option<TempDir>,
}

impl Loop {
    pub fn new(bytes: u64, direct: bool) -> Loop {
        Loop::with(bytes, &[if direct { "--direct-io=on" } else { "--direct-io=off" }])
    }

    /// With these flags of losetup(8).
    pub fn with(bytes: u64, flags: &[&str]) -> Loop {
        let dir = scratch_dir();
        let image = dir.path().join("image");
        // Written, for reads of holes would not reach the disk below. Zeros at both ends: no table and
        // no filesystem may be found by chance in random bytes.
        written_file(&image, bytes);
        let file = File::options().write(true).open(&image).unwrap();
        let zeros = vec![0; 1 << 20];
        use std::os::unix::fs::FileExt;
        file.write_all_at(&zeros, 0).unwrap();
        file.write_all_at(&zeros, bytes - zeros.len() as u64).unwrap();
        file.sync_all().unwrap();
        Loop::on(dir, &image, flags)
    }

    pub fn on(dir: TempDir, image: &Path, flags: &[&str]) -> Loop {
        let image_text = image.to_str().unwrap();
        let path = tool("losetup", &[&["-f", "--show"], flags, &[image_text]].concat());
        let mut made = Loop::attached(path, image);
        made._dir = Some(dir);
        // Another program may have given the node of that number to somebody else.
        std::os::unix::fs::chown(made.dev(), Some(0), Some(0)).unwrap();
        fs::set_permissions(made.dev(), Permissions::from_mode(0o660)).unwrap();
        // Partitions outlive the loop device that they were added to; a killed test may have left one.
        let sys = Path::new("/sys/block").join(made.name());
        for number in ["1", "2"] {
            if sys.join(format!("{}p{number}", made.name())).exists() {
                let _ = Command::new("delpart").args([made.dev(), number]).status();
            }
        }
        made
    }

    /// One that is attached to a file of somebody else's.
    pub fn attached(path: String, image: &Path) -> Loop {
        Loop { path: path.into(), image: image.to_owned(), _dir: None }
    }

    pub fn dev(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// `loop3`.
    pub fn name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }

    pub fn mkfs(&self, fstype: &str) {
        mkfs(fstype, &self.path);
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
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

pub fn mkfs(fstype: &str, device: &Path) {
    // Discards would punch holes into a loop's file, and reads of holes do not reach the disk below.
    let flags: &[&str] = if fstype == "ext4" { &["-F", "-E", "nodiscard"] } else { &["-f", "-K"] };
    let arguments = [&["-q"], flags, &[device.to_str().unwrap()]].concat();
    tool(&format!("mkfs.{fstype}"), &arguments);
}

/// A mounted filesystem.
pub struct Mounted {
    dir: TempDir,
}

impl Mounted {
    pub fn new(fstype: &str, source: &str, options: &str) -> Mounted {
        let dir = scratch_dir();
        let point = dir.path().to_str().unwrap();
        let mut args = vec!["-t", fstype];
        if !options.is_empty() {
            args.extend(["-o", options]);
        }
        tool("mount", &[&args[..], &[source, point]].concat());
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
        // A process that died takes its descriptors along a little later than it is reported dead.
        for _ in 0..100 {
            if umount("-q") {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        umount("-l");
    }
}

/// A zram disk, when the kernel lets one be made.
pub struct Zram {
    id: String,
}

impl Zram {
    pub fn new(size: &str) -> Option<Zram> {
        let id = fs::read_to_string("/sys/class/zram-control/hot_add").ok()?.trim().to_owned();
        let zram = Zram { id };
        fs::write(format!("/sys/block/zram{}/disksize", zram.id), size).unwrap();
        Some(zram)
    }

    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/zram{}", self.id))
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write(format!("/sys/block/zram{}/reset", self.id), "1");
        let _ = fs::write("/sys/class/zram-control/hot_remove", &self.id);
    }
}
