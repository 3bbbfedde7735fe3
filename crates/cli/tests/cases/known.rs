//! Arguments that each verb needs, and nonsense that is valid: a directory that does not exist yet is a good place
//! for runs, and 0 a good seed.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::ffi::{OsStr, OsString};

/// A verb with a line that is good.
pub struct Verb {
    /// `probe align`.
    pub name: &'static str,
    /// Arguments after the verb.
    usual: &'static [&'static str],
    /// Number of positional arguments at the beginning of `usual`.
    pub positional: usize,
    /// False for one that needs a device, or goes on until it is stopped.
    pub ends: bool,
}

const fn verb(name: &'static str, positional: usize, usual: &'static [&'static str]) -> Verb {
    Verb { name, usual, positional, ends: true }
}

const fn endless(name: &'static str, positional: usize, usual: &'static [&'static str]) -> Verb {
    Verb { name, usual, positional, ends: false }
}

const QUICK: &[&str] = &[
    "sim:hdd-7200",
    "--tests=RND4KQ1T1",
    "--runs=1",
    "--duration=5ms",
    "--warm-up=0",
    "--pause=0",
    "--seed=7",
    "--no-progress",
    "--no-record",
];
const SWEEP: &[&str] = &[
    "sim:hdd-7200",
    "--vary=depth=1,2",
    "--base=RND4KQ1T1",
    "--runs=1",
    "--duration=5ms",
    "--warm-up=0",
    "--pause=0",
    "--seed=7",
    "--no-progress",
    "--no-record",
];
const PTS: &[&str] = &[
    "wsat",
    "sim:enterprise-28op?capacity=512MiB",
    "--minute=50%",
    "--seed=5",
    "--no-progress",
    "--no-record",
];
const SURVEY: &[&str] =
    &["sim:sdcard-4m", "--time-budget=20s", "--seed=7", "--no-progress", "--no-record"];
const PROBE: &[&str] = &["sim:usb-8m", "--time-budget=1s", "--no-progress", "--no-record"];

/// All verbs.
pub const VERBS: [Verb; 49] = [
    verb("survey", 1, SURVEY),
    verb("mark", 1, QUICK),
    verb("plan", 0, &["--tests=RND4KQ1T1", "--seed=7"]),
    verb("run", 2, &["plan.toml", "sim:hdd-7200", "--no-progress", "--no-record"]),
    verb("rerun", 1, &["last", "--no-progress", "--no-record"]),
    verb("compare", 2, QUICK),
    verb("sweep", 1, SWEEP),
    verb("trend", 1, &["sim:hdd-7200"]),
    verb("report", 1, &["last", "--force"]),
    verb("show", 1, &["last"]),
    verb("runs list", 0, &[]),
    verb("runs show", 1, &["last"]),
    verb("runs rm", 1, &["last", "--yes"]),
    verb("runs export", 1, &["last", "--output=out.tar.gz"]),
    verb("runs import", 1, &["runs.tar.gz"]),
    verb("runs reindex", 0, &[]),
    verb("probe", 1, PROBE),
    verb("probe align", 1, PROBE),
    verb("probe open-au", 1, PROBE),
    verb("probe fat", 1, PROBE),
    verb("probe scatter", 1, PROBE),
    verb("probe interval", 1, PROBE),
    verb("probe parallelism", 1, PROBE),
    verb("probe write-buffer", 1, PROBE),
    verb("probe slc-cache", 1, PROBE),
    verb("probe surface", 1, PROBE),
    verb("probe capacity", 1, PROBE),
    verb("probe speed-class", 1, PROBE),
    verb("pts", 2, PTS),
    endless("trace record", 1, &["directory", "--duration=1ms"]),
    verb("trace import", 1, &["shop.spc"]),
    verb("trace analyze", 1, &["shop.spc"]),
    verb("trace replay", 2, &["shop.spc", "sim:sata-a", "--no-progress", "--no-record"]),
    verb("trace compare", 3, &["shop.spc", "sim:sata-a", "sim:sata-b", "--no-record"]),
    verb("trace export", 1, &["shop.spc", "--to=fio", "--output=out.log"]),
    verb("flashbench", 1, &["sim:usb-8m", "-a"]),
    verb("diskspd", 1, &["sim:hdd-wd", "-d1", "-W0", "-z7"]),
    verb("import", 1, &["cdm.txt", "--no-record"]),
    verb("import flashbench", 1, &["align.txt"]),
    verb("judge", 1, &["x_bw.1.log"]),
    verb("explain", 1, &["SEQ1MQ8T1"]),
    verb("rows merge", 1, &["rows.txt"]),
    verb("devices", 0, &[]),
    verb("health", 1, &["sim:mlc-nvme"]),
    verb("purge", 1, &["sim:mlc-nvme", "--seed=7", "--no-progress", "--no-record"]),
    verb("sim show", 1, &["hdd-7200"]),
    endless("sim serve", 2, &["hdd-7200", "mountpoint"]),
    verb("completions", 1, &["bash"]),
    verb("man", 0, &["mark"]),
];

/// The usual line of a verb in which this argument is tried.
pub fn usual(verb: &str, id: &str) -> Vec<&'static str> {
    let known = VERBS.iter().find(|known| known.name == verb).expect("each verb has a line");
    let mut usual = known.usual.to_vec();
    if verb == "compare" {
        // It takes two, and all else of a mark.
        usual.insert(0, "sim:hdd-7200");
    }
    let mut drop = |words: &[&str]| usual.retain(|word| !words.contains(word));
    match id {
        // These take the place of others.
        "plan" if verb == "mark" => drop(&QUICK[1..6]),
        "profile" => drop(&["--tests=RND4KQ1T1"]),
        "resume" => usual = vec!["--no-progress"],
        "device" if verb == "pts" => usual = vec!["--resume=last", "--no-progress"],
        "keep_samples" | "runs_dir" => drop(&["--no-record"]),
        "report" if verb == "survey" => drop(&["--no-record"]),
        // These ask for others.
        "allow" | "consent" if verb == "purge" => {}
        "allow" => usual.push("--write"),
        "consent" => {
            for word in usual.iter_mut().filter(|word| word.starts_with("sim:")) {
                *word = "image";
            }
            usual.push("--write");
        }
        "reference" => usual.push("--mode=outstanding"),
        "samples_max" => usual.push("--samples=io.csv"),
        "budget" => usual.push("--until=50%"),
        _ => {}
    }
    usual
}

/// `usual` with `text` in the place of one positional argument.
pub fn with_positional(usual: &[&str], verb: &str, id: &str, text: &OsStr) -> Vec<OsString> {
    let known = VERBS.iter().find(|known| known.name == verb).expect("each verb has a line");
    let place = match (verb, id) {
        ("run" | "trace replay" | "pts", "target") | ("sim serve", "mountpoint") => 1,
        ("trace compare", "a") => 1,
        ("trace compare", "b") => 2,
        ("trace record", "command") => {
            let mut line: Vec<OsString> = usual.iter().map(OsString::from).collect();
            line.extend(["--".into(), text.to_owned()]);
            return line;
        }
        _ => 0,
    };
    let mut line: Vec<OsString> = usual.iter().map(OsString::from).collect();
    match line.get_mut(place).filter(|_| place < known.positional) {
        Some(word) => text.clone_into(word),
        None => line.insert(place, text.to_owned()),
    }
    line
}

/// True where another verb has the same argument and hands it to the same code; what the flags' definitions say to
/// it is looked at for each verb all the same.
pub fn is_alike(verb: &str, id: &str) -> bool {
    let own = match verb {
        "probe" | "probe align" | "mark" | "trace import" | "trace replay" | "runs list" => &[][..],
        "probe scatter" => &["order", "span", "blocksize", "data"],
        "trace analyze" => &["traces", "from", "until", "device", "only", "plot"],
        "trace compare" => &["trace", "a", "b", "rounds"],
        "trace export" => &["trace", "to", "output"],
        "runs show" => &["run"],
        "report" => &["runs", "output", "png", "svg", "csv", "markdown"],
        "show" => &["run", "plot", "width", "height"],
        "runs rm" => &["runs"],
        "runs export" => &["runs", "output"],
        "runs import" => &["files"],
        "run" => &["plan", "target", "seed", "resume"],
        "trend" => &["drive", "margin"],
        "compare" => &["sides", "margin", "tolerance"],
        "sweep" => &[
            "vary",
            "base",
            "op",
            "unstable_above",
            "margin",
            "duration",
            "warm_up",
            "runs",
            "order",
            "resume",
            "csv",
            "plot",
        ],
        "rerun" => &["run", "margin", "consent", "allow"],
        "runs reindex" => &["nothing of its own"],
        _ if verb.starts_with("probe ") => &["nothing of its own"],
        _ => &[],
    };
    !own.is_empty() && !own.contains(&id)
}

/// Expected outcome of nonsense that the flags' definitions accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It is valid, and would do something unwanted in a test: measure, or wait for a writer of a pipe.
    Good,
    /// It may be valid: a result, or one error.
    Either,
    /// The verb has to refuse it.
    Wrong,
}

/// Arguments for which the safety gate, or a check in its place, answers with its own exit code.
pub fn may_be_refused(id: &str, value: &str) -> bool {
    let is_a_file = matches!(value, "garbage" | "directory" | "null device" | "pipe");
    match id {
        "consent" | "samples" => true,
        "target" | "a" | "b" | "reference" | "sides" => is_a_file,
        _ => false,
    }
}

/// Expected outcome of a value of [`super::values::VALUES`] for an argument.
pub fn judged(verb: &str, id: &str, is_typed: bool, value: &str) -> Judged {
    let is_place = !["nowhere", "null device", "pipe", "garbage"].contains(&value);
    let ends = VERBS.iter().any(|known| known.name == verb && known.ends);
    match id {
        // A verb that runs until it is stopped is not started.
        _ if !ends && (is_typed || !["devices", "model", "mountpoint"].contains(&id)) => {
            Judged::Good
        }
        "mountpoint" if value == "directory" => Judged::Good,
        "devices" if verb == "trace record" && ["directory", "garbage"].contains(&value) => {
            Judged::Good
        }
        // A number in its range, or a size that the drive may have.
        _ if is_typed => Judged::Either,
        // Any name is good for a new directory.
        "runs_dir" if is_place => Judged::Good,
        "runs_dir" if verb.starts_with("runs") => Judged::Either,
        // A pipe would wait for its reader. A missing directory is created.
        "png" | "svg" | "csv" if verb == "report" && is_place => Judged::Good,
        "samples" | "output" | "plot" | "data" | "save" | "record_commands" | "report" | "csv"
        | "png" | "svg" | "markdown"
            if value == "pipe" =>
        {
            Judged::Good
        }
        "samples" | "output" | "plot" | "data" | "save" | "record_commands" | "report" | "csv"
        | "png" | "svg" | "markdown"
            if !["nowhere", "directory"].contains(&value) =>
        {
            Judged::Either
        }
        "target" if ["mark", "run", "survey"].contains(&verb) && value == "directory" => {
            Judged::Good
        }
        "sides" if value == "directory" => Judged::Good,
        // A few bytes are a drive of which nothing is found.
        "target" if verb.starts_with("probe") && value == "garbage" => Judged::Either,
        // The content of a virtual drive needs no consent.
        "consent" | "also" if verb == "purge" => Judged::Good,
        "consent" if verb == "rerun" => Judged::Good,
        // Any file leads to the drive that it is on.
        "device" if verb == "health" => Judged::Either,
        // A writer may yet open it: `<(zcat plan.toml.gz)` is a pipe.
        "plan" | "files" | "traces" | "trace" | "since" | "command" if value == "pipe" => {
            Judged::Good
        }
        _ => Judged::Wrong,
    }
}
