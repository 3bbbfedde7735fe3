//! `drivescope probe`: what a flash device is made of.

use std::path::Path;

use anyhow::{Result, bail};
use bench::outputs;
use block::quoted;
use clap::Subcommand as _;
use probe::{Task, align, capacity, scatter};

use crate::args::{ChainArgs, Given, PlainArgs, ProbeArgs, ProbeVerb, ScatterArgs};
use crate::exit::Exit;
use crate::messages;
use crate::probing::{Job, Made, restore};
use instruments::probe::must_write;

/// Runs the verb.
///
/// # Errors
/// What makes probing impossible.
pub fn main(args: &ProbeArgs, given: &Given) -> Result<Exit> {
    if let Some(run) = &args.chain.restore {
        return restore::main(run, &args.chain);
    }
    let Some(verb) = &args.verb else {
        is_something(args.chain.place.target().as_str())?;
        return all(&args.chain, given);
    };
    if let ProbeVerb::Scatter(args) = verb {
        return scattered(args, given);
    }
    of_verb(verb, given)?.run()
}

fn of_verb<'a>(verb: &'a ProbeVerb, given: &'a Given) -> Result<Job<'a>> {
    let (task, plain) = task(verb);
    let keep_originals = match verb {
        ProbeVerb::Capacity(args) => args.keep_originals.as_deref(),
        _ => None,
    };
    Ok(Job { keep_originals, ..job(task, plain, given)? })
}

/// Probes as the flags say, and shows nothing.
///
/// # Errors
/// What makes probing impossible.
pub fn make<'a>(args: &'a ProbeArgs, given: &'a Given) -> Result<Result<Made<'a>, Exit>> {
    match &args.verb {
        None => chain(&args.chain, given).make(),
        Some(verb) => of_verb(verb, given)?.make(),
    }
}

/// A verb's probe with its options, and its other flags.
fn task(verb: &ProbeVerb) -> (Task, &PlainArgs) {
    match verb {
        ProbeVerb::Align(args) => (Task::Align(align::Options::default()), &args.plain),
        ProbeVerb::OpenAu(args) => (Task::OpenAu(Default::default()), &args.plain),
        ProbeVerb::Fat(args) => (Task::Fat, args),
        ProbeVerb::Scatter(args) => (Task::Scatter(scatter_options(args)), &args.plain),
        ProbeVerb::Interval(args) => (Task::Interval(Default::default()), args),
        ProbeVerb::Parallelism(args) => (Task::Parallelism, args),
        ProbeVerb::WriteBuffer(args) => (Task::WriteBuffer, args),
        ProbeVerb::SlcCache(args) => (Task::SlcCache(Default::default()), args),
        ProbeVerb::Surface(args) => (Task::Surface(Default::default()), args),
        ProbeVerb::Capacity(args) => {
            let is_real = !args.plain.place.target().is_virtual();
            let options = capacity::Options {
                keeps: !args.destructive && !args.full,
                full: args.full,
                // Half of what is free: a process that is killed for want of memory does not restore the data.
                memory_bytes: linux::host::memory_available()
                    .filter(|_| is_real)
                    .map(|bytes| (bytes.0 / 2).min(1 << 30)),
                ..Default::default()
            };
            (Task::Capacity(options), &args.plain)
        }
        ProbeVerb::SpeedClass(args) => (Task::SpeedClass, args),
    }
}

/// Refuses a word that is neither a probe nor a target; the error lists the probes and names of drives.
fn is_something(word: &str) -> Result<()> {
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !is_word || Path::new(word).exists() {
        return Ok(());
    }
    bail!(
        "{word}: there is no such probe, device or file; probes are {}; what is probed is named such as /dev/sdb or \
         sim:usb-8m{}",
        names().join(", "),
        meant(word)
    );
}

/// The probes.
fn names() -> Vec<String> {
    let known = ProbeVerb::augment_subcommands(clap::Command::new("probe"));
    known.get_subcommands().map(|probe| probe.get_name().to_owned()).collect()
}

/// Error message for `probe FIRST SECOND` if the drive comes before the probe, or FIRST is not a probe.
pub fn misnamed(first: &str, second: &str) -> String {
    match names().iter().any(|name| name == second) {
        true => format!(
            "the probe stands before what is probed: drivescope probe {second} {}",
            quoted(first)
        ),
        false => {
            let known = names().join(", ");
            format!("{first}: there is no such probe; probes are {known}{}", meant(first))
        }
    }
}

/// The question whether the probe with the nearest name was meant by `word`, on a line of its own.
fn meant(word: &str) -> String {
    let names = names();
    let near = block::nearest(word, names.iter().map(String::as_str));
    near.map_or(String::new(), |near| format!("\nhint: did you mean {near}?"))
}

fn all(args: &ChainArgs, given: &Given) -> Result<Exit> {
    let job = chain(args, given);
    if !args.row {
        return job.run();
    }
    let made = match job.make()? {
        Ok(made) => made,
        Err(exit) => return Ok(exit),
    };
    messages::plain(&views::row::of(made.body()))?;
    made.end(true)
}

fn chain<'a>(args: &'a ChainArgs, given: &'a Given) -> Job<'a> {
    let ChainArgs { place, output, record, .. } = args;
    let (verb, tasks) = ("probe".to_owned(), Task::chain());
    Job { verb, place, output, record, given, tasks, keep_originals: None, announced: None }
}

fn job<'a>(task: Task, args: &'a PlainArgs, given: &'a Given) -> Result<Job<'a>> {
    let PlainArgs { place, output, record } = args;
    let verb = format!("probe {}", task.word());
    // A resumed run is checked once its record has named the target.
    if task.must_write() && record.resume.is_none() {
        must_write(place.place(), &task)?;
    }
    Ok(Job {
        verb,
        place,
        output,
        record,
        given,
        tasks: vec![task],
        keep_originals: None,
        announced: None,
    })
}

fn scattered(args: &ScatterArgs, given: &Given) -> Result<Exit> {
    let job = job(Task::Scatter(scatter_options(args)), &args.plain, given)?;
    let Some(path) = &args.data else { return job.run() };
    let force = args.plain.output.result.force;
    // Found out before a minute of probing.
    outputs::check(path, force)?;
    let made = match job.make()? {
        Ok(made) => made,
        Err(exit) => return Ok(exit),
    };
    outputs::write(path, views::plots::gnuplot(made.body()).as_bytes(), force)?;
    made.show()
}

fn scatter_options(args: &ScatterArgs) -> scatter::Options {
    let usual = scatter::Options::default();
    scatter::Options {
        order: args.order.unwrap_or(usual.order),
        span: args.span.unwrap_or(usual.span),
        block: args.blocksize,
        ..usual
    }
}
