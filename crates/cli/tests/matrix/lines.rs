//! Commands that are tried on a device: one for each way of each verb to write, and one for each flag that takes a path.
//!
//! In a line `{device}` is replaced by the path that is named, and `{consent}` by `--consent=WORD`, with the hazards that
//! are allowed, or by nothing where a state leaves the word out. `$HOME` is a directory of the scenario's own, and `$A`
//! a drive that is free when what the lines need is made.

/// Access of a verb to a device that it is given.
pub enum Access {
    /// It has no way to write.
    Reads,
    /// It writes when it is allowed to, by these commands.
    Writes(&'static [Line]),
}

/// A command that would write.
pub struct Line {
    /// Names it in the table.
    pub name: &'static str,
    /// Preparation, made once while the drive is free; nothing if empty.
    pub before: &'static str,
    /// The command.
    pub run: &'static str,
    /// Why it does not write even with consent, where that is so.
    pub reads: &'static str,
}

const fn line(name: &'static str, run: &'static str) -> Line {
    Line { name, before: "", run, reads: "" }
}

impl Line {
    const fn after(self, before: &'static str) -> Line {
        Line { before, ..self }
    }

    const fn but_reads(self, reads: &'static str) -> Line {
        Line { reads, ..self }
    }
}

const READS_ONLY: &str = "it only reads, and asks the gate all the same when it is told to write";

/// By verb, in the order of the help.
pub const VERBS: &[(&str, Access)] = &[
    ("survey", Access::Writes(SURVEY)),
    ("mark", Access::Writes(MARK)),
    ("plan", Access::Reads),
    ("run", Access::Writes(RUN)),
    ("rerun", Access::Writes(RERUN)),
    ("compare", Access::Reads),
    ("sweep", Access::Writes(SWEEP)),
    ("trend", Access::Reads),
    ("report", Access::Reads),
    ("show", Access::Reads),
    ("runs list", Access::Reads),
    ("runs show", Access::Reads),
    ("runs rm", Access::Reads),
    ("runs export", Access::Reads),
    ("runs import", Access::Reads),
    ("runs reindex", Access::Reads),
    ("probe", Access::Writes(PROBE)),
    ("probe align", Access::Writes(PROBE_ALIGN)),
    ("probe open-au", Access::Writes(PROBE_OPEN_AU)),
    ("probe fat", Access::Writes(PROBE_FAT)),
    ("probe scatter", Access::Writes(PROBE_SCATTER)),
    ("probe interval", Access::Writes(PROBE_INTERVAL)),
    ("probe parallelism", Access::Writes(PROBE_PARALLELISM)),
    ("probe write-buffer", Access::Writes(PROBE_WRITE_BUFFER)),
    ("probe slc-cache", Access::Writes(PROBE_SLC_CACHE)),
    ("probe surface", Access::Writes(PROBE_SURFACE)),
    ("probe capacity", Access::Writes(PROBE_CAPACITY)),
    ("probe speed-class", Access::Writes(PROBE_SPEED_CLASS)),
    ("pts", Access::Writes(PTS)),
    ("trace record", Access::Reads),
    ("trace import", Access::Reads),
    ("trace analyze", Access::Reads),
    ("trace replay", Access::Writes(TRACE_REPLAY)),
    ("trace compare", Access::Writes(TRACE_COMPARE)),
    ("trace export", Access::Reads),
    ("flashbench", Access::Writes(FLASHBENCH)),
    ("diskspd", Access::Writes(DISKSPD)),
    ("import", Access::Reads),
    ("import flashbench", Access::Reads),
    ("judge", Access::Reads),
    ("explain", Access::Reads),
    ("rows merge", Access::Reads),
    ("devices", Access::Reads),
    ("health", Access::Reads),
    ("purge", Access::Writes(PURGE)),
    ("sim list", Access::Reads),
    ("sim show", Access::Reads),
    ("sim serve", Access::Reads),
    ("completions", Access::Reads),
    ("man", Access::Reads),
];

const MARK: &[Line] = &[
    line(
        "mark",
        "drivescope mark {device} --write {consent} --write-only --tests=RND4KQ1T1 --runs=1 --duration=50ms \
         --warm-up=0s --pause=0s --no-record --no-progress",
    ),
    line(
        "mark, mixed and buffered",
        "drivescope mark {device} --write {consent} --mix=70 --buffered --engine=psync --tests=SEQ64KQ1T1 --runs=1 \
         --duration=50ms --warm-up=0s --pause=0s --span=1MiB --no-record --no-progress",
    ),
    line(
        "mark --plan",
        "drivescope mark {device} --plan=$HOME/plan.toml --write {consent} --no-record --no-progress",
    )
    .after(
        "drivescope plan --write-only --tests=RND4KQ1T1 --runs=1 --duration=50ms --warm-up=0s --pause=0s --span=1MiB \
         > $HOME/plan.toml",
    ),
    line(
        "mark --resume",
        "rm -rf $HOME/r; cp -r $HOME/stopped $HOME/r; timeout -s INT 10 drivescope mark {device} --resume=last \
         --runs-dir=$HOME/r --write {consent} --no-progress",
    )
    .after(STOPPED),
];

const SWEEP: &[Line] = &[
    line(
        "sweep",
        "drivescope sweep {device} --write {consent} --vary=depth=1,2 --base=RND4KQ1T1 --op=write --runs=1 \
         --duration=50ms --warm-up=0s --pause=0s --span=1MiB --no-record --no-progress",
    ),
    line(
        "sweep --resume",
        "rm -rf $HOME/s; cp -r $HOME/swept $HOME/s; timeout -s INT 10 drivescope sweep {device} --resume=last \
         --runs-dir=$HOME/s --write {consent} --no-progress",
    )
    .after(SWEPT),
];

/// A sweep that was stopped when some of its runs were made.
const SWEPT: &str = "timeout -s INT 10 drivescope sweep $A --write --consent=$A_SERIAL --vary=op=write,mix70 \
                     --base=RND4KQ1T1 --runs=1000 --duration=50ms --warm-up=0s --pause=0s --runs-dir=$HOME/swept \
                     --no-progress || test $? = 130";

/// A run that was stopped when some of its thousand repetitions were made.
const STOPPED: &str = "timeout -s INT 10 drivescope mark $A --write --consent=$A_SERIAL --write-only --tests=RND4KQ1T1 \
                       --runs=1000 --duration=50ms --warm-up=0s --pause=0s --runs-dir=$HOME/stopped --no-progress || \
                       test $? = 130";

const RUN: &[Line] = &[
    line(
        "run",
        "drivescope run $HOME/run.toml {device} --write {consent} --engine=libaio --no-record --no-progress",
    )
    .after(
        "drivescope plan --write-only --tests=SEQ64KQ1T1 --runs=1 --duration=50ms --warm-up=0s --pause=0s --span=1MiB \
         > $HOME/run.toml",
    ),
    line(
        "run --resume",
        "rm -rf $HOME/r; cp -r $HOME/stopped $HOME/r; timeout -s INT 10 drivescope run --resume=last --runs-dir=$HOME/r \
         --write {consent} --no-progress",
    )
    .after(STOPPED),
];

const RERUN: &[Line] = &[line(
    "rerun",
    "rm -rf $HOME/r; cp -r $HOME/whole $HOME/r; drivescope rerun last --runs-dir=$HOME/r --write {consent} \
     --no-progress",
)
.after(
    "drivescope mark $A --write --consent=$A_SERIAL --write-only --tests=RND4KQ1T1 --runs=1 --duration=50ms \
     --warm-up=0s --pause=0s --runs-dir=$HOME/whole --no-progress || test $? = 1",
)];

const SURVEY: &[Line] = &[line(
    "survey",
    "drivescope survey {device} --write {consent} --time-budget=20s --write-budget=64MiB --no-record --no-progress",
)];

// They read first; their budgets let them come to writing on an emulated drive.
const PROBE: &[Line] = &[
    line(
        "probe, all",
        "drivescope probe {device} --write {consent} --erase-block=256KiB --page=4KiB --time-budget=60s \
         --write-budget=64MiB --no-record --no-progress",
    ),
    line(
        "probe --resume",
        "rm -rf $HOME/r; cp -r $HOME/probed $HOME/r; timeout -s INT 80 drivescope probe {device} --resume=last --runs-dir=$HOME/r --write \
         {consent} --no-progress",
    )
    .after(
        "timeout -s INT 8 drivescope probe $A --write --consent=$A_SERIAL --erase-block=256KiB --page=4KiB --time-budget=70s --write-budget=64MiB \
         --runs-dir=$HOME/probed --no-progress || test $? = 130",
    ),
];

const PROBE_ALIGN: &[Line] = &[line(
    "probe align",
    "drivescope probe align {device} --write {consent} --time-budget=90s --write-budget=64MiB --no-record --no-progress",
)];
const PROBE_OPEN_AU: &[Line] = &[line(
    "probe open-au",
    "drivescope probe open-au {device} --write {consent} --erase-block=256KiB --page=4KiB --time-budget=3s \
     --write-budget=1MiB --no-record --no-progress",
)];
const PROBE_FAT: &[Line] = &[line(
    "probe fat",
    "drivescope probe fat {device} --write {consent} --erase-block=256KiB --page=4KiB --time-budget=3s \
     --write-budget=1MiB --no-record --no-progress",
)];
const PROBE_SCATTER: &[Line] = &[line(
    "probe scatter",
    "drivescope probe scatter {device} --write {consent} --order=4 --time-budget=3s --no-record --no-progress",
)
.but_reads(READS_ONLY)];
const PROBE_INTERVAL: &[Line] = &[line(
    "probe interval",
    "drivescope probe interval {device} --write {consent} --time-budget=3s --no-record --no-progress",
)
.but_reads(READS_ONLY)];
const PROBE_PARALLELISM: &[Line] = &[line(
    "probe parallelism",
    "drivescope probe parallelism {device} --write {consent} --time-budget=20s --write-budget=64MiB --no-record \
     --no-progress",
)];
const PROBE_WRITE_BUFFER: &[Line] = &[line(
    "probe write-buffer",
    "drivescope probe write-buffer {device} --write {consent} --time-budget=3s --write-budget=1MiB --no-record \
     --no-progress",
)];
const PROBE_SLC_CACHE: &[Line] = &[line(
    "probe slc-cache",
    "drivescope probe slc-cache {device} --write {consent} --time-budget=50s --write-budget=4MiB --no-record \
     --no-progress",
)];
const PROBE_SURFACE: &[Line] = &[line(
    "probe surface",
    "drivescope probe surface {device} --write {consent} --time-budget=3s --no-record --no-progress",
)
.but_reads(READS_ONLY)];
const PROBE_CAPACITY: &[Line] = &[line(
    "probe capacity",
    "drivescope probe capacity {device} --write {consent} --destructive --region=all --time-budget=20s --write-budget=64MiB \
     --no-record --no-progress",
)];
const PROBE_SPEED_CLASS: &[Line] = &[line(
    "probe speed-class",
    "drivescope probe speed-class {device} --write {consent} --erase-block=256KiB --time-budget=20s \
     --write-budget=64MiB --no-record --no-progress",
)];

// Going on is tried in tests: other lines write to the drive meanwhile, which it sees and refuses.
const PTS: &[Line] = &[
    line(
        "pts iops, purged",
        "timeout -s INT 6 drivescope pts iops {device} --write {consent} --minute=1ms --no-record --no-progress",
    ),
    line(
        "pts wsat, not purged",
        "timeout -s INT 6 drivescope pts wsat {device} --write {consent} --no-purge --minute=50ms --engine=libaio --no-record \
         --no-progress",
    ),
];

/// A trace in the form of MSR Cambridge: two writes and a read.
pub const TRACE: &str = "printf '%s\\n' 128166372003061629,h,0,Write,0,4096,1000 128166372003071629,h,0,Write,65536,8192,1000 \
                     128166372003081629,h,0,Read,4096,4096,1000 > $HOME/trace.csv";

const TRACE_REPLAY: &[Line] = &[
    line(
        "trace replay",
        "drivescope trace replay $HOME/trace.csv {device} --write {consent} --mode=afap --no-record \
         --no-progress",
    )
    .after(TRACE),
    line(
        "trace replay --reference",
        "drivescope trace replay $HOME/trace.csv sim:sata-a --mode=outstanding --reference={device} --write {consent} --no-record --no-progress",
    )
    .after(TRACE),
];

const TRACE_COMPARE: &[Line] = &[
    line(
        "trace compare, first",
        "drivescope trace compare $HOME/trace.csv {device} sim:sata-a --write {consent} --rounds=1 --no-record \
         --no-progress",
    )
    .after(TRACE),
    line(
        "trace compare, second",
        "drivescope trace compare $HOME/trace.csv sim:sata-a {device} --write {consent} --rounds=1 --no-record \
         --no-progress",
    )
    .after(TRACE),
];

const FLASHBENCH: &[Line] = &[
    line(
        "flashbench -O",
        "drivescope flashbench {consent} -O --erasesize=262144 --blocksize=4096 --offset=262144 {device}",
    ),
    line(
        "flashbench -f",
        "drivescope flashbench {consent} -f --erasesize=262144 --blocksize=4096 --fat-nr=2 {device}",
    ),
    line(
        "flashbench -p, by its own name",
        "$HOME/flashbench {consent} -p --erasesize=262144 --blocksize=4096 {device}",
    )
    .after("ln -s $(command -v drivescope) $HOME/flashbench"),
];

const DISKSPD: &[Line] = &[
    line("diskspd -w", "drivescope diskspd {consent} -b64K -Sd -w100 -Zr -d1 -W0 {device}"),
    line(
        "diskspd -w, by its own name",
        "$HOME/diskspd {consent} -b4K -r -o4 -t2 -w50 -d1 -W0 {device}",
    )
    .after("ln -s $(command -v drivescope) $HOME/diskspd"),
];

const PURGE: &[Line] = &[
    line(
        "purge, by writing zeros",
        "drivescope purge {device} --method=zero {consent} --no-record --no-progress",
    ),
    line(
        "purge, by discarding",
        "drivescope purge {device} --method=discard {consent} --no-record --no-progress",
    ),
    line("purge, as it sees fit", "drivescope purge {device} {consent} --no-record --no-progress"),
];

/// Flags that take a path, and the verbs by which it is only read, or is a directory.
pub const FILES: &[(&str, &[&str])] = &[
    ("keep_originals", &["probe capacity"]),
    ("plan", &["mark", "run"]),
    (
        "runs_dir",
        &[
            "survey",
            "mark",
            "run",
            "rerun",
            "compare",
            "sweep",
            "report",
            "show",
            "runs list",
            "trend",
            "runs show",
            "runs rm",
            "runs export",
            "runs import",
            "runs reindex",
            "import",
            "probe",
            "probe align",
            "probe open-au",
            "probe fat",
            "probe scatter",
            "probe interval",
            "probe parallelism",
            "probe write-buffer",
            "probe slc-cache",
            "probe surface",
            "probe capacity",
            "probe speed-class",
            "pts",
            "trace replay",
            "trace compare",
            "purge",
        ],
    ),
    (
        "files",
        &["runs import", "import", "import flashbench", "judge", "rows merge", "trace import"],
    ),
    ("trace", &["trace replay", "trace compare", "trace export"]),
    ("traces", &["trace analyze"]),
    ("devices", &["trace record"]),
    ("since", &["health"]),
    ("mountpoint", &["sim serve"]),
    ("store", &["sim serve"]),
];

/// Flags that name a file to be written: verb, flag, and a command that points it at the device.
pub(crate) const OUTPUTS: &[(&str, &str, &str)] = &[
    (
        "mark",
        "samples",
        "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1 --samples={device} --no-record",
    ),
    (
        "run",
        "samples",
        "drivescope plan --quick --tests=RND4KQ1T1 --runs=1 | drivescope run - sim:hdd-7200 --samples={device} --no-record",
    ),
    (
        "rerun",
        "samples",
        "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1; drivescope rerun last --samples={device}",
    ),
    (
        "sweep",
        "samples",
        "drivescope sweep sim:hdd-7200 --vary=depth=1,2 --runs=1 --duration=50ms --samples={device} --no-record",
    ),
    (
        "report",
        "output",
        "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1; drivescope report last --force --output={device}",
    ),
    (
        "report",
        "png",
        "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1; drivescope report last --force --png={device}",
    ),
    (
        "report",
        "svg",
        "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1; drivescope report last --force --svg={device}",
    ),
    (
        "report",
        "csv",
        "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1; drivescope report last --force --csv={device}",
    ),
    (
        "report",
        "markdown",
        "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1; drivescope report last --force --markdown={device}",
    ),
    (
        "probe scatter",
        "data",
        "drivescope probe scatter sim:usb-8m --order=4 --data={device} --no-record",
    ),
    ("flashbench", "out", "drivescope flashbench -s --scatter-order=8 --out={device} sim:usb-8m"),
    ("trace record", "output", "drivescope trace record / --duration=1s --force --output={device}"),
    ("trace import", "output", "drivescope trace import $HOME/trace.csv --force --output={device}"),
    (
        "trace export",
        "output",
        "drivescope trace export $HOME/trace.csv --format=msr --force --output={device}",
    ),
    ("trace analyze", "plot", "drivescope trace analyze $HOME/trace.csv --plot={device}"),
    (
        "trace replay",
        "save",
        "drivescope trace replay $HOME/trace.csv sim:sata-a --save={device} --no-record",
    ),
    (
        "runs export",
        "output",
        "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1; drivescope runs export last --output={device}",
    ),
    ("health", "record_commands", "drivescope health $A --record-commands={device}"),
];

/// Verbs with the flags of `FilesArgs`: the verb, and a command that the flag is added to.
pub(crate) const RESULTS: &[(&str, &str)] = &[
    ("mark", "mark {target} --read-only"),
    ("run", "run {plan} {target}"),
    ("rerun", "rerun {run}"),
    ("compare", "compare {target} sim:sata-a --read-only"),
    ("sweep", "sweep {target} --vary=depth=1,2"),
    ("survey", "survey {target} --time-budget=20s"),
    ("probe", "probe {target}"),
    ("probe align", "probe align {target}"),
    ("probe open-au", "probe open-au {target} --write --consent=x"),
    ("probe fat", "probe fat {target} --write --consent=x"),
    ("probe scatter", "probe scatter {target}"),
    ("probe interval", "probe interval {target}"),
    ("probe parallelism", "probe parallelism {target}"),
    ("probe write-buffer", "probe write-buffer {target} --write --consent=x"),
    ("probe slc-cache", "probe slc-cache {target} --write --consent=x"),
    ("probe surface", "probe surface {target}"),
    ("probe capacity", "probe capacity {target} --write --consent=x"),
    ("probe speed-class", "probe speed-class {target} --write --consent=x"),
    ("pts", "pts wsat {target}"),
    ("purge", "purge {loop}"),
    ("trace replay", "trace replay {trace} {target} --reads-only"),
    ("trace compare", "trace compare {trace} {target} sim:sata-a --reads-only"),
];

/// Flags of [`RESULTS`]: verb, flag and command.
pub(crate) fn results() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let flags = |&(verb, run)| {
        match verb {
            "purge" => &["report"][..],
            _ => &["report", "plot", "csv"],
        }
        .iter()
        .map(move |flag| (verb, *flag, run))
    };
    RESULTS.iter().flat_map(flags)
}

/// All flags that name a file to be written, with commands that point them at `{device}`.
pub(crate) fn outputs() -> Vec<(&'static str, &'static str, String)> {
    let own = OUTPUTS.iter().map(|&(verb, flag, run)| (verb, flag, run.to_owned()));
    let shared = results().map(|(verb, flag, run)| {
        let before = match verb {
            "run" => "drivescope plan --quick > $HOME/plan.toml; ",
            "rerun" => "drivescope mark sim:hdd-7200 --quick --tests=RND4KQ1T1 --runs=1; ",
            _ => "",
        };
        let run = run
            .replace("{target}", "sim:usb-8m")
            .replace("{loop}", "sim:mlc-nvme")
            .replace("{plan}", "$HOME/plan.toml")
            .replace("{run}", "last")
            .replace("{trace}", "$HOME/trace.csv");
        (verb, flag, format!("{before}drivescope {run} --{flag}={{device}} --force"))
    });
    own.chain(shared).collect()
}
