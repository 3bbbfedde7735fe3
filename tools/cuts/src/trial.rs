//! A filesystem, a log of it, and all its cuts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::author::{Author, FILES, Scale, hex};
use crate::check::{Checker, Verdict};
use crate::choose;
use crate::disk::{Cached, Cut, Replay};
use crate::log::Log;
use crate::mount::{Format, Mounted};
use crate::promise::{Promise, Standing};
use crate::recorder::Recorder;

/// The mark that dm-log-writes itself leaves when it is taken down.
const LOG_END: &str = "dm-log-writes-end";

/// The file that is promised and never synced.
const CONTROL: &str = "control";

/// Parameters of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The program.
    pub program: &'a Path,
    /// The filesystem under the store.
    pub format: Format,
    /// Amount of work that drivescope does on it.
    pub scale: Scale,
    /// Cuts between those at the flush marks.
    pub between: usize,
    /// Cuts at most.
    pub most: usize,
    /// Seed of the cuts and of the coins.
    pub seed: u64,
}

/// Result of one cut.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The cut.
    pub cut: Cut,
    /// Bytes that were in the disk's cache.
    pub cached_bytes: u64,
    /// Findings on the filesystem that it left.
    pub verdict: Verdict,
}

/// Lets drivescope work on a filesystem, and cuts the power; calls `each` with the outcome of every cut. A last
/// cut has to lose something; its outcome is not returned.
///
/// # Errors
/// When a filesystem cannot be made or mounted, which no program on it can help, or drivescope does not work
/// even without a cut, or the last cut seems to lose nothing.
pub fn try_cuts(trial: &Trial<'_>, each: &mut dyn FnMut(&Outcome)) -> Result<Vec<Outcome>> {
    let work = memory_dir()?;
    let [served, mounted, elsewhere] =
        ["served", "mounted", "elsewhere"].map(|n| work.path().join(n));
    for dir in [&served, &mounted, &elsewhere] {
        fs::create_dir(dir)?;
    }
    let recorder = Recorder::start(&served, trial.format.disk_bytes())?;
    let up = Mounted::new(recorder.file(), &mounted, trial.format, true)?;
    let begin = recorder.entries();
    let say = |promise: &Promise| recorder.mark(promise.to_string());
    let author = Author { program: trial.program, dir: &mounted, work: &elsewhere, say: &say };
    let bodies = author.work(trial.scale)?;
    let end = recorder.entries();
    broken_promise(&mounted, &say)?;
    let control = Cut { entries: recorder.entries(), cached: Cached::Lost };
    up.unmount()?;
    let log = recorder.take_log();
    drop(recorder);
    let checker = Checker { program: trial.program, work: &elsewhere, bodies: &bodies };
    let cuts = choose::cuts(&log, begin..end, trial.between, trial.most, trial.seed);
    let bench = Bench { trial, checker, image: work.path().join("image"), dir: mounted };
    let outcomes = bench.cut(&log, &cuts, each)?;
    let controlled = bench.cut(&log, &[control], &mut |_| {})?;
    let seen =
        controlled.iter().flat_map(|outcome| &outcome.verdict.losses).any(|l| l.contains(CONTROL));
    ensure!(seen, "a file that nobody synced was not seen to be lost: this sees no losses");
    Ok(outcomes)
}

/// Promises a file that was never synced, so that it is lost with the cache.
fn broken_promise(dir: &Path, say: &dyn Fn(&Promise)) -> Result<()> {
    let content = b"never synced";
    fs::write(dir.join(FILES).join(CONTROL), content)?;
    say(&Promise::File { name: CONTROL.to_owned(), sha256: hex(content) });
    Ok(())
}

/// Cuts the power at places of a log that was recorded elsewhere, from the making of the filesystem on; the
/// promises are in its marks.
///
/// # Errors
/// As [`try_cuts`]; when a mark is not a promise.
pub fn try_log(
    trial: &Trial<'_>,
    log: &Log,
    each: &mut dyn FnMut(&Outcome),
) -> Result<Vec<Outcome>> {
    let work = memory_dir()?;
    let [mounted, elsewhere] = ["mounted", "elsewhere"].map(|name| work.path().join(name));
    fs::create_dir(&mounted)?;
    fs::create_dir(&elsewhere)?;
    // A filesystem that is only half made cannot be mounted, whichever program writes to it.
    let begin = log.marks().next().context("the log has no marks")?.0;
    let bodies = BTreeMap::new();
    let checker = Checker { program: trial.program, work: &elsewhere, bodies: &bodies };
    let cuts = choose::cuts(log, begin..log.entries.len(), trial.between, trial.most, trial.seed);
    let bench = Bench { trial, checker, image: work.path().join("image"), dir: mounted };
    bench.cut(log, &cuts, each)
}

/// A directory in memory, where there is one: thousands of flushes of real disks would be waited for else.
fn memory_dir() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    Ok(if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? })
}

/// Image, mount point and checker of the filesystems after their cuts.
struct Bench<'a> {
    trial: &'a Trial<'a>,
    checker: Checker<'a>,
    image: std::path::PathBuf,
    dir: std::path::PathBuf,
}

impl Bench<'_> {
    fn cut(&self, log: &Log, cuts: &[Cut], each: &mut dyn FnMut(&Outcome)) -> Result<Vec<Outcome>> {
        let mut replay = Replay::new(log);
        let mut marks = log.marks().peekable();
        let mut standing = Standing::default();
        let mut outcomes = Vec::new();
        for cut in cuts {
            while let Some((_, text)) = marks.next_if(|(at, _)| *at < cut.entries) {
                if text != LOG_END {
                    standing.add(&text.parse()?);
                }
            }
            let disk = replay.disk_after(*cut, self.trial.seed);
            disk.save(&self.image, self.trial.format.disk_bytes())?;
            let place = || format!("{} after {} entries", self.trial.format.name(), cut.entries);
            let up = Mounted::new(&self.image, &self.dir, self.trial.format, false);
            let up = up.with_context(place)?;
            let verdict = self.checker.check(up.dir(), &standing).with_context(place)?;
            up.unmount()?;
            let outcome = Outcome { cut: *cut, cached_bytes: replay.cached_bytes(), verdict };
            each(&outcome);
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }
}
