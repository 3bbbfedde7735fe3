//! Parsers of flag values. An error names the values that are allowed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use block::{Bytes, Nanos};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
pub use instruments::mark::Span;
use linux::gate::Hazard;
use linux::host::allowed_processors;
use workload::plan::Region;
use workload::units::{parse_bytes, parse_nanos};

/// A word that a flag takes, its help, and its meaning.
pub(super) type Choice<T> = (&'static str, &'static str, T);

/// Parser of one of a few words.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(
    choices: &'static [Choice<T>],
) -> impl TypedValueParser<Value = T> {
    let words = choices.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(words).try_map(|typed| {
        let chosen = choices.iter().find(|(word, ..)| *word == typed);
        chosen.map(|(.., meaning)| meaning.clone()).ok_or("there is no such word")
    })
}

/// Numbers of CPUs, each once. A type of its own name, so that clap takes it for one value.
pub type Cpus = Vec<usize>;

/// No machine has a CPU of a higher number; a range up to it can be walked.
const CPU_MAX: usize = 1 << 16;

pub(super) fn span(text: &str) -> Result<Span, String> {
    if text == "all" {
        return Ok(Span::All);
    }
    let (offset, length) = text.split_once('+').unwrap_or(("0", text));
    let offset = parse_bytes(offset).map_err(|e| e.to_string())?;
    let length = parse_bytes(length).map_err(|e| e.to_string())?;
    if length == Bytes::ZERO {
        return Err("a span of no bytes cannot be measured".to_owned());
    }
    Ok(Span::Part(Region { offset, length }))
}

/// A size, or as the commands that are explained have it: a bare number of bytes.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    match text.parse::<u64>() {
        Ok(bytes) => Ok(Bytes(bytes)),
        Err(_) => parse_bytes(text).map_err(|error| error.to_string()),
    }
}

/// A time that does not end before it begins.
pub(super) fn lasting(text: &str) -> Result<Nanos, String> {
    match parse_nanos(text) {
        Ok(Nanos::ZERO) => Err("nothing can be measured in no time; write such as 3s".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses CPUs as `taskset` lists them: `0,2-3`. Refuses CPUs that this process may not use before the command creates or
/// writes anything.
pub(super) fn cpus(text: &str) -> Result<Cpus, String> {
    let allowed = allowed_processors();
    let list = || allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut cpus = Cpus::new();
    for item in text.split(',') {
        let (from, to) = item.split_once('-').unwrap_or((item, item));
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let (from, to) = match (number(from), number(to)) {
            (Some(from), Some(to)) if from <= to => (from, to),
            _ => {
                return Err(format!(
                    "`{item}` is not a CPU; write numbers and ranges, such as 0,2-3"
                ));
            }
        };
        // Of an impossibly large range, the error names the first CPU out of reach.
        for cpu in from..=to {
            if !allowed.is_empty() && !allowed.contains(&cpu) {
                return Err(format!(
                    "there is no CPU {cpu} that this program may use; name some of {}",
                    list()
                ));
            }
            if cpu > CPU_MAX {
                return Err(format!("there is no CPU {cpu}"));
            }
            if !cpus.contains(&cpu) {
                cpus.push(cpu);
            }
        }
    }
    Ok(cpus)
}

/// The name of something: a script's variable that is empty names nothing.
pub(super) fn named(text: &str) -> Result<String, String> {
    match text.is_empty() {
        true => Err("a name is wanted, and this is empty".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Checks the name of a plot file, whose extension is the format: now, not after an hour of measuring.
pub(super) fn picture(path: PathBuf) -> Result<PathBuf, String> {
    let end = path.extension().and_then(OsStr::to_str);
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    match end {
        Some("svg" | "png") if dir.is_none_or(Path::is_dir) => Ok(path),
        Some("svg" | "png") => Err("there is no such directory".to_owned()),
        _ => Err("end the name in .svg or .png, which says how it is drawn".to_owned()),
    }
}

/// File extensions that each mean one format.
const FORMS: [&str; 15] = [
    "7z", "csv", "docx", "gz", "htm", "html", "json", "md", "parquet", "pdf", "png", "svg", "tar",
    "xlsx", "zip",
];

/// A file whose name does not say that something else is in it than `what`, which ends in one of `own`.
fn of_form(path: PathBuf, own: &[&str], what: &str) -> Result<PathBuf, String> {
    let end = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match end {
        Some(end) if FORMS.contains(&&*end) && !own.contains(&&*end) => {
            Err(format!("what is written is {what}, and .{end} is something else"))
        }
        _ => Ok(path),
    }
}

/// A page.
pub(super) fn page_file(path: PathBuf) -> Result<PathBuf, String> {
    of_form(path, &["html", "htm"], "a page: end the name in .html; a browser prints it as PDF")
}

/// A table.
pub(super) fn table_file(path: PathBuf) -> Result<PathBuf, String> {
    of_form(path, &["csv"], "a table: end the name in .csv")
}

/// A trace.
pub(super) fn trace_file(path: PathBuf) -> Result<PathBuf, String> {
    of_form(
        path,
        &["parquet"],
        "a trace: end the name in .parquet; trace export writes other forms",
    )
}

/// Runs, in an archive or in another program's form.
pub(super) fn archive_file(path: PathBuf) -> Result<PathBuf, String> {
    of_form(path, &["gz", "tgz", "tar", "json"], "an archive: end the name in .tar.gz")
}

/// Parses a hazard that the safety gate may be asked to allow; done here, so that a typo is reported for any target.
pub(super) fn hazard(text: &str) -> Result<String, String> {
    let known = text.parse::<Hazard>().map_err(|error| error.to_string());
    known.map(|_| text.to_owned())
}

/// A share of a whole, in percent. A bare 2 may mean 2% or twice the whole, so it is asked for again rather than guessed.
pub(super) fn share(text: &str) -> Result<f64, String> {
    share_up_to(100.0, text)
}

/// A share that may be none, in percent.
pub(super) fn share_or_none(text: &str) -> Result<f64, String> {
    if matches!(text.trim(), "0" | "0%") { Ok(0.0) } else { share(text) }
}

/// Spare space of a drive as a share of its capacity, in percent: of a drive that was made smaller, more than that.
pub(super) fn spare(text: &str) -> Result<f64, String> {
    share_up_to(1000.0, text)
}

fn share_up_to(most: f64, text: &str) -> Result<f64, String> {
    let wanted = || format!("write a share above 0% and up to {most}%, such as 2% or 0.02");
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    let percent = match text.strip_suffix('%') {
        Some(percent) => number(percent),
        None => match number(text) {
            // Rounded, because 0.07 of 100 is not 7 in binary.
            Some(part) if part < 1.0 => Some((part * 1e11).round() / 1e9),
            Some(bare) if bare <= most => {
                return Err(format!("is it {bare}% or {}%? write {bare}%", bare * 100.0));
            }
            _ => None,
        },
    };
    percent.filter(|percent| *percent > 0.0 && *percent <= most).ok_or_else(wanted)
}

/// A whole percentage, with or without its sign: the flag says what it is in.
pub(super) fn percent<const LEAST: u8, const MOST: u8>(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<u8>().ok();
    number
        .filter(|percent| (LEAST..=MOST).contains(percent))
        .ok_or_else(|| format!("write a whole percentage from {LEAST} to {MOST}, such as 50%"))
}
