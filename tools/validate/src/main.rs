//! Comparisons and scores that take too long for the tests: each writes its table to
//! `docs/validation/NAME.md` with the command, the commit, the machine and every raw figure beside it.
//!
//! One module a validation. Most look at drivescope from outside, through its binary, so that what is
//! scored is what users get. `sim` is about the drives alone, and takes the room that makes them; `probe`
//! asks thousands of virtual drives, which the binary would be started for one by one.
//! Run through `scripts/validate`, which builds both binaries.

mod binary;
mod btt;
mod budget;
mod burst;
mod capacity;
mod children;
mod compare;
mod coverage;
mod cuts;
mod decisive;
mod durable;
mod engine;
mod explain;
mod f3probe;
mod filesystems;
mod fio;
mod fio_parity;
mod fio_steady;
mod full;
mod fuzz;
mod hot_loop;
mod interop;
mod judge;
mod kills;
mod lab;
mod latency;
mod logs;
mod loop_device;
mod mark_steady;
mod memory;
mod middle;
mod one_cpu;
mod order;
mod originals;
mod outlook;
mod outputs;
mod pattern;
mod plan;
mod postgres;
mod probe;
mod probe_world;
mod provenance;
mod published;
mod reached;
mod reached_stacks;
mod replay;
mod replay_timing;
mod replay_verdicts;
mod serve;
mod sheet;
mod sim;
mod source003;
mod stacks;
mod steady;
mod stop;
mod survey;
mod threads;
mod trace_formats;
mod trace_speed;
mod trend;
mod wsat;
mod zram;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

/// Scores drivescope against other programs and against known truth
#[derive(Debug, Parser)]
#[command(name = "scripts/validate", max_term_width = 80)]
struct Cli {
    /// Validation to run; all of them, one after the other, when none is named
    #[command(subcommand)]
    name: Option<Name>,
}

/// The validations.
#[derive(Clone, Debug, Subcommand)]
enum Name {
    /// List the validations
    List,
    /// Paired rounds beside fio on a direct-I/O loop device (root, about 30 minutes)
    FioParity(fio_parity::Options),
    /// fio's rule of steady state, run on a load that falls to nothing (fio, 35 minutes)
    FioSteady(fio_steady::Options),
    /// Cost of a read in our loop and in fio's (root, about 15 minutes)
    Loop(hot_loop::Options),
    /// Recorded latency against the kernel's own (root and tracefs, minutes)
    Latency(latency::Options),
    /// Exports as fio-plot, pandas and DuckDB read them (PyPI, a minute)
    Interop(interop::Options),
    /// Share of right verdicts on two drives: different or equivalent (minutes)
    Compare(compare::Options),
    /// How often a drive's history is rightly said to have changed (a minute)
    Trend(trend::Options),
    /// How often mark's intervals and verdicts are right on a virtual disk (minutes)
    Coverage(coverage::Options),
    /// How many numbers of a default mark are confirmed, and right, on virtual drives (minutes)
    Decisive(decisive::Options),
    /// Announced time and bytes beside those that runs took, on virtual drives (minutes)
    Outlook(outlook::Options),
    /// How often mark's proof of a steady state is right, on windows whose rate is known (a minute)
    MarkSteady(mark_steady::Options),
    /// Share of right verdicts on a drive's cache by reading again (minutes)
    Pattern(pattern::Options),
    /// Knee of cached writes on drives whose caches are known (a minute)
    Burst(burst::Options),
    /// Fakes of twenty kinds and honest drives, asked for their size (an hour)
    Capacity(capacity::Options),
    /// All of a drive written and read back, beside f3 and killed on the way (root and f3, minutes)
    Full(full::Options),
    /// Fakes in service asked for their size by probe capacity and f3probe (root, minutes)
    F3probe(f3probe::Options),
    /// Runs killed at random moments, which have to go on (minutes)
    Kills(kills::Options),
    /// Probes of capacity that get a signal at random moments, which has to cost nothing (root, minutes)
    Originals(originals::Options),
    /// Hundreds of command lines, whose output two binaries must have alike (minutes)
    Outputs(outputs::Options),
    /// Scenarios on emulated drives (QEMU, an hour or more)
    Lab(lab::Options),
    /// The power cut at every flush mark under the store of runs (root and /dev/fuse, half an hour)
    Cuts(cuts::Options),
    /// Results of fio on served virtual drives, judged again (/dev/fuse and fio, a quarter of an hour)
    Judge(judge::Options),
    /// Logs of a latent process, judged as somebody else's (minutes)
    Logs(logs::Options),
    /// Outputs of real drives that others published, beside what their pages state (seconds)
    Published(published::Options),
    /// Commands of fio, dd, hdparm and diskspd, explained and then run (root, fio and hdparm, a minute)
    Explain(explain::Options),
    /// Virtual drives served as files, tried with flashbench and fio (/dev/fuse, minutes)
    Serve(serve::Options),
    /// Verdicts of the probes on drives whose truth is known (an hour)
    Probe(probe::Options),
    /// Verdicts of the probes on drives of a model that shares no code with ours (hours)
    ProbeWorld(probe_world::Options),
    /// Conclusions of surveys on drives whose truth is known (a quarter of an hour)
    Survey(survey::Options),
    /// Two drives compared by two workloads, beside the published tables (a minute)
    Replay(replay::Options),
    /// When replayed requests reach the block layer (root and tracefs, minutes)
    ReplayTiming(replay_timing::Options),
    /// Limit of replays in which it was planted (minutes)
    ReplayVerdicts(replay_verdicts::Options),
    /// Virtual drives of flash against theory, at full size (half an hour, 3 GiB of memory)
    Sim(sim::Options),
    /// An article's 14,000 runs of diskspd, with its offsets and with right ones (minutes)
    Source003(source003::Options),
    /// Cost of building, testing, starting and running drivescope (ten minutes)
    Budget(budget::Options),
    /// Rules of steady state on drives whose long run is known (hours)
    Steady(steady::Options),
    /// Write saturation at full size, beside what is known of the model (an hour or two, 6 GiB of memory)
    Wsat(wsat::Options),
    /// Analysis of real recordings beside btt (root and tracefs, a minute)
    Btt(btt::Options),
    /// A database's I/O, recorded and analysed (root, tracefs and PostgreSQL, minutes)
    Postgres(postgres::Options),
    /// Durable writes of sqlite and PostgreSQL, recorded and analysed (root, tracefs and python3, two minutes)
    Durable(durable::Options),
    /// Readers of traces under libFuzzer, until coverage stands still (g++, an hour or two)
    Fuzz(fuzz::Options),
    /// A recording read and analysed, beside blkparse and btt (root, fio and blktrace, minutes)
    TraceSpeed(trace_speed::Options),
    /// The proof *reached* on many stacks, against what an emulator counts (QEMU, minutes)
    Reached(reached::Options),
    /// The same on stacks of this machine, as root and as nobody (root and tracefs, ten minutes)
    ReachedStacks(reached_stacks::Options),
    /// The same on this machine's own filesystems, against the kernel's tracer (root and tracefs, minutes)
    Stacks(stacks::Options),
    /// Filesystems and arrays ranked, here and on emulated drives (root and QEMU, half an hour)
    Filesystems(filesystems::Options),
    /// Cost of reading traces, in time and in memory (4 GB of disk, half an hour)
    TraceFormats(trace_formats::Options),
}

/// Options of one validation, when none were given.
#[derive(Parser)]
struct Defaults<A: Args> {
    #[command(flatten)]
    options: A,
}

fn defaults<A: Args>() -> A {
    Defaults::<A>::parse_from(["validate"]).options
}

fn main() -> ExitCode {
    match run(Cli::parse().name) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// A validation: its name, what it looks at, and itself with its usual options.
type Validation = (&'static str, &'static str, fn() -> Result<bool>);

/// All of them, in the order in which they run when none is named: the short ones first.
const ALL: [Validation; 47] = [
    ("decisive", "numbers of a default mark, confirmed and right", || decisive::run(&defaults())),
    ("outlook", "announced time and bytes, beside those that runs took", || {
        outlook::run(&defaults())
    }),
    ("trend", "histories, rightly said to have changed or not", || trend::run(&defaults())),
    ("mark-steady", "mark's proof of a steady state, on windows whose rate is known", || {
        mark_steady::run(&defaults())
    }),
    ("interop", "exports, as fio-plot, pandas and DuckDB read them", || interop::run(&defaults())),
    ("serve", "served virtual drives, tried with flashbench and fio", || serve::run(&defaults())),
    ("explain", "what commands were predicted to do, and did", || explain::run(&defaults())),
    ("judge", "results of fio on served virtual drives, judged again", || judge::run(&defaults())),
    ("published", "outputs of real drives that others published", || published::run(&defaults())),
    ("logs", "logs of a latent process, judged as somebody else's", || logs::run(&defaults())),
    ("latency", "recorded latency against the kernel's own, beside fio's", || {
        latency::run(&defaults())
    }),
    ("budget", "what building, starting and running drivescope costs", || budget::run(&defaults())),
    ("burst", "where writes become slow for good", || burst::run(&defaults())),
    ("full", "all of a drive written and read back, beside f3", || full::run(&defaults())),
    ("f3probe", "fakes in service, beside f3probe", || f3probe::run(&defaults())),
    ("kills", "runs killed at random moments, which have to go on", || kills::run(&defaults())),
    ("originals", "probes of capacity that get a signal at random moments", || {
        originals::run(&defaults())
    }),
    ("outputs", "hundreds of command lines, recorded twice and compared", || {
        outputs::run(&defaults())
    }),
    ("cuts", "the power cut under the store of runs", || cuts::run(&defaults())),
    ("coverage", "how often mark's verdicts are right on a virtual disk", || {
        coverage::run(&defaults())
    }),
    ("pattern", "how often a drive's cache is rightly told", || pattern::run(&defaults())),
    ("loop", "what a read costs in our loop and in fio's", || hot_loop::run(&defaults())),
    ("fio-parity", "paired rounds beside fio on a direct-I/O loop device", || {
        fio_parity::run(&defaults())
    }),
    ("fio-steady", "fio's rule of steady state, run on a load that falls to nothing", || {
        fio_steady::run(&defaults())
    }),
    ("btt", "analysis of real recordings beside Debian's btt", || btt::run(&defaults())),
    ("reached", "the proof of that name, against what an emulator counts", || {
        reached::run(&defaults())
    }),
    ("reached-stacks", "the same on this machine, as root and as nobody", || {
        reached_stacks::run(&defaults())
    }),
    ("stacks", "the same on this machine's filesystems, against its tracer", || {
        stacks::run(&defaults())
    }),
    ("filesystems", "filesystems and arrays, ranked here and on emulated drives", || {
        filesystems::run(&defaults())
    }),
    ("replay", "two drives compared by two workloads, beside published tables", || {
        replay::run(&defaults())
    }),
    ("replay-verdicts", "who was the limit of replays in which that was planted", || {
        replay_verdicts::run(&defaults())
    }),
    ("replay-timing", "when replayed requests reach the block layer", || {
        replay_timing::run(&defaults())
    }),
    ("postgres", "a database's I/O, recorded, analysed and replayed on two drives", || {
        postgres::run(&defaults())
    }),
    (
        "durable",
        "durable writes, recorded, against the kernel's text",
        || durable::run(&defaults()),
    ),
    ("trace-speed", "a recording read and analysed, beside blkparse and btt", || {
        trace_speed::run(&defaults())
    }),
    ("trace-formats", "what reading traces costs, beside Polars and DuckDB", || {
        trace_formats::run(&defaults())
    }),
    ("probe", "what the probes say of drives whose truth is known", || probe::run(&defaults())),
    ("capacity", "fakes and honest drives, asked for their size", || capacity::run(&defaults())),
    ("probe-world", "the same of drives of a model that shares no code with ours", || {
        probe_world::run(&defaults())
    }),
    ("survey", "what surveys conclude of drives whose truth is known", || survey::run(&defaults())),
    ("sim", "virtual drives of flash against theory", || sim::run(&defaults())),
    ("source003", "diskspd's offsets and right ones, on an article's disks", || {
        source003::run(&defaults())
    }),
    ("steady", "rules of steady state on drives whose long run is known", || {
        steady::run(&defaults())
    }),
    (
        "compare",
        "two drives, rightly told apart or called equivalent",
        || compare::run(&defaults()),
    ),
    ("wsat", "write saturation at full size, beside what is known of the model", || {
        wsat::run(&defaults())
    }),
    ("fuzz", "readers of traces under libFuzzer", || fuzz::run(&defaults())),
    ("lab", "scenarios on emulated drives", || lab::run(&defaults())),
];

/// Runs what was named, or all; true when nothing was found wrong.
fn run(name: Option<Name>) -> Result<bool> {
    match name {
        Some(Name::List) => {
            ALL.iter().for_each(|(name, what, _)| println!("{name:<16}{what}"));
            Ok(true)
        }
        Some(Name::Serve(options)) => serve::run(&options),
        Some(Name::Judge(options)) => judge::run(&options),
        Some(Name::Logs(options)) => logs::run(&options),
        Some(Name::Published(options)) => published::run(&options),
        Some(Name::Explain(options)) => explain::run(&options),
        Some(Name::Latency(options)) => latency::run(&options),
        Some(Name::Budget(options)) => budget::run(&options),
        Some(Name::Burst(options)) => burst::run(&options),
        Some(Name::Capacity(options)) => capacity::run(&options),
        Some(Name::Full(options)) => full::run(&options),
        Some(Name::F3probe(options)) => f3probe::run(&options),
        Some(Name::Kills(options)) => kills::run(&options),
        Some(Name::Originals(options)) => originals::run(&options),
        Some(Name::Outputs(options)) => outputs::run(&options),
        Some(Name::Lab(options)) => lab::run(&options),
        Some(Name::Cuts(options)) => cuts::run(&options),
        Some(Name::Coverage(options)) => coverage::run(&options),
        Some(Name::MarkSteady(options)) => mark_steady::run(&options),
        Some(Name::Pattern(options)) => pattern::run(&options),
        Some(Name::Loop(options)) => hot_loop::run(&options),
        Some(Name::FioParity(options)) => fio_parity::run(&options),
        Some(Name::FioSteady(options)) => fio_steady::run(&options),
        Some(Name::Steady(options)) => steady::run(&options),
        Some(Name::Compare(options)) => compare::run(&options),
        Some(Name::Decisive(options)) => decisive::run(&options),
        Some(Name::Outlook(options)) => outlook::run(&options),
        Some(Name::Interop(options)) => interop::run(&options),
        Some(Name::Trend(options)) => trend::run(&options),
        Some(Name::Wsat(options)) => wsat::run(&options),
        Some(Name::Btt(options)) => btt::run(&options),
        Some(Name::Reached(options)) => reached::run(&options),
        Some(Name::ReachedStacks(options)) => reached_stacks::run(&options),
        Some(Name::Stacks(options)) => stacks::run(&options),
        Some(Name::Filesystems(options)) => filesystems::run(&options),
        Some(Name::Replay(options)) => replay::run(&options),
        Some(Name::ReplayVerdicts(options)) => replay_verdicts::run(&options),
        Some(Name::ReplayTiming(options)) => replay_timing::run(&options),
        Some(Name::Durable(options)) => durable::run(&options),
        Some(Name::Postgres(options)) => postgres::run(&options),
        Some(Name::TraceSpeed(options)) => trace_speed::run(&options),
        Some(Name::TraceFormats(options)) => trace_formats::run(&options),
        Some(Name::Probe(options)) => probe::run(&options),
        Some(Name::ProbeWorld(options)) => probe_world::run(&options),
        Some(Name::Survey(options)) => survey::run(&options),
        Some(Name::Sim(options)) => sim::run(&options),
        Some(Name::Source003(options)) => source003::run(&options),
        Some(Name::Fuzz(options)) => fuzz::run(&options),
        None => {
            let mut whole = true;
            for (name, _, validate) in ALL {
                eprintln!("running {name}");
                whole &= validate()?;
            }
            Ok(whole)
        }
    }
}
