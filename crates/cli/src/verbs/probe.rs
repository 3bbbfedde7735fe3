//! `drivescope probe`: what a flash device is made of.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use probe::{Task, align, capacity, scatter};

use crate::args::{
    AlignArgs, CapacityArgs, ChainArgs, Given, PlainArgs, ProbeArgs, ProbeVerb, ScatterArgs,
};
use crate::durable;
use crate::exit::Exit;
use crate::probing::{Job, must_write};
use crate::{outputs, talk, view};

/// Runs the verb.
///
/// # Errors
/// What makes probing impossible.
pub fn main(args: &ProbeArgs, given: &Given) -> Result<Exit> {
    let Some(verb) = &args.verb else { return all(&args.chain, given) };
    match verb {
        ProbeVerb::Align(args) => aligned(args, given),
        ProbeVerb::OpenAu(args) => one(Task::OpenAu(Default::default()), &args.plain, given),
        ProbeVerb::Fat(args) => one(Task::Fat, args, given),
        ProbeVerb::Scatter(args) => scattered(args, given),
        ProbeVerb::Interval(args) => one(Task::Interval(Default::default()), args, given),
        ProbeVerb::Parallelism(args) => one(Task::Parallelism, args, given),
        ProbeVerb::WriteBuffer(args) => one(Task::WriteBuffer, args, given),
        ProbeVerb::SlcCache(args) => one(Task::SlcCache(Default::default()), args, given),
        ProbeVerb::Surface(args) => one(Task::Surface(Default::default()), args, given),
        ProbeVerb::Capacity(args) => held(args, given),
        ProbeVerb::SpeedClass(args) => one(Task::SpeedClass, args, given),
    }
}

fn all(args: &ChainArgs, given: &Given) -> Result<Exit> {
    let ChainArgs { place, row, output, record } = args;
    let job = Job { verb: "probe".to_owned(), place, output, record, given, tasks: Task::chain() };
    if !row {
        return job.run();
    }
    let made = job.make()?;
    talk::result(&view::row::of(made.body()))?;
    made.end(true)
}

fn one(task: Task, args: &PlainArgs, given: &Given) -> Result<Exit> {
    job(task, args, given)?.run()
}

fn job<'a>(task: Task, args: &'a PlainArgs, given: &'a Given) -> Result<Job<'a>> {
    let PlainArgs { place, output, record } = args;
    let verb = format!("probe {}", task.word());
    if task.must_write() {
        must_write(place, task.word())?;
    }
    Ok(Job { verb, place, output, record, given, tasks: vec![task] })
}

fn aligned(args: &AlignArgs, given: &Given) -> Result<Exit> {
    let options = align::Options::default();
    one(Task::Align(options), &args.plain, given)
}

fn scattered(args: &ScatterArgs, given: &Given) -> Result<Exit> {
    let usual = scatter::Options::default();
    let options = scatter::Options {
        order: args.order.unwrap_or(usual.order),
        span: args.span.unwrap_or(usual.span),
        block: args.blocksize,
        ..usual
    };
    let job = job(Task::Scatter(options), &args.plain, given)?;
    let Some(path) = &args.data else { return job.run() };
    // Found out before a minute of probing.
    let cannot = || format!("{}: cannot be written", path.display());
    let mut file = outputs::create(path)?;
    let made = job.make()?;
    file.write_all(view::plots::gnuplot(made.body()).as_bytes()).with_context(cannot)?;
    durable::settle(path).with_context(cannot)?;
    made.show()
}

fn held(args: &CapacityArgs, given: &Given) -> Result<Exit> {
    let options = capacity::Options { keeps: !args.destructive, ..Default::default() };
    one(Task::Capacity(options), &args.plain, given)
}
