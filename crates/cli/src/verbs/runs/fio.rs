//! `drivescope runs export --format fio-json`: a recorded mark as the JSON that fio would have written.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use bench::outputs;
use mark::Body;
use record::{Document, Integrity, Run};
use report::number::counted;
use serde_json::{Value, json};
use views::fio::{Exported, Repetition};

use super::printed::tell;
use crate::args::{PlaceArgs, Repetitions};
use crate::exit::Exit;
use crate::{messages, records};

/// Exports the one run that is named.
///
/// # Errors
/// When it is not one run, has no result, is not from `mark` or `sweep`, or the file cannot be written.
pub(super) fn export(
    names: &[String],
    place: &PlaceArgs,
    (output, force): (&Path, bool),
    (repetitions, json): (Repetitions, bool),
) -> Result<Exit> {
    let [name] = names else {
        bail!("--format fio-json takes one run, such as last: a document of fio's is of one");
    };
    let runs = place.runs()?;
    let id = runs.find(name)?;
    let run = runs.load(&id)?;
    if let Integrity::Altered(files) = runs.verify(&id)? {
        bail!("{id}: is not what was recorded ({}), so it is not passed on", files.join(", "));
    }
    let document =
        records::mark_of(&run)?.ok_or_else(|| records::without_result(&run, &runs, place))?;
    let all = all(&run, &document, repetitions)?;
    let mut notes: Vec<&String> = all.iter().flat_map(|(_, exported)| &exported.notes).collect();
    notes.dedup();
    notes.iter().for_each(|note| messages::note(note));
    let is_dir = repetitions == Repetitions::All
        || output.is_dir()
        || output.as_os_str().as_encoded_bytes().ends_with(b"/");
    let to_stdout = output == Path::new("-");
    if repetitions == Repetitions::All && (to_stdout || output.is_file()) {
        bail!("--run all writes several files: name a directory with --output DIR");
    }
    let jobs: usize = all.iter().map(|(_, exported)| exported.jobs.len()).sum();
    let files = match is_dir {
        true => in_directories(&all, output),
        false => {
            if jobs > 1 {
                messages::note(
                    "plotters such as fio-plot add up the jobs of a file; --output DIR/ writes a file for each test",
                );
            }
            let document = |(_, exported): &(PathBuf, Exported)| exported.document();
            all.iter().map(|one| (output.to_owned(), document(one))).collect()
        }
    };
    if let ([(_, document)], true) = (files.as_slice(), to_stdout) {
        messages::json(&text(document)?)?;
        return Ok(Exit::Done);
    }
    outputs::protect(Path::new(&run.summary.target))?;
    write(&files, (output, is_dir), force)?;
    let name = output.display().to_string();
    let said = match is_dir {
        true => format!("{name}: {} of {id}, a file each\n", counted(jobs, "job")),
        false => format!("{name}: {} of {id}\n", counted(jobs, "job")),
    };
    let withdrawn = all.first().map(|(_, exported)| exported.withdrawn.clone());
    let paths: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    tell(
        json,
        json!({ "file": name, "files": paths, "runs": [id], "jobs": jobs, "withdrawn": withdrawn }),
        &report::Styled::of_lines(&said),
    )
}

/// Jobs of each repetition, with the directory that it has where there are several.
fn all(
    run: &Run,
    document: &Document<Body>,
    repetitions: Repetitions,
) -> Result<Vec<(PathBuf, Exported)>> {
    let exported = |repetition| views::fio::exported(run, document, repetition);
    match repetitions {
        Repetitions::One(one) => Ok(vec![(PathBuf::new(), exported(one)?)]),
        Repetitions::All => {
            let most = document.body.tests.iter().map(|test| test.runs.len()).max().unwrap_or(0);
            let one = |number| {
                Ok((PathBuf::from(format!("run-{number}")), exported(Repetition::Number(number))?))
            };
            (1..=most.max(1)).map(one).collect()
        }
    }
}

/// A file for each job.
fn in_directories(all: &[(PathBuf, Exported)], dir: &Path) -> Vec<(PathBuf, Value)> {
    let of = |(part, exported): &(PathBuf, Exported)| -> Vec<(PathBuf, Value)> {
        let place = |job: &views::fio::Job| dir.join(part).join(&job.file);
        exported.jobs.iter().map(|job| (place(job), exported.of_one(job))).collect()
    };
    all.iter().flat_map(of).collect()
}

fn text(document: &Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// Writes all files, or none where one is in the way.
fn write(files: &[(PathBuf, Value)], (output, is_dir): (&Path, bool), force: bool) -> Result<()> {
    if is_dir {
        outputs::check_dir(output)?;
        let is_there = |(path, _): &&(PathBuf, Value)| path.parent().is_none_or(Path::exists);
        let there = files.iter().filter(is_there);
        there.map(|(path, _)| path).try_for_each(|path| outputs::check(path, force))?;
        for dir in files.iter().filter_map(|(path, _)| path.parent()) {
            std::fs::create_dir_all(dir)
                .with_context(|| format!("{}: the directory cannot be made", dir.display()))?;
        }
    }
    files.iter().try_for_each(|(path, value)| outputs::write(path, text(value)?.as_bytes(), force))
}
