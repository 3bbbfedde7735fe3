//! Programs of the host that the guest gets, and the shared libraries that they use.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

/// Directories of the administrator's programs, which not every user has in PATH.
const ADMINISTRATOR: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A program of the host, by name. LAB_PATH replaces all directories in which programs are looked for.
pub fn find(name: &str) -> Option<PathBuf> {
    let own = env::var_os("LAB_PATH");
    let path = own.clone().or_else(|| env::var_os("PATH")).unwrap_or_default();
    let administrator = ADMINISTRATOR.iter().filter(|_| own.is_none()).map(PathBuf::from);
    let directories: Vec<PathBuf> = env::split_paths(&path).chain(administrator).collect();
    directories.into_iter().map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// The libraries that `program` is linked with, and its loader, as listed by `ldd(1)`; empty for a static one.
///
/// # Errors
/// When a library is missing.
pub fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>> {
    let head = fs::read(program).with_context(|| program.display().to_string())?;
    if !head.starts_with(b"\x7fELF") {
        return Ok(BTreeSet::new());
    }
    let output = Command::new("ldd").arg(program).output().context("ldd")?;
    let text = String::from_utf8_lossy(&output.stdout);
    anyhow::ensure!(!text.contains("not found"), "{}: {}", program.display(), text.trim());
    Ok(paths(&text))
}

/// The paths in what `ldd` prints.
fn paths(text: &str) -> BTreeSet<PathBuf> {
    let path = |line: &str| {
        let (path, _) = line.trim().split_once(" (0x")?;
        let path = path.rsplit("=> ").next()?.trim();
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // A library that is overlooked makes the program fail in the guest with "not found", as if it were missing.
    #[test]
    fn libraries_and_loader_are_found_in_what_ldd_prints() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f11)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f12)\n";
        let wanted = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(paths(text), wanted.map(PathBuf::from).into());
        assert!(paths("\tstatically linked\n").is_empty());
        assert!(paths("\tnot a dynamic executable\n").is_empty());
    }

    #[test]
    fn what_runs_this_test_has_a_loader_that_exists() {
        let here = env::current_exe().unwrap();
        for library in libraries(&here).unwrap() {
            assert!(library.exists(), "{}", library.display());
        }
        assert!(find("sh").is_some());
        assert!(find("no-such-program").is_none());
    }
}
