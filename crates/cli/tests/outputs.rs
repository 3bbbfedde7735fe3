//! Output that cannot be delivered: a full device, a closed descriptor, a reader that left, an ancient terminal. A
//! lost result is an error, a lost message is not; nothing crashes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::{cases, common};

use std::fs::File;
use std::process::{Command, Stdio};

use cases::fixture::{Ended, Fixture, end};
use cases::known::{VERBS, usual};
use common::storage::has_tools;
use common::{Ran, drivescope};

/// The usual line of each verb that ends by itself, as JSON where there is such; of the probes, of one.
fn lines() -> Vec<Vec<&'static str>> {
    let mut lines = vec![vec!["--help"], vec!["--version"], vec!["mark", "--help"], vec!["man"]];
    let ends = VERBS.iter().filter(|verb| verb.ends);
    for verb in ends.filter(|verb| !verb.name.starts_with("probe ") && verb.name != "trace compare")
    {
        let line = verb.name.split(' ').chain(usual(verb.name, ""));
        let json = !["flashbench", "diskspd", "completions", "man"].contains(&verb.name);
        lines.push(line.chain(json.then_some("--json")).collect());
    }
    lines.extend([vec!["devices"], vec!["runs", "show", "last"], vec!["sim", "list"]]);
    lines
}

fn command(fixture: &Fixture, line: &[&str]) -> Command {
    let mut command = drivescope(line);
    command.current_dir(fixture.path("")).env("DRIVESCOPE_RUNS_DIR", fixture.path("runs"));
    command
}

/// A place of its own for what changes it, the same for all others.
struct Place<'a>(&'a Fixture, Option<Fixture>);

impl Place<'_> {
    fn of<'a>(fixture: &'a Fixture, line: &[&str]) -> Place<'a> {
        let alters = ["rm", "import", "export"].iter().any(|word| line.contains(word));
        Place(fixture, alters.then(|| fixture.copy()))
    }

    fn get(&self) -> &Fixture {
        self.1.as_ref().unwrap_or(self.0)
    }
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// If a lost result were no error, a script would go on with an empty file.
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let fixture = Fixture::new();
    for line in lines() {
        let place = Place::of(&fixture, &line);
        let ended: Ran = command(place.get(), &line).stdout(full()).output().unwrap().into();
        println!("{line:?}");
        ended.exits(2).says(&["error:", "No space left on device"]);
    }
}

/// Messages are separate from the result: when they cannot be printed, the result is the same.
#[test]
fn nobody_has_to_listen() {
    let fixture = Fixture::new();
    for line in lines() {
        println!("{line:?}");
        let usual: Ran = command(Place::of(&fixture, &line).get(), &line).output().unwrap().into();
        let deaf =
            command(Place::of(&fixture, &line).get(), &line).stderr(full()).output().unwrap();
        assert_eq!(deaf.status.code(), usual.code, "{}", usual.stderr);
        let shell = |script: &str| {
            let place = Place::of(&fixture, &line);
            let fixture = place.get();
            let usual = command(fixture, &line);
            let mut closed = Command::new("sh");
            closed.args(["-c", script, "sh"]).arg(usual.get_program()).args(usual.get_args());
            closed.current_dir(fixture.path("")).env("DRIVESCOPE_RUNS_DIR", fixture.path("runs"));
            closed.stdin(Stdio::null()).output().unwrap().status.code()
        };
        assert_eq!(shell("exec \"$@\" 2>&-"), usual.code, "stderr is closed");
        assert_eq!(shell("exec \"$@\" >&-"), usual.code, "stdout is closed");
        assert_eq!(shell("exec \"$@\" <&-"), usual.code, "stdin is closed");
    }
    let wrong = drivescope(["mark", "--runs=x"]).stderr(full()).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn a_reader_that_left_is_no_error_of_any_verb() {
    let fixture = Fixture::new();
    for line in lines() {
        println!("{line:?}");
        let usual: Ran = command(Place::of(&fixture, &line).get(), &line).output().unwrap().into();
        let place = Place::of(&fixture, &line);
        let mut child = command(place.get(), &line).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let left: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(left.code, usual.code, "{}", left.stderr);
        assert!(!left.stderr.contains("error:"), "{}", left.stderr);
    }
}

/// Languages and terminals change nothing in what is said to a pipe.
#[test]
fn a_result_does_not_depend_on_the_surroundings() {
    let fixture = Fixture::new();
    for line in [&["sim", "show", "hdd-7200"][..], &["rows", "merge", "rows.txt"], &["plan"]] {
        let line = [line, if line[0] == "plan" { &["--seed=7"][..] } else { &[] }].concat();
        let usual = end(&mut command(&fixture, &line));
        for (name, value) in [
            ("LC_ALL", "xx_XX.broken"),
            ("LANG", "tr_TR.UTF-8"),
            ("TERM", "dumb"),
            ("TERM", ""),
            ("COLUMNS", "20"),
            ("COLUMNS", "-1"),
            ("TZ", "Nowhere/Atall"),
        ] {
            let Ended { code, stdout, .. } = end(command(&fixture, &line).env(name, value));
            assert_eq!((code, &stdout), (usual.code, &usual.stdout), "{name}={value} {line:?}");
        }
        let mut bare = command(&fixture, &line);
        let bare = end(bare.env_clear());
        assert_eq!((bare.code, &bare.stdout), (usual.code, &usual.stdout), "{line:?}");
    }
}

/// A narrow terminal gets narrow lines or long ones, and no crash; a dumb one gets no orders.
#[test]
fn a_narrow_and_a_dumb_terminal_are_served() {
    if !has_tools(&["script", "stty"]) {
        return;
    }
    let fixture = Fixture::new();
    let program = env!("CARGO_BIN_EXE_drivescope");
    for line in [
        "mark sim:hdd-7200 --tests=RND4KQ1T1 --runs=2 --duration=5ms --no-record --seed=7",
        "probe align sim:usb-8m --no-record",
        "trace analyze shop.spc",
        "--help",
        "devices",
    ] {
        for (terminal, columns) in [("dumb", 20), ("dumb", 1), ("xterm", 20), ("xterm", 1)] {
            let script = format!("stty cols {columns} rows 5; exec {program} {line}");
            let mut command = Command::new("script");
            command.args(["-q", "-e", "-c", &script, "/dev/null"]).env("TERM", terminal);
            // Under CI colours are wanted whatever the terminal, since logs there are shown with them.
            command.env_remove("COLUMNS").env_remove("CI");
            command.env("DRIVESCOPE_RUNS_DIR", fixture.path("runs"));
            command.current_dir(fixture.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
            let ended = end(&mut command);
            let code = ended.code;
            assert!(matches!(code, Some(0 | 1)), "{terminal} {columns} {line}: {ended:?}");
            assert!(!ended.stdout.contains("panicked"), "{line}: {}", ended.stdout);
            let orders = ended.stdout.contains('\u{1b}');
            assert!(terminal != "dumb" || !orders, "{line}: {:?}", ended.stdout);
        }
    }
}
