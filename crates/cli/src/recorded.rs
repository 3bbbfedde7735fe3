//! Recorded runs and documents printed by `--json`, decoded for the commands that show them.

use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use documents::Decode as _;
use documents::instrument;
use documents::recorded::{Record, Recorded, ResultBody, TestRuns};
use instruments::mark::Setup;
use mark::Kept;
use record::{Document, Envelope, Integrity, RecordError, Run, RunId};
use serde_json::Value;
use workload::plan::Plan;

use crate::args::PlaceArgs;
use crate::exit::Exit;
use crate::wrong_verb::{self, Reader};
use crate::{inputs, messages, records};

/// The run or the document of that name.
///
/// # Errors
/// When there is neither, it has no result yet, or it is of a form that cannot be shown.
pub fn open(name: &str, place: &PlaceArgs) -> Result<Recorded> {
    let path = Path::new(name);
    if path.extension().is_some_and(|end| end == "json") && path.is_file() {
        return of_document(name, path);
    }
    let runs = place.runs()?;
    let id = match runs.find(name) {
        Err(RecordError::Unknown { .. } | RecordError::NoRuns { .. })
            if path.is_file() || path.is_dir() =>
        {
            return of_document(name, path);
        }
        Err(error @ RecordError::NoRuns { .. }) if name != "last" => {
            return Err(anyhow::Error::from(error).context(format!("{name}: is not a file")));
        }
        // A name that looks like a path was meant as one.
        Err(error @ RecordError::Unknown { .. }) if name.contains(['/', '.']) => {
            return Err(
                anyhow::Error::from(error).context(format!("{name}: there is no such file"))
            );
        }
        found => found?,
    };
    let run = runs.load(&id)?;
    let integrity = runs.verify(&id)?;
    if run.document.is_none() {
        return Err(records::without_result(&run, &runs, place));
    }
    of_run(run, integrity)
}

/// The names, or the last run, which is then announced.
///
/// # Errors
/// When no run is recorded.
pub fn or_last(names: &[String], place: &PlaceArgs) -> Result<Vec<String>> {
    if !names.is_empty() {
        return Ok(names.to_vec());
    }
    let id = place.runs()?.find("last")?.to_string();
    messages::note(&format!("the last run is {id}"));
    Ok(vec![id])
}

/// The runs and documents of these names, each survey with the runs that are its parts behind it.
///
/// # Errors
/// As [`open`].
pub fn open_all(names: &[String], place: &PlaceArgs) -> Result<Vec<Recorded>> {
    let mut all: Vec<Recorded> = Vec::new();
    for name in names {
        let one = open(name, place)?;
        // A replay names the one on its reference drive, whose page would be as large again.
        let parts = match one.found {
            ResultBody::Survey(_) => one.envelope.parts.clone(),
            _ => Vec::new(),
        };
        all.push(one);
        for part in parts {
            match open(part.as_str(), place) {
                Ok(part) => all.push(part),
                Err(why) => messages::note(&format!(
                    "{part}, a part of {name}, is left out: {}",
                    messages::described(&why)
                )),
            }
        }
    }
    Ok(all)
}

fn of_run(run: Run, integrity: Integrity) -> Result<Recorded> {
    let id = &run.id;
    let document = run.document.clone().with_context(|| format!("{id}: has no result yet"))?;
    let form = form_of(&document);
    let found = match form.as_str() {
        instrument::MARK => measured(&run)?,
        form => found(form, &document).with_context(|| cannot(id, form))?,
    };
    Ok(Recorded {
        name: id.to_string(),
        verb: run.summary.verb.clone(),
        target: run.summary.target.clone(),
        headline: run.summary.headline.clone(),
        envelope: whole_envelope(&run, &document),
        found,
        document,
        record: Some(Record { state: run.state.word(), integrity }),
    })
}

/// The envelope of the result, which names the parts that were not known when the run was begun.
pub fn whole_envelope(run: &Run, document: &Value) -> Envelope {
    let printed = Envelope::decode(document["envelope"].clone());
    printed.unwrap_or_else(|_| run.envelope.clone())
}

fn of_document(name: &str, path: &Path) -> Result<Recorded> {
    let (form, document) = read(name, path)?;
    let found = found(&form, &document).with_context(|| cannot(name, &form))?;
    of_value(name, document, found)
}

/// A result that is not recorded, as `--json` prints it; `found` where its form alone does not say what it is.
///
/// # Errors
/// When its form is not one that is shown.
pub fn of_printed(printed: &str, found: Option<ResultBody>) -> Result<Recorded> {
    let document: Value = serde_json::from_str(printed)?;
    let found = found.map_or_else(|| self::found(&form_of(&document), &document), Ok)?;
    let name = document["envelope"]["run_id"].as_str().unwrap_or_default().to_owned();
    of_value(&name, document, found)
}

fn of_value(name: &str, document: Value, found: ResultBody) -> Result<Recorded> {
    let form = form_of(&document);
    let envelope = Envelope::decode(document["envelope"].clone())
        .with_context(|| format!("{name}: its envelope is not whole; give what --json printed"))?;
    Ok(Recorded {
        name: name.to_owned(),
        verb: form.trim_start_matches("drivescope.").split('/').next().unwrap_or("").to_owned(),
        target: String::new(),
        headline: String::new(),
        envelope,
        found,
        document,
        record: None,
    })
}

/// The document in the file at `path`, and its form.
///
/// # Errors
/// When it is nothing that `--json` printed: then whose it is, where that is known.
pub fn read(name: &str, path: &Path) -> Result<(String, Value)> {
    if !path.is_dir() {
        let mut file = File::open(path).with_context(|| format!("{name}: cannot be read"))?;
        let bytes = inputs::all_of(&mut file, name)?;
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(document) if document["envelope"]["schema"].is_string() => {
                return Ok((form_of(&document), document));
            }
            Err(error) if bytes.starts_with(b"{") => {
                bail!(
                    "{name}: is not whole JSON: it breaks off or is broken in line {}",
                    error.line()
                )
            }
            _ => {}
        }
    }
    match wrong_verb::advice(path, Reader::Show) {
        Some(advice) => bail!(advice),
        None => bail!(
            "{name}: is neither a recorded run (drivescope runs list names those) nor what --json printed of one"
        ),
    }
}

fn form_of(document: &Value) -> String {
    document["envelope"]["schema"].as_str().unwrap_or("none").to_owned()
}

fn cannot(name: impl std::fmt::Display, form: &str) -> String {
    format!("{name}: cannot be shown as {form}")
}

fn found(form: &str, document: &Value) -> Result<ResultBody> {
    let Some(row) = instrument::of_schema(form) else {
        bail!(
            "no page is made of it; pages are made of recorded runs, and of what --json printed of survey, mark, probe, purge, pts, \
             trace analyze, trace replay and trace compare"
        )
    };
    Ok((row.decode)(&document["body"])?)
}

/// A mark with its runs, or the sweep that it is.
fn measured(run: &Run) -> Result<ResultBody> {
    let Some(document) = records::mark_of(run)? else {
        bail!("{}: has no result yet", run.id);
    };
    if run.is_bare() {
        return Ok(ResultBody::Mark(Box::new(document.body), Vec::new()));
    }
    let plan = Plan::from_toml(&run.plan).with_context(|| format!("{}: its plan.toml", run.id))?;
    if let Some(sweep) = swept(run, &plan, &document)? {
        return Ok(ResultBody::Sweep(Box::new(sweep)));
    }
    let kept = instruments::mark::kept(run)?;
    // A result has its tests in the order of the plan's steps.
    let of_step = |name: &str| {
        let is_one = |kept: &&Kept| kept.counted && kept.step == name;
        let of_name = run.steps.iter().filter(|step| step.step == name);
        let measured = of_name.flat_map(|step| &step.series).find(|series| series.measured);
        TestRuns {
            runs: kept.iter().filter(is_one).cloned().collect(),
            slice_ns: measured.map_or(0, |series| series.slice_ns),
        }
    };
    let by_test = plan.steps.iter().map(|step| of_step(&step.name)).collect();
    Ok(ResultBody::Mark(Box::new(document.body), by_test))
}

fn swept(
    run: &Run,
    plan: &Plan,
    document: &Document<mark::Body>,
) -> Result<Option<mark::sweep::Body>> {
    let swept = Setup::of_record(run)?.sweep.filter(|_| run.summary.verb == "sweep");
    Ok(swept.map(|swept| views::sweep::found(&swept, plan, document).body))
}

/// Notes when a run's files are not those that were recorded, and returns [`Exit::No`] then.
pub fn tell_altered(recorded: &Recorded) -> Exit {
    let integrity = recorded.record.as_ref().map(|record| &record.integrity);
    match integrity {
        Some(Integrity::Altered(_)) => {
            messages::note(&format!(
                "{}: its files are not those that were recorded",
                recorded.name
            ));
            Exit::No
        }
        _ => Exit::Done,
    }
}

/// Default file name of a result.
pub fn file_name(recorded: &[Recorded], end: &str) -> String {
    let stem = match recorded {
        [one] if one.record.is_some() => one.name.clone(),
        [one] => one.envelope.run_id.to_string(),
        all => format!(
            "{}-runs-{}",
            all.len(),
            all.last().map_or("", |last| date_of(&last.envelope.run_id))
        ),
    };
    format!("drivescope-{stem}.{end}")
}

fn date_of(id: &RunId) -> &str {
    id.as_str().split('-').next().unwrap_or("")
}
