//! fio: its command line and its job files, as far as they decide what is issued.
//!
//! The effect of each option was found by running fio 3.33 and looking at the addresses that it logs, since the manual
//! leaves much of it open; docs/validation/explain.md holds the predictions against it.

mod engine;
mod job;
mod known;
mod sections;
mod span;

use std::collections::BTreeMap;

use super::error::ExplainError;
use super::load::Load;

pub(super) use sections::is_job_file;

/// Job files that a command line names.
pub(super) fn job_files(words: &[String]) -> Vec<String> {
    sections::job_files(words)
}

/// The loads of a command line; `files` holds the job files that it names, `target_bytes` the size of what they work on.
pub(super) fn command_line(
    words: &[String],
    files: &BTreeMap<String, String>,
    target_bytes: Option<u64>,
) -> Result<Vec<Load>, ExplainError> {
    let loads = loads(&sections::command_line(words, files)?, target_bytes)?;
    if words.iter().any(|word| word == "--readonly") && loads.iter().any(Load::writes) {
        return Err(ExplainError::value(
            "--readonly",
            "fio refuses to write with it; leave it out, or read",
        ));
    }
    Ok(loads)
}

/// The loads of a job file's text.
pub(super) fn job_file(
    name: &str,
    text: &str,
    target_bytes: Option<u64>,
) -> Result<Vec<Load>, ExplainError> {
    loads(&sections::job_file(name, text)?, target_bytes)
}

fn loads(jobs: &[sections::Job], target_bytes: Option<u64>) -> Result<Vec<Load>, ExplainError> {
    let mut loads: Vec<Load> = Vec::new();
    let mut group = 0;
    for job in jobs {
        let waits = job.switch("stonewall")? || job.given("wait_for").is_some();
        if waits && !loads.is_empty() {
            group += 1;
        }
        let load = job::load(job, target_bytes, None)?;
        let furthest = (load.copies - 1).saturating_mul(load.increment);
        let end = load.offset.saturating_add(furthest).saturating_add(load.span.unwrap_or(0));
        let cut = job.number("filesize").ok().flatten().is_some_and(|filesize| end > filesize);
        let first = loads.len();
        if cut && load.increment > 0 {
            // Copies that begin further on have less of the file before them: each is a load of its own.
            for copy in 0..load.copies {
                loads.push(job::load(job, target_bytes, Some(copy))?);
            }
        } else {
            loads.push(load);
        }
        loads[first..].iter_mut().for_each(|load| load.group = group);
    }
    match loads.is_empty() {
        true => Err(ExplainError::value("fio", "there is no job; name one with --name=NAME")),
        false => Ok(loads),
    }
}
