//! Outputs that would overwrite what is measured: each flag that names a file, pointed at the target by every kind of
//! name, at a device and at a pipe without a reader. The table of docs/safety.md is made from the outcomes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::{cases, common};

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::matrix::lines::{OUTPUTS, results};
use cases::fixture::{Ended, end};
use common::storage::{Loop, Mounted, filesystem_is_known, has_means, skip};
use common::{Alive, drivescope, mark, run, scratch_dir};

/// Set to `overwrite`, the test writes the table in docs/safety.md.
const RENEW: &str = "OUTPUT_TABLE";
/// The table is between these two lines.
const BEGIN: &str = "<!-- outputs: made by crates/cli/tests/output_targets.rs -->\n";
const END: &str = "<!-- end of outputs -->\n";

/// Kinds of names, as the table has them.
const FORMS: [&str; 6] = [
    "the target",
    "a hard link to it",
    "a symbolic link to it",
    "a block device",
    "a pipe without a reader",
    "/proc/PID/fd/N",
];

/// Rows of lines: verb, flag, and a command whose output is {out}. Its target is {target}, a file, or {loop}, a device that is
/// stored in that file. Commands without a target are tried on devices and pipes alone.
const LINES: &[(&str, &str, &str)] = &[
    ("mark", "samples", "mark {target} --read-only --samples={out} --force"),
    ("run", "samples", "run {plan} {target} --samples={out} --force"),
    ("rerun", "samples", "rerun {run} --samples={out} --force"),
    ("sweep", "samples", "sweep {target} --vary=depth=1,2 --samples={out} --force"),
    ("report", "output", "report {run} --output={out} --force"),
    ("report", "png", "report {run} --png={out} --force"),
    ("report", "svg", "report {run} --svg={out} --force"),
    ("report", "csv", "report {run} --csv={out} --force"),
    ("report", "markdown", "report {run} --markdown={out} --force"),
    ("probe scatter", "data", "probe scatter {target} --data={out} --force"),
    ("flashbench", "out", "flashbench -s --scatter-order=8 --out={out} {target}"),
    ("trace record", "output", "trace record {loop} --duration=1s --output={out} --force"),
    ("trace import", "output", "trace import {trace} --output={out} --force"),
    ("trace export", "output", "trace export {trace} --to=msr --output={out} --force"),
    ("trace analyze", "plot", "trace analyze {trace} --plot={out} --force"),
    ("trace replay", "save", "trace replay {trace} {target} --save={out}"),
    ("runs export", "output", "runs export {run} --output={out} --force"),
    ("health", "record_commands", "health {loop} --record-commands={out}"),
];

/// A target with its names, a device that is stored in it, and another device.
struct Place {
    dir: TempDir,
    target: PathBuf,
    device: Loop,
    other: Loop,
    run: String,
    _holder: Alive,
}

impl Place {
    /// All names end in `end`, since some flags take only certain ones.
    fn new(end: &str) -> Place {
        let (dir, other) = (scratch_dir(), Loop::new(4 << 20, false));
        let at = |name: &str| dir.path().join(format!("{name}.{end}"));
        let device = Loop::new(4 << 20, false);
        let target = device.image.parent().unwrap().join(format!("target.{end}"));
        fs::rename(&device.image, &target).unwrap();
        fs::hard_link(&target, device.image.with_file_name(format!("hard.{end}"))).unwrap();
        symlink(&target, at("soft")).unwrap();
        let mode = rustix::fs::Mode::RWXU;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), kind, mode, 0).unwrap();
        symlink(&other.path, at("device")).unwrap();
        // It has the target open and does nothing with it.
        let open = File::open(&target).unwrap();
        let mut holder = Alive::start(Command::new("sleep").arg("1000").stdin(open));
        let open = format!("/proc/{}/fd/0", holder.child().id());
        symlink(open, at("open")).unwrap();
        let plan = run(["plan", "--tests=RND4KQ1T1", "--read-only", "--seed=7", "--runs=1"]);
        fs::write(dir.path().join("plan.toml"), plan.exits(0).stdout).unwrap();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
        fs::copy(examples.join("shop.spc"), dir.path().join("shop.spc")).unwrap();
        let mut place = Place { dir, target, device, other, run: String::new(), _holder: holder };
        let made = place.run(
            "mark {target} --read-only --tests=RND4KQ1T1 --runs=1 --duration=5ms --no-progress",
        );
        assert!(matches!(made.code, Some(0 | 1)), "{made:?}");
        place.run = "last".to_owned();
        place
    }

    fn command(&self, line: &str) -> Command {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let words = line.split(' ').map(|word| {
            word.replace("{target}", &text(&self.target))
                .replace("{loop}", self.device.dev())
                .replace("{plan}", "plan.toml")
                .replace("{trace}", "shop.spc")
                .replace("{run}", &self.run)
        });
        let mut command = drivescope(words);
        command
            .current_dir(self.dir.path())
            .env("DRIVESCOPE_RUNS_DIR", self.dir.path().join("runs"));
        command
    }

    fn run(&self, line: &str) -> Ended {
        end(&mut self.command(line))
    }

    /// The name of this form.
    fn name(&self, form: &str) -> PathBuf {
        let end = self.target.extension().unwrap().to_str().unwrap();
        let at = |name: &str| self.dir.path().join(format!("{name}.{end}"));
        match form {
            "the target" => self.target.clone(),
            "a hard link to it" => self.target.with_file_name(format!("hard.{end}")),
            "a symbolic link to it" => at("soft"),
            "a block device" => at("device"),
            "a pipe without a reader" => at("pipe"),
            _ => at("open"),
        }
    }

    /// State that must not change: content, length, date and names of the target and of the other device's file.
    fn state(&self) -> Vec<(u64, u64, i64, i64, u64, u64)> {
        let of = |path: &Path| {
            let mut hash = DefaultHasher::new();
            fs::read(path).unwrap().hash(&mut hash);
            let meta = fs::metadata(path).unwrap();
            let at = (meta.mtime(), meta.mtime_nsec());
            (hash.finish(), meta.len(), at.0, at.1, meta.ino(), meta.nlink())
        };
        vec![of(&self.target), of(&self.other.image)]
    }
}

/// Outcome of a line with an output of this form, for the table.
fn tried(place: &Place, line: &str, form: &str) -> String {
    let has_target = ["{target}", "{loop}", "{run}"].iter().any(|it| line.contains(it));
    if !has_target && form != "a block device" && form != "a pipe without a reader" {
        return "–".to_owned();
    }
    let out = place.name(form);
    let line = line.replace("{out}", out.to_str().unwrap());
    let before = place.state();
    let ended = place.run(&line);
    assert_eq!(place.state(), before, "{line}: {ended:?}");
    assert!(ended.stdout.is_empty(), "{line}: {ended:?}");
    let is_pipe = form == "a pipe without a reader";
    let said = if is_pipe {
        ["has no reader", "not a regular file", "is not a directory"]
            .into_iter()
            .find(|why| ended.stderr.contains(why))
    } else {
        ["is the target", "is a block device", "not a regular file"]
            .into_iter()
            .find(|why| ended.stderr.contains(why))
    };
    assert!(said.is_some(), "{line}: {ended:?}");
    let codes: &[i32] = if is_pipe { &[2, 3] } else { &[3] };
    assert!(ended.code.is_some_and(|code| codes.contains(&code)), "{line}: {ended:?}");
    format!("refused ({})", ended.code.unwrap())
}

fn flag(verb: &str, flag: &str) -> String {
    format!("`{verb} --{}`", flag.replace('_', "-"))
}

/// Breaks when an output of any verb goes over what is measured, or waits for a reader that never comes.
#[test]
fn no_output_goes_over_the_target() {
    if !has_means(&["losetup"]) {
        return;
    }
    let known: BTreeSet<_> = OUTPUTS.iter().map(|(verb, flag, _)| (*verb, *flag)).collect();
    let tried_here: BTreeSet<_> = LINES.iter().map(|(verb, flag, _)| (*verb, *flag)).collect();
    assert_eq!(tried_here, known, "each output of tests/matrix/lines.rs has a line here");
    let places = [Place::new("img"), Place::new("svg")];
    let mut table =
        format!("| output | {} |\n|---|{}\n", FORMS.join(" | "), "---|".repeat(FORMS.len()));
    for (verb, name, line) in LINES {
        let place = &places[usize::from(*name == "plot")];
        let cells: Vec<String> = FORMS.iter().map(|form| tried(place, line, form)).collect();
        table += &format!("| {} | {} |\n", flag(verb, name), cells.join(" | "));
    }
    // One code writes the files of all results.
    for name in ["report", "plot", "csv"] {
        let place = &places[usize::from(name == "plot")];
        let rows = results().filter(|(_, flag, _)| *flag == name).map(|(verb, _, line)| {
            let line = format!("{line} --{name}={{out}} --force");
            (verb, FORMS.map(|form| tried(place, &line, form)))
        });
        let rows: Vec<_> = rows.collect();
        for (verb, cells) in &rows {
            assert_eq!(*cells, rows[0].1, "{verb} --{name}");
        }
        let cells = rows[0].1.join(" | ");
        table += &format!("| `--{name}` of each verb that measures | {cells} |\n");
    }
    drop(places);
    table += &other_outputs();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/safety.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the mark where the table begins");
    let (held, after) = rest.split_once(END).expect("the mark where the table ends");
    if std::env::var(RENEW).is_ok_and(|said| said == "overwrite") {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(held, table, "renew the table with {RENEW}=overwrite");
    }
}

/// Lines whose output goes where it may, on a virtual drive or a file: name, line, whether a pipe is taken.
const GOOD: &[(&str, &str, bool)] = &[
    ("`mark --samples`", "mark sim:hdd-7200 {quick} --samples={out} {force}", false),
    ("`sweep --csv`", "sweep sim:hdd-7200 --vary=depth=1,2 {quick} --csv={out} {force}", true),
    (
        "`probe scatter --data`",
        "probe scatter sim:usb-8m --order=4 --no-record --data={out} {force}",
        true,
    ),
    ("`flashbench --out`", "flashbench -s --scatter-order=8 --out={out} sim:usb-8m", true),
    ("`report --output`", "report {run} --output={out} {force}", true),
    ("`report --markdown`", "report {run} --markdown={out} {force}", true),
    ("`runs export --output`", "runs export {run} --output={out} {force}", true),
    ("`trace import --output`", "trace import {trace} --output={out} {force}", false),
    ("`trace export --output`", "trace export {trace} --to=msr --output={out} {force}", false),
];

/// Names that an output may have.
const GOOD_FORMS: [&str; 6] = [
    "a new file",
    "another file, with --force",
    "a hard link to another file, with --force",
    "a symbolic link to another file, with --force",
    "a pipe with a reader",
    "/dev/null",
];

/// Tries [`GOOD`] and makes the second table.
fn other_outputs() -> String {
    let place = Place::new("out");
    let before = place.state();
    let forms = GOOD_FORMS.join(" | ");
    let mut table = format!("\n| output | {forms} |\n|---|{}\n", "---|".repeat(GOOD_FORMS.len()));
    for (name, line, takes_pipe) in GOOD {
        let cells: Vec<&str> =
            GOOD_FORMS.iter().map(|form| written(&place, line, form, *takes_pipe)).collect();
        table += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    assert_eq!(place.state(), before);
    table
}

fn written(place: &Place, line: &str, form: &str, takes_pipe: bool) -> &'static str {
    let dir = scratch_dir();
    let at = |name: &str| dir.path().join(name);
    let (other, mut out) = (at("other"), at("out"));
    fs::write(&other, "an earlier result").unwrap();
    let mut reader = None;
    match form {
        "a hard link to another file, with --force" => fs::hard_link(&other, &out).unwrap(),
        "a symbolic link to another file, with --force" => symlink(&other, &out).unwrap(),
        "another file, with --force" => out.clone_from(&other),
        "/dev/null" => out = "/dev/null".into(),
        "a pipe with a reader" => {
            let (mode, kind) = (rustix::fs::Mode::RWXU, rustix::fs::FileType::Fifo);
            rustix::fs::mknodat(rustix::fs::CWD, &out, kind, mode, 0).unwrap();
            // Open for both, so that neither side waits for the other here.
            let both = OpenOptions::new().read(true).write(true).open(&out).unwrap();
            let mut cat = Command::new("cat");
            cat.arg(&out).stdin(Stdio::null()).stdout(Stdio::piped());
            reader = Some((Alive::start(&mut cat), both));
        }
        _ => {}
    }
    let quick = "--tests=RND4KQ1T1 --runs=1 --duration=5ms --warm-up=0 --pause=0 --seed=7 --no-progress --no-record";
    let quick = if line.starts_with("sweep") {
        quick.replace("--tests=", "--base=")
    } else {
        quick.to_owned()
    };
    let force = if form.ends_with("--force") { "--force" } else { "" };
    let line = line.replace("{quick}", &quick).replace("{out}", out.to_str().unwrap());
    let line = line.replace("{force}", force).trim_end().to_owned();
    let ended = place.run(&line);
    let is_special = out == Path::new("/dev/null") || reader.is_some();
    if is_special && !takes_pipe {
        assert!(matches!(ended.code, Some(2 | 3)), "{line}: {ended:?}");
        return "files only";
    }
    assert!(matches!(ended.code, Some(0 | 1)), "{line}: {ended:?}");
    match reader {
        Some((mut cat, both)) => {
            drop(both);
            let mut read = Vec::new();
            cat.child().stdout.take().unwrap().read_to_end(&mut read).unwrap();
            assert!(!read.is_empty(), "{line}");
        }
        None if is_special => {}
        None => {
            let bytes = fs::read(&out).unwrap();
            assert!(!bytes.is_empty() && bytes != b"an earlier result", "{line}");
        }
    }
    "written"
}

/// Breaks when a result or a message is written over a drive's first sectors, or added to the file that is measured.
#[test]
fn standard_output_and_error_are_no_drive_and_no_target() {
    if !has_means(&["losetup"]) {
        return;
    }
    let place = Place::new("img");
    let before = place.state();
    let device = || OpenOptions::new().write(true).open(&place.other.path).unwrap();
    let added = || OpenOptions::new().append(true).open(&place.target).unwrap();
    let quiet = "--tests=RND4KQ1T1 --read-only --runs=1 --duration=5ms --no-record";
    for line in ["devices", "--help", "--version", "mark --bogus", "man", "plan", "sim list"] {
        let ended = end_with(place.command(line).stdout(device()));
        assert_eq!(ended.code, Some(3), "{line}: {ended:?}");
        assert!(
            ended.stderr.contains("standard output is the block device /dev/loop"),
            "{ended:?}"
        );
        let ended = end_with(place.command(line).stderr(device()));
        assert_eq!((ended.code, &*ended.stdout), (Some(3), ""), "{line}");
    }
    for target in ["{target}", "{loop}"] {
        let line = format!("mark {target} {quiet}");
        let ended = end_with(place.command(&line).stdout(added()));
        assert_eq!(ended.code, Some(3), "{line}: {ended:?}");
        assert!(ended.stderr.contains("standard output is the target"), "{ended:?}");
        let ended = end_with(place.command(&line).stderr(added()));
        assert_eq!((ended.code, &*ended.stdout), (Some(3), ""), "{line}");
    }
    for face in ["flashbench -s --scatter-order=8 {target}", "diskspd -r4K -d1 {target}"] {
        let ended = end_with(place.command(face).stdout(added()));
        assert_eq!(ended.code, Some(3), "{face}: {ended:?}");
    }
    assert_eq!(place.state(), before);
    // Beside it, a file that is neither is written to.
    let result = place.dir.path().join("result.txt");
    let ended = end_with(place.command("plan").stdout(File::create(&result).unwrap()));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(fs::metadata(&result).unwrap().len() > 0);
}

/// As [`end`], where one of the two streams goes elsewhere.
fn end_with(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Breaks when the target of a record that is made again is not looked at: it is known later than the outputs are.
#[test]
fn the_file_below_a_device_is_kept_too() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(4 << 20, false);
    let image = device.image.to_str().unwrap().to_owned();
    let before = fs::read(&image).unwrap();
    let samples = format!("--samples={image}");
    mark(&device.path, &["--tests=RND4KQ1T1", "--read-only", &samples, "--force"])
        .fails(3, &["is the target, or a file that the target is stored in"]);
    let made = mark(&device.path, &["--tests=RND4KQ1T1", "--read-only"]);
    assert!(matches!(made.code, Some(0 | 1)), "{}", made.stderr);
    run(["rerun", "last", &samples, "--force"]).fails(3, &["is the target"]);
    run(["report", "last", &format!("--output={image}"), "--force"]).fails(3, &["is the target"]);
    assert_eq!(fs::read(&image).unwrap(), before);
}

/// Breaks when the target is written over by the path by which an overlay shows it, or by that of the layer that it is in.
#[test]
fn another_place_of_an_overlay_is_the_target_too() {
    if !has_means(&["mount"]) || !filesystem_is_known("overlay") {
        return skip("needs overlay");
    }
    let dir = scratch_dir();
    let at = |name: &str| dir.path().join(name);
    for name in ["lower", "upper", "work"] {
        fs::create_dir(at(name)).unwrap();
    }
    fs::write(at("lower/below"), vec![7; 1 << 20]).unwrap();
    fs::write(at("upper/above"), vec![7; 1 << 20]).unwrap();
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let (lower, upper, work) = (text(at("lower")), text(at("upper")), text(at("work")));
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let mounted = Mounted::new("overlay", "overlay", &options);
    let shown = |name: &str| mounted.path().join(name);
    for (target, output) in [
        (at("upper/above"), shown("above")),
        (shown("above"), at("upper/above")),
        (shown("below"), at("lower/below")),
    ] {
        let report = format!("--output={}", output.display());
        let samples = format!("--samples={}", output.display());
        let words = ["--tests=RND4KQ1T1", "--read-only", "--runs=1"];
        mark(&target, &[&words[..], &[&samples, "--force"]].concat()).fails(3, &["is the target"]);
        let made = mark(&target, &words);
        assert!(matches!(made.code, Some(0 | 1)), "{}", made.stderr);
        run(["report", "last", &report, "--force"]).fails(3, &["is the target"]);
        assert_eq!(fs::read(&target).unwrap(), vec![7; 1 << 20], "{}", output.display());
        assert_eq!(fs::read(&output).unwrap(), vec![7; 1 << 20], "{}", output.display());
    }
    // A file beside it is none of its places.
    fs::write(at("upper/other"), "an earlier result").unwrap();
    let report = format!("--output={}", shown("other").display());
    run(["report", "last", &report, "--force"]).exits(0);
}
