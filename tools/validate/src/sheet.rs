//! Markdown tables, and the files that contain them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::provenance::{self, Machine};

/// Line in a table's file before the text written by hand, which is kept when the table is made again.
pub const BY_HAND: &str =
    "<!-- Written by hand from here on; kept when the table is made again. -->";

/// Directory of tables.
pub const DOCS: &str = "docs/validation";

/// Directory of trials, test files and other scratch data. Makes it if needed.
///
/// # Errors
/// Returns an error if it cannot be made.
pub fn work_dir() -> Result<PathBuf> {
    let dir = std::env::var_os("VALIDATE_DIR").map_or("target/validate".into(), PathBuf::from);
    fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    Ok(dir)
}

/// Directory of a run's tables. Makes it if needed. A run that is smaller than its table promises is a trial,
/// and must not replace the table.
///
/// # Errors
/// Returns an error if the directory cannot be made.
pub fn table_dir(out: Option<&Path>, trial: bool) -> Result<PathBuf> {
    let dir = match out {
        Some(dir) => dir.to_owned(),
        None if trial => work_dir()?,
        None => DOCS.into(),
    };
    fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    Ok(dir)
}

/// The lines under a table's title: how it was made.
pub fn provenance(commit: &str, machine: &Machine, raw: &str, more: &[(&str, String)]) -> String {
    let mut text = format!(
        "- Command: `{}`\n- Commit: `{commit}`\n- Date: {}\n- Machine: {machine}\n",
        provenance::command(),
        provenance::date(),
    );
    for (name, value) in more {
        let _ = writeln!(text, "- {name}: {value}");
    }
    let _ = writeln!(text, "- Raw figures: [{raw}]({raw})\n");
    text
}

/// A list of claims, and whether each holds.
pub fn claims(claims: &[(String, bool)]) -> String {
    let mut text = String::new();
    for (claim, holds) in claims {
        let _ = writeln!(text, "- {claim}: {}", if *holds { "holds" } else { "**does not hold**" });
    }
    text
}

/// A table; all columns but the first `left` are numbers.
pub fn table(left: usize, head: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(&head.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>());
    let rule = |i| if i < left { "---" } else { "---:" }.to_owned();
    line(&(0..head.len()).map(rule).collect::<Vec<_>>());
    rows.iter().for_each(|row| line(row));
    text
}

/// Writes `made` to `path`, followed by what was written by hand there before.
///
/// # Errors
/// Names the path.
pub fn write(path: &Path, made: &str) -> Result<()> {
    let before = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, joined(made, &before))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

fn joined(made: &str, before: &str) -> String {
    let by_hand = before.split_once(BY_HAND).map_or("\n", |(_, rest)| rest);
    format!("{}\n\n{BY_HAND}{by_hand}", made.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Making a table again must not delete the explanation of what it shows.
    #[test]
    fn what_was_written_by_hand_survives_a_new_table() {
        let first = joined("# Old\n\n| 1 |\n", "");
        let explained = format!("{first}\n## Why\n\nBecause.\n");
        let second = joined("# New\n", &explained);
        assert!(second.starts_with("# New\n"));
        assert!(!second.contains("Old"));
        assert!(second.ends_with("\n## Why\n\nBecause.\n"));
        assert_eq!(joined("# New\n", &second), second);
    }

    #[test]
    fn a_table_has_a_rule_under_its_head_and_numbers_to_the_right() {
        let text = table(1, &["test", "n"], &[vec!["a".into(), "1".into()]]);
        assert_eq!(text, "| test | n |\n| --- | ---: |\n| a | 1 |\n");
    }
}
