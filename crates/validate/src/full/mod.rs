//! `full`: `probe capacity --full` beside f3write, f3read and f3probe, killed at random moments, and looking for one bad
//! block in 8 GiB.

mod f3;
mod kills;
mod place;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::sheet;
use place::{PLACES, Place};

/// Kills that the table promises.
const KILLS: u32 = 50;
/// A drive of 8 GiB with one bad block, and that block.
const ONE_BAD: &str = "sim:usb-tlc?capacity=8GiB&faults.corrupt=5368750080+4096";
const BAD: u64 = 5_368_750_080;

/// Options of `full`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Count of kills
    #[arg(long, default_value_t = KILLS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,
    /// Seed of the moments [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Where the table goes [default: docs/validation; target/validate for trials of under 50 kills]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Outcome of a program on one place.
#[derive(Clone, Debug)]
struct Turn {
    place: &'static str,
    program: &'static str,
    written: u64,
    read: u64,
    seconds: f64,
    said: String,
    /// The size or the loss that the place has.
    is_right: bool,
}

impl Turn {
    fn rate(&self) -> f64 {
        (self.written + self.read) as f64 / self.seconds
    }
}

/// Compares, kills, looks for the bad block, and writes the table; false where something is not as claimed.
///
/// # Errors
/// When a program cannot be run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.kills < KILLS)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let seed = options.seed.unwrap_or_else(provenance::fresh_seed);
    let binary = Binary::find()?;
    let work = fs::canonicalize(sheet::work_dir()?)?;
    let work = work.join(format!("full-{}", std::process::id()));
    fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    let done = on(&work, &binary, options.kills, seed);
    fs::remove_dir_all(&work).with_context(|| work.display().to_string())?;
    let (turns, kills) = done?;
    let bad = one_bad(&binary)?;
    let path = out.join("full.csv");
    fs::write(&path, csv(&turns, &kills))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Seed of the moments", seed.to_string()), ("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "full.csv", &more);
    sheet::write(&out.join("full.md"), &page(&head, &turns, &kills, &bad))?;
    let is_same = kills.iter().all(|kill| kill.is_same);
    Ok(turns.iter().all(|turn| turn.is_right) && !slower(&turns) && is_same && bad.is_right)
}

fn on(
    work: &Path,
    binary: &Binary,
    kills: u32,
    seed: u64,
) -> Result<(Vec<Turn>, Vec<kills::Kill>)> {
    let mut turns = Vec::new();
    for spec in &PLACES {
        eprintln!("{}", spec.name);
        let place = Place::make(spec, work, binary)?;
        turns.push(place::full(&place, binary)?);
        turns.push(f3::write_and_read(&place)?);
        if spec.probed {
            turns.push(f3::probe(&place)?);
        }
    }
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    let kills = kills::run(work, binary, kills, &mut dice)?;
    Ok((turns, kills))
}

/// Answer on the drive with one bad block.
struct OneBad {
    said: String,
    is_right: bool,
}

fn one_bad(binary: &Binary) -> Result<OneBad> {
    eprintln!("one bad block in 8 GiB");
    let words = ["probe", "capacity", ONE_BAD, "--full", "--write"];
    let body = binary.body(&words.map(str::to_owned))?;
    let full = &body["evidence"]["full"];
    let said = body["findings"][0]["reason"].as_str().unwrap_or_default().to_owned();
    let is_right = full["bad"][0][0] == BAD && full["bad_bytes"] == 4096 && full["bad_places"] == 1;
    Ok(OneBad { said, is_right })
}

/// True where a place was slower to write and read back than with f3.
fn slower(turns: &[Turn]) -> bool {
    PLACES.iter().any(|place| {
        let rate = |program: &str| {
            let is = |turn: &&Turn| turn.place == place.name && turn.program == program;
            turns.iter().find(is).map_or(0.0, Turn::rate)
        };
        rate(place::FULL) < rate(f3::BOTH)
    })
}

fn csv(turns: &[Turn], kills: &[kills::Kill]) -> String {
    let mut text = "place,program,written_bytes,read_bytes,seconds,is_right\n".to_owned();
    for Turn { place, program, written, read, seconds, is_right, .. } in turns {
        let _ = writeln!(text, "\"{place}\",{program},{written},{read},{seconds:.2},{is_right}");
    }
    text.push_str("\nkilled_at_us,parts_done,same_answer\n");
    for kill in kills {
        let _ = writeln!(text, "{},{},{}", kill.at_us, kill.parts, kill.is_same);
    }
    text
}

fn page(head: &str, turns: &[Turn], kills: &[kills::Kill], bad: &OneBad) -> String {
    let rows: Vec<Vec<String>> = turns
        .iter()
        .map(|turn| {
            vec![
                turn.place.to_owned(),
                turn.program.to_owned(),
                turn.said.clone(),
                if turn.is_right { "yes" } else { "no" }.to_owned(),
                format!("{:.0}", turn.written as f64 / 1e6),
                format!("{:.0}", turn.read as f64 / 1e6),
                format!("{:.1}", turn.seconds),
                format!("{:.1}", turn.rate() / 1e6),
            ]
        })
        .collect();
    let same = kills.iter().filter(|kill| kill.is_same).count();
    let columns = ["place", "program", "answer", "right", "MB written", "MB read", "s", "MB/s"];
    format!(
        "# All of a drive, written and read back\n\n`probe capacity --full` was {} than f3write and f3read on any place. \
         Of {} runs that were killed, {same} came to the same answer when resumed. One bad block of 4 KiB in 8 GiB was {}: \
         {}.\n\n{head}Each place is written and read back once by each program, one after the other: `probe capacity \
         --full` and f3probe on the device, f3write and f3read on a filesystem there, which they fill, mounted again in \
         between. Seconds are those of the programs; f3's leave out making the filesystem and mounting it. Bytes are those \
         of f3's files, of the device for `--full`, and those that the kernel counted for f3probe.\n\n{}\n\
         Kills: SIGKILL at a moment drawn evenly from the life of a run on a served fake, then `--resume`; verdict, size \
         and bad bytes are compared with those of a run that nobody disturbed. Runs that had ended before their moment \
         came are not counted.\n",
        if slower(turns) { "slower" } else { "no slower" },
        kills.len(),
        if bad.is_right { "found" } else { "not found" },
        bad.said,
        sheet::table(3, &columns, &rows),
    )
}
