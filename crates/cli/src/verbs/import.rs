//! `drivescope import`: what another tool measured, as a recorded run; and what flashbench printed, judged as a drive's own
//! answers are.

use anyhow::{Result, anyhow, bail};
use block::quoted;
use block::{Bytes, WallClock as _};
use mark::imported::{Origin, Source, Told, ToldPercentile, body};
use mark::{Pattern, TestSpec};
use probe::flashbench::tables::{Parsed, Table};
use probe::flashbench::{judge as judged, parse_all};
use probe::{Finding, Verdict};
use pts::judge::measured::{Asked, Measured, Way, joined};
use pts::judge::{self, Format, Given, Recorded};
use record::{Document, Head, State, Summary};
use runner::place::Place;
use serde::Serialize;
use serde_json::json;

use crate::args::{ImportArgs, ImportFlashbenchArgs, ImportVerb, KeepArgs};
use crate::envelope::{SystemClock, envelope, run_id};
use crate::exit::Exit;
use crate::inputs;
use crate::verbs::judge::given;
use crate::verbs::print_json;
use crate::wrong_verb::{self, Reader};
use crate::{messages, records, session};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.import/1";

/// Tables that were read, with their findings.
#[derive(Serialize)]
struct Body {
    /// The answers, as those of `probe`.
    findings: Vec<Finding>,
    /// Tables that the findings are derived from.
    tables: Vec<Parsed>,
}

/// Runs the verb.
///
/// # Errors
/// When a file cannot be read, or holds no table.
pub fn main(args: &ImportArgs) -> Result<Exit> {
    match &args.verb {
        Some(ImportVerb::Flashbench(args)) => flashbench(args),
        None => results(args),
    }
}

/// True of fio's logs of one kind of two threads, which may well be equal, such as the times that submitting took.
fn are_threads(one: &Given, other: &Given) -> bool {
    let named = |text: &Given| {
        let directory = text.file.rsplit_once('/').map(|(directory, _)| directory.to_owned());
        judge::log_by_name(&text.file).map(|name| (directory, name))
    };
    let (Some((here, one)), Some((there, other))) = (named(one), named(other)) else {
        return false;
    };
    let (kind, prefix, thread) = one;
    here == there && (kind, prefix) == (other.0, other.1) && thread != other.2
}

fn results(args: &ImportArgs) -> Result<Exit> {
    let form = args.format;
    if let [word, rest @ ..] = args.files.as_slice()
        && !rest.is_empty()
        && !word.exists()
        && word.as_os_str().as_encoded_bytes().iter().all(u8::is_ascii_alphanumeric)
    {
        bail!(
            "{}: there is no such file; the form of a result is found by what is in it, so its program is not named",
            word.display()
        );
    }
    let given = given(&args.files, form)
        .map_err(|error| wrong_verb::instead(&args.files, Reader::Import, error))?;
    for (index, file) in given.iter().enumerate() {
        let is_same = |first: &&Given| first.digest == file.digest && !are_threads(first, file);
        if let Some(first) = given[..index].iter().find(is_same) {
            bail!(
                "{}: is the same as {}, and one run is not two; leave it out",
                file.file,
                first.file
            );
        }
    }
    let read = joined(match judge::read_given(given, form) {
        Ok(read) => read,
        Err(error) => return Err(wrong_verb::instead(&args.files, Reader::Import, error.into())),
    });
    let origin = origin(&read)?;
    let sources: Vec<Source> = read.iter().flat_map(sources).collect();
    let first = || read.first().and_then(|result| result.files.first());
    if sources.is_empty() {
        bail!(
            "{}: no run with I/O is in it; give the results of runs that came to their end, and logs of latencies with \
             the JSON of their run",
            first().map_or("the files", String::as_str)
        );
    }
    // A log of I/Os a second has no size of theirs.
    let has_bytes =
        |source: &Source| source.bytes_per_s > 0.0 || source.bytes.is_some_and(|bytes| bytes > 0);
    if !sources.iter().any(has_bytes) {
        bail!(
            "{}: has I/Os and not their bytes; give the JSON of the run, or its log of rates (x_bw.1.log), \
             too",
            first().map_or("the files", String::as_str)
        );
    }
    let mut body = body(origin, &sources);
    views::remedies::write(&mut body.caveats);
    let envelope = envelope(session::SCHEMA, run_id(0), &SystemClock);
    let document = Document { envelope, body };
    let kept = keep(args, &document)?;
    session::show("import", &document, args.json, args.mib)?;
    if let Some(id) = kept.filter(|_| !args.json) {
        records::say_recorded(&id, &args.place);
    }
    Ok(Exit::Done)
}

/// Program that the results are from; results of several programs are not runs of one test.
fn origin(read: &[Recorded]) -> Result<Origin> {
    let Some(first) = read.first() else {
        bail!("the files hold no result; give the JSON, XML, text or logs of a run that ended")
    };
    for other in read {
        if matches!(other.format, Format::Ezfio | Format::Tkperf) {
            let file = other.files.first().map_or("", String::as_str);
            bail!(
                "{file}: is {}'s, which keeps no runs; for its steady state run drivescope judge {}",
                other.format.words(),
                quoted(file)
            );
        }
        if other.format.tool() != first.format.tool() {
            bail!(
                "the files are of {} and of {}: import those of one program at a time, and hold them against each other \
                 with compare",
                first.format.tool(),
                other.format.tool()
            );
        }
    }
    Ok(Origin {
        tool: first.format.tool().to_owned(),
        version: first.tool_version.clone(),
        format: first.format.words().to_owned(),
    })
}

/// The runs of a result: what it read and what it wrote, or both where it was asked for both.
fn sources(result: &Recorded) -> Vec<Source> {
    let asked = &result.asked;
    let is_mix = asked.reads_percent.is_some_and(|reads| (1..100).contains(&reads));
    let runs: Vec<Measured> = match is_mix {
        true => result.all().into_iter().collect(),
        false => result.measured.clone(),
    };
    runs.into_iter().map(|run| source(result, run, is_mix)).collect()
}

fn source(result: &Recorded, run: Measured, is_mix: bool) -> Source {
    let asked = &result.asked;
    let op = match (run.way, asked.reads_percent) {
        (_, Some(reads)) if is_mix => format!("mix{reads}"),
        (Way::Write, _) => "write".to_owned(),
        (Way::Read, _) => "read".to_owned(),
        (Way::Both, _) => "other".to_owned(),
    };
    let percentile = |&(percent, ns): &(f64, u64)| ToldPercentile { percent, ns };
    Source {
        file: result.files.first().cloned().unwrap_or_default(),
        job: result.name.clone(),
        spec: spec(asked, result.load.block_bytes),
        op,
        block: result.load.block_bytes.map(Bytes),
        target: asked.target.clone(),
        told: told(result),
        bytes: run.bytes,
        ios: run.ios,
        duration: run.duration_ns.map(block::Nanos),
        bytes_per_s: run.bytes_per_s,
        iops: run.iops,
        submission_ns: run.submission_ns,
        mean_ns: run.latency.mean_ns,
        max_ns: run.latency.max_ns,
        percentiles: run.latency.percentiles.iter().map(percentile).collect(),
        latencies: run.latency.histogram,
        caveats: result.caveats.clone(),
    }
}

/// The load in our notation, when all of it is known and the notation has it.
fn spec(asked: &Asked, block_bytes: Option<u64>) -> Option<TestSpec> {
    let pattern = if asked.random? { Pattern::Random } else { Pattern::Sequential };
    let (block, depth, threads) = (Bytes(block_bytes?), asked.depth?, asked.threads?);
    // Read back, since a notation of a load beyond what it can hold is none.
    TestSpec { pattern, block, depth, threads }.to_string().parse().ok()
}

fn told(result: &Recorded) -> Told {
    let asked = &result.asked;
    Told {
        engine: asked.engine.clone(),
        direct: asked.direct,
        durable: asked.durable,
        region_bytes: result.range_bytes.map(Bytes),
        duration_ns: asked.duration,
        warm_up_ns: asked.warm_up,
        seed: asked.seed,
        loops: asked.loops,
    }
}

/// Records what was imported: a document alone, since there is no plan that could be run again.
fn keep(args: &ImportArgs, document: &Document<mark::Body>) -> Result<Option<record::RunId>> {
    let keep =
        KeepArgs { place: args.place.clone(), no_record: args.no_record, ..KeepArgs::default() };
    let Some(Place { runs, is_required }) = keep.keep().place()? else { return Ok(None) };
    let body = &document.body;
    let summary = Summary {
        verb: "import".to_owned(),
        target: body.target.name.clone(),
        drive: body.imported.as_ref().map_or(String::new(), |imported| imported.tool.clone()),
        headline: views::mark::headline(body),
    };
    let head = Head {
        envelope: document.envelope.clone(),
        begun: SystemClock.now(),
        plan: String::new(),
        setup: json!({ "bare": true, "verb": summary.verb, "target": summary.target, "drive": summary.drive }),
        steps: Some(0),
        samples: None,
    };
    let made =
        runs.create(&head).and_then(|writer| writer.finish(document, State::Finished, &summary));
    match made {
        Ok(saved) => Ok(Some(saved.id)),
        Err(error) if is_required => Err(error.into()),
        Err(error) => {
            messages::note(&format!("this run is not recorded: {error}"));
            Ok(None)
        }
    }
}

fn flashbench(args: &ImportFlashbenchArgs) -> Result<Exit> {
    let texts = args.files.iter().map(|path| {
        let name =
            if path.as_os_str() == "-" { "standard input".into() } else { path.to_string_lossy() };
        Ok((name.into_owned(), inputs::read(path)?))
    });
    let texts: Vec<(String, Vec<u8>)> = texts.collect::<Result<_>>()?;
    let named = texts.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
    let tables = match parse_all(named) {
        Ok(tables) => tables,
        Err(error) => {
            let error = anyhow!(error).context("nothing of flashbench's can be read");
            return Err(wrong_verb::instead(&args.files, Reader::Flashbench, error));
        }
    };
    let plain: Vec<Table> = tables.iter().map(|parsed| parsed.table.clone()).collect();
    let findings = judged(&plain, args.erase_block.map(|bytes| bytes.0));
    let found = findings.iter().any(|finding| finding.verdict == Verdict::Found);
    if args.json {
        print_json(SCHEMA, Body { findings, tables })?;
    } else {
        let answers = views::import::answers(&tables, &findings);
        messages::result(&report::render_answers(&answers, report::Style::default()))?;
    }
    Ok(if found { Exit::Done } else { Exit::No })
}
