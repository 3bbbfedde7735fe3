//! Each verb that can write, on a file in each state in which it is in use: refused, and the file is as it was. Beside
//! it the same verbs on unused files, on each filesystem: they go through.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;
use crate::matrix;

use std::any::Any;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use common::storage::{
    Loop, Mounted, filesystem_is_known, has_means, has_tools, is_root, skip, tool,
};
use common::{Alive, Ran, scratch_dir, written_file};
use tempfile::TempDir;

const SIZE: u64 = 16 << 20;
const NAME: &str = "data.img";
const EVERYTHING: &str =
    "--allow=partitions --allow=signature:ext4 --allow=unknown:users --allow=unknown:content";

/// Puts a file into a state, which ends when what is returned is dropped; `None` where this machine has no such state.
type Enter = fn(&Path) -> Option<Box<dyn Any>>;

const STATES: [(&str, Enter); 9] = [
    ("mounted by erofs", erofs),
    ("mounted by fuse2fs", fuse2fs),
    ("mounted by squashfuse", squashfuse),
    ("open for reading", |path| Some(Box::new(sleeping(File::open(path).unwrap())))),
    ("open for writing", |path| {
        Some(Box::new(sleeping(File::options().append(true).open(path).unwrap())))
    }),
    ("locked", locked),
    ("under a loop device", |path| {
        if !has_means(&["losetup"]) {
            return None;
        }
        let device = tool("losetup", &["-f", "--show", text(path)]);
        Some(Box::new(Loop::attached(device, path)))
    }),
    ("swapped to", swap),
    ("in an overlay's upper directory", overlay),
];

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn sleeping(file: File) -> Alive {
    Alive::start(Command::new("sleep").arg("10000").stdin(file).stdout(Stdio::null()))
}

/// A mount that goes even while its server or somebody else is still busy.
struct Point(TempDir);

impl Point {
    fn new() -> Point {
        Point(scratch_dir())
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-q", "-l"]).arg(self.0.path()).status();
    }
}

/// A directory with a file in it, to make an image of.
fn content() -> TempDir {
    let dir = scratch_dir();
    written_file(&dir.path().join("file"), 1 << 20);
    dir
}

fn erofs(path: &Path) -> Option<Box<dyn Any>> {
    if !has_means(&["mkfs.erofs"]) {
        return None;
    }
    if !filesystem_is_known("erofs") {
        skip("the kernel has no erofs");
        return None;
    }
    tool("mkfs.erofs", &["--quiet", text(path), text(content().path())]);
    let point = Point::new();
    // mount(8) would make a loop device of its own accord.
    let flags = rustix::mount::MountFlags::RDONLY;
    match rustix::mount::mount(path, point.0.path(), "erofs", flags, None) {
        Err(rustix::io::Errno::NOTBLK) => {
            skip("this kernel mounts no files");
            return None;
        }
        mounted => mounted.unwrap(),
    }
    Some(Box::new(point))
}

fn fuse2fs(path: &Path) -> Option<Box<dyn Any>> {
    if !has_means(&["fuse2fs", "mkfs.ext4"]) || !Path::new("/dev/fuse").exists() {
        return None;
    }
    tool("mkfs.ext4", &["-q", "-F", "-d", text(content().path()), text(path)]);
    let point = Point::new();
    tool("fuse2fs", &["-o", "ro", text(path), text(point.0.path())]);
    Some(Box::new(point))
}

fn squashfuse(path: &Path) -> Option<Box<dyn Any>> {
    if !has_means(&["squashfuse", "mksquashfs"]) || !Path::new("/dev/fuse").exists() {
        return None;
    }
    tool("mksquashfs", &[text(content().path()), text(path), "-noappend", "-quiet"]);
    let point = Point::new();
    tool("squashfuse", &[text(path), text(point.0.path())]);
    Some(Box::new(point))
}

fn locked(path: &Path) -> Option<Box<dyn Any>> {
    if !has_tools(&["flock"]) {
        return None;
    }
    let mut command = Command::new("flock");
    command.arg("-F").arg(path).args(["sh", "-c", "echo up; exec sleep 10000"]);
    let mut child = Alive::start(command.stdout(Stdio::piped()));
    let mut up = [0; 3];
    child.child().stdout.take().unwrap().read_exact(&mut up).unwrap();
    Some(Box::new(child))
}

struct Swap(PathBuf);

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.0).status();
    }
}

fn swap(path: &Path) -> Option<Box<dyn Any>> {
    if !has_means(&["mkswap", "swapon"]) {
        return None;
    }
    tool("chmod", &["600", text(path)]);
    tool("mkswap", &[text(path)]);
    tool("swapon", &[text(path)]);
    Some(Box::new(Swap(path.to_owned())))
}

fn overlay(path: &Path) -> Option<Box<dyn Any>> {
    if !has_means(&["mount"]) {
        return None;
    }
    if !filesystem_is_known("overlay") {
        skip("needs overlay");
        return None;
    }
    let (upper, dir) = (path.parent().unwrap(), path.parent().unwrap().parent().unwrap());
    let (lower, work) = (dir.join("lower"), dir.join("work"));
    fs::create_dir_all(&lower).unwrap();
    fs::create_dir_all(&work).unwrap();
    let options =
        format!("lowerdir={},upperdir={},workdir={}", text(&lower), text(upper), text(&work));
    Some(Box::new(Mounted::new("overlay", "overlay", &options)))
}

/// A place for lines: a home with what they need, and the file.
struct Stage {
    home: TempDir,
    file: PathBuf,
}

impl Stage {
    fn new() -> Stage {
        let home = scratch_dir();
        fs::create_dir(home.path().join("files")).unwrap();
        symlink(env!("CARGO_BIN_EXE_drivescope"), home.path().join("drivescope")).unwrap();
        let file = home.path().join("files").join(NAME);
        written_file(&file, SIZE);
        Stage { home, file }
    }

    fn sh(&self, line: &str) -> Ran {
        let home = self.home.path();
        let path = format!("{}:{}", home.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(home).env("PATH", path).env("HOME", home);
        command.env("A", &self.file).env("A_SERIAL", NAME);
        command.env("DRIVESCOPE_RUNS_DIR", home.join("runs")).stdin(Stdio::null());
        command.output().unwrap().into()
    }

    /// Runs a line on the file, with every word that there is.
    fn consented(&self, line: &str) -> Ran {
        let words = format!("--consent={NAME} {EVERYTHING}");
        self.sh(&line.replace("{consent}", &words).replace("{device}", text(&self.file)))
    }

    fn state(&self) -> (Vec<u8>, u64, i64, i64, u64) {
        let meta = fs::metadata(&self.file).unwrap();
        let content = fs::read(&self.file).unwrap();
        (content, meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ino())
    }
}

/// Verbs that take no file, and say so.
const DEVICES_ONLY: [&str; 1] = ["purge, by writing zeros"];

/// A line of the matrix: its name, what has to be there for it, and the command.
type Line = (&'static str, &'static str, &'static str);

/// Outcome of a line on a file in use: a cell of the table, or an error.
fn cell((name, _, line): Line, stage: &Stage) -> Result<&'static str, String> {
    let ran = stage.consented(line);
    let wrong = || format!("{name}: {:?}: {}", ran.code, ran.stderr);
    match (DEVICES_ONLY.contains(&name), ran.code) {
        (true, Some(2)) => Ok("takes no file"),
        (false, Some(3)) if ran.stderr.contains("refused to write") => Ok("refused"),
        _ => Err(wrong()),
    }
}

/// Runs all lines, some at a time: each waits two seconds for the user to go.
fn column(lines: &[Line], stage: &Stage) -> BTreeMap<&'static str, Result<&'static str, String>> {
    let left = Mutex::new(lines.to_vec());
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(line) = left.lock().unwrap().pop() else { break };
                    let cell = cell(line, stage);
                    done.lock().unwrap().insert(line.0, cell);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

// Breaks when a way to write is opened that the use of a file does not stop.
#[test]
fn each_verb_that_writes_is_refused_a_file_in_use_whatever_is_said() {
    let lines: Vec<Line> = matrix::core().collect();
    assert!(lines.len() > 15);
    let mut columns = Vec::new();
    for (state, enter) in STATES {
        let stage = Stage::new();
        for (name, before, _) in &lines {
            let made = stage.sh(before);
            assert_eq!(made.code, Some(0), "{name}: {}", made.stderr);
        }
        let Some(held) = enter(&stage.file) else { continue };
        let before = stage.state();
        let cells = column(&lines, &stage);
        let wrong: Vec<&String> = cells.values().filter_map(|cell| cell.as_ref().err()).collect();
        assert!(wrong.is_empty(), "{state}: {wrong:#?}");
        assert!(stage.state() == before, "{state}: it was changed");
        drop(held);
        columns.push((state, cells));
    }
    // Elsewhere a part of the states cannot be had.
    if columns.len() == STATES.len() {
        let states: Vec<&str> = STATES.iter().map(|(state, _)| *state).collect();
        let mut table = format!("| on a file | {} |\n|---|", states.join(" | "));
        table.push_str(&"---|".repeat(states.len()));
        for (name, ..) in &lines {
            let cells: Vec<&str> =
                columns.iter().map(|(_, cells)| *cells[name].as_ref().unwrap()).collect();
            table.push_str(&format!("\n| {name} | {} |", cells.join(" | ")));
        }
        is_in_the_documents(&table);
    }
}

/// Set to `overwrite`, the table is written into the documents.
const RENEW: &str = "SAFETY_TABLE";

fn is_in_the_documents(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/safety.md");
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- states: made by a test -->\n", "\n<!-- end of states -->");
    let (before, rest) = text.split_once(begin).expect("the mark where the table begins");
    let (held, after) = rest.split_once(end).expect("the mark where the table ends");
    if std::env::var(RENEW).is_ok_and(|said| said == "overwrite") {
        return fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
    }
    assert!(held == table, "renew the table with {RENEW}=overwrite: {table}");
}

/// Lines that write at once, and are done in a second.
const QUICK: [&str; 6] = ["mark", "run", "sweep", "trace replay", "flashbench -O", "diskspd -w"];

/// Runs the quick lines on an unused target, consented to with these words: each goes through, and writes.
fn goes_through(stage: &Stage, target: &Path, content: &Path, words: &str) {
    for (name, before, line) in matrix::core().filter(|(name, ..)| QUICK.contains(name)) {
        assert_eq!(stage.sh(before).code, Some(0), "{name}");
        let was = fs::read(content).unwrap();
        let line = line.replace("{consent}", words).replace("{device}", text(target));
        // One of the filesystems lies in memory.
        let line = if matches!(name, "mark" | "run" | "sweep" | "trace replay") {
            format!("{line} --anyway")
        } else {
            line
        };
        let ran = stage.sh(&line);
        assert!(matches!(ran.code, Some(0 | 1)), "{name}: {:?}: {}", ran.code, ran.stderr);
        assert!(fs::read(content).unwrap() != was, "{name} on {}: wrote nothing", text(target));
    }
}

fn on_filesystem(dir: &Path, words: &str) {
    let stage = Stage::new();
    let file = dir.join(NAME);
    written_file(&file, SIZE);
    goes_through(&stage, &file, &file, &format!("--consent={NAME} {words}"));
}

fn on_loop(fstype: &str) {
    if !has_means(&["losetup", &format!("mkfs.{fstype}")]) {
        return;
    }
    if !filesystem_is_known(fstype) {
        return skip(&format!("the kernel has no {fstype}"));
    }
    let device = Loop::new(512 << 20, true);
    device.mkfs(fstype);
    let mounted = Mounted::new(fstype, device.dev(), "");
    on_filesystem(mounted.path(), "");
}

// Breaks when the gate is too strict: when it refuses an unused file, or asks for a needless word of consent.
#[test]
fn files_that_nobody_uses_are_written_to_on_each_filesystem() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            on_filesystem(scratch_dir().path(), "");
            on_loop("ext4");
            if has_means(&["mount"]) {
                let mounted = Mounted::new("tmpfs", "none", "size=64M");
                on_filesystem(mounted.path(), "");
            }
        });
        scope.spawn(|| {
            on_loop("xfs");
            on_loop("btrfs");
        });
        scope.spawn(|| {
            if has_means(&["mount"]) && filesystem_is_known("overlay") {
                let dir = scratch_dir();
                let at = |name: &str| dir.path().join(name);
                ["lower", "upper", "work"]
                    .iter()
                    .for_each(|name| fs::create_dir(at(name)).unwrap());
                let [lower, upper, work] = ["lower", "upper", "work"].map(at);
                let options = format!(
                    "lowerdir={},upperdir={},workdir={}",
                    text(&lower),
                    text(&upper),
                    text(&work)
                );
                let mounted = Mounted::new("overlay", "overlay", &options);
                on_filesystem(mounted.path(), "");
            }
            if has_means(&["fuse2fs", "mkfs.ext4"]) && Path::new("/dev/fuse").exists() {
                let dir = scratch_dir();
                let image = dir.path().join("image");
                written_file(&image, 128 << 20);
                tool("mkfs.ext4", &["-q", "-F", text(&image)]);
                let point = Point::new();
                tool("fuse2fs", &["-o", "rw", text(&image), text(point.0.path())]);
                // Later kernels grant no leases there.
                on_filesystem(point.0.path(), "--allow=unknown:users");
            }
        });
    });
}

#[test]
fn devices_and_partitions_that_nobody_uses_are_written_to() {
    if !has_means(&["losetup", "addpart", "delpart"]) {
        return;
    }
    let stage = Stage::new();
    let device = Loop::new(SIZE * 4, true);
    goes_through(&stage, &device.path, &device.path, &format!("--consent={}", device.name()));
    tool("addpart", &[device.dev(), "1", "2048", "65536"]);
    let part = PathBuf::from(format!("{}p1", device.dev()));
    goes_through(&stage, &part, &part, &format!("--consent={}p1", device.name()));
    tool("delpart", &[device.dev(), "1"]);
}

// Breaks when a file whose users are unknown is always refused, or never: the kernel does not show other users who has a
// file open.
#[test]
fn users_that_are_not_known_take_a_word_of_their_own() {
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    if !has_tools(&["setpriv"]) {
        return;
    }
    // In a place to which that user has access, too.
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (binary, file) = (dir.path().join("drivescope"), dir.path().join(NAME));
    tool("cp", &[env!("CARGO_BIN_EXE_drivescope"), text(&binary)]);
    written_file(&file, SIZE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let before = fs::read(&file).unwrap();
    let nobody = |words: &[&str]| -> Ran {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&binary);
        command.args(["diskspd", "-b64K", "-Sd", "-w100", "-d1", "-W0"]).args(words).arg(&file);
        command.current_dir(dir.path()).stdin(Stdio::null()).output().unwrap().into()
    };
    let consent = format!("--consent={NAME}");
    for words in [&[consent.as_str()][..], &[&consent, "--allow=unknown:content"]] {
        nobody(words)
            .fails(3, &["not known whether another program uses", "--allow unknown:users"]);
        assert!(fs::read(&file).unwrap() == before, "{words:?}: written to");
    }
    nobody(&["--allow=unknown:users"]).fails(3, &["--consent"]);
    assert!(fs::read(&file).unwrap() == before, "written to without consent");
    nobody(&[&consent, "--allow=unknown:users"]).exits(0);
    assert!(fs::read(&file).unwrap() != before);
}
