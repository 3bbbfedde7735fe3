//! The recordings: one that was made up, one of the kernel's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use block::{Bytes, Nanos};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use trace::export::blktrace::{Files, write};
use trace::import::blktrace::siblings;
use trace::{BATCH, Existing, Flags, Io, Kind, Source, Stamp, TraceError, TraceInfo};

use super::kernel;
use crate::binary::{Binary, number};

/// Events that an I/O of the made-up recording has: Q, G, I, D, C.
const EVENTS_PER_IO: u64 = 5;

/// The files of one recording.
#[derive(Debug)]
pub(super) struct Recording {
    /// Its name in the table.
    pub(super) name: String,
    /// Its description.
    pub(super) what: String,
    /// The name that its files share: `BASE.blktrace.CPU`.
    pub(super) base: PathBuf,
    /// Events in it.
    pub(super) events: u64,
}

/// Counts of btt and of drivescope for one recording.
#[derive(Debug)]
pub(super) struct Agreement {
    pub(super) name: String,
    /// N of a phase: btt's and ours.
    pub(super) rows: Vec<(String, u64, u64)>,
}

impl Recording {
    /// Makes one of random I/Os, 32 or so outstanding, on two CPUs, written by our own exporter.
    pub(super) fn made(work: &Path, events: u64) -> Result<Recording> {
        let base = work.join("made");
        let mut source = Made { left: events.div_ceil(EVENTS_PER_IO), ..Made::default() };
        write(&mut source, &base, Existing::Replace, Files::EachCpu)?;
        let what = "random I/Os of 4 KiB, each with Q, G, I, D and C, about 32 outstanding, on 2 CPUs; made up and \
                    written by `trace export`'s writer"
            .to_owned();
        Recording::with("made", what, base)
    }

    /// Records fio on a loop device of our own with the kernel's tracer.
    pub(super) fn of_kernel(work: &Path, events: u64, stop: &AtomicBool) -> Result<Recording> {
        let base = work.join("kernel");
        let what = kernel::record(&base, work, events, stop)?;
        Recording::with("kernel", what, base)
    }

    fn with(name: &str, what: String, base: PathBuf) -> Result<Recording> {
        let mut events = 0;
        for file in siblings(&base)? {
            events += kernel::count(&file)?;
        }
        Ok(Recording { name: name.to_owned(), what, base, events })
    }

    /// Bytes of its files.
    pub(super) fn bytes(&self) -> u64 {
        let files = siblings(&self.base).unwrap_or_default();
        files.iter().filter_map(|file| fs::metadata(file).ok()).map(|about| about.len()).sum()
    }

    fn dump(&self) -> PathBuf {
        self.base.with_extension("dump")
    }

    /// blkparse, which joins the files into one for btt.
    pub(super) fn blkparse(&self) -> Command {
        let mut command = Command::new("blkparse");
        command.arg("-i").arg(&self.base).arg("-d").arg(self.dump()).arg("-O");
        command
    }

    /// btt on what blkparse made. It writes files of its own into the directory that it is started in.
    pub(super) fn btt(&self, work: &Path) -> Result<Command> {
        let dir = work.join("btt");
        fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        let mut command = Command::new("btt");
        let dump = fs::canonicalize(self.dump()).context("blkparse made no dump")?;
        command.arg("-i").arg(dump).current_dir(dir);
        Ok(command)
    }

    /// How many bios each way found in each phase.
    pub(super) fn agreement(&self, binary: &Binary, work: &Path) -> Result<Agreement> {
        let output = self.btt(work)?.output().context("cannot start btt")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut command = binary.command();
        command.args(["trace", "analyze", "--only", "phases", "--json"]).arg(&self.base);
        let output = command.output().context("cannot start drivescope")?;
        let ours: serde_json::Value =
            serde_json::from_slice(&output.stdout).context("drivescope printed no JSON")?;
        let mut rows = Vec::new();
        for phase in ["Q2Q", "Q2G", "G2I", "Q2M", "I2D", "M2D", "D2C", "Q2C"] {
            let Some(line) = text.lines().find(|line| line.starts_with(phase)) else { continue };
            let theirs = line.split_whitespace().last().and_then(|n| n.parse().ok());
            let Some(theirs) = theirs else { bail!("btt's line of {phase} has no N: {line}") };
            let pointer = format!("/body/phases/{}/n", phase.to_lowercase());
            rows.push((phase.to_owned(), theirs, number(&ours, &pointer)? as u64));
        }
        Ok(Agreement { name: self.name.clone(), rows })
    }

    /// Removes its files.
    pub(super) fn remove(&self) {
        for file in siblings(&self.base).unwrap_or_default() {
            let _absent = fs::remove_file(file);
        }
        let _absent = fs::remove_file(self.dump());
    }
}

/// Random I/Os without end, of which some are taken.
#[derive(Default)]
struct Made {
    left: u64,
    at: u64,
    info: TraceInfo,
    noise: Option<Xoshiro256PlusPlus>,
}

impl Source for Made {
    fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        let noise = self.noise.get_or_insert_with(|| Xoshiro256PlusPlus::seed_from_u64(1));
        for _ in 0..self.left.min(BATCH as u64) {
            self.left -= 1;
            let draw = noise.next_u64();
            self.at += 1_000 + draw % 4_000;
            let kind = if draw >> 60 < 10 { Kind::Read } else { Kind::Write };
            let offset = Bytes((draw >> 12) % (1 << 24) * 4096);
            let mut io = Io::arriving(Nanos(self.at), kind, offset, Bytes(4096));
            io.allocated = Stamp::at(Nanos(self.at + 300));
            io.inserted = Stamp::at(Nanos(self.at + 500));
            io.issued = Stamp::at(Nanos(self.at + 900));
            io.completed = Stamp::at(Nanos(self.at + 20_000 + (draw >> 36) % 150_000));
            io.request_bytes = io.length;
            io.flags = Flags::HEAD.with(Flags::SYNC);
            io.pid = 1_000 + (draw >> 58) as u32 % 4;
            io.cpu = (draw >> 57 & 1) as u16;
            batch.push(io);
        }
        Ok(())
    }

    fn info(&self) -> &TraceInfo {
        &self.info
    }
}
