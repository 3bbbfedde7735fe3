//! Text from outside on a terminal, on pages and in tables: whatever file, drive or process it comes from, nothing in
//! it is obeyed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::storage::{Loop, has_means};
use crate::common::{run, scratch_dir};

/// A colour that the program does not use, a title for the window, a bell, a screen to be cleared, a change of
/// direction, a backspace.
const HOSTILE: &str = "\u{1b}[35mA\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{2066}\u{200f}\u{8}Z";
/// Beginning of it where it is shown.
const SHOWN: &str = "\u{fffd}[35mA";

/// Something that is read: a file with hostile text, and command lines that show that text.
struct Row {
    file: &'static str,
    content: Vec<u8>,
    lines: &'static [&'static str],
}

fn row(file: &'static str, content: impl Into<Vec<u8>>, lines: &'static [&'static str]) -> Row {
    Row { file, content: content.into(), lines }
}

/// Runs `lines` of a shell on a terminal, one after another, in `dir`; what the terminal was sent by each. `$D` is the
/// program.
fn on_terminal(dir: &Path, lines: &[String]) -> Option<Vec<String>> {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: script is not installed");
        return None;
    }
    let mark = "\n@@ next\n";
    let mut all = "stty -onlcr cols 200\n".to_owned();
    for line in lines {
        all += &format!("printf '\\n@@ next\\n'\n{line}\n");
    }
    let shell = dir.join("all.sh");
    fs::write(&shell, all).unwrap();
    let mut command = Command::new("script");
    command.args(["--quiet", "--flush", "--return", "--command"]);
    command.arg(format!("sh {}", shell.display())).arg("/dev/null");
    command.current_dir(dir).stdin(Stdio::null()).stderr(Stdio::null());
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command.env("SHELL", "/bin/sh").env("TERM", "xterm-256color");
    command.env("D", env!("CARGO_BIN_EXE_drivescope"));
    command.env("DRIVESCOPE_RUNS_DIR", dir.join("runs"));
    let sent = String::from_utf8(command.output().unwrap().stdout).expect("all is UTF-8");
    let parts: Vec<String> = sent.split(mark).skip(1).map(str::to_owned).collect();
    assert_eq!(parts.len(), lines.len(), "{sent:?}");
    Some(parts)
}

/// True of a character that a terminal or a reader's eye obeys.
fn is_obeyed(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` without the colours of the program's own.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('m') {
            Some((code, rest))
                if code != "35" && code.bytes().all(|b| b.is_ascii_digit() || b == b';') =>
            {
                plain += rest;
            }
            _ => plain += &format!("\u{1b}[{part}"),
        }
    }
    plain
}

/// Beginning of what a terminal would obey in `text`, if there is anything.
fn fault(text: &str) -> Option<String> {
    let plain = without_colours(text);
    let at = plain.find(is_obeyed)?;
    let from = plain[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
    Some(format!("sends {:?}", plain[from..].chars().take(120).collect::<String>()))
}

/// That a line shows nothing hostile, and so proves nothing.
fn unlike(line: &str, text: &str) -> Option<String> {
    let forms = [SHOWN, "\u{fffd}\\[35mA", "\\u001b[35mA", "\\u{1b}"];
    let is_shown = forms.iter().any(|form| text.contains(form)) || line.starts_with(':');
    (!is_shown).then(|| format!("shows nothing of it: {text}"))
}

/// Begins lines that need not show anything.
const QUIET: &str = ": quiet; ";
/// Begins lines that draw a line of progress, whose own sequences are known.
const DRAWN: &str = ": drawn; ";

/// Files with hostile text, one of each form that has names in it.
fn rows() -> Vec<Row> {
    let h = HOSTILE;
    let read = |name: &str| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
    };
    vec![
        row(
            "plan.toml",
            run([
                "plan",
                "--tests=RND4KQ1T1",
                "--read-only",
                "--seed=7",
                "--runs=1",
                "--duration=50ms",
            ])
            .exits(0)
            .stdout
            .replace("RND4K Q1T1 read", &format!("RND4K {}", toml_escaped(h))),
            &[
                "run plan.toml sim:hdd-7200 --no-progress --samples=plan-samples.csv --force",
                "show last",
                ": quiet; $D report last --csv=plan-csv --svg=plan-svg -o plan.html --markdown=plan.md --force",
                "report last --markdown=-",
                "runs list",
                "runs show last",
                "runs show last --json",
                "rerun last --no-progress",
                "compare $(ls runs | grep ^2)",
                ": drawn; $D run plan.toml sim:hdd-7200 --no-record",
            ],
        ),
        row(
            "worn.commands",
            read("docs/examples/worn-nvme.commands")
                .replace("device nvme1n1", &format!("device nvme1n1{h}"))
                .replace("41 20 44 72 69 76 65 20", "1b 5b 33 35 6d 41 07 20"),
            &["health commands:worn.commands", "health commands:worn.commands --json"],
        ),
        row(
            "msr.csv",
            format!(
                "128166372003061629,{h},0,Read,383496192,32768,1331\n128166372016382155,{h},0,Write,0,4096,2326\n"
            ),
            &[
                "trace import msr.csv -o msr.parquet --force",
                "trace analyze msr.csv",
                "trace analyze msr.csv --btt",
                "trace analyze msr.csv --plot=msr.svg --force",
                ": quiet; $D trace replay msr.csv sim:hdd-7200 --no-progress",
                "trace export msr.csv --to=msr -o out-msr.csv --force",
                "trace export msr.csv --to=fio -o out.iolog --force",
            ],
        ),
        row(
            "fio.iolog",
            format!(
                "fio version 2 iolog\n{h} add\n{h} open\n{h} read 0 4096\n{h} write 8192 4096\n"
            ),
            &["trace import fio.iolog -o iolog.parquet --force", "trace analyze fio.iolog"],
        ),
        row(
            "blkparse.txt",
            format!(
                "  8,0    3        1     0.000000000   697  Q   R 223490 + 8 [{h}]\n  8,0    3        2     0.000100000   697  D   R 223490 + 8 [{h}]\n  8,0    3        3     0.000300000   697  C   R 223490 + 8 [{h}]\n"
            ),
            &[
                "trace import blkparse.txt -o blkparse.parquet --force",
                "trace analyze blkparse.txt",
            ],
        ),
        row(
            "fiu.txt",
            format!(
                "89966192962953 4892 {h} 508175328 8 W 6 0 531e779c8b9ae8ea3be1a6fe4ea2a1fc\n89966193962953 4892 {h} 508175328 8 R 6 0 531e779c8b9ae8ea3be1a6fe4ea2a1fc\n"
            ),
            &["trace analyze fiu.txt"],
        ),
        row(
            "spaces.csv",
            format!("device,op,offset,length,arrival\n{h},R,0,4096,0\n{h},W,8192,4096,1000000\n"),
            &["trace analyze spaces.csv --time-unit=ns --address-unit=bytes"],
        ),
        row(
            "bad.csv",
            format!("device,op,offset,length,arrival\nsda,{h},0,4096,0\n"),
            &["trace import bad.csv -o bad.parquet --force --time-unit=ns --address-unit=bytes"],
        ),
        row(
            "rows.txt",
            format!("drivescope-row/1 | {h} | 1 B | 2 MiB | ? | none | 1/1 | 99%\n"),
            &["rows merge rows.txt"],
        ),
        row(
            "group.json",
            poisoned_text(&read("crates/pts/tests/data/group/g.json")),
            &["judge group.json", "import group.json"],
        ),
        row(
            "job.fio",
            format!("[{h}]\nrw=randread\nbs=4k\nsize=1g\nfilename=/tmp/{h}\n"),
            &["explain -- fio job.fio"],
        ),
    ]
}

/// A string of TOML that means `text`.
fn toml_escaped(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_graphic() { c.to_string() } else { format!("\\u{:04X}", c as u32) })
        .collect()
}

/// A JSON text with hostile text in all strings that are not words of the form itself.
fn poisoned_text(json: &str) -> String {
    let mut value: Value = serde_json::from_str(json).unwrap();
    poison(&mut value);
    value.to_string()
}

/// Names of what is text whatever it looks like.
const NAMES: [&str; 2] = ["jobname", "filename"];

fn poison(value: &mut Value) {
    match value {
        Value::String(text) => {
            // Words of the form, dates and numbers decide how the rest is read.
            let of_form =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.:/".contains(c);
            if !text.chars().all(of_form) && !text.starts_with(|c: char| c.is_ascii_digit()) {
                text.push_str(HOSTILE);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(poison),
        Value::Object(all) => {
            for (key, value) in all {
                match value {
                    Value::String(text) if NAMES.contains(&key.as_str()) => text.push_str(HOSTILE),
                    value => poison(value),
                }
            }
        }
        _ => {}
    }
}

/// Documents printed by the program, with hostile text in their strings.
fn documents(dir: &Path) -> Vec<String> {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/shop.spc");
    let quick = ["--tests=RND4KQ1T1", "--runs=1", "--duration=5ms"];
    let made: [(&str, &[&str]); 5] = [
        ("mark", &["mark", "sim:hdd-7200", quick[0], quick[1], quick[2]]),
        ("probe", &["probe", "align", "sim:usb-8m"]),
        ("survey", &["survey", "sim:card-3m", "--time-budget=1min"]),
        (
            "pts",
            &[
                "pts",
                "latency",
                "sim:enterprise-28op?capacity=512MiB",
                "--minute=0.1%",
                "--no-purge",
            ],
        ),
        ("analyze", &["trace", "analyze", trace]),
    ];
    let mut lines = Vec::new();
    for (name, line) in made {
        let ran = run([line, &["--json"]].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{line:?}: {}", ran.stderr);
        fs::write(dir.join(format!("{name}.json")), poisoned_text(&ran.stdout)).unwrap();
        lines.push(format!("$D report {name}.json --markdown=-"));
        let files = format!("-o {name}.html --csv={name}-csv --svg={name}-svg --force");
        lines.push(format!("{QUIET}$D report {name}.json {files} || echo failed"));
    }
    lines
}

// Breaks when a name in a file controls the reader's terminal.
#[test]
fn no_file_commands_the_terminal() {
    let dir = scratch_dir();
    let mut lines = documents(dir.path());
    for row in rows() {
        fs::write(dir.path().join(row.file), &row.content).unwrap();
        let program = |line: &str| if line.starts_with(':') { "" } else { "$D " };
        lines.extend(row.lines.iter().map(|line| format!("{}{line}", program(line))));
    }
    let Some(sent) = on_terminal(dir.path(), &lines) else { return };
    let mut faults = Vec::new();
    for (line, text) in lines.iter().zip(&sent) {
        let found = match line.starts_with(DRAWN) {
            true => ["\u{1b}[35m", "\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}", "\u{8}"]
                .into_iter()
                .find(|part| text.contains(part))
                .map(|part| format!("draws {part:?}")),
            false => fault(text),
        };
        faults.extend(found.or_else(|| unlike(line, text)).map(|fault| format!("{line}: {fault}")));
        if text.contains("failed\n") {
            faults.push(format!("{line}: {text}"));
        }
    }
    let files = files(dir.path());
    assert!(files.len() > 30, "{files:?}");
    faults.extend(files.iter().filter_map(|path| {
        let text = fs::read_to_string(path).unwrap();
        Some(format!("{}: {}", path.display(), fault(&text)?))
    }));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // JSON for programs has the text of the file unchanged.
    let shown = lines.iter().position(|line| line.ends_with("runs show last --json")).unwrap();
    let json: Value = serde_json::from_str(&sent[shown]).unwrap();
    assert!(json.to_string().contains(serde_json::to_string(HOSTILE).unwrap().trim_matches('"')));
}

/// Files written for people and for other programs.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path));
            continue;
        }
        let end = path.extension().unwrap_or_default().to_str().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_input = matches!(name, "msr.csv" | "spaces.csv" | "bad.csv" | "fio.iolog");
        if matches!(end, "html" | "svg" | "md" | "csv" | "iolog" | "hlog") && !is_input {
            found.push(path);
        }
    }
    found
}

// Breaks when the label of a filesystem, the name of the file behind a loop device, or a mount point does.
#[test]
fn no_device_commands_the_terminal() {
    if !has_means(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let dir = scratch_dir();
    let image = dir.path().join(format!("image{HOSTILE}"));
    fs::write(&image, vec![0; 16 << 20]).unwrap();
    let device = Loop::on(scratch_dir(), &image, &[]);
    let (dev, point) = (device.dev(), format!("point{HOSTILE}"));
    fs::create_dir(dir.path().join(&point)).unwrap();
    let quick = "--size=1MiB --runs=1 --tests=RND4KQ1T1 --duration=5ms --no-progress";
    let lines = [
        format!("{QUIET}mkfs.ext4 -q -F -L \"$(printf '\\033[35mA')\" {dev}"),
        format!("$D devices {dev}"),
        format!("$D devices {dev} --json"),
        format!("{QUIET}mount {dev} ./point*"),
        format!("$D devices {dev}"),
        format!("$D mark {dev} --write --consent=x --no-record"),
        format!("$D mark ./point* {quick}"),
        format!("{QUIET}umount ./point*"),
        "$D mark ./image* --write --no-record".to_owned(),
        "$D trace import ./image* -o x.parquet".to_owned(),
    ];
    let Some(sent) = on_terminal(dir.path(), &lines) else { return };
    let faults: Vec<String> = lines
        .iter()
        .zip(&sent)
        .filter_map(|(line, text)| Some(format!("{line}: {}", fault(text).or(unlike(line, text))?)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

// Breaks when a spreadsheet computes what somebody has called a step.
#[test]
fn no_name_in_a_table_is_a_formula() {
    let dir = scratch_dir();
    let plan = run(["plan", "--tests=RND4KQ1T1", "--seed=7", "--runs=1", "--duration=100ms"]);
    let plan = plan.exits(0).stdout.replace("RND4K Q1T1 read", "=1+1");
    let (file, samples) = (dir.path().join("plan.toml"), dir.path().join("samples.csv"));
    fs::write(&file, plan).unwrap();
    let samples_to = format!("--samples={}", samples.display());
    run(["run", file.to_str().unwrap(), "sim:hdd-7200", &samples_to, "--no-progress"]).exits(0);
    let text = fs::read_to_string(&samples).unwrap();
    assert!(text.contains("\n'=1+1,") && !text.contains("\n="), "{text}");
}
