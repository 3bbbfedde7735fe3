//! The list of command lines: `[NAME]` begins a group, `#` a comment, and any other line is one of shell.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

/// Lines that share a directory, a home and recorded runs, and run in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Letters, digits and dashes: it becomes a directory.
    pub name: String,
    /// Lines of shell.
    pub lines: Vec<String>,
}

/// Groups of a list.
///
/// # Errors
/// Names the line that is in no group, or begins one of a name that is none or is used twice.
pub fn parse(text: &str) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut names = BTreeSet::new();
    for (at, line) in text.lines().enumerate() {
        let (at, line) = (at + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if name.is_empty() || !name.chars().all(is_name) || !names.insert(name.to_owned()) {
                bail!("line {at}: [{name}] is not a name of a group, or is used twice");
            }
            groups.push(Group { name: name.to_owned(), lines: Vec::new() });
            continue;
        }
        match groups.last_mut() {
            Some(group) => group.lines.push(line.to_owned()),
            None => bail!("line {at}: no group begins before it; write one such as [mark]"),
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::LIST;

    #[test]
    fn groups_have_the_lines_below_their_names() {
        let groups = parse("# a list\n[a]\nx 1\n\n  x 2\n[b-2]\n# none\ny\n").unwrap();
        let group = |name: &str, lines: &[&str]| Group {
            name: name.to_owned(),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        assert_eq!(groups, [group("a", &["x 1", "x 2"]), group("b-2", &["y"])]);
        for wrong in ["x\n", "[a]\n[a]\n", "[../a]\n", "[]\n"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    // Breaks when the list loses a verb, or more lines than it promises.
    #[test]
    fn the_list_has_all_verbs_and_at_least_400_lines() {
        let groups = parse(LIST).unwrap();
        let lines: Vec<&String> = groups.iter().flat_map(|group| &group.lines).collect();
        assert!(lines.len() >= 400, "{}", lines.len());
        let verbs = [
            "mark",
            "run",
            "sweep",
            "compare",
            "probe",
            "pts",
            "trace import",
            "trace analyze",
            "trace export",
            "trace replay",
            "trace compare",
            "trace record",
            "survey",
            "devices",
            "health",
            "explain",
            "import",
            "judge",
            "trend",
            "flashbench",
            "diskspd",
            "rows",
            "runs",
            "show",
            "report",
            "rerun",
            "plan",
            "sim",
            "purge",
            "completions",
            "man",
        ];
        for verb in verbs {
            let begin = format!("drivescope {verb}");
            let count = lines.iter().filter(|line| line.contains(&begin)).count();
            assert!(count >= 3, "{verb}: {count} lines");
        }
    }
}
