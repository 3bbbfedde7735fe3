//! Completions and the man page, made from the definitions of the flags.

use anyhow::{Context as _, Result};
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Exit;
use crate::talk;

/// Prints a completion script.
///
/// # Errors
/// When stdout cannot be written to.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "drivescope", &mut text);
    talk::result(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// Prints the man page, with a section for each verb.
///
/// # Errors
/// When stdout cannot be written to.
pub fn man() -> Result<Exit> {
    let mut command = Cli::command();
    command.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text).context("cannot render")?;
    for verb in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let page = clap_mangen::Man::new(verb.clone());
        page.render_synopsis_section(&mut text).context("cannot render")?;
        page.render_description_section(&mut text).context("cannot render")?;
        page.render_options_section(&mut text).context("cannot render")?;
    }
    talk::result(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
