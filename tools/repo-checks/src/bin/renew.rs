//! Makes again the parts of documents that show the program: transcripts and the table of crates.
//! `--live` also runs the transcripts that depend on this machine.

use std::fs;
use std::io::ErrorKind;

use anyhow::{Context as _, Result, bail};
use drivescope_repo_checks::{documents, packages, program, repository, transcript};

fn main() -> Result<()> {
    let mut live = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--live" => live = true,
            other => bail!("{other}: unknown; the only option is --live"),
        }
    }
    let table = documents::crates_table(&packages::packages()?);
    // Lists of runs begin empty, too.
    match fs::remove_dir_all(repository::root().join(program::RUNS)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    // Live transcripts measure, so they need the optimised program.
    let binary = program::build(if live { "release" } else { "dev" })?;
    for document in repository::sources()?.iter().filter(|s| s.path.ends_with(".md")) {
        let renew = || {
            let renewed = transcript::renew(&document.text, live, |command| {
                println!("{}: {command}", document.path);
                program::run(command, &binary, false)
            })?;
            if document.path == "ARCHITECTURE.md" {
                return documents::with_table(&renewed, &table);
            }
            Ok(renewed)
        };
        let renewed = renew().with_context(|| document.path.clone())?;
        if renewed != document.text {
            fs::write(repository::root().join(&document.path), renewed)?;
            println!("{}: changed", document.path);
        }
    }
    Ok(())
}
