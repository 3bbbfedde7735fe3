//! `drivescope probe`: what a flash device is made of.

use anyhow::{Context as _, Result};
use probe::{Task, align, capacity, scatter};

use crate::args::{
    AlignArgs, CapacityArgs, ChainArgs, PlainArgs, ProbeArgs, ProbeVerb, ScatterArgs,
};
use crate::exit::Exit;
use crate::probing::{Job, must_write};
use crate::{talk, view};

/// Runs the verb.
///
/// # Errors
/// What makes probing impossible.
pub fn main(args: &ProbeArgs) -> Result<Exit> {
    let Some(verb) = &args.verb else { return all(&args.chain) };
    match verb {
        ProbeVerb::Align(args) => aligned(args),
        ProbeVerb::OpenAu(args) => one(Task::OpenAu(Default::default()), &args.plain),
        ProbeVerb::Fat(args) => one(Task::Fat(Default::default()), args),
        ProbeVerb::Scatter(args) => scattered(args),
        ProbeVerb::Interval(args) => one(Task::Interval(Default::default()), args),
        ProbeVerb::Parallelism(args) => one(Task::Parallelism(Default::default()), args),
        ProbeVerb::WriteBuffer(args) => one(Task::WriteBuffer(Default::default()), args),
        ProbeVerb::SlcCache(args) => one(Task::SlcCache(Default::default()), args),
        ProbeVerb::Surface(args) => one(Task::Surface(Default::default()), args),
        ProbeVerb::Capacity(args) => held(args),
        ProbeVerb::SpeedClass(args) => one(Task::SpeedClass(Default::default()), args),
    }
}

fn all(args: &ChainArgs) -> Result<Exit> {
    let ChainArgs { place, row, output, keep } = args;
    let job = Job { verb: "probe".to_owned(), place, output, keep, tasks: Task::chain() };
    if !row {
        return job.run();
    }
    let made = job.make()?;
    talk::result(&view::row::of(&made.document.body))?;
    made.end(true, keep)
}

fn one(task: Task, args: &PlainArgs) -> Result<Exit> {
    let PlainArgs { place, output, keep } = args;
    let verb = format!("probe {}", task.word());
    if task.must_write() {
        must_write(place, task.word())?;
    }
    Job { verb, place, output, keep, tasks: vec![task] }.run()
}

fn aligned(args: &AlignArgs) -> Result<Exit> {
    let options = align::Options {
        block_bytes: args.blocksize.iter().map(|bytes| bytes.0).collect(),
        ..align::Options::default()
    };
    one(Task::Align(options), &args.plain)
}

fn scattered(args: &ScatterArgs) -> Result<Exit> {
    let options = scatter::Options {
        order: args.order,
        span: args.span,
        block_bytes: args.blocksize.map(|bytes| bytes.0),
        ..scatter::Options::default()
    };
    let PlainArgs { place, output, keep } = &args.plain;
    let tasks = vec![Task::Scatter(options)];
    let job = Job { verb: "probe scatter".to_owned(), place, output, keep, tasks };
    let Some(path) = &args.data else { return job.run() };
    // Found out before an hour of probing.
    let mut file = std::fs::File::create(path)
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let made = job.make()?;
    std::io::Write::write_all(&mut file, view::plots::gnuplot(&made.document.body).as_bytes())
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    made.show("probe scatter", output, keep)
}

fn held(args: &CapacityArgs) -> Result<Exit> {
    let options = capacity::Options { destructive: args.destructive, ..Default::default() };
    one(Task::Capacity(options), &args.plain)
}
