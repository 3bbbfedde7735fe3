//! Two records of one list, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

/// Difference of two records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Command lines of both together.
    pub lines: usize,
    /// Those whose records differ, or that only one has.
    pub differ: usize,
    /// Each of these, with what differs.
    pub text: String,
}

/// A command line: its group, itself, and how often it occurred in the group before.
type Key = (String, String, usize);

/// Compares the records in `before` and `after`; of a difference at most `most` lines are shown.
///
/// # Errors
/// When a record cannot be read, or diff(1) cannot be run.
pub fn compare(before: &Path, after: &Path, most: usize) -> Result<Compared> {
    let [old, new] = [read(before)?, read(after)?];
    let keys: BTreeSet<&Key> = old.keys().chain(new.keys()).collect();
    let mut compared = Compared { lines: keys.len(), differ: 0, text: String::new() };
    for key in keys {
        let (group, line, _) = key;
        let text = match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) => difference(old, new, most)?,
            (Some(_), None) => format!("only in {}\n", before.display()),
            (None, _) => format!("only in {}\n", after.display()),
        };
        if !text.is_empty() {
            compared.differ += 1;
            compared.text += &format!("[{group}] {line}\n{text}\n");
        }
    }
    Ok(compared)
}

/// Directories of the lines of a record.
fn read(dir: &Path) -> Result<BTreeMap<Key, PathBuf>> {
    let mut found = BTreeMap::new();
    for group in entries(dir)? {
        let name = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for place in entries(&group)? {
            let path = place.join("command");
            let line = fs::read_to_string(&path)
                .with_context(|| format!("{}: is not of a record", path.display()))?;
            let key = |count| (name.clone(), line.trim_end().to_owned(), count);
            let count = (0..).find(|count| !found.contains_key(&key(*count))).unwrap_or_default();
            found.insert(key(count), place);
        }
    }
    Ok(found)
}

/// Paths in a directory, in the order of names.
fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("{}", dir.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>>>()
        .with_context(|| format!("{}", dir.display()))?;
    paths.sort();
    Ok(paths)
}

/// Files below a directory, by their path in it.
fn files(dir: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(at) = open.pop() {
        for path in entries(&at)? {
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned();
                found.insert(name, path);
            }
        }
    }
    Ok(found)
}

/// Differences between the records of one line; empty if there are none.
fn difference(old: &Path, new: &Path, most: usize) -> Result<String> {
    let [old, new] = [files(old)?, files(new)?];
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut text = String::new();
    for name in names {
        match (old.get(name), new.get(name)) {
            (Some(a), Some(b)) if fs::read(a)? == fs::read(b)? => {}
            (Some(a), Some(b)) => text += &unified(name, a, b, most)?,
            (Some(_), None) => text += &format!("  {name}: only before\n"),
            (None, _) => text += &format!("  {name}: only after\n"),
        }
    }
    Ok(text)
}

/// A unified difference of two files that are not the same, cut to `most` lines.
fn unified(name: &str, old: &Path, new: &Path, most: usize) -> Result<String> {
    let output = Command::new("diff").arg("-u").args([old, new]).output().context("diff(1)")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    // A unified one begins with the names of both files; of others than texts diff says only that they differ.
    let lines = lines.strip_prefix(&lines[..lines.len().min(2)]).unwrap_or_default();
    let mut text = format!("  {name}:\n");
    for line in lines.iter().take(most) {
        text += &format!("    {line}\n");
    }
    if lines.len() > most {
        text += &format!("    ({} more lines)\n", lines.len() - most);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two records of two lines, alike; they go with this value.
    struct Records(PathBuf);

    impl Records {
        fn new(name: &str) -> Records {
            let dir = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            let records = Records(dir);
            for side in ["before", "after"] {
                for (at, line) in ["000", "001"].iter().zip(["drivescope plan", "drivescope man"]) {
                    records.put(side, at, "command", line);
                    records.put(side, at, "code", "0\n");
                    records.put(side, at, "stdout", "a\nb\nc\n");
                    records.put(side, at, "stderr", "");
                    records.put(side, at, "files/cwd/x.csv", "1,2\n");
                }
            }
            records
        }

        fn put(&self, side: &str, at: &str, name: &str, text: &str) {
            let path = self.0.join(side).join("group").join(at).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn compared(&self) -> Compared {
            compare(&self.0.join("before"), &self.0.join("after"), 10).unwrap()
        }
    }

    impl Drop for Records {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn records_that_are_alike_do_not_differ() {
        let compared = Records::new("outputs-alike").compared();
        assert_eq!(compared, Compared { lines: 2, differ: 0, text: String::new() });
    }

    // Breaks when a change of any part of a record passes for none.
    #[test]
    fn each_part_of_a_record_is_compared() {
        for (name, text, shown) in [
            ("stdout", "a\nB\nc\n", "    -b\n    +B\n"),
            ("stderr", "note: x\n", "    +note: x\n"),
            ("code", "2\n", "    -0\n    +2\n"),
            ("files/cwd/x.csv", "1,3\n", "    -1,2\n    +1,3\n"),
            ("files/cwd/y.csv", "1\n", "  files/cwd/y.csv: only after\n"),
        ] {
            let records = Records::new(&format!("outputs-part-{}", name.replace('/', "-")));
            records.put("after", "001", name, text);
            let compared = records.compared();
            assert_eq!((compared.lines, compared.differ), (2, 1), "{name}");
            assert!(compared.text.starts_with("[group] drivescope man\n"), "{}", compared.text);
            assert!(compared.text.contains(shown), "{name}: {}", compared.text);
        }
    }

    #[test]
    fn a_line_that_one_record_lacks_differs() {
        let records = Records::new("outputs-missing");
        fs::remove_dir_all(records.0.join("after/group/000")).unwrap();
        records.put("after", "002", "command", "drivescope man");
        let compared = records.compared();
        assert_eq!((compared.lines, compared.differ), (3, 2), "{}", compared.text);
        assert!(compared.text.contains("drivescope plan\nonly in "), "{}", compared.text);
    }

    #[test]
    fn a_long_difference_is_cut() {
        let records = Records::new("outputs-long");
        records.put("after", "000", "stdout", &"z\n".repeat(40));
        assert!(records.compared().text.contains(" more lines)\n"));
    }
}
