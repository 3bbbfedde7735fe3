//! Remedies for a doubt, as data.
//!
//! Instruments name the remedy, with its values; crate `views` has the sentences, since flags and commands are the
//! program's. So programs that read the JSON depend on a code, and the wording of a remedy may change.

mod command;
mod list;
mod run;
mod trace;

use std::collections::BTreeMap;

pub use command::Command;
pub use run::Run;
pub use trace::Trace;

use crate::verdict::Evidence;

/// Values of a remedy, by name.
pub type Values = BTreeMap<String, Evidence>;

/// Remedy for a doubt.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// A remedy of a record or document that names no code, or none that this version has. Never made by an instrument.
    Words(String),
    /// A change of a run of drivescope, or of what it is made on.
    Run(Run),
    /// A change of a recording of I/O or of its replay.
    Trace(Trace),
    /// A change of a command of another program, or of what is kept of its results.
    Command(Command),
    /// Take `runs` runs, or more.
    MoreRuns {
        /// Fewest runs.
        runs: u64,
    },
    /// Make a dataset of ZFS whose data are not cached, and measure there.
    UncachedDataset {
        /// The dataset under which it is to lie, where it is known.
        dataset: Option<String>,
    },
    /// Let a loop device read its file with direct I/O, or measure the drive itself.
    DirectLoop {
        /// The kernel's name of the loop device.
        device: String,
    },
    /// Find out from the maker or by a power cut whether flushes are honoured.
    ProveFlushes {
        /// Whether the drive reports a volatile cache; none when it reports nothing.
        volatile_cache: Option<bool>,
    },
    /// Look at a recorded run.
    ShowRun {
        /// The run.
        run_id: String,
        /// True when it is the last of several.
        last_of_several: bool,
    },
    /// Write all of a drive once, and probe again.
    WriteDriveOnce {
        /// Its path.
        drive: String,
        /// Its size.
        bytes: u64,
        /// True when its data sheet answers as well.
        or_data_sheet: bool,
    },
    /// Name a virtual drive in the state of one that was written once.
    FilledState {
        /// True when its data sheet answers as well.
        or_data_sheet: bool,
    },
    /// Give the program's results in a form that says whether the page cache was bypassed.
    StateDirectIo {
        /// The program.
        tool: String,
        /// True when a log was given, which does not say it.
        log: bool,
    },
    /// End by time, over a range beyond all caches.
    MeasureByTime {
        /// The program.
        tool: String,
    },
    /// Give each run a seed of its own.
    SeedPerRun {
        /// The program.
        tool: String,
    },
    /// Keep latencies in a form that can be added up.
    AddableLatencies {
        /// The program.
        tool: String,
    },
    /// Write another option, which is perhaps what was meant.
    WriteOption {
        /// The option.
        option: String,
    },
    /// Align random I/O to its block size.
    AlignToBlock {
        /// The block size.
        bytes: u64,
    },
    /// Set the limit of a slope for the whole window.
    SlopeLimit {
        /// The limit per sample.
        percent: f64,
    },
    /// Write more of the same load, and judge all of it.
    MoreOfLoad {
        /// How much more, in words, where it is known.
        missing: Option<String>,
    },
}

impl From<Run> for Remedy {
    fn from(remedy: Run) -> Remedy {
        Remedy::Run(remedy)
    }
}

impl From<Trace> for Remedy {
    fn from(remedy: Trace) -> Remedy {
        Remedy::Trace(remedy)
    }
}

impl From<Command> for Remedy {
    fn from(remedy: Command) -> Remedy {
        Remedy::Command(remedy)
    }
}

impl Remedy {
    /// Stable name for programs; none of [`Remedy::Words`].
    pub fn code(&self) -> Option<&'static str> {
        Some(match self {
            Remedy::Words(_) => return None,
            Remedy::Run(remedy) => remedy.code(),
            Remedy::Trace(remedy) => remedy.code(),
            Remedy::Command(remedy) => remedy.code(),
            Remedy::MoreRuns { .. } => "more_runs",
            Remedy::UncachedDataset { .. } => "uncached_dataset",
            Remedy::DirectLoop { .. } => "direct_loop",
            Remedy::ProveFlushes { .. } => "prove_flushes",
            Remedy::ShowRun { .. } => "show_run",
            Remedy::WriteDriveOnce { .. } => "write_drive_once",
            Remedy::FilledState { .. } => "filled_state",
            Remedy::StateDirectIo { .. } => "state_direct_io",
            Remedy::MeasureByTime { .. } => "measure_by_time",
            Remedy::SeedPerRun { .. } => "seed_per_run",
            Remedy::AddableLatencies { .. } => "addable_latencies",
            Remedy::WriteOption { .. } => "write_option",
            Remedy::AlignToBlock { .. } => "align_to_block",
            Remedy::SlopeLimit { .. } => "slope_limit",
            Remedy::MoreOfLoad { .. } => "more_of_load",
        })
    }

    /// Its values, by name; those that are not known are left out.
    pub fn values(&self) -> Values {
        let named: Vec<(&str, Option<Evidence>)> = match self {
            Remedy::Words(_) | Remedy::Run(_) | Remedy::Trace(_) | Remedy::Command(_) => Vec::new(),
            Remedy::MoreRuns { runs } => vec![("runs", Some((*runs).into()))],
            Remedy::UncachedDataset { dataset } => {
                vec![("dataset", dataset.clone().map(Evidence::Text))]
            }
            Remedy::DirectLoop { device } => vec![("device", Some(device.as_str().into()))],
            Remedy::ProveFlushes { volatile_cache } => {
                vec![("volatile_cache", volatile_cache.map(Evidence::Flag))]
            }
            Remedy::ShowRun { run_id, last_of_several } => vec![
                ("run_id", Some(run_id.as_str().into())),
                ("last_of_several", Some((*last_of_several).into())),
            ],
            Remedy::WriteDriveOnce { drive, bytes, or_data_sheet } => vec![
                ("drive", Some(drive.as_str().into())),
                ("bytes", Some((*bytes).into())),
                ("or_data_sheet", Some((*or_data_sheet).into())),
            ],
            Remedy::FilledState { or_data_sheet } => {
                vec![("or_data_sheet", Some((*or_data_sheet).into()))]
            }
            Remedy::StateDirectIo { tool, log } => {
                vec![("tool", Some(tool.as_str().into())), ("log", Some((*log).into()))]
            }
            Remedy::MeasureByTime { tool }
            | Remedy::SeedPerRun { tool }
            | Remedy::AddableLatencies { tool } => vec![("tool", Some(tool.as_str().into()))],
            Remedy::WriteOption { option } => vec![("option", Some(option.as_str().into()))],
            Remedy::AlignToBlock { bytes } => vec![("bytes", Some((*bytes).into()))],
            Remedy::SlopeLimit { percent } => vec![("percent", Some((*percent).into()))],
            Remedy::MoreOfLoad { missing } => {
                vec![("missing", missing.clone().map(Evidence::Text))]
            }
        };
        let known = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        known.collect()
    }

    /// The remedy with this code and these values; none of a code that this version does not have, or not with them.
    pub fn of_code(code: &str, values: &Values) -> Option<Remedy> {
        let text = |name: &str| match values.get(name) {
            Some(Evidence::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let count = |name: &str| match values.get(name) {
            Some(Evidence::Count(count)) => Some(*count),
            _ => None,
        };
        let flag = |name: &str| match values.get(name) {
            Some(Evidence::Flag(is_so)) => Some(*is_so),
            _ => None,
        };
        Some(match code {
            "more_runs" => Remedy::MoreRuns { runs: count("runs")? },
            "uncached_dataset" => Remedy::UncachedDataset { dataset: text("dataset") },
            "direct_loop" => Remedy::DirectLoop { device: text("device")? },
            "prove_flushes" => Remedy::ProveFlushes { volatile_cache: flag("volatile_cache") },
            "show_run" => Remedy::ShowRun {
                run_id: text("run_id")?,
                last_of_several: flag("last_of_several")?,
            },
            "write_drive_once" => Remedy::WriteDriveOnce {
                drive: text("drive")?,
                bytes: count("bytes")?,
                or_data_sheet: flag("or_data_sheet")?,
            },
            "filled_state" => Remedy::FilledState { or_data_sheet: flag("or_data_sheet")? },
            "state_direct_io" => Remedy::StateDirectIo { tool: text("tool")?, log: flag("log")? },
            "measure_by_time" => Remedy::MeasureByTime { tool: text("tool")? },
            "seed_per_run" => Remedy::SeedPerRun { tool: text("tool")? },
            "addable_latencies" => Remedy::AddableLatencies { tool: text("tool")? },
            "write_option" => Remedy::WriteOption { option: text("option")? },
            "more_of_load" => Remedy::MoreOfLoad { missing: text("missing") },
            "align_to_block" => Remedy::AlignToBlock { bytes: count("bytes")? },
            "slope_limit" => match values.get("percent") {
                Some(Evidence::Value(percent)) => Remedy::SlopeLimit { percent: *percent },
                _ => return None,
            },
            _ => {
                let run = Run::of_code(code).map(Remedy::Run);
                let trace = || Trace::of_code(code).map(Remedy::Trace);
                return run.or_else(trace).or_else(|| Command::of_code(code).map(Remedy::Command));
            }
        })
    }

    /// One of each: of those with values, an example.
    pub fn examples() -> Vec<Remedy> {
        let text = || "x".to_owned();
        let mut all = vec![
            Remedy::MoreRuns { runs: 6 },
            Remedy::UncachedDataset { dataset: Some(text()) },
            Remedy::UncachedDataset { dataset: None },
            Remedy::DirectLoop { device: text() },
            Remedy::ProveFlushes { volatile_cache: None },
            Remedy::ProveFlushes { volatile_cache: Some(true) },
            Remedy::ShowRun { run_id: text(), last_of_several: true },
            Remedy::WriteDriveOnce { drive: text(), bytes: 1, or_data_sheet: true },
            Remedy::FilledState { or_data_sheet: false },
            Remedy::StateDirectIo { tool: text(), log: false },
            Remedy::MeasureByTime { tool: text() },
            Remedy::SeedPerRun { tool: text() },
            Remedy::AddableLatencies { tool: text() },
            Remedy::WriteOption { option: text() },
            Remedy::AlignToBlock { bytes: 4096 },
            Remedy::SlopeLimit { percent: 2.5 },
            Remedy::MoreOfLoad { missing: None },
        ];
        all.extend(Run::ALL.iter().map(|(remedy, _)| Remedy::Run(*remedy)));
        all.extend(Trace::ALL.iter().map(|(remedy, _)| Remedy::Trace(*remedy)));
        all.extend(Command::ALL.iter().map(|(remedy, _)| Remedy::Command(*remedy)));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::mem::discriminant;

    use super::*;

    // Breaks when two remedies share a code, so that programs cannot distinguish them, or when a code is not of the form
    // of all others.
    #[test]
    fn codes_are_unique_and_snake_case() {
        let all = Remedy::examples();
        let mut kinds = Vec::new();
        let mut codes = BTreeSet::new();
        for remedy in &all {
            let code = remedy.code().unwrap();
            let is_new = match remedy {
                Remedy::Run(_) | Remedy::Trace(_) | Remedy::Command(_) => true,
                _ => !kinds.contains(&discriminant(remedy)),
            };
            kinds.push(discriminant(remedy));
            assert_eq!(codes.insert(code), is_new, "{code}");
            let fits = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(code.chars().all(fits) && !code.contains("__"), "{code}");
            assert!(!code.starts_with('_') && !code.ends_with('_'), "{code}");
        }
        assert_eq!(codes.len(), Run::ALL.len() + Trace::ALL.len() + Command::ALL.len() + 15);
    }

    // Breaks when the order of an enum and of its codes part, or when a value gets lost on its way through JSON.
    #[test]
    fn codes_and_values_name_their_remedy() {
        for remedy in Remedy::examples() {
            let json = serde_json::to_string(&remedy.values()).unwrap();
            let values: Values = serde_json::from_str(&json).unwrap();
            assert_eq!(Remedy::of_code(remedy.code().unwrap(), &values), Some(remedy));
        }
        assert_eq!(Remedy::of_code("more_runs", &Values::new()), None, "without its value");
        assert_eq!(Remedy::of_code("of_a_later_version", &Values::new()), None);
    }
}
