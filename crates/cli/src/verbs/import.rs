//! `drivescope import`: what another tool printed, judged as a drive's own answers are.

use anyhow::{Context as _, Result};
use probe::flashbench::tables::{Parsed, Table};
use probe::flashbench::{judge, parse_all};
use probe::{Finding, Verdict};
use serde::Serialize;

use crate::args::{ImportArgs, ImportFlashbenchArgs, ImportVerb};
use crate::exit::Exit;
use crate::verbs::{print_json, read_input};
use crate::{talk, view};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.import/1";

/// What was read, and what it says.
#[derive(Serialize)]
struct Body {
    /// The answers, as those of `probe`.
    findings: Vec<Finding>,
    /// What they were drawn from.
    tables: Vec<Parsed>,
}

/// Runs the verb.
///
/// # Errors
/// When a file cannot be read, or holds no table.
pub fn main(args: &ImportArgs) -> Result<Exit> {
    let ImportVerb::Flashbench(args) = &args.verb;
    flashbench(args)
}

fn flashbench(args: &ImportFlashbenchArgs) -> Result<Exit> {
    let texts = args.files.iter().map(|path| {
        let name =
            if path.as_os_str() == "-" { "standard input".into() } else { path.to_string_lossy() };
        Ok((name.into_owned(), read_input(path)?))
    });
    let texts: Vec<(String, Vec<u8>)> = texts.collect::<Result<_>>()?;
    let named = texts.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
    let tables = parse_all(named).context("nothing of flashbench's can be read")?;
    let plain: Vec<Table> = tables.iter().map(|parsed| parsed.table.clone()).collect();
    let findings = judge(&plain, args.erase_block.map(|bytes| bytes.0));
    let found = findings.iter().any(|finding| finding.verdict == Verdict::Found);
    if args.json {
        print_json(SCHEMA, Body { findings, tables })?;
    } else {
        let answers = view::import::answers(&tables, &findings);
        talk::result(&report::render_answers(&answers, report::Style::default()))?;
    }
    Ok(if found { Exit::Done } else { Exit::No })
}
