//! `originals`: `probe capacity` gets a signal at a random moment of its life, and what the drive held has to be there
//! again, at once or after `probe --restore`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use clap::Args;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};
use stats::proportion_interval;

use crate::binary::Binary;
use crate::loop_device::{LoopDevice, prepare};
use crate::provenance::{self, Machine};
use crate::sheet;

/// Signals that the table promises at least.
const SIGNALS_MIN: u32 = 200;
/// Of the drive: probes take 128 MiB or more.
const SIZE: Bytes = Bytes::mib(144);
/// Lives that are measured; the shortest counts.
const LIVES: u32 = 5;
/// Of the bound on the share of losses: one-sided, so asked for with 90%.
const TWO_SIDED: f64 = 0.90;

const SIGNALS: [(&str, Signal); 4] = [
    ("KILL", Signal::KILL),
    ("QUIT", Signal::QUIT),
    ("USR1", Signal::USR1),
    ("XCPU", Signal::XCPU),
];

/// Options of `originals`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Count of signals
    #[arg(long, default_value_t = SIGNALS_MIN, value_parser = clap::value_parser!(u32).range(4..=1_000_000))]
    signals: u32,
    /// Seed of the moments [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 200 signals]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It had ended by itself before its moment came.
    Over,
    /// The content was there when the process was gone.
    There,
    /// The content was there after `probe --restore`.
    Restored,
    /// It was not.
    Lost,
}

const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::Over, "over before"),
    (Outcome::There, "there at once"),
    (Outcome::Restored, "there after --restore"),
    (Outcome::Lost, "lost"),
];

struct Bench {
    binary: Binary,
    device: LoopDevice,
    image: PathBuf,
    runs: PathBuf,
    /// Checksum of what the drive holds.
    content: String,
}

/// Sends signals, and writes the table; false when content was lost.
///
/// # Errors
/// When drivescope cannot be run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.signals < SIGNALS_MIN)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let seed = options.seed.unwrap_or_else(provenance::fresh_seed);
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    let work = fs::canonicalize(sheet::work_dir()?)?;
    let work = work.join(format!("originals-{}", std::process::id()));
    fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    let done = on(&work, options.signals, &mut dice);
    fs::remove_dir_all(&work).with_context(|| work.display().to_string())?;
    let (raw, outcomes) = done?;
    let path = out.join("originals.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Seed of the moments", seed.to_string()), ("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "originals.csv", &more);
    sheet::write(&out.join("originals.md"), &text(&head, &outcomes))?;
    Ok(outcomes.iter().all(|(_, outcome)| *outcome != Outcome::Lost))
}

type Outcomes = Vec<(&'static str, Outcome)>;

fn on(work: &Path, signals: u32, dice: &mut Xoshiro256PlusPlus) -> Result<(String, Outcomes)> {
    let image = work.join("image");
    prepare(&image, SIZE, &AtomicBool::new(false))?;
    let content = record::sha256_of_file(&image)?;
    let device = LoopDevice::attach_writable(&image)?;
    let bench = Bench { binary: Binary::find()?, device, image, runs: work.join("runs"), content };
    let mut life = Duration::MAX;
    for _ in 0..LIVES {
        let began = Instant::now();
        let ended = bench.probe()?.status().context("cannot start drivescope")?;
        life = life.min(began.elapsed());
        if !ended.success() {
            bail!("a probe that nobody disturbed ended with {ended}");
        }
    }
    eprintln!("a probe takes {life:.0?}, then come the signals");
    let micros = u64::try_from(life.as_micros()).unwrap_or(u64::MAX);
    let mut raw = "signal,at_us,outcome\n".to_owned();
    let mut outcomes = Vec::new();
    for (name, signal) in SIGNALS.into_iter().cycle() {
        let counted = outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Over).count();
        if counted as u64 >= u64::from(signals) {
            break;
        }
        let at = dice.next_u64() % micros;
        let outcome = bench.disturb(signal, Duration::from_micros(at))?;
        let _ = writeln!(raw, "{name},{at},{outcome:?}");
        outcomes.push((name, outcome));
        if outcome == Outcome::Lost {
            eprintln!("{name} after {at} us: the content is lost");
            break;
        }
    }
    Ok((raw, outcomes))
}

impl Bench {
    fn drivescope(&self, words: &[&str]) -> Command {
        let device = self.device.path().to_string_lossy().into_owned();
        let word = device.trim_start_matches("/dev/").to_owned();
        let mut command = self.binary.command();
        command.args(words).args([&device, "--write", "--consent", &word, "--no-progress"]);
        command.env("DRIVESCOPE_RUNS_DIR", &self.runs).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn probe(&self) -> Result<Command> {
        if self.runs.exists() {
            fs::remove_dir_all(&self.runs)?;
        }
        Ok(self.drivescope(&["probe", "capacity"]))
    }

    fn is_there(&self) -> Result<bool> {
        Ok(record::sha256_of_file(&self.image)? == self.content)
    }

    /// Begins a probe, and sends it a signal so long afterwards.
    fn disturb(&self, signal: Signal, after: Duration) -> Result<Outcome> {
        let mut child = self.probe()?.spawn().context("cannot start drivescope")?;
        sleep(after);
        // A process that has ended can still be waited for, and accepts any signal.
        kill_process(Pid::from_child(&child), signal)?;
        let is_over = child.wait()?.success();
        if self.is_there()? {
            return Ok(if is_over { Outcome::Over } else { Outcome::There });
        }
        self.drivescope(&["probe", "--restore", "last"]).status()?;
        Ok(if self.is_there()? { Outcome::Restored } else { Outcome::Lost })
    }
}

/// The whole page; `head` says how it was made.
fn text(head: &str, outcomes: &Outcomes) -> String {
    let count = |name: Option<&str>, outcome| {
        let is = |one: &&(&str, Outcome)| one.1 == outcome && name.is_none_or(|name| one.0 == name);
        outcomes.iter().filter(is).count()
    };
    let (lost, over) = (count(None, Outcome::Lost), count(None, Outcome::Over));
    let signals = outcomes.len() - over;
    let bound = proportion_interval(lost, signals, TWO_SIDED).map_or(1.0, |share| share.high);
    let rows = SIGNALS.map(|(name, _)| {
        let counts = OUTCOMES.map(|(outcome, _)| count(Some(name), outcome).to_string());
        std::iter::once(name.to_owned()).chain(counts).collect()
    });
    let mut columns = vec!["signal"];
    columns.extend(OUTCOMES.map(|(_, word)| word));
    format!(
        "# Probes of capacity that get a signal\n\n{signals} signals, content lost by {lost}: with 95% confidence, fewer \
         than {:.1}% of probes that get such a signal lose content (Clopper and Pearson).\n\n{head}`probe capacity` on a \
         loop device of {SIZE} with direct I/O, full of random bytes, gets a signal at a moment drawn evenly from its \
         life. When it is gone, the checksum of the image is compared with the one from before; where it differs, `probe \
         --restore last` runs, and it is compared again. Probes that had ended before their moment came are not counted.\n\n{}",
        100.0 * bound,
        sheet::table(1, &columns, &rows)
    )
}
