//! References in documents: paths, links, flags; and the table of crates, which is made from the manifests.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};

use crate::packages::Package;

/// Begins the table of crates in the document on architecture.
pub const CRATES_BEGIN: &str = "<!-- crates -->";
/// Ends it.
pub const CRATES_END: &str = "<!-- end of crates -->";

/// The table of crates.
pub fn crates_table(packages: &BTreeMap<String, Package>) -> String {
    let list = |names: &BTreeSet<String>| {
        if names.is_empty() {
            "–".to_owned()
        } else {
            names.iter().cloned().collect::<Vec<_>>().join(", ")
        }
    };
    let mut table = String::from("| crate | what it is | uses | its tests also use |\n");
    table.push_str("|---|---|---|---|\n");
    for (name, package) in packages {
        let beside = package.tests_use.difference(&package.uses).cloned().collect();
        table.push_str(&format!(
            "| {name} | {} | {} | {} |\n",
            package.description,
            list(&package.uses),
            list(&beside)
        ));
    }
    table
}

/// `document` with the text between its marks replaced by `table`.
///
/// # Errors
/// When the marks are not there.
pub fn with_table(document: &str, table: &str) -> Result<String> {
    let (before, rest) = document.split_once(CRATES_BEGIN).context("no table of crates")?;
    let (_, after) = rest.split_once(CRATES_END).context("the table of crates has no end")?;
    Ok(format!("{before}{CRATES_BEGIN}\n{table}{CRATES_END}{after}"))
}

/// Lines outside fenced blocks.
pub fn prose(document: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    document.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Words in backticks.
pub fn code_spans(document: &str) -> Vec<&str> {
    prose(document).flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// Targets of links and pictures, without those that lead to other sites.
pub fn links(document: &str) -> Vec<&str> {
    prose(document)
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// Names by which the document's headings can be linked, as GitHub makes them.
pub fn anchors(document: &str) -> BTreeSet<String> {
    prose(document)
        .filter_map(|line| line.strip_prefix('#'))
        .map(|heading| {
            heading
                .trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
# A *title*, and more
See `crates/x` and [y](docs/y.md#part-2), ![z](z.svg) or [w](https://example.org/).
```
`not this` [nor](this.md)
```
## Part 2
";

    #[test]
    fn spans_links_and_anchors_are_found_in_prose_alone() {
        assert_eq!(code_spans(DOCUMENT), ["crates/x"]);
        assert_eq!(links(DOCUMENT), ["docs/y.md#part-2", "z.svg"]);
        let anchors: Vec<_> = anchors(DOCUMENT).into_iter().collect();
        assert_eq!(anchors, ["a-title-and-more", "part-2"]);
    }

    #[test]
    fn the_table_goes_between_its_marks() {
        let document = format!("a\n{CRATES_BEGIN}\nold\n{CRATES_END}\nb\n");
        let new = with_table(&document, "new\n").unwrap();
        assert_eq!(new, format!("a\n{CRATES_BEGIN}\nnew\n{CRATES_END}\nb\n"));
        assert!(with_table("nothing", "new\n").is_err());
    }

    #[test]
    fn the_table_tells_what_a_crate_uses_and_what_only_its_tests_do() {
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        let package = Package {
            is_tool: false,
            description: "d".to_owned(),
            uses: set(&["block"]),
            tests_use: set(&["block", "sim"]),
        };
        let table = crates_table(&[("a".to_owned(), package)].into());
        assert!(table.ends_with("| a | d | block | sim |\n"), "{table}");
    }
}
