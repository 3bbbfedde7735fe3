//! `drivescope runs`: what has been recorded.

mod fio;
mod printed;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use bench::originals;
use bench::outputs;
use bench::outputs::Part;
use block::quoted;
use documents::instrument::Instrument;
use linux::scratch;
use record::{Exported, Integrity, RecordError, Run, RunId, Runs, State};
use report::{Style, Styled};
use runner::recorder::document_of;
use serde_json::{Value, json};
use views::fio::Repetition;

use printed::tell;

use crate::args::{PlaceArgs, Repetitions, RunsForm, RunsVerb};
use crate::exit::{Exit, Refused};
use crate::known_drives::Named;
use crate::recorded::whole_envelope;
use crate::verbs::purge;
use crate::verbs::{self, trace};
use crate::wrong_verb::{self, Reader};
use crate::{messages, probing, records, session, surveying, testing};

/// Runs the verb.
///
/// # Errors
/// When a run is not there or cannot be read, or a file cannot be written.
pub fn main(verb: &RunsVerb) -> Result<Exit> {
    match verb {
        RunsVerb::List { drive, place, json } => list(drive.as_deref(), place, *json),
        RunsVerb::Show { run, place, json, mib } => show(run, place, *json, *mib),
        RunsVerb::Rm { runs, place, yes, json } => remove(runs, place, *yes, *json),
        RunsVerb::Export { runs, place, output, force, format, repetition, json } => match format {
            RunsForm::Archive if *repetition != Repetitions::One(Repetition::Median) => {
                bail!("--run is for --format fio-json; an archive has all runs of each test")
            }
            RunsForm::Archive => export(runs, place, (output, *force), *json),
            RunsForm::FioJson => fio::export(runs, place, (output, *force), (*repetition, *json)),
        },
        RunsVerb::Import { files, place, json } => import(files, place, *json),
        RunsVerb::Reindex { place, json } => {
            let runs = place.runs()?;
            let dir = runs.dir().display().to_string();
            if !runs.dir().is_dir() {
                bail!("{dir}: there is no such directory, so no run is in it");
            }
            let count = runs.reindex()?;
            let are = if count == 1 { "is" } else { "are" };
            let text = format!("{dir}: {} {are} indexed\n", report::number::counted(count, "run"));
            tell(*json, json!({ "dir": dir, "indexed": count }), &Styled::of_lines(&text))
        }
    }
}

fn list(drive: Option<&str>, place: &PlaceArgs, json: bool) -> Result<Exit> {
    let runs = place.runs()?;
    let mut listing = runs.list()?;
    if let Some(drive) = drive {
        let of_it = Named::new(drive).runs(&runs)?;
        listing.runs.retain(|row| of_it.iter().any(|(run, _)| run.id == row.id));
        if listing.runs.is_empty() {
            bail!("{drive}: no recorded run in {} is of it", runs.dir().display());
        }
    }
    let unreadable = listing
        .unreadable
        .iter()
        .map(|(path, reason)| json!({ "path": path.display().to_string(), "reason": reason }));
    let body = json!({
        "dir": runs.dir().display().to_string(),
        "runs": listing.runs,
        "unreadable": unreadable.collect::<Vec<Value>>(),
    });
    let is_empty = listing.runs.is_empty() && listing.unreadable.is_empty();
    let mut text = Styled::default();
    if !is_empty {
        text += &Styled::of_lines(&format!("Runs in {}\n\n", runs.dir().display()));
    }
    let listing = views::runs::listing(runs.dir(), &listing);
    text += &report::render_listing(&listing, Style::default());
    tell(json, body, &text)
}

fn show(name: &str, place: &PlaceArgs, json: bool, mib: bool) -> Result<Exit> {
    let runs = place.runs()?;
    let id = runs.find(name)?;
    let run = runs.load(&id)?;
    let integrity = runs.verify(&id)?;
    let live = runs.is_live(&id);
    if json {
        let mut text = serde_json::to_string_pretty(&recorded(&run, &integrity, live))?;
        text.push('\n');
        messages::json(&text)?;
    } else {
        if page(&run, mib)? {
            messages::plain("\n")?;
        }
        let unfinished =
            if run.state == State::Finished { Vec::new() } else { how_to_go_on(&run, place) };
        let about = views::runs::about(&run, &integrity, live, &unfinished);
        messages::result(&report::render_listing(&about, Style::default()))?;
    }
    if let Integrity::Altered(_) = integrity {
        messages::note(&format!("{id}: its files are not those that were recorded"));
        return Ok(Exit::No);
    }
    Ok(Exit::Done)
}

/// How to go on with a run that has not ended, and what it left behind.
fn how_to_go_on(run: &Run, place: &PlaceArgs) -> Vec<String> {
    let beside = [
        records::of_a_comparison(run, place),
        instruments::probe::left_behind(run),
        replay::left_behind(run),
    ];
    std::iter::once(records::how_to_go_on(run, place)).chain(beside.into_iter().flatten()).collect()
}

/// Prints the result of a run as it was printed then; false when there is none.
fn page(run: &Run, mib: bool) -> Result<bool> {
    let (verb, form) = (&run.summary.verb, run.envelope.schema.as_str());
    match records::row_of(run).map(|row| row.instrument) {
        Some(Instrument::Probing) => {
            show_if(document_of(run, form)?, |it| probing::show(verb, it, false))
        }
        Some(Instrument::Survey) => show_if(document_of(run, form)?, surveying::show),
        Some(Instrument::Purge) => show_if(document_of(run, form)?, |it| purge::print(it, false)),
        Some(Instrument::Tests) => {
            show_if(document_of(run, form)?, |it| testing::show_recorded(it, false))
        }
        Some(Instrument::Replay) => {
            show_if(document_of(run, form)?, |it| trace::show_replay(it, false))
        }
        Some(Instrument::Comparison) => {
            show_if(document_of(run, form)?, |it| verbs::compare::show(it, mib))
        }
        Some(Instrument::TraceComparison) => {
            show_if(document_of(run, form)?, |it| trace::show_compare(it, false))
        }
        Some(Instrument::Mark | Instrument::Analysis) | None => {
            show_if(records::mark_of(run)?, |it| session::show_recorded(run, it, mib))
        }
    }
}

fn show_if<D>(document: Option<D>, show: impl FnOnce(&D) -> Result<()>) -> Result<bool> {
    document.as_ref().map(show).transpose().map(|shown| shown.is_some())
}

/// The recorded document, or what there is of one, and beside it what is known of the record.
fn recorded(run: &Run, integrity: &Integrity, live: bool) -> Value {
    let mut value =
        run.document.clone().unwrap_or_else(|| json!({ "envelope": run.envelope, "body": null }));
    let (integrity, altered) = match integrity {
        Integrity::AsRecorded { .. } => ("as_recorded", &[][..]),
        Integrity::Unsealed => ("unsealed", &[][..]),
        Integrity::Altered(files) => ("altered", &files[..]),
    };
    value["record"] = json!({
        "dir": run.dir.display().to_string(),
        "state": run.state,
        "live": live,
        "steps_done": run.steps.len(),
        "steps_known": run.steps_known,
        "integrity": integrity,
        "altered": altered,
    });
    value
}

fn remove(names: &[String], place: &PlaceArgs, yes: bool, json: bool) -> Result<Exit> {
    let runs = place.runs()?;
    let ids = found(&runs, names)?;
    let list = ids.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ");
    let count = report::number::counted(ids.len(), "run");
    if let Some(left) =
        originals::pending(place.runs_dir.as_deref()).iter().find(|left| ids.contains(&left.run_id))
    {
        let words = originals::in_words(left, &left.target);
        return Err(Refused(format!("{}: {words}", left.target)).into());
    }
    if !yes {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            let words = ids.iter().map(RunId::as_str).collect::<Vec<_>>().join(" ");
            return Err(Refused(format!(
                "{list}: is removed with --yes only: drivescope runs rm {words} --yes{}",
                place.flag()
            ))
            .into());
        }
        if !messages::ask(&format!("Remove {count} ({list})? [y/N] "))? {
            return Ok(Exit::No);
        }
    }
    let left: Vec<RunId> = ids.iter().flat_map(|id| parts(&runs, id)).collect();
    let mut kept: Vec<String> = Vec::new();
    for id in &ids {
        // Of one that was killed: nothing would know of the file any more.
        let left = runs.load(id).ok().filter(|run| !run.is_ended());
        let left =
            left.and_then(|run| scratch::left_by(Path::new(&run.summary.target), id.as_str()));
        if let Some(rest) = runs.remove(id)? {
            let names = names_in(&rest);
            messages::note(&format!(
                "{id}: files that drivescope did not write stay in {}: {}",
                rest.display(),
                names.join(", ")
            ));
            kept.push(rest.display().to_string());
        }
        if let Some(left) = left {
            let path = quoted(&left.path.to_string_lossy());
            messages::note(&format!(
                "{id} was killed and left its test file ({}): rm {path}",
                left.size.human()
            ));
        }
    }
    let left: Vec<String> =
        left.iter().filter(|part| !ids.contains(part)).map(RunId::to_string).collect();
    if !left.is_empty() {
        messages::note(&format!(
            "the runs that were its parts stay; to remove them too: drivescope runs rm {}{}",
            left.join(" "),
            place.flag()
        ));
    }
    let text: String = ids.iter().map(|id| format!("removed {id}\n")).collect();
    tell(json, json!({ "removed": ids, "kept": kept }), &Styled::of_lines(&text))
}

/// Names in a directory, sorted.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// With the runs that are their parts, without which a survey would name what is not there.
fn with_parts(runs: &Runs, ids: Vec<RunId>) -> Vec<RunId> {
    let mut all: Vec<RunId> = Vec::with_capacity(ids.len());
    for id in ids {
        let parts = parts(runs, &id);
        for id in std::iter::once(id).chain(parts) {
            if !all.contains(&id) {
                all.push(id);
            }
        }
    }
    all
}

/// The parts of a run, as its result names them, that are there.
fn parts(runs: &Runs, id: &RunId) -> Vec<RunId> {
    let Ok(run) = runs.load(id) else { return Vec::new() };
    let named = run.document.as_ref().map(|document| whole_envelope(&run, document).parts);
    let is_there = |part: &RunId| runs.dir().join(part.as_str()).is_dir();
    named.unwrap_or_default().into_iter().filter(is_there).collect()
}

/// The runs that are meant, each once. All are looked for before anything is done to one.
fn found(runs: &Runs, names: &[String]) -> Result<Vec<RunId>> {
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let id = runs.find(name)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn export(
    names: &[String],
    place: &PlaceArgs,
    (output, force): (&Path, bool),
    json: bool,
) -> Result<Exit> {
    let runs = place.runs()?;
    let (ids, is_all) = match names {
        [] => all(&runs)?,
        names => (with_parts(&runs, found(&runs, names)?), true),
    };
    if ids.is_empty() {
        bail!("{}: holds no runs", runs.dir().display());
    }
    protect_targets(&runs, &ids)?;
    let exit = if is_all { Exit::Done } else { Exit::No };
    if output == Path::new("-") {
        if io::stdout().is_terminal() {
            bail!("an archive is not for a terminal; redirect it, or give --output FILE.tar.gz");
        }
        let mut out = Forgiving(io::stdout().lock());
        runs.export(&ids, &mut out)?;
        out.flush().context("cannot write the archive")?;
        return Ok(exit);
    }
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly(&cancel);
    let exported = to_file(&runs, &ids, (output, force), &cancel);
    if cancel.load(Ordering::Relaxed) {
        messages::note(&format!("stopped; {} was not written", output.display()));
        return Ok(Exit::Interrupted);
    }
    let Exported { runs: count, files, bytes } = exported?;
    let name = output.display().to_string();
    let (of_runs, of_files) =
        (report::number::counted(count, "run"), report::number::counted(files, "file"));
    let text = format!("{name}: {of_runs}, {of_files}\n");
    tell(
        json,
        json!({ "file": name, "runs": ids, "files": files, "bytes": bytes }),
        &Styled::of_lines(&text),
    )?;
    Ok(exit)
}

/// Keeps outputs off what the runs were made on.
fn protect_targets(runs: &Runs, ids: &[RunId]) -> Result<()> {
    let listing = runs.list()?;
    let rows = listing.runs.iter().filter(|row| ids.contains(&row.id));
    rows.map(|row| Path::new(&row.target)).try_for_each(outputs::protect)
}

/// Every run that can be read; false when there are others, which are named.
fn all(runs: &Runs) -> Result<(Vec<RunId>, bool)> {
    let listing = runs.list()?;
    for (path, why) in &listing.unreadable {
        messages::note(&format!("left out: {} cannot be read: {why}", path.display()));
    }
    Ok((listing.runs.into_iter().map(|row| row.id).collect(), listing.unreadable.is_empty()))
}

/// A reader that went away has seen what it wanted.
struct Forgiving<W>(W);

impl<W: Write> Write for Forgiving<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// Fails when the user has asked to stop.
struct Stoppable<'a, W>(&'a mut W, &'a AtomicBool);

impl<W: Write> Write for Stoppable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.1.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Under another name until it is whole.
fn to_file(
    runs: &Runs,
    ids: &[RunId],
    (output, force): (&Path, bool),
    cancel: &AtomicBool,
) -> Result<Exported> {
    let mut part = Part::begin(output, force)?;
    let exported = runs.export(ids, &mut Stoppable(&mut part, cancel));
    let exported = exported.with_context(|| output.display().to_string())?;
    part.finish()?;
    Ok(exported)
}

fn import(files: &[PathBuf], place: &PlaceArgs, json: bool) -> Result<Exit> {
    let runs = place.runs()?;
    let (mut added, mut skipped, mut text) = (Vec::new(), Vec::new(), String::new());
    for file in files {
        if file.is_dir() {
            bail!(
                "{}: is a directory; name archives that `drivescope runs export` made, or what mark's --json printed",
                file.display()
            );
        }
        let imported = runs.import(file, &[session::SCHEMA]).map_err(|error| {
            let is_other = matches!(error, RecordError::Archive { .. });
            let advice = is_other.then(|| wrong_verb::advice(file, Reader::Runs)).flatten();
            match advice {
                Some(advice) => anyhow::Error::msg(advice),
                None => error.into(),
            }
        })?;
        for id in imported.added {
            text += &format!("{}: took {id}\n", file.display());
            added.push(id);
        }
        for id in imported.skipped {
            text += &format!("{}: {id} is here already\n", file.display());
            skipped.push(id);
        }
    }
    tell(json, json!({ "added": added, "skipped": skipped }), &Styled::of_lines(&text))
}
