//! From fio's words and lines to jobs with the options that hold for each.

use std::collections::BTreeMap;

use workload::fio_units;

use super::known::{self, Kind};
use crate::explain::error::ExplainError;

/// An option as it was given.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// Value after `=`; `None` for an option without one.
    pub value: Option<String>,
    /// Place of the option, for errors.
    pub place: String,
}

/// A job and the options that hold for it.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub name: String,
    options: BTreeMap<String, Given>,
}

/// A size that may be a share of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size {
    Bytes(u64),
    /// In percent.
    Share(u64),
}

impl Job {
    pub(super) fn given(&self, name: &str) -> Option<&Given> {
        self.options.get(name)
    }

    /// Names of all options, in alphabetical order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.options.keys().map(String::as_str)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.given(name)?.value.as_deref().filter(|value| !value.is_empty())
    }

    pub(super) fn error(&self, name: &str, what: impl Into<String>) -> ExplainError {
        ExplainError::value(self.given(name).map_or(name, |given| &given.place), what)
    }

    /// Off when it is not given; on when it is given without a value.
    pub(super) fn switch(&self, name: &str) -> Result<bool, ExplainError> {
        Ok(self.maybe_switch(name)?.unwrap_or(false))
    }

    pub(super) fn maybe_switch(&self, name: &str) -> Result<Option<bool>, ExplainError> {
        let Some(given) = self.given(name) else { return Ok(None) };
        match given.value.as_deref() {
            None | Some("") => Ok(Some(true)),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(text) => match text.parse::<i64>() {
                Ok(number) => Ok(Some(number != 0)),
                Err(_) => Err(self.error(name, format!("`{text}` is neither on (1) nor off (0)"))),
            },
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, ExplainError> {
        let Some(given) = self.given(name) else { return Ok(None) };
        let text = given.value.as_deref().unwrap_or_default();
        match fio_units::bytes(text, self.kb_base()) {
            Some(number) => Ok(Some(number)),
            None => Err(self.error(name, not_a("whole number", text))),
        }
    }

    pub(super) fn size(&self, name: &str) -> Result<Option<Size>, ExplainError> {
        let Some(given) = self.given(name) else { return Ok(None) };
        let text = given.value.as_deref().unwrap_or_default();
        self.size_of(name, text).map(Some)
    }

    /// A size in the text of an option, such as one of several in a list.
    pub(super) fn size_of(&self, name: &str, text: &str) -> Result<Size, ExplainError> {
        let text = text.trim();
        if let Some(share) = text.strip_suffix('%') {
            let share = share.parse().ok().filter(|share| *share <= 100);
            return share.map(Size::Share).ok_or_else(|| {
                self.error(name, format!("`{text}` is not a share from 0% to 100%"))
            });
        }
        let hex = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        if let Some(bytes) = hex.or_else(|| fio_units::bytes(text, self.kb_base())) {
            return Ok(Size::Bytes(bytes));
        }
        // fio reads up to the point, and takes what is left for bytes.
        let whole =
            text.split_once('.').map(|(whole, _)| whole).filter(|w| w.parse::<u64>().is_ok());
        match whole {
            Some(whole) => Err(self.error(
                name,
                format!("fio reads `{text}` as {whole} bytes, up to the point; write a whole number, such as 1536m"),
            )),
            None => Err(self.error(name, not_a("size", text))),
        }
    }

    /// As [`Job::size_of`], for what can be no share.
    pub(super) fn bytes_of(&self, name: &str, text: &str) -> Result<u64, ExplainError> {
        match self.size_of(name, text)? {
            Size::Bytes(bytes) => Ok(bytes),
            Size::Share(_) => {
                Err(self.error(name, format!("`{text}` is a share; write a size, such as 4k")))
            }
        }
    }

    /// A time in seconds; a bare number counts what `bare_s` says.
    pub(super) fn seconds(&self, name: &str, bare_s: f64) -> Result<Option<f64>, ExplainError> {
        let Some(given) = self.given(name) else { return Ok(None) };
        let text = given.value.as_deref().unwrap_or_default();
        match fio_units::seconds(text, bare_s).filter(|s| s.is_finite() && *s < 1e9) {
            Some(seconds) => Ok(Some(seconds)),
            None => Err(self.error(name, not_a("time", text))),
        }
    }

    pub(super) fn kb_base(&self) -> u64 {
        self.text("kb_base").and_then(|text| text.parse().ok()).unwrap_or(1024)
    }
}

fn not_a(what: &str, text: &str) -> String {
    if text.contains(['$', '`']) {
        return format!("`{text}` is not expanded here; write the {what} itself");
    }
    format!("`{text}` is not a valid {what}; write such as 64k, 1g, 30s or 5m, each without blanks")
}

/// True when `text` reads as a job file and not as a command.
pub(crate) fn is_job_file(text: &str) -> bool {
    let is_comment = |line: &&str| line.is_empty() || line.starts_with([';', '#']);
    text.lines()
        .map(str::trim)
        .find(|line| !is_comment(line))
        .is_some_and(|line| line.starts_with('['))
}

/// Words of a command line that are not options, which fio takes for job files.
pub(super) fn job_files(words: &[String]) -> Vec<String> {
    let mut files = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match option(word) {
            Some((name, None)) if known::takes_word(name) => drop(words.next()),
            Some(_) => {}
            None => files.push(word.clone()),
        }
    }
    files
}

/// `--bs=4k`, `-bs=4k` and `--bs`, of which the value may be the next word.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    let rest =
        word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|r| !r.is_empty())?;
    let (name, value) =
        rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
    Some((known::completed(name), value))
}

/// Jobs of a command line: options before the first `--name` are for all; then those of each job file.
pub(super) fn command_line(
    words: &[String],
    files: &BTreeMap<String, String>,
) -> Result<Vec<Job>, ExplainError> {
    let mut all = BTreeMap::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut only = Vec::new();
    // A section of that name is for the jobs that follow, as it is in a job file.
    let mut is_global = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some((name, value)) = option(word) else { continue };
        let value = match value {
            Some(value) => Some(value.to_owned()),
            None if known::takes_word(name) => {
                let next = rest.next().cloned();
                Some(next.ok_or_else(|| {
                    ExplainError::value(
                        format!("--{name}"),
                        "its value is missing; write it behind =",
                    )
                })?)
            }
            None => None,
        };
        let place = format!("--{name}");
        let name = known::canonical(name);
        if name == "name" {
            let name = value.unwrap_or_default();
            // fio looks at the beginning of the name alone, in small letters.
            is_global = name.starts_with("global");
            if is_global {
                continue;
            }
            jobs.push(Job { name, options: all.clone() });
            continue;
        }
        if name == "section" {
            only.extend(value);
            continue;
        }
        if known::kind(name) == Kind::OfTheProgram {
            continue;
        }
        let options = match jobs.last_mut() {
            Some(job) if !is_global => &mut job.options,
            _ => &mut all,
        };
        put(options, name, Given { value, place });
    }
    for file in job_files(words) {
        let text = files.get(&file).ok_or_else(|| {
            ExplainError::value(
                &file,
                "fio takes it for a job file, and it was not read; options begin with --",
            )
        })?;
        let read = of_lines(&file, text, all.clone())?;
        jobs.extend(read.into_iter().filter(|job| only.is_empty() || only.contains(&job.name)));
    }
    // Options without a name are a job too, for fio 3 from the second word on.
    if jobs.is_empty() && !all.is_empty() && !is_global {
        jobs.push(Job { name: "fio".to_owned(), options: all });
    }
    Ok(jobs)
}

/// Jobs of a job file.
pub(super) fn job_file(file: &str, text: &str) -> Result<Vec<Job>, ExplainError> {
    of_lines(file, text, BTreeMap::new())
}

/// Keeps an option. Each share of a mix says the other too, so the later one holds.
fn put(options: &mut BTreeMap<String, Given>, name: &str, given: Given) {
    match name {
        "rwmixread" => drop(options.remove("rwmixwrite")),
        "rwmixwrite" => drop(options.remove("rwmixread")),
        _ => {}
    }
    options.insert(name.to_owned(), given);
}

fn of_lines(
    file: &str,
    text: &str,
    mut all: BTreeMap<String, Given>,
) -> Result<Vec<Job>, ExplainError> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut is_global = None;
    for (index, line) in text.lines().enumerate() {
        let place = || format!("{file}, line {}", index + 1);
        // fio cuts a line at either sign, wherever it appears.
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| {
                ExplainError::value(
                    place(),
                    format!("`{line}` begins a section and has no `]` at its end"),
                )
            })?;
            is_global = Some(name.eq_ignore_ascii_case("global"));
            if is_global == Some(false) {
                jobs.push(Job { name: name.to_owned(), options: all.clone() });
            }
            continue;
        }
        if line.starts_with("include ") {
            let what = "other files are not read; copy what it includes to this place";
            return Err(ExplainError::value(place(), what));
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        let options = match (is_global, jobs.last_mut()) {
            (Some(true), _) => &mut all,
            (Some(false), Some(job)) => &mut job.options,
            _ => {
                let what = format!(
                    "`{line}` stands before any section; write [global] or a job's [name] above it"
                );
                return Err(ExplainError::value(place(), what));
            }
        };
        let place = format!("{}: {name}", place());
        put(options, known::canonical(name), Given { value, place });
    }
    Ok(jobs)
}
