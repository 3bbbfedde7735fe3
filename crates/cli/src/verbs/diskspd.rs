//! `diskspd`: its command line and its report, on any drive, with right offsets; and a verdict on stderr.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use diskspd_cli::{CommandLine, OwnOptions};
use drives::TargetSpec;
use mark::diskspd::{Options, UsageError};

use crate::args::diskspd_help;
use crate::exit::Exit;
use crate::verbs::{print, version};

/// Runs the verb with the arguments behind its name; `called` is what it was called by.
///
/// # Errors
/// When they are none of diskspd's, or what makes its run impossible.
pub fn main(called: &str, args: &[OsString]) -> Result<Exit> {
    let words = args.iter().map(|word| {
        let text = word.to_str().map(str::to_owned);
        text.with_context(|| format!("{}: is not UTF-8", word.to_string_lossy()))
    });
    let words = words.collect::<Result<Vec<String>>>()?;
    let typed = std::iter::once(called.to_owned()).chain(words.iter().cloned()).collect();
    // Alone, neither can mean anything else; beside a target, -h is what diskspd for Windows calls -Sh.
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["-h"] => return print(&diskspd_help()),
        ["--version"] => return print(&version("diskspd")),
        _ => {}
    }
    let (own, words) = OwnOptions::take(words)?;
    let options = match Options::parse(&words) {
        Err(UsageError::Help) => {
            return print(&diskspd_help());
        }
        parsed => parsed?,
    };
    let targets = options.targets.iter().map(|name| TargetSpec::of(name)).collect();
    CommandLine { typed, options: &options, own: &own, targets }.carry_out()
}
