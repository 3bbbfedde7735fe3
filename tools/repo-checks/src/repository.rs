//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Directories of packages: the product, and the tools of its developers.
pub const FOLDERS: [&str; 2] = [PRODUCT, TOOLS];
/// The product.
pub const PRODUCT: &str = "crates";
/// The developers' tools: scores, the lab, power cuts, and these checks.
pub const TOOLS: &str = "tools";

/// The repository's top directory.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file that git tracks, or would if it were added.
#[derive(Clone, Debug)]
pub struct Source {
    /// From the top, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// The crate's directory name under `crates/` or `tools/`, when the file lies in one.
    pub fn package(&self) -> Option<&str> {
        let within =
            FOLDERS.iter().find_map(|folder| self.path.strip_prefix(folder)?.strip_prefix('/'));
        within?.split('/').next()
    }

    /// Lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.text)
    }

    /// The text of a file of Rust before its tests. A test item of one line, such as the declaration of a module in a file of its
    /// own, does not end it.
    pub fn product(&self) -> &str {
        const MARK: &str = "#[cfg(test)]\n";
        let begins_tests = |at: &usize| {
            let is_line = *at == 0 || self.text[..*at].ends_with('\n');
            let mut item = self.text[at + MARK.len()..].lines().skip_while(|l| l.starts_with("#["));
            is_line && !item.next().is_some_and(|item| item.ends_with(';'))
        };
        let mut marks = self.text.match_indices(MARK).map(|(at, _)| at);
        &self.text[..marks.find(begins_tests).unwrap_or(self.text.len())]
    }
}

/// Lines of `text` with their numbers, from 1.
pub fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// All text files that git tracks, and those that are neither tracked nor ignored: a new file is to be
/// held to the rules before it is committed.
///
/// # Errors
/// When git is missing or this is not a work tree.
pub fn sources() -> Result<Vec<Source>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("git ls-files")?;
    if !listed.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    }
    let mut paths: Vec<String> = listed
        .stdout
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    paths.sort();
    paths.dedup();
    let mut sources = Vec::new();
    for path in paths {
        // Deleted and not yet staged, or no text: neither is anybody's business here.
        if let Ok(bytes) = fs::read(root().join(&path))
            && let Ok(text) = String::from_utf8(bytes)
        {
            sources.push(Source { path, text });
        }
    }
    Ok(sources)
}
