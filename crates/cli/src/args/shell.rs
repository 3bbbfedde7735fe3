//! Flags of `completions` and `man`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use clap_complete::Shell;

/// `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(drivescope completions bash)            in ~/.bashrc
  source <(drivescope completions zsh)             in ~/.zshrc, after compinit
  drivescope completions fish | source             in config.fish

The script asks the program itself, so that verbs, flags, virtual drives,
recorded runs and devices are those of now.")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope man | man -l -
  drivescope man trace record > drivescope-trace-record.1
  drivescope man --list        the pages, and the words that print each")]
pub struct ManArgs {
    /// The verb, such as trace record [default: the program as a whole]
    #[arg(value_name = "VERB", conflicts_with = "list", value_parser = NonEmptyStringValueParser::new())]
    pub verb: Vec<String>,
    /// List the pages: name, and words of the verb
    #[arg(long)]
    pub list: bool,
    /// Date at the foot of the page, as YYYY-MM-DD
    #[arg(long, value_name = "DATE", value_parser = date, conflicts_with = "list")]
    pub date: Option<String>,
}

/// Parses the date at the foot of a manual page.
fn date(text: &str) -> Result<String, String> {
    let shape = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
    if !shape.eq("0000-00-00".chars()) {
        return Err("write a date such as 2026-01-31".to_owned());
    }
    match record::seconds_of(&format!("{text}T00:00:00Z")) {
        Some(_) => Ok(text.to_owned()),
        None => Err("the calendar has no such day; write a date such as 2026-01-31".to_owned()),
    }
}
