//! `drivescope judge`: results of others, and whether the drive was in a steady state when they were measured.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use pts::judge::{self, Format, Judged, Known, Start, Text};
use serde::Serialize;
use stats::Verdict;

use crate::args::JudgeArgs;
use crate::exit::Exit;
use crate::verbs::{print_json, read_input};
use crate::whose::{self, Reader};
use crate::{talk, view};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.judge/1";

/// What was read, and what can be shown of it.
#[derive(Serialize)]
struct Body {
    /// What was said on the command line.
    known: Known,
    /// The results, in the order of the files.
    results: Vec<Judged>,
}

/// Runs the verb.
///
/// # Errors
/// When a file cannot be read, or is no result that is known.
pub fn main(args: &JudgeArgs) -> Result<Exit> {
    let texts = texts(&args.files, None)?;
    let read = judge::read(&texts)
        .map_err(|error| whose::instead(&args.files, Reader::Judge, error.into()))?;
    if read.is_empty() {
        bail!("the files hold no result; give the JSON, CSV, XML or logs of a run that ended");
    }
    let known = known(args);
    let results: Vec<Judged> =
        read.into_iter().map(|result| judge::judge(result, &known)).collect();
    let all_steady = results.iter().all(|result| result.steady.verdict == Verdict::Proven);
    if args.json {
        print_json(SCHEMA, Body { known, results })?;
    } else {
        let listing = view::judge::listing(&results);
        talk::result(&report::render_listing(&listing, report::Style::default()))?;
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
pub(super) fn texts(named: &[PathBuf], form: Option<Format>) -> Result<Vec<Text>> {
    let mut paths = Vec::new();
    let mut seen = BTreeSet::new();
    for path in named {
        let more = if path.is_dir() { results_in(path)? } else { vec![path.clone()] };
        paths.extend(more.into_iter().filter(|path| seen.insert(plain(path))));
    }
    let mut texts = Vec::new();
    for path in paths {
        let text = text(&path)?;
        if form.is_none() && judge::format_of(&text) == Some(Format::FioJson) {
            for beside in logs_beside(&path, &text.text)? {
                if seen.insert(plain(&beside)) {
                    texts.push(self::text(&beside)?);
                }
            }
        }
        texts.push(text);
    }
    Ok(texts)
}

/// A path by which a file is known whether it was named by itself or as one of `.`.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

fn text(path: &Path) -> Result<Text> {
    let bytes = read_input(path)?;
    let file =
        if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
    // Names in the texts of other programs may be of any bytes; figures are not.
    let text = utf16(&bytes).unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Text { file: file.into_owned(), text })
}

/// What Windows programs save as "Unicode": UTF-16, in the order of bytes that its first two tell.
fn utf16(bytes: &[u8]) -> Option<String> {
    let (read, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let units: Vec<u16> = rest.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}

/// Files of the directory `dir` that are results; others lie beside them, such as ezFIO's copy of itself.
fn results_in(dir: &Path) -> Result<Vec<PathBuf>> {
    let fail = || format!("{}: cannot be read", dir.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(fail)? {
        let path = entry.with_context(fail)?.path();
        let is_meant = ["json", "log", "csv", "xml", "txt", "out"]
            .iter()
            .any(|end| path.extension().is_some_and(|extension| extension == *end));
        if is_meant && path.is_file() && judge::format_of(&text(&path)?).is_some() {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        bail!("{}: holds no result that can be read; name the files", dir.display());
    }
    Ok(paths)
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
            talk::note(&format!(
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
