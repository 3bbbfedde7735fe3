//! Completions as a user meets them, through a shell, and the offers for every flag.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::args;
use crate::common;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use clap::{Arg, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use common::storage::has_tools;
use common::{drivescope, run};
use manual::completion::with_offers;

/// `PATH` with the program in front, as if it was installed.
fn path() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_drivescope")).parent().unwrap();
    format!("{}:{}", program.display(), std::env::var("PATH").unwrap())
}

/// Completions that bash offers for a line, requested as by readline: words split at `:` and `=` too, cursor at the end.
fn offered(words: &[&str], runs: &Path) -> Vec<String> {
    let script = run(["completions", "bash"]).exits(0).stdout;
    let line: String = words.concat();
    let parts: Vec<&str> = words.iter().map(|word| word.trim()).collect();
    let last = *parts.last().unwrap();
    let typed = if [":", "="].contains(&last) { "" } else { last };
    let asked = Command::new("bash")
        .args(["--norc", "-c"])
        .arg(format!(
            "{script}\nCOMP_LINE=$1 COMP_POINT=${{#1}} typed=$2; shift 2; COMP_WORDS=(\"$@\") \
             COMP_CWORD=$(($# - 1)); _drivescope drivescope \"$typed\" ''; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        ))
        .args(["bash", &line, typed])
        .args(parts)
        .env("PATH", path())
        .env("DRIVESCOPE_RUNS_DIR", runs)
        .output()
        .unwrap();
    let text = String::from_utf8(asked.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Were the parts of `sim:usb` not put together, bash would offer nothing behind the colon; were they not taken off the
/// answer, it would type `sim:sim:usb-8m`.
#[test]
fn bash_offers_verbs_flags_values_virtual_drives_and_runs() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let none = offered(&["drivescope ", "runs ", "show ", "la"], &runs);
    assert!(!none.contains(&"last".to_owned()), "there is no run yet: {none:?}");
    let mark =
        ["mark", "sim:hdd-7200", "--quick", "--tests=RND4KQ1T1", "--no-progress", "--seed=7"];
    assert!(drivescope(mark).env("DRIVESCOPE_RUNS_DIR", &runs).status().unwrap().code().is_some());
    let cases: [(&[&str], &[&str]); 14] = [
        (&["drivescope ", "mar"], &["mark"]),
        (&["drivescope ", "trace ", "rec"], &["record"]),
        (&["drivescope ", "mark ", "--iop"], &["--iopoll"]),
        (&["drivescope ", "mark ", "--profile", "=", "real"], &["real-world"]),
        (&["drivescope ", "mark ", "--engine ", "lib"], &["libaio"]),
        (&["drivescope ", "mark ", "sim", ":", "usb"], &["usb-8m", "usb-tlc"]),
        (&["drivescope ", "sim ", "show ", "hdd-7"], &["hdd-7200"]),
        (&["drivescope ", "runs ", "show ", "la"], &["last"]),
        (&["drivescope ", "sweep ", "--vary ", "op"], &["op="]),
        (
            &["drivescope ", "sweep ", "--vary ", "order", "=", "blocked,i"],
            &["blocked,interleaved"],
        ),
        (&["drivescope ", "mark ", "--allow ", "signature", ":", "ext4"], &["ext4"]),
        (&["drivescope ", "trace ", "import ", "--time-unit ", "m"], &["ms"]),
        (&["drivescope ", "flashbench ", "-a ", "--open-au-"], &["--open-au-nr="]),
        (&["drivescope ", "diskspd ", "-b4K ", "sim", ":", "hdd-w"], &["hdd-wd"]),
    ];
    for (words, wanted) in cases {
        assert_eq!(offered(words, &runs), wanted, "{words:?}");
    }
    let all = offered(&["drivescope ", "mark ", "sim", ":"], &runs);
    assert!(all.contains(&"mlc-nvme".to_owned()) && all.len() > 10, "{all:?}");
}

/// A word with a blank in it, typed as it is, would be two.
#[test]
fn a_file_with_a_blank_is_offered_as_one_word() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my plan.toml"), "").unwrap();
    let typed = format!("{}/my", dir.path().display());
    let wanted = format!("{}/my\\ plan.toml", dir.path().display());
    assert_eq!(offered(&["drivescope ", "run ", &typed], dir.path()), [wanted]);
}

/// `drivescope devices sim:usb-8m` is refused, as is a terminal everywhere: what is refused is not to be offered.
#[test]
fn no_verb_is_offered_what_it_refuses() {
    let none = Path::new("none");
    assert_eq!(offered(&["drivescope ", "devices ", "sim", ":"], none), [""; 0]);
    assert_eq!(offered(&["drivescope ", "purge ", "null", ":"], none), [""; 0]);
    for verb in ["mark ", "probe ", "purge ", "health ", "trace ", "diskspd "] {
        let mut words = vec!["drivescope ", verb];
        if verb == "trace " {
            words.push("record ");
        }
        words.push("/dev/");
        let all = offered(&words, none);
        let wrong = ["/dev/null", "/dev/tty", "/dev/zero", "/dev/ptmx"];
        assert!(!all.iter().any(|one| wrong.contains(&one.as_str())), "{words:?}: {all:?}");
        // These lie there always, and a drive may be found on the way.
        assert!(!all.is_empty(), "{words:?}");
    }
}

/// Line of a new zsh after `typed` was typed, with a Tab where it has one. `load` is the content of its start file.
fn zsh_line(load: &str, typed: &str, dir: &Path) -> String {
    fs::write(dir.join("load"), load).unwrap();
    let line = dir.join("line");
    let _ = fs::remove_file(&line);
    let driver = r#"
        zmodload zsh/zpty
        show='show() { print -r -- "$BUFFER|" >$dir/now; mv $dir/now $dir/line }; zle -N show; bindkey ^X show'
        zpty -b shell "dir=${(q)1} zsh -f -i"
        zpty -w shell 'unset HISTFILE; stty cols 80 rows 24; . $dir/load'
        zpty -w shell "$show; print ready >\$dir/ready"
        for try in {1..600}; do [[ -e $1/ready ]] && break; sleep 0.05; done
        zpty -w -n shell "$2"$''
        # What is read from it goes nowhere, but has to be read.
        for try in {1..600}; do
            [[ -e $1/line ]] && break
            zpty -r -t shell ignored
            sleep 0.05
        done
        zpty -d shell
    "#;
    let _ = fs::remove_file(dir.join("ready"));
    let output = Command::new("zsh")
        .args(["-f", "-c", driver, "zsh"])
        .arg(dir)
        .arg(typed)
        .env("PATH", path())
        .current_dir(dir)
        .env("HOME", dir)
        .env("TERM", "xterm")
        .output()
        .unwrap();
    let text = fs::read_to_string(&line).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    text.trim_end().trim_end_matches('|').to_owned()
}

/// A package puts the script where zsh finds it by itself. Then the file is the function's body at the first call, and was
/// it to define another function only, the first Tab of every shell would do nothing.
#[test]
fn zsh_completes_at_the_first_tab_however_the_script_is_loaded() {
    if !has_tools(&["zsh"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let functions = dir.path().join("functions");
    fs::create_dir(&functions).unwrap();
    let script = run(["completions", "zsh"]).exits(0).stdout;
    fs::write(functions.join("_drivescope"), script).unwrap();
    fs::write(dir.path().join("my file.json"), "").unwrap();
    let init = "autoload -Uz compinit; compinit -u -D";
    let ways = [
        format!("fpath=({} $fpath); {init}", functions.display()),
        format!("{init}; source <(drivescope completions zsh)"),
        format!("{init}; eval \"$(drivescope completions zsh)\""),
    ];
    let mark = ("drivescope mar\t", "drivescope mark ");
    let lines = [
        ("drivescope mark sim:usb-8\t", "drivescope mark sim:usb-8m "),
        ("drivescope sweep --vary or\t", "drivescope sweep --vary order="),
        ("drivescope mark --profile=rea\t", "drivescope mark --profile=real-world "),
        ("drivescope mark --allow sig\text4\t", "drivescope mark --allow signature:ext4 "),
        ("drivescope report ./func\t", "drivescope report ./functions/"),
        ("drivescope report ~/func\t", "drivescope report ~/functions/"),
        ("drivescope report my\\ f\t", "drivescope report my\\ file.json "),
        ("drivescope report my\t", "drivescope report my\\ file.json "),
    ];
    let others = lines.into_iter().map(|line| (&ways[0], line));
    for (way, (typed, wanted)) in ways.iter().map(|way| (way, mark)).chain(others) {
        assert_eq!(zsh_line(way, typed, dir.path()), wanted, "{way}");
    }
}

/// Names of values that are numbers, or words that only the user knows.
const FREE: [&str; 14] = [
    "N",
    "X",
    "SIZE",
    "TIME",
    "SHARE",
    "PERCENT",
    "TIME|SHARE",
    "DATE",
    "WORD",
    "NAME",
    "MAP",
    "SPACE=OFFSET",
    "LIST",
    "DEVICE",
];

fn completer(argument: &Arg) -> Option<&ArgValueCompleter> {
    argument.get::<ArgValueCompleter>()
}

/// Were a flag forgotten that takes one of a few words, Tab would be silent where it helps most.
#[test]
fn every_value_is_offered_or_is_the_users() {
    let mut left = vec![(String::new(), with_offers(args::command()))];
    while let Some((verb, command)) = left.pop() {
        for argument in command.get_arguments() {
            let takes_value = argument.get_action().takes_values();
            let name = argument.get_value_names().and_then(|names| names.first());
            let known = !takes_value
                || completer(argument).is_some()
                || !argument.get_possible_values().is_empty()
                || argument.get_value_hint() == ValueHint::AnyPath
                || name.is_some_and(|name| FREE.contains(&name.as_str()));
            assert!(known, "{verb}: {}: nothing is offered for it", argument.get_id());
        }
        left.extend(command.get_subcommands().map(|inner| {
            (format!("{verb} {}", inner.get_name()).trim().to_owned(), inner.clone())
        }));
    }
}

/// Were the help of a compatibility mode written otherwise one day, Tab would offer words that the mode refuses.
#[test]
fn options_of_compatibility_modes_are_those_of_their_help() {
    let command = with_offers(args::command());
    let values = |mode: &str, typed: &str| -> Vec<String> {
        let mode = command.find_subcommand(mode).unwrap();
        let offered = completer(mode.get_arguments().next().unwrap()).unwrap();
        let offered = offered.complete(OsStr::new(typed)).into_iter();
        offered.map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(
        values("flashbench", "--scatter"),
        ["--scatter", "--scatter-order=", "--scatter-span="]
    );
    assert_eq!(values("flashbench", "-O"), ["-O"]);
    assert_eq!(values("diskspd", "-s"), ["-s", "-si"]);
    assert_eq!(values("diskspd", "-S"), ["-S", "-Sd", "-Ss", "-Sh"]);
    assert_eq!(values("diskspd", "--em"), ["--emulate=diskspd-linux"]);
    assert_eq!(values("diskspd", "--allow=p"), ["--allow=partitions"]);
    assert_eq!(values("diskspd", "sim:hdd-w"), ["sim:hdd-wd"]);
}
