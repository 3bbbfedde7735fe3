//! `drivescope explain`: what a command of another program will do, before it is run.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use mark::explain::{self, Given};

use crate::args::ExplainArgs;
use crate::envelope::arguments;
use crate::exit::Exit;
use crate::inputs;
use crate::messages;
use crate::verbs::print_json;

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.explain/1";

/// Runs the verb.
///
/// # Errors
/// When a file cannot be read, or the command is none that is known.
pub fn main(args: &ExplainArgs) -> Result<Exit> {
    let given = given(&args.command)?;
    let mut files = BTreeMap::new();
    for name in explain::job_files(&given) {
        let text = text(&name)?;
        files.insert(name, text);
    }
    let mut explained =
        explain::explain(&given, &files, args.target_size).with_context(|| said(&args.command))?;
    views::remedies::write(&mut explained.caveats);
    if args.plan {
        let plan = explained.equivalent.plan.with_context(|| {
            let why = explained.equivalent.differs.join("; ");
            format!("{}: there is no plan of this: {why}", said(&args.command))
        })?;
        messages::plain(&plan.to_toml()?)?;
    } else if args.json {
        print_json(SCHEMA, &explained)?;
    } else {
        let listing = views::explain::listing(&explained);
        let style = report::Style::default();
        let mut text = report::render_listing(&listing, style);
        let mut commands = explained.equivalent.commands;
        if let Some(at) = commands.iter().position(|command| command.contains(" PLAN.toml")) {
            let mut words = arguments();
            words.insert(words.len().min(1), "--plan".to_owned());
            commands.insert(at, format!("drivescope {} > PLAN.toml", block::command_line(&words)));
        }
        text += &report::render_commands(&commands, style);
        messages::result(&text)?;
    }
    Ok(Exit::Done)
}

/// The words that were typed, or what the one word of them names: a job file, standard input, or a command in quotes.
fn given(words: &[String]) -> Result<Given> {
    let [word] = words else { return Ok(Given::Words(words.to_vec())) };
    let is_name = !word.contains(char::is_whitespace) && !word.is_empty();
    // A word that looks like a path is one, so that a missing file is not taken for a program.
    let is_file = is_name && (word == "-" || word.contains(['/', '.']) || Path::new(word).exists());
    let read = match is_file {
        true if word == "-" => explain::read("standard input", &text(word)?),
        true => explain::read(word, &text(word)?),
        false => explain::read("the command", word),
    };
    read.with_context(|| said(words))
}

fn text(name: &str) -> Result<String> {
    let bytes = inputs::read(Path::new(name))?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        // Names of files may be of any bytes; options are not.
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// Subject of an error message.
fn said(words: &[String]) -> String {
    match words {
        [word] if word == "-" => "standard input".to_owned(),
        [word] if word.is_empty() => "the command \"\"".to_owned(),
        words => words.join(" "),
    }
}
