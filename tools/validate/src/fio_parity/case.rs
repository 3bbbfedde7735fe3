//! Subjects of the comparison: tests, engines, and the arms of a round.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, bail};
use block::Bytes;

use super::round::Setup;
use crate::engine::Engine;
use crate::fio;

/// One test with one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// False: sequential.
    pub(super) random: bool,
    pub(super) block: Bytes,
    pub(super) depth: u16,
    pub(super) engine: Engine,
}

impl Case {
    /// All of them. psync has no depth above 1.
    pub(super) fn all() -> Vec<Case> {
        let tests = [
            (true, Bytes::kib(4), 1),
            (true, Bytes::kib(4), 32),
            (false, Bytes::mib(1), 1),
            (false, Bytes::mib(1), 8),
        ];
        let case = |(random, block, depth)| {
            Engine::ALL.map(|engine| Case { random, block, depth, engine })
        };
        let possible = |case: &Case| case.engine.has_depth(case.depth);
        tests.into_iter().flat_map(case).filter(possible).collect()
    }

    /// The test in the familiar notation, without threads: there is always one.
    pub(super) fn test(&self) -> String {
        let (pattern, block) = if self.random { ("RND", "4K") } else { ("SEQ", "1M") };
        format!("{pattern}{block} Q{}", self.depth)
    }

    /// Names the case in files and flags: `RND4K-Q32-io_uring`.
    pub(super) fn slug(&self) -> String {
        format!("{}-{}", self.test().replace(' ', "-"), self.engine.name())
    }

    /// Arms of a round. fio at its defaults is left out if its defaults are the matching settings.
    pub(super) fn arms(&self) -> Vec<Arm> {
        let mut arms = vec![Arm::Drivescope, Arm::Fio, Arm::FioAgain];
        if !self.fio_matching().is_empty() {
            arms.push(Arm::FioDefaults);
        }
        arms
    }

    /// Arguments of drivescope.
    pub(super) fn drivescope_arguments(&self, setup: &Setup, device: &Path) -> Vec<String> {
        let test = format!("{}T1", self.test().replace(' ', ""));
        let duration = format!("{}s", setup.seconds);
        let warm_up = format!("{}ms", setup.ramp_ms);
        let size = Bytes(setup.size_bytes).to_string();
        let device = device.to_string_lossy();
        let flags = [
            ("--tests", test.as_str()),
            ("--engine", self.engine.name()),
            ("--size", &size),
            ("--runs", "1"),
            ("--duration", &duration),
            ("--warm-up", &warm_up),
            ("--pause", "0s"),
        ];
        let mut arguments = vec!["mark".to_owned(), device.into_owned(), "--read-only".to_owned()];
        arguments.extend(flags.into_iter().flat_map(|(k, v)| [k.to_owned(), v.to_owned()]));
        arguments
    }

    /// Arguments of fio for the same. `--norandommap`: drivescope's random offsets are drawn with replacement.
    /// `--invalidate=0`: drivescope does not flush the device's page cache first either; no I/O of either goes
    /// through it.
    pub(super) fn fio_arguments(&self, setup: &Setup, device: &Path) -> Vec<String> {
        vec![
            "--name=round".to_owned(),
            "--output-format=json".to_owned(),
            format!("--filename={}", device.display()),
            "--readonly".to_owned(),
            format!("--rw={}", if self.random { "randread" } else { "read" }),
            format!("--bs={}", self.block.0),
            format!("--iodepth={}", self.depth),
            format!("--ioengine={}", self.engine.name()),
            "--direct=1".to_owned(),
            format!("--size={}", setup.size_bytes),
            "--time_based".to_owned(),
            format!("--runtime={}s", setup.seconds),
            format!("--ramp_time={}ms", setup.ramp_ms),
            "--randrepeat=0".to_owned(),
            "--norandommap".to_owned(),
            "--invalidate=0".to_owned(),
        ]
    }

    /// Further arguments of fio, with which it issues I/O as drivescope does.
    pub(super) fn fio_matching(&self) -> Vec<String> {
        fio::tuning(self.engine, self.depth)
    }
}

/// Reads what [`Case::slug`] wrote.
impl FromStr for Case {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Case> {
        match Case::all().into_iter().find(|case| case.slug() == text) {
            Some(case) => Ok(case),
            None => bail!("there is no case `{text}`"),
        }
    }
}

/// One of the things that a round runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Arm {
    Drivescope,
    /// fio with the settings that match.
    Fio,
    /// The same once more: the yardstick.
    FioAgain,
    /// fio as it comes, for information.
    FioDefaults,
}

impl Arm {
    const ALL: [(Arm, &'static str); 4] = [
        (Arm::Drivescope, "drivescope"),
        (Arm::Fio, "fio"),
        (Arm::FioAgain, "fio-again"),
        (Arm::FioDefaults, "fio-defaults"),
    ];
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Arm::ALL.iter().find(|(arm, _)| arm == self).map_or("", |(_, name)| name);
        f.pad(name)
    }
}

impl FromStr for Arm {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Arm> {
        match Arm::ALL.iter().find(|(_, name)| *name == text) {
            Some((arm, _)) => Ok(*arm),
            None => bail!("there is no arm `{text}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_and_arm_is_read_back_from_its_name() {
        assert_eq!(Case::all().len(), 10);
        for case in Case::all() {
            assert_eq!(case.slug().parse::<Case>().unwrap(), case);
        }
        for (arm, _) in Arm::ALL {
            assert_eq!(arm.to_string().parse::<Arm>().unwrap(), arm);
        }
    }

    // A fourth arm would only spend time if fio's defaults already match.
    #[test]
    fn fio_at_its_defaults_runs_only_where_they_differ() {
        for case in Case::all() {
            let differs = case.engine == Engine::IoUring || case.depth > 1;
            assert_eq!(case.arms().contains(&Arm::FioDefaults), differs, "{}", case.slug());
        }
    }
}
