//! Prediction of another program's command, before it is run.
//!
//! [`explain`] reads a command of fio, diskspd, dd, hdparm or KDiskMark into loads, each reader in a file of its own.
//! The steps after that do not depend on the program: bytes and addresses (`predict`), reasons why numbers mislead (`doubts`),
//! and the equivalent to run instead (`equivalent`). Nothing is expanded, opened or run.

mod dd;
mod diskspd;
mod doubts;
mod equivalent;
mod error;
mod explained;
mod fio;
mod hdparm;
mod kdiskmark;
mod load;
mod predict;
mod what;
mod words;

use std::collections::BTreeMap;

use block::Bytes;
use stats::Caveat;
use stats::remedy::Command;

use crate::caveats::merge;
use load::Load;

pub use error::ExplainError;
pub use explained::{Amount, EndsBy, Equivalent, Explained, Job, Order, Reuse, Share, Tool, Way};
pub use words::split;

/// A command, as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A program and its arguments.
    Words(Vec<String>),
    /// The same, of a line that holds more than this command.
    Within(Vec<String>),
    /// A job file of fio: its name, for errors, and its text.
    JobFile(String, String),
}

/// Detects whether a text is a job file of fio or a command line.
///
/// # Errors
/// Returns an error if it is neither, has several lines, or has only unknown commands.
pub fn read(name: &str, text: &str) -> Result<Given, ExplainError> {
    if text.contains('\0') {
        let what = "is binary, and neither a job file of fio's nor a command";
        return Err(ExplainError::value(name, what));
    }
    if fio::is_job_file(text) {
        return Ok(Given::JobFile(name.to_owned(), text.to_owned()));
    }
    // A backslash at its end joins a line to the next one.
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut lines = joined.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((_, line)) = lines.next() else { return Err(ExplainError::Empty) };
    if let Some((index, _)) = lines.next() {
        return Err(ExplainError::Several(index + 1));
    }
    let (words, is_all) = words::known_command(line)?;
    Ok(if is_all { Given::Words(words) } else { Given::Within(words) })
}

/// Refuses the first `word` of a command where it is the name of a program whose commands are not known: not a file, a line
/// in quotes, or a word that may precede a program.
///
/// # Errors
/// [`ExplainError::Program`].
pub fn check_program(word: &str) -> Result<(), ExplainError> {
    let is_name = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    match is_name && !words::may_begin(word) && !kdiskmark::is_test(word) {
        true => Err(ExplainError::Program(word.to_owned())),
        false => Ok(()),
    }
}

/// Job files that a command of fio names: [`explain`] needs their texts.
pub fn job_files(given: &Given) -> Vec<String> {
    match given {
        Given::Words(words) | Given::Within(words) => match words::program(words) {
            Some(("fio", rest)) => fio::job_files(rest),
            _ => Vec::new(),
        },
        Given::JobFile(..) => Vec::new(),
    }
}

/// Predicts the I/O of `given`. `files` holds the texts of [`job_files`] by name, `target_bytes` the size of the file or
/// device that it works on, for commands that leave the size to the target.
///
/// # Errors
/// [`ExplainError`], with the option, or the file and line, and what to do.
pub fn explain(
    given: &Given,
    files: &BTreeMap<String, String>,
    target_bytes: Option<Bytes>,
) -> Result<Explained, ExplainError> {
    let target = target_bytes.map(|bytes| bytes.0);
    let (command, tool, loads) = match given {
        Given::JobFile(name, text) => {
            (format!("fio {name}"), Tool::Fio, fio::job_file(name, text, target)?)
        }
        Given::Words(words) | Given::Within(words) => {
            let (program, rest) = words::program(words).ok_or(ExplainError::Empty)?;
            let (tool, loads) = loads(program, rest, files, target)?;
            (words.join(" "), tool, loads)
        }
    };
    let jobs: Vec<Job> = loads.iter().map(predict::job).collect();
    let mut caveats: Vec<_> =
        loads.iter().zip(&jobs).flat_map(|(load, job)| doubts::of(load, job)).collect();
    caveats.extend(doubts::of_all(&loads));
    if matches!(given, Given::Within(_)) {
        caveats.push(Caveat::new(
            "not_all_of_the_line",
            "the command",
            "what stands around it in the line, such as other commands, pipes and files, is not looked at: it may write, flush or take time too",
            Command::CommandAlone,
        ));
    }
    let equivalent = equivalent::of(&loads);
    Ok(Explained { command, tool, jobs, caveats: merge(caveats), equivalent })
}

fn loads(
    program: &str,
    rest: &[String],
    files: &BTreeMap<String, String>,
    target: Option<u64>,
) -> Result<(Tool, Vec<Load>), ExplainError> {
    let (name, exe) = words::name(program);
    Ok(match name.as_str() {
        "fio" => (Tool::Fio, fio::command_line(rest, files, target)?),
        "diskspd" => (Tool::Diskspd, diskspd::loads(rest, target, exe)?),
        "dd" => (Tool::Dd, dd::loads(rest, target)?),
        "hdparm" => (Tool::Hdparm, hdparm::loads(rest, target)?),
        "kdiskmark" => (Tool::Kdiskmark, kdiskmark::loads(rest)?),
        // The name of a test by itself is KDiskMark's.
        name if kdiskmark::is_test(name) => {
            let words: Vec<String> =
                std::iter::once(program.to_owned()).chain(rest.iter().cloned()).collect();
            (Tool::Kdiskmark, kdiskmark::loads(&words)?)
        }
        _ => return Err(ExplainError::Program(program.to_owned())),
    })
}

#[cfg(test)]
mod tests;
