//! Rules of style that the text of a file alone can decide. Each is a function from a file to the lines that break it.
//!
//! This file and the tests beside it name what they look for, so they are not looked at themselves.

use crate::repository::{Source, numbered};

/// Longest file of Rust, tests included: what a reader still takes in as one thing.
pub const LINES_MAX: usize = 600;

/// Crates that may read a clock: real drives have one, and the binary needs the date. Elsewhere a clock would make a virtual run
/// depend on the machine.
const CLOCKS: [&str; 2] = ["linux", "cli"];

/// A line that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `path:line`.
    pub place: String,
    /// The line, or what is wrong with the file.
    pub what: String,
}

/// All faults of all `sources` under one rule.
pub fn faults(sources: &[Source], rule: fn(&Source) -> Vec<Fault>) -> Vec<Fault> {
    sources.iter().filter(|s| !names_the_rules(s)).flat_map(rule).collect()
}

fn names_the_rules(source: &Source) -> bool {
    let names = ["style.rs", "language.rs"];
    source.path.starts_with("tools/repo-checks/")
        && names.iter().any(|name| source.path.ends_with(name))
}

fn is_rust(source: &Source) -> bool {
    source.path.ends_with(".rs")
}

fn is_outside(source: &Source) -> bool {
    source.path.starts_with("tools/")
}

/// True for tests, examples and benchmarks that have a file of their own.
fn is_beside(source: &Source) -> bool {
    ["/tests/", "/examples/", "/benches/"].iter().any(|part| source.path.contains(part))
}

/// Lines of a file of Rust that are product: before its tests, and no comment.
fn product(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    numbered(source.product()).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

pub(crate) fn at(source: &Source, line: usize, what: &str) -> Fault {
    Fault { place: format!("{}:{line}", source.path), what: what.trim().to_owned() }
}

fn lines_with(
    source: &Source,
    lines: impl Iterator<Item = (usize, impl AsRef<str>)>,
    needles: &[&str],
) -> Vec<Fault> {
    lines
        .filter(|(_, line)| needles.iter().any(|needle| has_word(line.as_ref(), needle)))
        .map(|(number, line)| at(source, number, line.as_ref()))
        .collect()
}

/// True when `needle` occurs in `line` without a letter, digit or underscore before it.
fn has_word(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(start, _)| {
        !line[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Files that are too long.
pub fn too_long(source: &Source) -> Vec<Fault> {
    let lines = source.text.lines().count();
    if !is_rust(source) || lines <= LINES_MAX {
        return Vec::new();
    }
    vec![at(source, lines, &format!("{lines} lines, and {LINES_MAX} is the most"))]
}

/// Unsafe code outside the crate of real drives.
pub fn unsafe_code(source: &Source) -> Vec<Fault> {
    if !is_rust(source) || source.package() == Some("linux") {
        return Vec::new();
    }
    let lines = source.lines().filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines_with(
        source,
        lines,
        &[
            "unsafe {",
            "unsafe fn",
            "unsafe impl",
            "unsafe extern",
            "allow(unsafe_code",
            "expect(unsafe_code",
        ],
    )
}

/// Clocks read where none may be. Tests, examples and benchmarks may: they time, and are not the product.
pub fn clocks(source: &Source) -> Vec<Fault> {
    let free = source.package().is_some_and(|package| CLOCKS.contains(&package));
    if !is_rust(source) || free || is_outside(source) || is_beside(source) {
        return Vec::new();
    }
    lines_with(source, product(source), &["Instant::now", "SystemTime::now", "clock_gettime"])
}

/// Work left undone.
pub fn unfinished(source: &Source) -> Vec<Fault> {
    if !is_rust(source) {
        return Vec::new();
    }
    let mut faults = lines_with(source, source.lines(), &["todo!(", "unimplemented!("]);
    let marks = ["TODO", "FIXME", "XXX"];
    let is_mark = |word: &str| marks.contains(&word);
    let words = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_mark);
    faults.extend(
        source.lines().filter(|(_, line)| words(line)).map(|(n, line)| at(source, n, line)),
    );
    faults
}

/// Tests that are ignored without saying why.
pub fn ignored_tests(source: &Source) -> Vec<Fault> {
    if !is_rust(source) {
        return Vec::new();
    }
    let bare = source.lines().filter(|(_, line)| line.trim() == "#[ignore]");
    bare.map(|(number, line)| at(source, number, line)).collect()
}

/// Absolute paths that exist on one machine only, in any text.
pub fn machine_paths(source: &Source) -> Vec<Fault> {
    let begins = |line: &str, start: usize| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_.-/{}<>*~$".contains(c))
    };
    let has = |line: &str| {
        // Put together here, or this file would hold what it looks for.
        ["work", "root", "farm"].iter().any(|name| {
            let path = format!("/{name}/");
            line.match_indices(&path).any(|(start, _)| begins(line, start))
        })
    };
    source.lines().filter(|(_, line)| has(line)).map(|(n, line)| at(source, n, line)).collect()
}

/// Printing outside the binary: crates return values, and the binary says where they go.
pub fn printing(source: &Source) -> Vec<Fault> {
    if !is_rust(source)
        || source.package() == Some("cli")
        || is_outside(source)
        || is_beside(source)
    {
        return Vec::new();
    }
    lines_with(
        source,
        product(source),
        &["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!("],
    )
}

/// Code that distinguishes targets by how their names begin: that is done once, where a name is parsed. The crate of
/// virtual drives reads the rest of their names.
pub fn target_names(source: &Source) -> Vec<Fault> {
    let free = matches!(source.package(), Some("drives" | "sim"));
    if !is_rust(source) || free || is_outside(source) || is_beside(source) {
        return Vec::new();
    }
    let tests = ["starts_with(", "strip_prefix(", "== ", "!= ", "eq("];
    let patterns = ["=> ", "| ", "if "];
    let is_test = |line: &str| {
        ["\"sim:", "\"null:"].iter().any(|name| {
            line.match_indices(name).any(|(start, _)| {
                let (before, behind) = (&line[..start], &line[start + name.len()..]);
                let is_arm = behind
                    .strip_prefix('"')
                    .is_some_and(|rest| patterns.iter().any(|p| rest.trim_start().starts_with(p)));
                is_arm || tests.iter().any(|test| before.ends_with(test))
            })
        })
    };
    let lines = product(source).filter(|(_, line)| is_test(line));
    lines.map(|(number, line)| at(source, number, line)).collect()
}

/// Files that may open what is written to: the check that every output passes, what it is made of, and a file that is
/// measured.
const WRITERS: [&str; 3] = [
    "crates/bench/src/outputs.rs",
    "crates/trace/src/output.rs",
    "crates/diskspd_cli/src/create.rs",
];

/// Files that are made, replaced or cut beside the check that every output passes: it would be lost that none goes over a
/// target.
pub fn unchecked_outputs(source: &Source) -> Vec<Fault> {
    // Records of runs, test files and the content of virtual drives are made by rules of their own.
    let own = ["linux", "record", "serve", "sim"];
    let is_one = source.path.starts_with("crates/")
        && source.package().is_some_and(|package| !own.contains(&package));
    let may = WRITERS.contains(&source.path.as_str());
    if !is_rust(source) || !is_one || may || is_beside(source) {
        return Vec::new();
    }
    lines_with(
        source,
        product(source),
        &[
            "File::create",
            "fs::write(",
            "fs::OpenOptions",
            "File::options(",
            "fs::rename(",
            "set_len(",
        ],
    )
}

/// Printing in the product past the one place that filters text from outside; an archive is not text.
pub fn printing_unfiltered(source: &Source) -> Vec<Fault> {
    let may = ["crates/runner/src/messages.rs", "crates/cli/src/verbs/runs.rs"];
    let is_product = source.path.starts_with("crates/") && source.path.contains("/src/");
    if !is_product || !is_rust(source) || may.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let ways =
        ["println!(", "eprintln!(", "print!(", "eprint!(", "stdout().lock(", "stderr().lock("];
    lines_with(source, product(source), &ways)
}

/// Files that have remedies in words: those that define, read and write them.
const WORDERS: [&str; 3] =
    ["crates/stats/src/remedy", "crates/stats/src/caveat.rs", "crates/views/src/remedies"];

/// Remedies that are made of a text: the program's advice on a doubt would be a sentence again, and its flags would be
/// shown without the command that they belong to.
pub fn remedies_of_words(source: &Source) -> Vec<Fault> {
    let may = WORDERS.iter().any(|path| source.path.starts_with(path));
    if !is_rust(source) || may || is_outside(source) || is_beside(source) {
        return Vec::new();
    }
    lines_with(source, product(source), &["Remedy::Words", "sentence: Some("])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    /// Each rule against a text that breaks it and one that does not, so that no rule is asleep.
    #[test]
    fn every_rule_finds_its_fault_and_nothing_else() {
        type Rule = fn(&Source) -> Vec<Fault>;
        let long = "x\n".repeat(LINES_MAX + 1);
        let fitting = "x\n".repeat(LINES_MAX);
        let cases: [(Rule, &str, &str, &str, &str); 19] = [
            (
                target_names,
                "crates/cli/src/a.rs",
                "if name.starts_with(\"sim:\") {",
                "crates/cli/src/a.rs",
                "let name = format!(\"sim:{model}\");",
            ),
            (
                target_names,
                "crates/cli/src/a.rs",
                "    \"null:\" => Ok(()),",
                "crates/drives/src/a.rs",
                "match name == \"null:\" {",
            ),
            (too_long, "crates/a/src/a.rs", &long, "crates/a/src/a.rs", &fitting),
            (
                unsafe_code,
                "crates/a/src/a.rs",
                "let x = unsafe { y };",
                "crates/linux/src/a.rs",
                "unsafe { y }",
            ),
            (
                unsafe_code,
                "crates/a/tests/a.rs",
                "#![allow(unsafe_code)]",
                "crates/a/src/a.rs",
                "// unsafe { }",
            ),
            (
                clocks,
                "crates/a/src/a.rs",
                "let t = Instant::now();",
                "crates/cli/src/a.rs",
                "SystemTime::now()",
            ),
            (
                clocks,
                "crates/a/src/a.rs",
                "f(std::time::SystemTime::now())",
                "crates/a/tests/a.rs",
                "Instant::now()",
            ),
            (
                clocks,
                "crates/a/src/a.rs",
                "clock_gettime(id)",
                "crates/a/src/a.rs",
                "#[cfg(test)]\nInstant::now()",
            ),
            (unfinished, "crates/a/src/a.rs", "todo!()", "crates/a/src/a.rs", "let mastodon = 1;"),
            (unfinished, "crates/a/src/a.rs", "// FIXME: b", "crates/a/src/a.rs", "// FIXMENT"),
            (
                ignored_tests,
                "crates/a/src/a.rs",
                "    #[ignore]",
                "crates/a/src/a.rs",
                "#[ignore = \"slow\"]",
            ),
            (
                machine_paths,
                "a.md",
                concat!("see /", "root/x"),
                "a.md",
                concat!("/proc/1/", "root/x and work/x and {tmp}/", "root/x"),
            ),
            (
                printing,
                "crates/a/src/a.rs",
                "println!(\"x\");",
                "crates/a/src/a.rs",
                "writeln!(out, \"x\");",
            ),
            (
                printing,
                "crates/a/src/a.rs",
                "anstream::eprint!(\"x\")",
                "crates/cli/src/a.rs",
                "println!()",
            ),
            (
                unchecked_outputs,
                "crates/cli/src/a.rs",
                "std::fs::write(path, text)",
                "crates/bench/src/outputs.rs",
                "std::fs::write(path, text)",
            ),
            (
                remedies_of_words,
                "crates/mark/src/a.rs",
                "Remedy::Words(text)",
                "crates/stats/src/remedy.rs",
                "Remedy::Words(text)",
            ),
            (
                remedies_of_words,
                "crates/cli/src/a.rs",
                "Caveat { sentence: Some(text), ..caveat }",
                "crates/cli/src/a.rs",
                "Caveat { subject, ..caveat }",
            ),
            (
                printing_unfiltered,
                "crates/cli/src/a.rs",
                "println!(\"x\");",
                "crates/cli/src/a.rs",
                "messages::plain(text)",
            ),
            (
                printing_unfiltered,
                "crates/cli/src/a.rs",
                "std::io::stdout().lock()",
                "crates/runner/src/messages.rs",
                "std::io::stdout().lock()",
            ),
        ];
        for (rule, bad_path, bad, good_path, good) in cases {
            assert_eq!(rule(&source(bad_path, bad)).len(), 1, "{bad_path}: {bad}");
            assert_eq!(rule(&source(good_path, good)), [], "{good_path}: {good}");
        }
    }

    #[test]
    fn a_fault_names_its_line() {
        let faults = clocks(&source("crates/a/src/a.rs", "a\n  Instant::now()\n"));
        let place = "crates/a/src/a.rs:2".to_owned();
        assert_eq!(faults, [Fault { place, what: "Instant::now()".to_owned() }]);
    }
}
