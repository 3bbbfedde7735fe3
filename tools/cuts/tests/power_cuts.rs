//! The power goes while drivescope works: nothing that it reported as saved is lost.
//!
//! The whole of it, with every flush mark of three filesystems, is `scripts/validate cuts`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use drivescope_cuts::{Cached, Format, Outcome, Scale, Trial, try_cuts};

/// Cuts of each filesystem.
const CUTS: usize = 14;

/// drivescope, which is built with the tests of the whole workspace.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().unwrap().with_file_name("drivescope");
    assert!(path.is_file(), "{} is not built: cargo build -p drivescope", path.display());
    path
}

/// True when all is there that a filesystem on a disk of our own takes; says what is missing otherwise.
fn has_means(format: Format) -> bool {
    let name = format.name();
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let is_known = known.lines().any(|line| line.split_whitespace().last() == Some(name));
    let dirs = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mkfs = format!("mkfs.{name}");
    let has_mkfs = dirs.split(':').any(|dir| Path::new(dir).join(&mkfs).exists());
    let missing =
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            Some("needs root and /dev/loop-control".to_owned())
        } else if !Path::new("/dev/fuse").exists() {
            Some("needs /dev/fuse".to_owned())
        } else if !is_known {
            Some(format!("the kernel has no {name}"))
        } else if !has_mkfs {
            Some(format!("{mkfs} is not installed"))
        } else {
            None
        };
    if let Some(why) = &missing {
        println!("skipped: {why}");
    }
    missing.is_none()
}

#[track_caller]
fn nothing_is_lost(format: Format) {
    if !has_means(format) {
        return;
    }
    let program = program();
    let trial =
        Trial { program: &program, format, scale: Scale::Few, between: 40, most: CUTS, seed: 7 };
    let outcomes = try_cuts(&trial, &mut |_| {}).unwrap();
    let wrong = |o: &Outcome| [o.verdict.losses.clone(), o.verdict.faults.clone()].concat();
    let wrong: Vec<_> =
        outcomes.iter().map(|o| (o.cut, wrong(o))).filter(|o| !o.1.is_empty()).collect();
    assert!(wrong.is_empty(), "lost, or else wrong: {wrong:#?}");
    // That nothing was looked at would be no loss either.
    assert!(outcomes.len() >= CUTS - 2, "{} cuts", outcomes.len());
    let promises: u64 = outcomes.iter().map(|outcome| outcome.verdict.promises).sum();
    assert!(promises >= 100, "only {promises} promises were looked at");
    let resumed: u32 = outcomes.iter().map(|outcome| outcome.verdict.resumed).sum();
    assert!(resumed >= 1, "no run had to go on");
    let took = |o: &Outcome| o.cut.cached != Cached::Kept && o.cached_bytes > 0;
    assert!(outcomes.iter().any(took), "no cut lost what was in the cache");
}

#[test]
fn nothing_that_was_reported_as_saved_on_ext4_is_lost() {
    nothing_is_lost(Format::Ext4);
}

#[test]
fn nothing_that_was_reported_as_saved_on_xfs_is_lost() {
    nothing_is_lost(Format::Xfs);
}

#[test]
fn nothing_that_was_reported_as_saved_on_btrfs_is_lost() {
    nothing_is_lost(Format::Btrfs);
}
