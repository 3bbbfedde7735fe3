//! `drivescope rows`: survey rows of many drives.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use views::row::{self, SurveyRow};

use crate::args::{RowsArgs, RowsVerb};
use crate::exit::Exit;
use crate::inputs;
use crate::messages;
use crate::verbs::print_json;

/// Longest content of an archive in which rows are looked for.
const UNPACKED_MAX: u64 = 1 << 30;

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.rows/1";

/// Runs the verb.
///
/// # Errors
/// When a file cannot be read, or has a row that is none.
pub fn main(args: &RowsArgs) -> Result<Exit> {
    match &args.verb {
        RowsVerb::Merge { files, json } => merge(files, *json),
    }
}

fn merge(files: &[PathBuf], json: bool) -> Result<Exit> {
    let (mut rows, mut empty) = (BTreeSet::new(), Vec::new());
    for path in files {
        let bytes = record::unpacked(inputs::read(path)?, UNPACKED_MAX)
            .with_context(|| format!("{}: cannot be unpacked", path.display()))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut is_empty = true;
        for (index, line) in text.lines().enumerate() {
            match SurveyRow::parse(line) {
                Some(Ok(row)) => {
                    is_empty = false;
                    rows.insert(row);
                }
                Some(Err(what)) => bail!("{}, line {}: {what}", path.display(), index + 1),
                None => {}
            }
        }
        empty.extend(is_empty.then(|| path.display().to_string()));
    }
    if rows.is_empty() {
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        bail!("{}: no rows are in there; `drivescope probe --row` prints one", names.join(", "));
    }
    if !empty.is_empty() {
        messages::note(&format!("{}: no rows are in there", empty.join(", ")));
    }
    if json {
        print_json(SCHEMA, json!({ "rows": rows }))?;
    } else {
        messages::plain(&row::table(&rows))?;
    }
    Ok(Exit::Done)
}
