//! The drivescope binary: flags and glue. It alone wires drive, environment, sink and wall clock together.
//!
//! `args` defines every flag once, for help, completions and the manual. `verbs` has a file for each verb.
//! `announcing` says what a verb will do before it begins. `session` is one benchmark run from its first note to its exit code, `probing`, `testing` and `surveying` the same
//! for the other instruments. `records` knows which command resumes or repeats a run, `recorded` opens recorded results,
//! `files` writes pages, plots and
//! rows beside a result.

mod announcing;
mod args;
mod drawings;
mod exit;
mod files;
mod inputs;
mod known_drives;
mod misuse;
mod probing;
mod recorded;
mod records;
mod session;
mod surveying;
mod swept;
mod testing;
mod trace_files;
mod verbs;
mod wrong_verb;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use bench::outputs;
use linux::tracer::TracerRoots;
use runner::{envelope, messages};

use crate::args::{TraceVerb, Verb};
use crate::exit::Exit;

/// Stack that the program counts on: as large as Linux usually lets it become.
const STACK: u64 = 8 << 20;

/// Descriptors that any verb takes, with those that the drive's facts are read by. Without them the facts would be missing,
/// and nothing would say why.
const DESCRIPTORS: u64 = 24;

fn main() -> ExitCode {
    // Before anything is done that a signal could leave half-way.
    if let Err(error) = linux::signals::start() {
        return end(Err(error).context("cannot watch for Ctrl-C"));
    }
    // A stack may grow as far as `ulimit -s` lets it. A thread's is as large as was asked for.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    if limit.is_none_or(|bytes| bytes >= STACK) {
        return program();
    }
    let thread = std::thread::Builder::new().stack_size(STACK as usize).spawn(program);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // It has said why: a panic.
        Ok(Err(_)) => ExitCode::from(101),
        Err(error) => end(Err(anyhow::Error::new(error).context("cannot start a thread"))),
    }
}

#[inline(never)]
fn program() -> ExitCode {
    if let Err(error) = outputs::check_streams() {
        return end(Err(error));
    }
    if let Some(free) = linux::descriptors::free().filter(|free| *free < DESCRIPTORS) {
        let hint = "hint: raise the limit, such as with ulimit -n 1024";
        return end(Err(anyhow::anyhow!(
            "only {free} more files can be opened, and drivescope needs {DESCRIPTORS}\n{hint}"
        )));
    }
    let mut arguments = std::env::args_os();
    let called = arguments.next().map(PathBuf::from);
    let face = called.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    if let Some(face @ ("flashbench" | "diskspd")) = face {
        clean_up();
        let arguments: Vec<_> = arguments.collect();
        return end(match face {
            "flashbench" => verbs::flashbench::main(&arguments),
            _ => {
                let called = called.as_deref().map(Path::to_string_lossy).unwrap_or_default();
                verbs::diskspd::main(&called, &arguments)
            }
        });
    }
    match manual::completion::complete(args::command) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        // A shell hides the error, and offers no completions.
        Err(error) => {
            messages::error(&error.into());
            return ExitCode::SUCCESS;
        }
    }
    let mut parsed = args::parse(std::env::args_os().collect());
    let (cli, given) = match &mut parsed {
        Ok(parsed) => parsed,
        Err(error) => return end(misuse::tell(error)),
    };
    if let Err(error) = cli.verb.targets().into_iter().try_for_each(misuse::check_target) {
        return end(Err(error));
    }
    if let Err(error) = cli.verb.targets().into_iter().try_for_each(outputs::protect) {
        return end(Err(error));
    }
    if given.has("quiet") {
        messages::be_quiet();
    }
    if let Err(error) = cli.verb.check_files() {
        return end(Err(error));
    }
    if is_about_devices(&cli.verb) {
        clean_up();
    }
    let done = match &cli.verb {
        Verb::Survey(args) => surveying::main(args, given),
        Verb::Mark(args) => verbs::mark::main(args, given),
        Verb::Plan(args) => verbs::plan::main(args),
        Verb::Run(args) => verbs::run::main(args, given),
        Verb::Rerun(args) => verbs::rerun::main(args),
        Verb::Compare(args) => verbs::compare::main(args, given),
        Verb::Sweep(args) => verbs::sweep::main(args, given),
        Verb::Trend(args) => verbs::trend::main(args),
        Verb::Report(args) => verbs::report::main(args),
        Verb::Show(args) => verbs::show::main(args),
        Verb::Runs(args) => verbs::runs::main(&args.verb),
        Verb::Probe(args) => verbs::probe::main(args, given),
        Verb::Pts(args) => verbs::pts::main(args, given),
        Verb::Trace(args) => verbs::trace::main(args),
        Verb::Flashbench(args) => verbs::flashbench::main(&args.arguments),
        Verb::Diskspd(args) => verbs::diskspd::main("diskspd", &args.arguments),
        Verb::Import(args) => verbs::import::main(args),
        Verb::Judge(args) => verbs::judge::main(args),
        Verb::Explain(args) => verbs::explain::main(args),
        Verb::Rows(args) => verbs::rows::main(args),
        Verb::Devices(args) => verbs::devices::main(args),
        Verb::Health(args) => verbs::health::main(args),
        Verb::Purge(args) => verbs::purge::main(args),
        Verb::Sim(args) => verbs::sim::main(args),
        Verb::Completions(args) => verbs::shell::completions(args),
        Verb::Man(args) => verbs::shell::man(args),
    };
    end(done)
}

/// True of verbs that may touch devices. The recorder cleans up by itself, and says in its result what that was.
fn is_about_devices(verb: &Verb) -> bool {
    match verb {
        Verb::Survey(_) | Verb::Mark(_) | Verb::Run(_) | Verb::Rerun(_) | Verb::Compare(_) => true,
        Verb::Sweep(_) | Verb::Probe(_) | Verb::Pts(_) | Verb::Flashbench(_) => true,
        Verb::Diskspd(_) | Verb::Devices(_) | Verb::Health(_) | Verb::Purge(_) => true,
        Verb::Trace(trace) => !matches!(trace.verb, TraceVerb::Record(_)),
        Verb::Plan(_) | Verb::Trend(_) | Verb::Report(_) | Verb::Show(_) | Verb::Runs(_) => false,
        Verb::Import(_) | Verb::Judge(_) | Verb::Explain(_) | Verb::Rows(_) => false,
        Verb::Sim(_) | Verb::Completions(_) | Verb::Man(_) => false,
    }
}

/// Ends kernel recordings that were left running when their recorders were killed.
fn clean_up() {
    for what in linux::tracer::clean_up_aside(&TracerRoots::default()) {
        messages::note(&format!("removed {what}: a recording that was killed had left it running"));
    }
}

/// Says why there is no result, when there is none, and which signal stopped it.
fn end(done: anyhow::Result<Exit>) -> ExitCode {
    let exit = done.unwrap_or_else(|error| {
        messages::error(&error);
        exit::of(&error)
    });
    if let Some(signal) = linux::signals::stopped_by().filter(|_| exit == Exit::Interrupted) {
        messages::note(&format!("stopped by {signal}"));
    }
    exit.into()
}
