//! The crates of the workspace and the arrows between them, as their manifests have them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use toml::{Table, Value};

use crate::repository;

/// One package of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// True for a developers' tool, which is not a part of the product.
    pub is_tool: bool,
    /// Its description, in a line.
    pub description: String,
    /// Rooms that it uses, by directory.
    pub uses: BTreeSet<String>,
    /// Rooms that only its tests, examples and benchmarks use.
    pub tests_use: BTreeSet<String>,
}

/// All packages, by directory.
///
/// # Errors
/// Names the manifest that cannot be read.
pub fn packages() -> Result<BTreeMap<String, Package>> {
    let mut manifests = BTreeMap::new();
    let mut tools = BTreeSet::new();
    for path in directories()? {
        let manifest = path.join("Cargo.toml");
        let Some(directory) = path.file_name().and_then(|n| n.to_str()) else { continue };
        if manifest.exists() {
            let text = fs::read_to_string(&manifest)?;
            let table: Table = text.parse().with_context(|| format!("{}", manifest.display()))?;
            if path.parent().is_some_and(|folder| folder.ends_with(repository::TOOLS)) {
                tools.insert(directory.to_owned());
            }
            manifests.insert(directory.to_owned(), table);
        }
    }
    let directories = manifests
        .iter()
        .filter_map(|(directory, table)| Some((package_name(table)?, directory.clone())))
        .collect();
    let package = |(name, table): (&String, &Table)| {
        (name.clone(), Package { is_tool: tools.contains(name), ..package(table, &directories) })
    };
    Ok(manifests.iter().map(package).collect())
}

/// Directories in which a package may lie.
fn directories() -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for folder in repository::FOLDERS {
        for entry in fs::read_dir(repository::root().join(folder)).context(folder)? {
            all.push(entry?.path());
        }
    }
    Ok(all)
}

fn package_name(manifest: &Table) -> Option<String> {
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// `directories` maps names of packages to their directories.
fn package(manifest: &Table, directories: &BTreeMap<String, String>) -> Package {
    let description = manifest.get("package").and_then(|p| p.get("description"));
    let mut package = Package {
        description: description.and_then(Value::as_str).unwrap_or_default().to_owned(),
        ..Package::default()
    };
    collect(manifest, directories, &mut package);
    let targets = manifest.get("target").and_then(Value::as_table);
    for table in targets.into_iter().flatten().filter_map(|(_, table)| table.as_table()) {
        collect(table, directories, &mut package);
    }
    package
}

/// Dependencies of a manifest, or of one of its `[target.'cfg(…)']` tables.
fn collect(table: &Table, directories: &BTreeMap<String, String>, package: &mut Package) {
    for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
        let dependencies = table.get(section).and_then(Value::as_table);
        for (alias, value) in dependencies.into_iter().flatten() {
            let name = value.get("package").and_then(Value::as_str).unwrap_or(alias);
            // Crates are known in the workspace by their directory, and on a registry by their package.
            let used = directories.values().find(|d| *d == alias).or(directories.get(name));
            if let Some(used) = used {
                let set = if section == "dev-dependencies" {
                    &mut package.tests_use
                } else {
                    &mut package.uses
                };
                set.insert(used.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_are_seen_in_every_place_where_a_manifest_can_have_one() {
        // A dependency that is overlooked here would escape the rules of the architecture.
        let manifest: Table = r#"
            package = { name = "drivescope-mark", description = "d" }
            [dependencies]
            block.workspace = true
            renamed = { package = "drivescope-stats", path = "../stats" }
            serde = "1"
            [build-dependencies]
            engine.workspace = true
            [dev-dependencies]
            sim.workspace = true
            [target.'cfg(unix)'.dependencies]
            linux.workspace = true
        "#
        .parse()
        .unwrap();
        let directories = ["block", "stats", "engine", "sim", "linux"]
            .map(|name| (format!("drivescope-{name}"), name.to_owned()))
            .into();
        let package = package(&manifest, &directories);
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        assert_eq!(package.uses, set(&["block", "stats", "engine", "linux"]));
        assert_eq!(package.tests_use, set(&["sim"]));
        assert_eq!(package.description, "d");
    }
}
