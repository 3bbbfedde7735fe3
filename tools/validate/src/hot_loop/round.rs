//! The rounds on disk, and in memory.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::contend::Figures;
use super::setting::{Contender, Setting};
use crate::provenance::Machine;

/// Everything that all rounds of one table have in common.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Setup {
    pub(super) seed: u64,
    pub(super) rounds: u32,
    pub(super) ramp_ms: u32,
    pub(super) window_ms: u32,
    pub(super) size_bytes: u64,
    /// fio's version.
    pub(super) fio: String,
    /// Filesystem of the file under the loop device.
    pub(super) loop_on: String,
    pub(super) commit: String,
    pub(super) machine: Machine,
}

/// One run within a round.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) setting: Setting,
    /// From 0.
    pub(super) round: u32,
    /// Place in the round, from 0.
    pub(super) position: u32,
    pub(super) contender: Contender,
    pub(super) figures: Figures,
}

const HEAD: &str = "setting,round,position,contender,iops,latency_ns,window_cpu_ns_per_io,\
     window_user_ns_per_io,process_user_ns,process_system_ns";

impl Row {
    fn line(&self) -> String {
        let Figures { iops, latency_ns, window_cpu_ns, window_user_ns, cpu } = self.figures;
        format!(
            "{},{},{},{},{iops:.0},{latency_ns:.1},{window_cpu_ns:.1},{window_user_ns:.1},{},{}",
            self.setting, self.round, self.position, self.contender, cpu.user_ns, cpu.system_ns
        )
    }
}

/// The file of rounds. Each run is appended when it is finished, so that nothing that was measured is
/// lost when something fails.
#[derive(Debug)]
pub(super) struct Journal(PathBuf);

impl Journal {
    /// Begins a new file.
    ///
    /// # Errors
    /// Names the file.
    pub(super) fn create(path: &Path, setup: &Setup) -> Result<Journal> {
        let head = format!("# setup: {}\n{HEAD}\n", serde_json::to_string(setup)?);
        fs::write(path, head).with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(Journal(path.to_owned()))
    }

    /// Adds one run.
    ///
    /// # Errors
    /// Names the file.
    pub(super) fn append(&self, row: &Row) -> Result<()> {
        OpenOptions::new()
            .append(true)
            .open(&self.0)
            .and_then(|mut file| writeln!(file, "{}", row.line()))
            .with_context(|| format!("{}: cannot be written", self.0.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::children::Cpu;
    use crate::engine::Engine;

    // A column too few would shift all that follow under the wrong names.
    #[test]
    fn a_line_has_a_cell_for_every_column() {
        let figures = Figures {
            iops: 1.5e6,
            latency_ns: 9000.0,
            window_cpu_ns: 300.0,
            window_user_ns: 0.0,
            cpu: Cpu { user_ns: 10, system_ns: 20 },
        };
        let setting = Setting::ALL[0];
        let contender = Contender::FioTuned(Engine::IoUring);
        let line = Row { setting, round: 3, position: 1, contender, figures }.line();
        assert_eq!(line.split(',').count(), HEAD.split(',').count());
        assert!(line.starts_with("cached-Q32,3,1,fio io_uring tuned,1500000,"));
    }
}
