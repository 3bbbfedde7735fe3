//! Command-line errors, in the user's own terms.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};
use std::path::Path;

use anyhow::{Result, bail};
use block::quoted;
use block::text::is_hostile;
use clap::error::{ContextKind, ErrorKind};
use drives::TargetSpec;
use report::Styled;

use crate::exit::Exit;
use crate::messages;
use crate::verbs::probe;

/// Prints what is wrong with the command line, or the help that was requested.
///
/// # Errors
/// When the help cannot be printed, or an argument is not UTF-8.
pub fn tell(error: &mut clap::Error) -> Result<Exit> {
    // Clap suggests passing a mistyped flag as a target (`-- --quick`), which does not help.
    error.remove(ContextKind::Suggested);
    if error.kind() == ErrorKind::InvalidUtf8 {
        let is_other = |word: &OsString| word.to_str().is_none();
        let words = std::env::args_os().skip(1).filter(is_other);
        let words: Vec<String> = words.map(|word| format!("{word:?}")).collect();
        bail!(
            "{}: is not UTF-8; of all arguments, only paths may be of other bytes",
            words.join(", ")
        );
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    if let (ErrorKind::ArgumentConflict, ["probe", first, second, ..]) = (error.kind(), &*words)
        && ![first, second].iter().any(|word| word.starts_with('-'))
    {
        bail!(probe::misnamed(first, second));
    }
    if let (ErrorKind::InvalidValue, ["pts", target, test, ..]) = (error.kind(), &*words)
        && (TargetSpec::of(target).is_virtual() || target.starts_with('/'))
        && !test.starts_with('-')
    {
        bail!("the test stands before what is tested: drivescope pts {test} {}", quoted(target));
    }
    // Flags of another program are its own behind `--`, which those who come from it do not know.
    let command = match &*words {
        ["explain", rest @ ..] => Some(("explain", rest)),
        ["trace", "record", _, rest @ ..] => Some(("trace record DEVICE", rest)),
        _ => None,
    };
    let mut hint = None;
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    if let Some((verb, [program, ..])) = command.filter(|_| is_unknown && !words.contains(&"--"))
        && !program.starts_with('-')
    {
        if verb == "explain" {
            mark::explain::check_program(program)?;
        }
        hint = Some(format!(
            "hint: put the {program} command after --: drivescope {verb} -- {program} …\n"
        ));
    }
    let text = error.render();
    if !error.use_stderr() {
        return messages::result(&Styled::own(text.ansi().to_string())).map(|()| Exit::Done);
    }
    // Its colours are our own, unless a terminal would take something that was typed for an order.
    let is_harmless = |word: OsString| !word.to_string_lossy().contains(is_hostile);
    match std::env::args_os().all(is_harmless) {
        true => messages::say(&Styled::own(mended(error, text.ansi().to_string()))),
        false => messages::say(&Styled::of_lines(&mended(error, text.to_string()))),
    }
    messages::say(&Styled::of_lines(&hint.unwrap_or_default()));
    Ok(Exit::Failed)
}

/// Refuses the name of a virtual drive's model without `sim:`, where no file has that name.
///
/// # Errors
/// Names the virtual drive.
pub fn check_target(target: &Path) -> Result<()> {
    match TargetSpec::meant(target) {
        Some(meant) => bail!(
            "{}: no such file or device\nhint: did you mean {}?",
            target.display(),
            meant.as_str()
        ),
        None => Ok(()),
    }
}

/// `text` with the cause of `error` said in words, where it is said in those of the language that this is written in.
/// Mended here rather than by a parser for each flag: so it holds for every number, also of flags that are yet to come.
fn mended(error: &clap::Error, text: String) -> String {
    let Some(cause) = error.source() else { return text };
    let said = cause.to_string();
    let words = match cause.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::Empty) => "a number is wanted, and this is empty".to_owned(),
        Some(IntErrorKind::PosOverflow) => "the number is too large".to_owned(),
        Some(IntErrorKind::NegOverflow) => "the number is too small".to_owned(),
        Some(_) => "write a whole number, without sign or unit".to_owned(),
        None => match said.split_once(" is not in ").and_then(|(_, bounds)| in_words(bounds)) {
            Some(words) => words,
            None => return text,
        },
    };
    // The last match: the typed value comes before it and may be the same text.
    match text.rfind(&said) {
        Some(at) => format!("{}{words}{}", &text[..at], &text[at + said.len()..]),
        None => text,
    }
}

/// `1..=100` as it is said.
fn in_words(bounds: &str) -> Option<String> {
    let (least, most) = bounds.split_once("..")?;
    let (least, most) =
        (least.parse::<i128>().ok(), most.trim_start_matches('=').parse::<i128>().ok());
    match (least, most) {
        (Some(least), Some(most)) => Some(format!("write a whole number from {least} to {most}")),
        (None, Some(most)) => Some(format!("write a whole number up to {most}")),
        (Some(least), None) => Some(format!("write a whole number from {least} up")),
        (None, None) => None,
    }
}
