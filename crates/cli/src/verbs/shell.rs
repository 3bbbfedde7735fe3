//! Completions and the manual, made from the definitions of the flags.

use anyhow::{Result, bail};
use manual::completion;
use manual::page::pages;

use crate::args::{CompletionsArgs, ManArgs, command};
use crate::exit::Exit;
use crate::messages;

/// Prints a completion script.
///
/// # Errors
/// When stdout cannot be written to.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    messages::plain(&completion::script(args.shell)?)?;
    Ok(Exit::Done)
}

/// Prints a page of the manual, or the names of all.
///
/// # Errors
/// When there is no such page, or stdout cannot be written to.
pub fn man(args: &ManArgs) -> Result<Exit> {
    let pages = pages(command());
    if args.list {
        let line = |words: &[String], name: &str| format!("{name} {}", words.join(" "));
        let lines = pages.iter().map(|page| line(&page.words, &page.name).trim().to_owned() + "\n");
        messages::plain(&lines.collect::<String>())?;
        return Ok(Exit::Done);
    }
    let Some(page) = pages.iter().find(|page| page.words == args.verb) else {
        bail!("{}: there is no such page; drivescope man --list names all", args.verb.join(" "));
    };
    messages::plain(&page.render(args.date.as_deref().unwrap_or_default())?)?;
    Ok(Exit::Done)
}
