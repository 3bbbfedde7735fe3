//! Third-party code in the program: the licence texts that a package has to include.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::repository::root;

/// Files of a crate that hold terms begin so, in capitals or not.
const BEGINNINGS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];
/// How deep below a crate terms are looked for: those of C sources and fonts lie there.
const DEPTH_MAX: usize = 4;

/// A crate that is linked into the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Linked {
    /// Name and version.
    pub name: String,
    /// As its manifest has it, in SPDX.
    pub licence: String,
    /// The texts that lie with it.
    pub texts: Vec<String>,
}

/// Returns the crates linked into the program for `target`, such as `x86_64-unknown-linux-gnu`: without those that
/// only build or test it, and without macros, of which nothing is left.
///
/// # Errors
/// Returns an error if Cargo fails, or a crate has neither a licence in its manifest nor a text.
pub fn linked(target: &str) -> Result<Vec<Linked>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let told = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .current_dir(root())
        .output()
        .context("cannot run cargo")?;
    if !told.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&told.stderr));
    }
    of_metadata(&serde_json::from_slice(&told.stdout)?)
}

fn of_metadata(metadata: &Value) -> Result<Vec<Linked>> {
    let by_id = |list: &Value| -> BTreeMap<String, Value> {
        let items = list.as_array().into_iter().flatten();
        items.map(|item| (text(&item["id"]), item.clone())).collect()
    };
    let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    let program = packages.iter().find(|(_, package)| package["name"] == "drivescope");
    let mut waiting = vec![program.context("cargo knows no drivescope")?.0.clone()];
    let mut seen = BTreeSet::new();
    let mut linked = Vec::new();
    while let Some(id) = waiting.pop() {
        let package =
            packages.get(&id).with_context(|| format!("{id}: cargo knows no such crate"))?;
        if is_macro(package) || !seen.insert(id.clone()) {
            continue;
        }
        let below = nodes.get(&id).and_then(|node| node["deps"].as_array()).into_iter().flatten();
        waiting.extend(below.filter(|dep| is_normal(dep)).map(|dep| text(&dep["pkg"])));
        // Without a source it is ours.
        if !package["source"].is_null() {
            linked.push(one(package)?);
        }
    }
    linked.sort();
    Ok(linked)
}

fn one(package: &Value) -> Result<Linked> {
    let name = format!("{} {}", text(&package["name"]), text(&package["version"]));
    let mut texts = Vec::new();
    let manifest = text(&package["manifest_path"]);
    let dir = Path::new(&manifest).parent().context("a manifest has no directory")?;
    collect(dir, 0, &mut texts).with_context(|| dir.display().to_string())?;
    texts.sort();
    texts.dedup();
    let licence = text(&package["license"]);
    if licence.is_empty() && texts.is_empty() {
        bail!("{name}: it names no licence, so it may not be passed on");
    }
    let licence = if licence.is_empty() { "see below".to_owned() } else { licence };
    Ok(Linked { name, licence, texts })
}

fn collect(dir: &Path, depth: usize, texts: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < DEPTH_MAX {
            collect(&entry.path(), depth + 1, texts)?;
        } else if kind.is_file() && BEGINNINGS.iter().any(|begin| name.starts_with(begin)) {
            let bytes = fs::read(entry.path())?;
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            // A program that prints licences is not a licence.
            if !name.ends_with(".rs") && !text.trim().is_empty() {
                texts.push(text.trim_end().to_owned() + "\n");
            }
        }
    }
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets
        .flat_map(|t| t["kind"].as_array().into_iter().flatten())
        .any(|kind| kind == "proc-macro")
}

fn is_normal(dep: &Value) -> bool {
    dep["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
}

/// The document that goes with a binary.
pub fn document(linked: &[Linked]) -> String {
    let mut page = String::from(
        "The program drivescope contains the following crates, and the C sources that lie with some of them: SQLite,\n\
         which is in the public domain, and Zstandard. Their terms follow.\n\n",
    );
    for one in linked {
        page += &format!("{}: {}\n", one.name, one.licence);
    }
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in linked {
        one.texts.iter().for_each(|text| users.entry(text).or_default().push(&one.name));
    }
    let mut users: Vec<_> = users.into_iter().collect();
    users.sort_by_key(|(_, names)| names.clone());
    for (text, names) in users {
        page += &format!("\n{}\n{}\n\n{text}", "=".repeat(80), names.join(", "));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package without the terms of what is in it may not be passed on; SQLite and Zstandard are C, and the
    /// terms of the latter lie two folders below its crate.
    #[test]
    fn all_that_is_linked_is_named_with_its_terms() {
        let linked = linked("x86_64-unknown-linux-gnu").unwrap();
        let find = |name: &str| linked.iter().find(|one| one.name.starts_with(name));
        let zstd = find("zstd-sys ").expect("traces are read with it");
        assert!(zstd.texts.iter().any(|text| text.contains("Meta Platforms")), "{zstd:?}");
        assert!(find("libsqlite3-sys ").is_some() && find("clap_builder ").is_some());
        assert!(find("clap_derive ").is_none(), "nothing of a macro is in the program");
        assert!(find("trycmd ").is_none(), "what tests it is not in the program");
        assert!(find("drivescope").is_none(), "what is ours is told elsewhere");
        let page = document(&linked);
        assert!(
            linked.iter().all(|one| page.contains(&format!("{}: {}\n", one.name, one.licence)))
        );
    }
}
