//! `drivescope judge`: results of others, and whether the drive was in a steady state when they were measured.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use live::progress::{self, Bar};
use pts::judge::{self, Format, Given, Judged, Known, Start};
use serde::Serialize;
use stats::Verdict;

use crate::args::JudgeArgs;
use crate::exit::Exit;
use crate::inputs;
use crate::messages;
use crate::verbs::print_json;
use crate::wrong_verb::{self, Reader};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.judge/1";

/// Results that were read, and the facts by which they were judged.
#[derive(Serialize)]
struct Body {
    /// Facts from the command line.
    known: Known,
    /// The results, in the order of the files.
    results: Vec<Judged>,
}

/// Runs the verb.
///
/// # Errors
/// Returns an error if a file cannot be read, or is not a known result.
pub fn main(args: &JudgeArgs) -> Result<Exit> {
    let given = given(&args.files, None)
        .map_err(|error| wrong_verb::instead(&args.files, Reader::Judge, error))?;
    let read = judge::read_given(given, None)
        .map_err(|error| wrong_verb::instead(&args.files, Reader::Judge, error.into()))?;
    if read.is_empty() {
        bail!("the files hold no result; give the JSON, CSV, XML or logs of a run that ended");
    }
    let known = known(args);
    let mut results: Vec<Judged> =
        judge::rounds(read).into_iter().map(|result| judge::judge(result, &known)).collect();
    for judged in &mut results {
        views::remedies::write(&mut judged.recorded.caveats);
        judged.sentence = judged.remedy.as_ref().map(views::remedies::words);
    }
    let all_steady = results.iter().all(|result| result.steady.verdict == Verdict::Proven);
    if args.json {
        print_json(SCHEMA, Body { known, results })?;
    } else {
        let listing = views::judge::listing(&results);
        messages::result(&report::render_listing(&listing, report::Style::default()))?;
    }
    Ok(if all_steady { Exit::Done } else { Exit::No })
}

fn known(args: &JudgeArgs) -> Known {
    let start = match (args.purged, args.filled) {
        (true, _) => Start::Purged,
        (false, true) => Start::Filled,
        (false, false) => Start::Unknown,
    };
    Known {
        drive_bytes: args.capacity.map(|bytes| bytes.0),
        range_is_drive: args.whole_drive,
        start,
        over_provisioning: args.over_provisioning.map(|percent| percent / 100.0),
        is_uniform: args.uniform,
    }
}

/// The files that were named, what directories among them hold, and the logs that a JSON names, or that fio named after its
/// jobs, and that lie beside it. `form` is what all of them are, when that was said.
///
/// # Errors
/// When one cannot be read, or a directory holds no result.
pub(super) fn given(named: &[PathBuf], form: Option<Format>) -> Result<Vec<Given>> {
    let mut reading = Reading::new(form);
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for path in named {
        if path.is_dir() {
            all.extend(results_in(path, &mut reading, &mut seen)?);
        } else if seen.insert(plain(path)) {
            all.push(reading.take(path)?);
        }
    }
    // Logs beside a JSON that was found in a directory are among those found there.
    let of_json = |given: &Given| form.is_none() && given.format() == Some(Format::FioJson);
    let mut beside = Vec::new();
    for given in all.iter().filter(|given| of_json(given)) {
        let path = match given.file.as_str() {
            STDIN => Path::new("-"),
            file => Path::new(file),
        };
        let logs = logs_beside(path, given.text().unwrap_or_default())?;
        beside.extend(logs.into_iter().filter(|log| seen.insert(plain(log))));
    }
    for log in beside {
        all.push(reading.take(&log)?);
    }
    Ok(all)
}

/// Bytes of a file from which on progress is shown.
const SHOWN_FROM: u64 = 16 << 20;

/// Name of standard input in messages.
const STDIN: &str = "standard input";

/// Reads files one after the other, and shows how far it is.
struct Reading {
    form: Option<Format>,
    /// Bytes of texts that may still be kept.
    left: u64,
    bar: Option<Bar>,
}

impl Reading {
    fn new(form: Option<Format>) -> Reading {
        Reading { form, left: judge::TEXTS_MAX, bar: None }
    }

    fn take(&mut self, path: &Path) -> Result<Given> {
        let input = inputs::open(path)?;
        let name = if path == Path::new("-") { STDIN.into() } else { path.to_string_lossy() };
        let length = std::fs::metadata(path).map_or(0, |meta| meta.len());
        if length >= SHOWN_FROM {
            let bar = self.bar.get_or_insert_with(|| progress::bar(true));
            bar.set(0, length >> 20);
            bar.set_message(None, &format!("MiB of {name}"));
        }
        let watched = Watched { input, name: &name, bar: &mut self.bar, bytes: 0 };
        let mut buffered = BufReader::with_capacity(256 << 10, watched);
        Ok(judge::take(&name, &mut buffered, self.form, &mut self.left)?)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Input whose progress is shown while it is read.
struct Watched<'a> {
    input: Box<dyn Read>,
    name: &'a str,
    bar: &'a mut Option<Bar>,
    bytes: u64,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(into)?;
        self.bytes += count as u64;
        if self.bytes >= SHOWN_FROM {
            let bar = self.bar.get_or_insert_with(|| {
                let bar = progress::bar(true);
                bar.set_message(None, &format!("MiB of {}", self.name));
                bar
            });
            bar.set_position(self.bytes >> 20);
        }
        Ok(count)
    }
}

/// A path by which a file is known whether it was named by itself or as one of `.`.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

/// Results in the directory `dir` that were not seen before; other files lie beside them, such as ezFIO's copy of itself.
fn results_in(
    dir: &Path,
    reading: &mut Reading,
    seen: &mut BTreeSet<PathBuf>,
) -> Result<Vec<Given>> {
    let fail = || format!("{}: cannot be read", dir.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(fail)? {
        let path = entry.with_context(fail)?.path();
        let is_meant = ["json", "log", "csv", "xml", "txt", "out"]
            .iter()
            .any(|end| path.extension().is_some_and(|extension| extension == *end));
        // A file that is not a log and too long for any other result is not a result.
        let is_log = path.to_str().is_some_and(|name| judge::log_by_name(name).is_some());
        let is_short =
            || path.metadata().is_ok_and(|meta| meta.len() <= judge::TEXTS_MAX) || is_log;
        if is_meant && path.is_file() && is_short() {
            paths.push(path);
        }
    }
    paths.sort();
    let (mut found, mut results) = (false, Vec::new());
    for path in paths {
        if seen.contains(&plain(&path)) {
            found = true;
            continue;
        }
        let left = reading.left;
        let given = reading.take(&path)?;
        if given.format().is_some() {
            seen.insert(plain(&path));
            results.push(given);
        } else {
            reading.left = left;
        }
    }
    if results.is_empty() && !found {
        bail!("{}: holds no result that can be read; name the files", dir.display());
    }
    Ok(results)
}

/// Logs that the jobs in `text` write: beside the JSON at `path`, whatever directory they were written to.
fn logs_beside(path: &Path, text: &str) -> Result<Vec<PathBuf>> {
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    let last = |prefix: &String| prefix.rsplit('/').next().map(str::to_owned);
    let prefixes = judge::log_prefixes(text);
    let told: BTreeSet<String> = prefixes.told.iter().filter_map(last).collect();
    let made_up: BTreeSet<String> = prefixes.made_up.iter().filter_map(last).collect();
    let fail = || format!("{}: cannot be read", dir.display());
    let mut logs = Vec::new();
    if path == Path::new("-") {
        return Ok(logs);
    }
    for entry in std::fs::read_dir(dir).with_context(fail)? {
        let name = entry.with_context(fail)?.file_name();
        let prefix = name.to_str().and_then(judge::log_by_name).map(|(_, prefix, _)| prefix);
        let Some(prefix) = prefix else { continue };
        if !told.contains(&prefix) && !made_up.contains(&prefix) {
            continue;
        }
        if !told.contains(&prefix) {
            messages::note(&format!(
                "{}: is taken for a log of {} by its name alone, as fio makes it up; if it is of another run, read the JSON \
                 where no such log lies",
                name.display(),
                path.display()
            ));
        }
        logs.push(if dir == Path::new(".") { name.into() } else { dir.join(name) });
    }
    logs.sort();
    Ok(logs)
}
