//! What is offered behind `flashbench` and `diskspd`, whose options clap does not know: their help names them.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;

use super::offers::{beginning, drives, hazards, word};
use crate::args::{diskspd_options, flashbench_options};

/// Values of diskspd's options that are one of a few; they stand right behind their option.
const DISKSPD: [(&str, &str); 11] = [
    ("-Sd", "bypass the page cache (O_DIRECT)"),
    ("-Ss", "make each write durable (O_SYNC)"),
    ("-Sh", "both"),
    ("-xk", "libaio"),
    ("-xp", "POSIX AIO"),
    ("-Zz", "write zeros"),
    ("-Zr", "write random bytes"),
    ("-Zs", "buffers of writes are not those of reads"),
    ("-Rtext", "the report for people"),
    ("-Rxml", "the report as XML"),
    ("-si", "threads of a target share one cursor"),
];

pub(super) fn flashbench(typed: &OsStr) -> Vec<CompletionCandidate> {
    offered(typed, &flashbench_options(), &[])
}

pub(super) fn diskspd(typed: &OsStr) -> Vec<CompletionCandidate> {
    offered(typed, &diskspd_options(), &DISKSPD)
}

fn offered(typed: &OsStr, help: &str, values: &[(&str, &str)]) -> Vec<CompletionCandidate> {
    let text = typed.to_string_lossy();
    if let Some(hazard) = text.strip_prefix("--allow=") {
        let hazards = hazards(OsStr::new(hazard)).into_iter();
        return hazards.map(|hazard| hazard.add_prefix("--allow=")).collect();
    }
    if let Some(target) = text.strip_prefix("--out=") {
        let files = drives(OsStr::new(target)).into_iter();
        return files.map(|file| file.add_prefix("--out=")).collect();
    }
    let mut options = options(help);
    // They are offered when their option was typed, or nothing could be seen for them.
    if text.len() > 1 {
        options.extend(values.iter().map(|(value, said)| word(*value, *said)));
    }
    let targets = if text.starts_with('-') { Vec::new() } else { drives(typed) };
    targets.into_iter().chain(beginning(typed, options)).collect()
}

/// The options that a page of help lists: `  -a, --align  what it does`. What stands in capitals or brackets behind one is
/// its value, and is not typed.
fn options(help: &str) -> Vec<CompletionCandidate> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines
        .flat_map(|line| {
            let (names, said) = line.split_once("  ").unwrap_or((line, ""));
            names.split(", ").map(|name| word(bare(name), said.trim())).collect::<Vec<_>>()
        })
        .collect()
}

fn bare(name: &str) -> &str {
    let name = name.split([' ', '[']).next().unwrap_or(name);
    name.trim_end_matches(|c: char| c.is_uppercase() && name.starts_with("--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(typed: &str, offer: fn(&OsStr) -> Vec<CompletionCandidate>) -> Vec<String> {
        let offered = offer(OsStr::new(typed)).into_iter();
        offered.map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    /// Were the help written otherwise one day, Tab would offer words that the faces refuse.
    #[test]
    fn options_are_those_of_the_help() {
        assert_eq!(
            values("--scatter", flashbench),
            ["--scatter", "--scatter-order=", "--scatter-span="]
        );
        assert_eq!(values("-O", flashbench), ["-O"]);
        assert_eq!(values("-s", diskspd), ["-s", "-si"]);
        assert_eq!(values("-S", diskspd), ["-S", "-Sd", "-Ss", "-Sh"]);
        assert_eq!(values("--em", diskspd), ["--emulate=diskspd-linux"]);
        assert_eq!(values("--allow=p", diskspd), ["--allow=partitions"]);
        assert_eq!(values("sim:hdd-w", diskspd), ["sim:hdd-wd"]);
    }
}
