//! `drivescope runs`: what has been recorded.

use std::fs::{self, File};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use block::WallClock;
use mark::Body;
use record::{Document, Run, RunId, Runs};
use report::Style;
use serde::Serialize;

use crate::args::{PlaceArgs, RunsVerb};
use crate::envelope::{SystemClock, document};
use crate::exit::{Exit, Refused};
use crate::{recording, session, talk, view};

#[derive(Serialize)]
struct Listed<'a> {
    dir: &'a Path,
    runs: &'a [record::Row],
    unreadable: Vec<Unreadable<'a>>,
}

#[derive(Serialize)]
struct Unreadable<'a> {
    path: &'a Path,
    reason: &'a str,
}

/// Runs the verb.
///
/// # Errors
/// When a run is not there or cannot be read, or a file cannot be written.
pub fn main(verb: &RunsVerb) -> Result<Exit> {
    match verb {
        RunsVerb::List { place, json } => list(place, *json),
        RunsVerb::Show { run, place, json, mib } => show(run, place, *json, *mib),
        RunsVerb::Rm { runs, place, yes } => remove(runs, place, *yes),
        RunsVerb::Export { runs, place, output } => export(runs, place, output),
        RunsVerb::Import { files, place } => import(files, place),
        RunsVerb::Reindex { place } => {
            let runs = recording::runs(place)?;
            let count = runs.reindex()?;
            talk::note(&format!("{}: {count} runs are indexed", runs.dir().display()));
            Ok(Exit::Done)
        }
    }
}

fn list(place: &PlaceArgs, json: bool) -> Result<Exit> {
    let runs = recording::runs(place)?;
    let listing = runs.list()?;
    if json {
        let unreadable = listing.unreadable.iter();
        let body = Listed {
            dir: runs.dir(),
            runs: &listing.runs,
            unreadable: unreadable.map(|(path, reason)| Unreadable { path, reason }).collect(),
        };
        let id = RunId::new(SystemClock.now(), u64::from(std::process::id()));
        talk::result(&document("drivescope.runs/1", id, &SystemClock, body).to_json()?)?;
    } else {
        let listing = view::runs::listing(runs.dir(), &listing);
        talk::result(&report::render_listing(&listing, Style::default()))?;
    }
    Ok(Exit::Done)
}

fn show(name: &str, place: &PlaceArgs, json: bool, mib: bool) -> Result<Exit> {
    let runs = recording::runs(place)?;
    let id = runs.find(name)?;
    let run = runs.load(&id)?;
    let integrity = runs.verify(&id)?;
    let is_altered = matches!(integrity, record::Integrity::Altered(_));
    if json {
        let document = run.document.as_ref().with_context(|| without_result(&run))?;
        let mut text = serde_json::to_string_pretty(document)?;
        text.push('\n');
        talk::result(&text)?;
    } else {
        let live = runs.is_live(&id);
        let about = view::runs::about(&run, &integrity, live);
        if let Some(document) = &run.document {
            let document: Document<Body> = serde_json::from_value(document.clone())
                .with_context(|| format!("{id}: its document.json is not one of a mark"))?;
            session::show(&run.summary.verb, &document, false, mib)?;
            talk::result("\n")?;
        }
        talk::result(&report::render_listing(&about, Style::default()))?;
    }
    if is_altered {
        talk::note(&format!("{id}: its files are not those that were recorded"));
    }
    Ok(if is_altered { Exit::No } else { Exit::Done })
}

fn without_result(run: &Run) -> String {
    format!(
        "{0}: has no result yet, {1} runs are done; go on with it: drivescope run --resume {0}",
        run.id,
        run.steps.len()
    )
}

fn remove(names: &[String], place: &PlaceArgs, yes: bool) -> Result<Exit> {
    let runs = recording::runs(place)?;
    let ids = found(&runs, names)?;
    let list = ids.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ");
    let count = if ids.len() == 1 { "1 run".to_owned() } else { format!("{} runs", ids.len()) };
    if !yes {
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return Err(Refused(format!("{list}: is removed with --yes only")).into());
        }
        if !talk::ask(&format!("Remove {count} ({list})? [y/N] "))? {
            return Ok(Exit::No);
        }
    }
    for id in &ids {
        runs.remove(id)?;
        talk::note(&format!("removed {id}"));
    }
    Ok(Exit::Done)
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

fn export(names: &[String], place: &PlaceArgs, output: &Path) -> Result<Exit> {
    let runs = recording::runs(place)?;
    let ids = if names.is_empty() {
        runs.list()?.runs.into_iter().map(|row| row.id).collect()
    } else {
        found(&runs, names)?
    };
    if ids.is_empty() {
        bail!("{}: holds no runs", runs.dir().display());
    }
    if output == Path::new("-") {
        if std::io::stdout().is_terminal() {
            bail!("an archive is not for a terminal; redirect it, or give --output FILE.tar.gz");
        }
        let mut out = std::io::stdout().lock();
        runs.export(&ids, &mut out)?;
        out.flush().context("cannot write the archive")?;
        return Ok(Exit::Done);
    }
    let exported = to_file(&runs, &ids, output)?;
    let (count, files) = (exported.runs, exported.files);
    talk::note(&format!("{}: {count} runs, {files} files", output.display()));
    Ok(Exit::Done)
}

/// Under a temporary name until it is whole; an archive that exists is not written over.
fn to_file(runs: &Runs, ids: &[RunId], output: &Path) -> Result<record::Exported> {
    let cannot = || format!("{}: cannot be written", output.display());
    if output.exists() {
        bail!("{}: exists; give another name", output.display());
    }
    let mut name = output.file_name().with_context(cannot)?.to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = output.with_file_name(name);
    let written = || -> Result<record::Exported> {
        let mut out = BufWriter::new(File::create_new(&part).with_context(cannot)?);
        let exported = runs.export(ids, &mut out)?;
        out.into_inner()
            .map_err(|e| e.into_error())
            .and_then(|f| f.sync_all())
            .with_context(cannot)?;
        // Unlike a rename, a link does not replace what took the name meanwhile.
        fs::hard_link(&part, output).or_else(|_| fs::rename(&part, output)).with_context(cannot)?;
        Ok(exported)
    };
    let result = written();
    let _ = fs::remove_file(&part);
    result
}

fn import(files: &[PathBuf], place: &PlaceArgs) -> Result<Exit> {
    let runs = recording::runs(place)?;
    for file in files {
        let imported = runs.import(file, &["drivescope.mark/1"])?;
        for id in &imported.added {
            talk::note(&format!("{}: took {id}", file.display()));
        }
        for id in &imported.skipped {
            talk::note(&format!("{}: {id} is here already", file.display()));
        }
    }
    Ok(Exit::Done)
}
