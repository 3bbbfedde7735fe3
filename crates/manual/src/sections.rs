//! The sections that no definition of a flag describes: exit codes, the environment, files, and related pages.

use clap_mangen::roff::{Roff, bold, italic, roman};

use crate::help::Help;
use crate::page::{Page, verbs_of};

/// Meaning of exit codes everywhere, unless a verb says it more exactly.
const CODES: [(u8, &str); 5] = [
    (0, "done"),
    (1, "done, and the answer is no: a number was withdrawn, something differs, or the like"),
    (2, "wrong use or environment; what is wrong and what to do is on standard error"),
    (3, "refused for safety; nothing was written"),
    (130, "stopped by Ctrl-C"),
];

/// Something outside the command line: its name, its description, and whether a page lists it.
type Outside = (&'static str, &'static str, fn(&Page) -> bool);

/// Variables that are read.
const VARIABLES: [Outside; 5] = [
    ("DRIVESCOPE_RUNS_DIR", "where recorded runs are, unless --runs-dir names it", keeps),
    (
        "XDG_DATA_HOME",
        "where recorded runs are otherwise, in drivescope/runs there [default: ~/.local/share]",
        keeps,
    ),
    ("TMPDIR", "where a trace that is larger than memory is sorted [default: /var/tmp]", sorts),
    ("NO_COLOR", "no colour, when it is set and not empty", always),
    (
        "CLICOLOR_FORCE",
        "colour also where the output is not a terminal, when it is set and not 0",
        always,
    ),
];

/// Files that are made or read.
const FILES: [Outside; 3] = [
    (
        "~/.local/share/drivescope/runs/RUN/",
        "a recorded run: TOML, JSON, CSV and histograms, which can be read without drivescope",
        keeps,
    ),
    (
        ".drivescope-RUN.scratch",
        "the test file in a directory that is measured; it is removed also on Ctrl-C, and --remove-leftovers removes \
         what a power cut left",
        scratches,
    ),
    (
        "/sys/kernel/tracing",
        "the kernel's tracer, which recording reads; mount -t tracefs tracefs /sys/kernel/tracing where it is missing",
        records,
    ),
];

/// Programs that do something alike, or that go with a verb.
const RELATED: [(&str, &[&str]); 15] = [
    ("", &["fio(1)", "lsblk(8)", "smartctl(8)", "nvme(1)"]),
    ("mark", &["fio(1)"]),
    ("run", &["fio(1)"]),
    ("trace", &["blktrace(8)", "blkparse(1)", "btt(1)"]),
    ("trace record", &["blktrace(8)", "blkparse(1)"]),
    ("trace analyze", &["btt(1)"]),
    ("trace replay", &["btreplay(8)"]),
    ("import", &["fio(1)"]),
    ("judge", &["fio(1)"]),
    ("explain", &["dd(1)", "fio(1)", "hdparm(8)"]),
    ("devices", &["lsblk(8)"]),
    ("health", &["nvme(1)", "smartctl(8)"]),
    ("purge", &["blkdiscard(8)", "hdparm(8)", "nvme(1)"]),
    ("sim serve", &["fusermount3(1)", "losetup(8)"]),
    ("completions", &["bash(1)", "fish(1)", "zsh(1)"]),
];

fn always(_: &Page) -> bool {
    true
}

fn program(page: &Page) -> bool {
    page.words.is_empty()
}

fn keeps(page: &Page) -> bool {
    program(page) || page.has("runs_dir")
}

fn sorts(page: &Page) -> bool {
    program(page) || page.words.first().is_some_and(|word| word == "trace")
}

fn scratches(page: &Page) -> bool {
    program(page) || page.has("remove_leftovers")
}

fn records(page: &Page) -> bool {
    program(page) || page.words.join(" ") == "trace record"
}

fn listed(page: &Page, outside: &'static [Outside]) -> Vec<(&'static str, &'static str)> {
    outside.iter().filter(|(_, _, on)| on(page)).map(|(name, said, _)| (*name, *said)).collect()
}

/// Meaning of exit codes.
pub(crate) fn exit_status(page: &mut Roff, help: &Help) {
    page.control("SH", ["EXIT STATUS"]);
    for (code, said) in CODES {
        let own = help.codes.iter().find(|(own, _)| *own == code);
        page.control("TP", []);
        page.text([bold(code.to_string())]);
        page.text([roman(own.map_or(said, |(_, said)| said).to_owned())]);
    }
}

/// Variables that matter to it.
pub(crate) fn environment(page: &mut Roff, of: &Page) {
    page.control("SH", ["ENVIRONMENT"]);
    for (name, said) in listed(of, &VARIABLES) {
        page.control("TP", []);
        page.text([bold(name)]);
        page.text([roman(said)]);
    }
}

/// Files that matter to it, where there are some.
pub(crate) fn files(page: &mut Roff, of: &Page) {
    let files = listed(of, &FILES);
    if files.is_empty() {
        return;
    }
    page.control("SH", ["FILES"]);
    for (name, said) in files {
        page.control("TP", []);
        page.text([italic(name)]);
        page.text([roman(said)]);
    }
}

/// The pages above, below and beside it.
pub(crate) fn see_also(page: &mut Roff, of: &Page) {
    page.control("SH", ["SEE ALSO"]);
    let mut names = Vec::new();
    for count in 0..of.words.len() {
        let above =
            ["drivescope"].into_iter().chain(of.words.iter().take(count).map(String::as_str));
        names.push(format!("{}(1)", above.collect::<Vec<_>>().join("-")));
    }
    names.extend(verbs_of(&of.command).map(|verb| format!("{}-{}(1)", of.name, verb.get_name())));
    let words = of.words.join(" ");
    let related = RELATED.iter().find(|(verb, _)| *verb == words);
    names.extend(related.iter().flat_map(|(_, names)| names.iter().map(|name| (*name).to_owned())));
    let last = names.len().saturating_sub(1);
    for (index, name) in names.iter().enumerate() {
        let (name, section) = name.split_once('(').unwrap_or((name, ""));
        let comma = if index < last { "," } else { "" };
        page.text([bold(name), roman(format!("({section}{comma}"))]);
    }
}
