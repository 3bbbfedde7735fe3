//! `flashbench`: its options, its lines, its places and order of I/O, on any drive; and a verdict on stderr.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};
use bench::opening::Place;
use bench::outputs;
use block::EngineChoice;
use drives::TargetSpec;
use engine::Bench;
use formats::flashbench as line;
use instruments::probe::{Opened, with_bench};
use probe::flashbench::face::{FaceError, Options, Row, UsageError, run};
use probe::flashbench::judge;
use probe::{Desk, Finding, Halt, NoKeeper, Terms, Verdict};

use crate::args::flashbench_help;
use crate::exit::{Exit, Refused};
use crate::messages;
use crate::verbs::{print, version};

/// Runs the verb with the arguments behind its name.
///
/// # Errors
/// When they are none of flashbench's, or what makes its tests impossible.
pub fn main(args: &[OsString]) -> Result<Exit> {
    let words = args.iter().map(|word| {
        let text = word.to_str().map(str::to_owned);
        text.with_context(|| format!("{}: is not UTF-8", word.to_string_lossy()))
    });
    let words = words.collect::<Result<Vec<String>>>()?;
    if words == ["--version"] {
        return print(&version("flashbench"));
    }
    let (said, words) = own_words(words)?;
    let options = match Options::parse(&words) {
        Err(UsageError::Help) => {
            return print(&flashbench_help());
        }
        parsed => parsed?,
    };
    outputs::protect(Path::new(&options.device))?;
    out_path(&options).map_or(Ok(()), outputs::declare)?;
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly(&cancel);
    let writes = options.writes().map(|writes| writes.bytes);
    let place = Place {
        target: &TargetSpec::of(&options.device),
        engine: said.engine,
        cpus: None,
        buffered: false,
        write: writes.is_some(),
        consent: said.consent.as_ref(),
        allow: &said.allow,
        seed: None,
        what: "probed",
    };
    with_bench(place, writes, &cancel, &mut |bench, opened| {
        if writes.is_some() && !opened.may_write {
            let refusal =
                format!("{}: -O, -f and -p write, and it may only be read", options.device);
            return Err(Refused(refusal).into());
        }
        on(bench, opened, &options)
    })
}

/// Values of our own options.
#[derive(Default)]
struct Said {
    consent: Option<String>,
    allow: Vec<String>,
    engine: EngineChoice,
}

/// Takes our own words out of `words`; the rest is flashbench's.
fn own_words(words: Vec<String>) -> Result<(Said, Vec<String>)> {
    let (mut said, mut rest) = (Said::default(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        if !["--consent", "--allow", "--engine"].contains(&name) {
            rest.push(word);
            continue;
        }
        let Some(value) = joined.or_else(|| words.next()) else {
            bail!("{name}: its value is missing");
        };
        match name {
            "--consent" => said.consent = Some(value),
            "--allow" => said.allow.push(value),
            _ => {
                let read = value.parse();
                said.engine = read.map_err(|hint: String| anyhow!("--engine={value}: {hint}"))?;
            }
        }
    }
    Ok((said, rest))
}

fn on(bench: &mut dyn Bench, opened: &Opened, options: &Options) -> Result<Exit> {
    let terms = Terms::unlimited(bench.info(), opened.may_write);
    if options.verbose > 0 {
        messages::note(&format!("filename: {}, size {}", options.device, terms.region.length.0));
    }
    let mut out = Out::new(options)?;
    let mut keeper = NoKeeper;
    let mut desk = Desk::new(bench, terms, &mut keeper);
    let mut trouble = None;
    let done = run(&mut desk, options, &mut |row| {
        if trouble.is_none() {
            trouble = out.row(row).err();
        }
    });
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    let done = match done {
        Err(FaceError::Halt(Halt::Interrupted)) => return Ok(Exit::Interrupted),
        done => done.map_err(|error| anyhow!(error).context(options.device.clone()))?,
    };
    for caveat in &done.caveats {
        let remedy = views::remedies::sentence(caveat);
        messages::note(&format!("{}: {}; {remedy}", caveat.subject, caveat.cause));
    }
    judge(&done.tables, None).iter().for_each(verdict);
    Ok(Exit::Done)
}

/// Says what an expert would read from the table.
fn verdict(finding: &Finding) {
    let name = views::probe::name(finding.name);
    let said = match (views::probe::in_words(finding), finding.verdict) {
        (Some(said), _) => said,
        (None, Verdict::None) => format!("{name} none"),
        (None, _) => format!("{name} unknown"),
    };
    let sure =
        finding.confidence.map_or(String::new(), |c| format!(" ({})", report::confidence(c)));
    messages::note(&format!("verdict: {said}{sure}: {}", finding.reason));
}

/// The file that `-o` names.
fn out_path(options: &Options) -> Option<&Path> {
    options.out.as_deref().filter(|name| *name != "-").map(Path::new)
}

/// Destination of lines: a file for those of `-s` if one is named, stdout for all others.
struct Out {
    file: Option<(File, String)>,
}

impl Out {
    fn new(options: &Options) -> Result<Out> {
        // As in flashbench, the file is there also when no test writes to it.
        let create = |path: &Path| -> Result<(File, String)> {
            Ok((outputs::create(path)?, path.display().to_string()))
        };
        Ok(Out { file: out_path(options).map(create).transpose()? })
    }

    fn row(&mut self, row: &Row) -> Result<()> {
        let line = format!("{}\n", text(row));
        match (&mut self.file, row) {
            (Some((file, name)), Row::Scatter { .. }) => file
                .write_all(line.as_bytes())
                .with_context(|| format!("{name}: cannot be written")),
            _ => messages::plain(&line),
        }
    }
}

/// A row in flashbench's form.
fn text(row: &Row) -> String {
    let ns = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
    match row {
        Row::Scatter { offset, ns: time } => line::scatter(*offset, ns(*time)),
        Row::FindFat { len, bytes_per_s } => line::find_fat(*len, bytes_per_s),
        Row::Align { align, pre_ns, on_ns, post_ns, .. } => {
            let [pre, on, post] = [*pre_ns, *on_ns, *post_ns].map(ns);
            line::align(*align, pre, on, post, on - (pre + post) / 2)
        }
        Row::OpenAu { len, bytes_per_s } => line::open_au(*len, *bytes_per_s),
        Row::Interval { len, min_ns, mean_ns, max_ns } => {
            line::interval(*len, ns(*min_ns), ns(*mean_ns), ns(*max_ns))
        }
        Row::Line { bytes_per_s, access_ns } => {
            line::interval_fit(bytes_per_s / 1e6, access_ns.round() as i64)
        }
        Row::Overhead { len, min_ns, overhead_ns } => {
            line::interval_overhead(*len, ns(*min_ns), *overhead_ns)
        }
        Row::Program { len, bytes_per_s } => line::find_fat(*len, bytes_per_s),
    }
}
