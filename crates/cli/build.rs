//! Asks the linker to keep functions with identical code once, texts that end alike, and addresses that are settled at the start
//! packed (`DT_RELR`, a twentieth of the program), where the linker is LLD.
//!
//! The compiler links with its own LLD by default on the targets named here, from 1.90 on; other linkers do not all know the option.

use std::env;
use std::path::Path;
use std::process::Command;

const LLD_BY_DEFAULT: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    // All addresses are filled in at the start, and then read-only, however the crates were compiled (.cargo/config.toml).
    println!("cargo::rustc-link-arg-bins=-Wl,-z,now");
    if links_with_lld() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all,-O2");
        if unpacks_addresses() {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// Whether this machine's C library reads packed addresses, as glibc does from 2.36 on. An older one names this when it is
/// asked to run the program.
fn unpacks_addresses() -> bool {
    let Ok(printed) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else {
        return false;
    };
    let version = String::from_utf8_lossy(&printed.stdout);
    let mut numbers = version.trim().trim_start_matches("glibc ").split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (2, 36),
        _ => false,
    }
}

fn links_with_lld() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_changed = ["linker", "fuse-ld"].iter().any(|word| flags.contains(word));
    if is_changed || env::var_os("RUSTC_LINKER").is_some() {
        return false;
    }
    let target = env::var("TARGET").unwrap_or_default();
    target == LLD_BY_DEFAULT && has_lld(&target)
}

/// Whether the compiler brings an LLD for this target.
fn has_lld(target: &str) -> bool {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(printed) = Command::new(compiler).args(["--print", "sysroot"]).output() else {
        return false;
    };
    let sysroot = String::from_utf8_lossy(&printed.stdout);
    let tools =
        Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("bin/gcc-ld/ld.lld");
    tools.exists()
}
