//! Checks that packages agree with the manifests; a mismatch would surface only when a release is made.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drivescope_repo_checks::repository::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn manifest() -> toml::Table {
    read("Cargo.toml").parse().unwrap()
}

/// A user who reads the oldest compiler in the README and has it must be able to build.
#[test]
fn documents_and_licences_say_what_the_manifest_says() {
    let manifest = manifest();
    let package = &manifest["workspace"]["package"];
    let rust = format!("Rust {} or later", package["rust-version"].as_str().unwrap());
    for document in ["README.md", "docs/install.md"] {
        assert!(read(document).contains(&rust), "{document}: does not say {rust:?}");
    }
    assert_eq!(package["license"].as_str(), Some("MIT OR Apache-2.0"));
    let copyright = read("packaging/debian/copyright");
    // Debian calls this form of the MIT licence Expat.
    assert!(copyright.contains("License: Expat or Apache-2.0\n"), "{copyright}");
    let owner = read("LICENSE-MIT");
    let owner = owner.lines().find_map(|line| line.strip_prefix("Copyright (c) ")).unwrap();
    assert!(copyright.contains(&format!("Copyright: {owner}\n")), "{copyright}");
}

/// A user's own `cargo install` would build a package that is checked nowhere else, or stop at a missing file.
#[test]
fn the_program_names_what_cargo_wants() {
    let program: toml::Table = read("crates/cli/Cargo.toml").parse().unwrap();
    let readme = program["package"]["readme"].as_str().unwrap();
    assert!(root().join("crates/cli").join(readme).exists(), "{readme}");
    assert_eq!(program["package"]["default-run"].as_str(), Some("drivescope"));
}

/// A copy of the script beside this changelog.
fn agrees(name: &str, changelog: &str, tag: &str, word: &[&str]) -> (Option<i32>, String) {
    let dir: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("agrees-{name}"));
    fs::create_dir_all(dir.join("scripts")).unwrap();
    fs::copy(root().join("scripts/release-agrees"), dir.join("scripts/release-agrees")).unwrap();
    let manifest =
        "[workspace.package]\nversion = \"1.2.3\"\n[workspace.dependencies]\nx = \"9\"\n";
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.join("CHANGELOG.md"), changelog).unwrap();
    let script = dir.join("scripts/release-agrees");
    let ran = Command::new("bash").arg(script).arg(tag).args(word).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.code(), String::from_utf8(said).unwrap())
}

/// A release under a wrong tag, or without a word of what is new, cannot be taken back.
#[test]
fn a_tag_is_released_when_version_and_changelog_agree_with_it() {
    let log = "# Changelog\n\n## 1.2.3 (2026-01-31)\n\n- New.\n\n## 1.2.2 (2026-01-01)\n\n- Old.\n";
    assert_eq!(agrees("good", log, "v1.2.3", &[]).0, Some(0));
    let notes = agrees("notes", log, "v1.2.3", &["notes"]);
    assert_eq!(notes, (Some(0), "- New.\n".to_owned()));
    let (code, said) = agrees("tag", log, "v1.2.4", &[]);
    assert!(code == Some(1) && said.contains("version 1.2.3"), "{said}");
    let unreleased = log.replace("1.2.3 (2026-01-31)", "Unreleased");
    let (code, said) = agrees("log", &unreleased, "v1.2.3", &[]);
    assert!(code == Some(1) && said.contains("## 1.2.3 (YEAR-MONTH-DAY)"), "{said}");
    // A version that begins alike is another.
    let longer = log.replace("## 1.2.3 (", "## 1.2.30 (");
    assert_eq!(agrees("longer", &longer, "v1.2.3", &[]).0, Some(1));
}
