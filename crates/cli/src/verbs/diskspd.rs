//! `diskspd`: its command line and its report, on any drive, with right offsets; and a verdict on stderr.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use mark::diskspd::{HELP, Options, UsageError};

use crate::exit::Exit;
use crate::facing::{Face, OWN_HELP, Said};
use crate::talk;

/// Runs the verb with the arguments behind its name; `called` is what it was called by.
///
/// # Errors
/// When they are none of diskspd's, or what makes its run impossible.
pub fn main(called: &str, args: &[OsString]) -> Result<Exit> {
    let words = args.iter().map(|word| {
        let text = word.to_str().map(str::to_owned);
        text.with_context(|| format!("{}: is no UTF-8", word.to_string_lossy()))
    });
    let words = words.collect::<Result<Vec<String>>>()?;
    let command_line = std::iter::once(called.to_owned()).chain(words.iter().cloned()).collect();
    let (said, words) = Said::take(words)?;
    let options = match Options::parse(&words) {
        Err(UsageError::Help) => {
            talk::result(&help())?;
            return Ok(Exit::Done);
        }
        parsed => parsed?,
    };
    Face { command_line, options: &options, said: &said }.carry_out()
}

/// diskspd's options, and those that it does not have.
pub fn help() -> String {
    format!("{HELP}{OWN_HELP}")
}
