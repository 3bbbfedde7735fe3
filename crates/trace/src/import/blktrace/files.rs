//! Files of one recording: `blktrace` writes one for each CPU, `NAME.blktrace.CPU`.

use std::io;
use std::path::{Path, PathBuf};

/// Between a recording's name and the number of a CPU.
const INFIX: &str = ".blktrace.";

/// The recording's name and the CPU's number, of the name of a file for one CPU; it may be packed.
fn of_cpu(file_name: &str) -> Option<(&str, u32)> {
    let unpacked = [".gz", ".zst"].iter().find_map(|end| file_name.strip_suffix(end));
    let (base, cpu) = unpacked.unwrap_or(file_name).rsplit_once(INFIX)?;
    let digits = !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit());
    if digits { Some((base, cpu.parse().ok()?)) } else { None }
}

/// The files of the recording that `path` means: all of its CPUs, in the order of their numbers, when `path` is the
/// file of one of them, or no file but the name that they share; else `path` alone.
///
/// # Errors
/// When the directory cannot be read.
pub fn siblings(path: &Path) -> io::Result<Vec<PathBuf>> {
    let alone = || Ok(vec![path.to_owned()]);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return alone() };
    let base = match of_cpu(name) {
        Some((base, _)) => base,
        None if path.exists() => return alone(),
        None => name,
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(parent)? {
        let file_name = entry?.file_name();
        if let Some((its, cpu)) = file_name.to_str().and_then(of_cpu)
            && its == base
        {
            found.push((cpu, path.with_file_name(&file_name)));
        }
    }
    if found.is_empty() {
        return alone();
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_one_cpu_and_the_name_of_all_mean_the_same_files() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["sda.blktrace.0", "sda.blktrace.10", "sda.blktrace.2.gz"];
        let others = ["sda.blktrace.x", "sdb.blktrace.0", "sda.blktrace.", "sda.replay.0"];
        for name in names.iter().chain(&others) {
            std::fs::write(dir.path().join(name), b"").unwrap();
        }
        let expected = ["sda.blktrace.0", "sda.blktrace.2.gz", "sda.blktrace.10"];
        let expected = expected.map(|name| dir.path().join(name));
        for given in ["sda.blktrace.10", "sda"] {
            assert_eq!(siblings(&dir.path().join(given)).unwrap(), expected, "{given}");
        }
        let dump = dir.path().join("sda.replay.0");
        assert_eq!(siblings(&dump).unwrap(), [dump]);
        let absent = dir.path().join("absent");
        assert_eq!(siblings(&absent).unwrap(), [absent], "the error is that of opening it");
    }
}
