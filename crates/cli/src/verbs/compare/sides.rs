//! Sides of a comparison: recorded runs, documents, sessions, and targets that are still to be measured.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use documents::instrument::Instrument;
use documents::{Decode as _, format};
use drives::TargetSpec;
use instruments::mark::{IN_TURNS, absolute, latencies};
use mark::Body;
use mark::compare::{RunLatencies, Side, SideSession, of_sessions};
use record::{Document, Envelope, Integrity, RunId};
use runner::recorder::RESUMED;

use super::turns::BLOCKS;
use crate::args::CompareArgs;
use crate::{recorded, records, session};

/// A result or a target, by its name.
pub enum Found {
    /// A result that is there, with the latencies of its runs where they were kept.
    Recorded(Box<Side>, Box<Body>, Option<RunLatencies>),
    /// Something to measure.
    Target,
}

impl Found {
    /// A name of the side `typed` that leads to the same from anywhere and at any time: the last run is another one tomorrow.
    pub fn lasting_name(&self, typed: &TargetSpec) -> String {
        match self.side() {
            Some(Side { run_id: Some(id), .. }) => id.clone(),
            Some(Side { sessions, .. }) if !sessions.is_empty() => {
                let names: Vec<&str> = sessions.iter().map(|one| one.name.as_str()).collect();
                names.join(",")
            }
            _ => absolute(typed),
        }
    }

    /// The same side under the name that the user typed for it; a run is named by its id.
    pub fn named(mut self, typed: &TargetSpec) -> Found {
        if let Found::Recorded(side, ..) = &mut self
            && side.run_id.is_none()
        {
            side.name = typed.to_string();
        }
        self
    }

    /// The recorded run of a side that was measured, under the name of its target.
    pub fn measured(mut self, target: &TargetSpec) -> Found {
        if let Found::Recorded(side, ..) = &mut self {
            side.name = target.to_string();
        }
        self
    }

    /// The side, where it is there.
    pub fn side(&self) -> Option<&Side> {
        match self {
            Found::Recorded(side, ..) => Some(side),
            Found::Target => None,
        }
    }
}

/// Refuses a run that is compared with itself.
///
/// # Errors
/// When a run is on more than one side.
pub fn differ(sides: &[&Side]) -> Result<()> {
    let mut runs = BTreeSet::new();
    for id in sides.iter().filter_map(|side| side.run_id.as_ref()) {
        if !runs.insert(id) {
            bail!("{id}: is on more than one side, and a run equals itself; name another");
        }
    }
    Ok(())
}

/// The result that a side names, or the target that it is.
///
/// # Errors
/// When it is neither.
pub fn find(side: &TargetSpec, args: &CompareArgs) -> Result<Found> {
    let TargetSpec::Path(name) = side else { return Ok(Found::Target) };
    // In the runs directory, a run's ID is also the name of a directory, which is not meant as a target.
    if name.parse::<RunId>().is_ok() {
        return of_run(name, args);
    }
    let path = Path::new(name);
    let is_list = name.contains(',') && name.split(',').all(|part| !part.is_empty());
    if is_list && !path.exists() {
        return in_sessions(name, args);
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && is_document(path) => document(name, path),
        Ok(_) => Ok(Found::Target),
        Err(_) => of_run(name, args),
    }
}

/// A side of several recorded sessions, with commas between them.
fn in_sessions(name: &str, args: &CompareArgs) -> Result<Found> {
    let (mut sides, mut bodies) = (Vec::new(), Vec::new());
    for part in name.split(',') {
        match find(&TargetSpec::of(part), args)? {
            Found::Recorded(side, body, _) => {
                sides.push(*side);
                bodies.push(*body);
            }
            Found::Target => bail!(
                "{part} is a target; expected a recorded run or document, as each session of {name}\n\
                 hint: name a target as a side of its own"
            ),
        }
    }
    differ(&sides.iter().collect::<Vec<_>>())?;
    let session = |side: &Side| SideSession { name: side.name.clone(), date: side.date.clone() };
    let sessions = sides.iter().map(session).collect();
    let first = sides.into_iter().next().context("a side without a session")?;
    let body = of_sessions(&bodies).context("a side without a session")?;
    let side = Side { name: name.to_owned(), run_id: None, blocks: None, sessions, ..first };
    Ok(Found::Recorded(Box::new(side), Box::new(body), None))
}

/// True for a file with the name or the contents of a document: a `.json` file is not meant as a target.
fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "json") || format::is_document(path)
}

fn document(name: &str, path: &Path) -> Result<Found> {
    let (form, value) = recorded::read(name, path)?;
    if form != session::SCHEMA {
        bail!(
            "{name}: has the form {form}; what `drivescope mark --json` prints is {}",
            session::SCHEMA
        );
    }
    let document: Document<Body> = Document::decode(value)
        .with_context(|| format!("{name}: is not a whole {}", session::SCHEMA))?;
    if !document.body.has_numbers() {
        bail!("{name}: {NO_NUMBERS}");
    }
    let side = side(name, &document, false, None);
    Ok(Found::Recorded(Box::new(side), Box::new(document.body), None))
}

/// Why there is nothing to hold against another.
const NO_NUMBERS: &str = "was stopped before a run of it counted, so it has no number";

fn of_run(name: &str, args: &CompareArgs) -> Result<Found> {
    let runs = args.record.keep.place.runs()?;
    let id = runs.find(name).with_context(|| {
        format!(
            "{name}: is neither a target, a file nor a recorded run (drivescope runs list shows those)"
        )
    })?;
    let run = runs.load(&id)?;
    if let Integrity::Altered(files) = runs.verify(&id)? {
        bail!(
            "{id}: is not what was recorded ({}), so nothing can be compared with it",
            files.join(", ")
        );
    }
    if records::is_of(&run, Instrument::Comparison) {
        let sides: Vec<&str> = run.document.iter().flat_map(parts).collect();
        bail!(
            "{id} is a comparison; expected a recorded run of one drive\nhint: name one of its sides: {}",
            sides.join(", ")
        );
    }
    let document = records::mark_of(&run)?
        .ok_or_else(|| records::without_result(&run, &runs, &args.record.keep.place))?;
    // Before another side is measured for nothing.
    if !document.body.has_numbers() {
        bail!("{id}: {NO_NUMBERS}; {}", records::how_to_go_on(&run, &args.record.keep.place));
    }
    // After a resumption by itself it was no longer measured in turns with the others.
    let is_alone =
        |(kind, note): &(String, serde_json::Value)| kind == RESUMED && note[IN_TURNS] != true;
    let is_whole = !run.notes.iter().any(is_alone);
    let note = run.notes.iter().find(|(kind, _)| kind == BLOCKS).filter(|_| is_whole);
    let blocks = note.and_then(|(_, note)| Some(note["comparison"].as_str()?.to_owned()));
    // However it was named: the last run is another one tomorrow.
    let side = side(id.as_str(), &document, true, blocks);
    Ok(Found::Recorded(Box::new(side), Box::new(document.body), latencies(&run)))
}

/// The runs that a document names as its parts.
fn parts(document: &serde_json::Value) -> impl Iterator<Item = &str> {
    let parts = document["envelope"]["parts"].as_array().into_iter().flatten();
    parts.filter_map(|part| part.as_str())
}

/// `blocks` names the measurement in turns that it was part of.
pub fn side(name: &str, document: &Document<Body>, is_run: bool, blocks: Option<String>) -> Side {
    let Envelope { run_id, date, .. } = &document.envelope;
    Side {
        name: name.to_owned(),
        run_id: is_run.then(|| run_id.to_string()),
        date: Some(date.clone()),
        drive: views::drive(&document.body.target, &document.body.stack),
        target: Some(document.body.target.name.clone()),
        blocks,
        sessions: Vec::new(),
    }
}
