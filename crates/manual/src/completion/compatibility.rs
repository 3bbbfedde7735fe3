//! Offers behind `flashbench` and `diskspd`, whose options clap does not know: their help names them.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;

use super::offers::{beginning, drives, hazards, word};

/// Values that an option may have, each right behind its option, with their descriptions.
type Values = &'static [(&'static str, &'static str)];

/// The compatibility modes, with those values of their options that are one of a few.
pub(super) const VALUES: [(&str, Values); 2] = [("flashbench", &[]), ("diskspd", &DISKSPD)];

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

/// Offers for an option or a target; `help` lists the options.
pub(super) fn offered(typed: &OsStr, help: &str, values: Values) -> Vec<CompletionCandidate> {
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

/// The options that a page of help lists: `  -a, --align  description`. Capitals or brackets behind one are its value, and
/// are not typed.
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

    const HELP: &str = "\
Usage: tool [OPTION]... TARGET
  -a, --align[=N]      align offsets
      --seed=N         seed of the offsets
  -S[d|s]              caches
";

    fn values(typed: &str) -> Vec<String> {
        let offered = offered(OsStr::new(typed), HELP, &[("-Sd", "none")]).into_iter();
        offered.map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    /// An option with its placeholder would be refused when it is typed.
    #[test]
    fn options_are_offered_without_their_values() {
        assert_eq!(values("-"), ["-a", "--align", "--seed=", "-S"]);
        assert_eq!(values("--s"), ["--seed="]);
        assert_eq!(values("-S"), ["-S", "-Sd"]);
        assert_eq!(values("--out=sim:hdd-w"), ["--out=sim:hdd-wd"]);
    }
}
