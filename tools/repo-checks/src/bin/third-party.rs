//! Prints the terms of all that is linked into the program for a target, for a package to carry along:
//! `third-party x86_64-unknown-linux-gnu`.

use anyhow::{Context as _, Result};
use drivescope_repo_checks::licences;

fn main() -> Result<()> {
    let target = std::env::args().nth(1).context("name the target, as rustc does")?;
    print!("{}", licences::document(&licences::linked(&target)?));
    Ok(())
}
