//! `full`: `probe capacity --full` beside f3write, f3read and f3probe, in turn on the same places, one of which has a bad
//! block in 8 GiB; and killed at random moments.

pub mod f3;
mod kills;
mod place;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use stats::{RatioInterval, median, paired_ratio};

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::sheet;
use place::{PLACES, Place};

/// Kills and rounds that the table promises.
const KILLS: u32 = 50;
const ROUNDS: u32 = 6;
/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// Options of `full`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Count of kills
    #[arg(long, default_value_t = KILLS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,
    /// Count of rounds: in each, each program writes and reads back each place; an interval takes 6
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seed of the moments [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 50 kills or 6 rounds]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Outcome of a program on one place.
#[derive(Clone, Debug)]
pub struct Turn {
    place: &'static str,
    round: u32,
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

/// Compares, kills, and writes the table; false where something is not as claimed.
///
/// # Errors
/// When a program cannot be run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let is_trial = options.kills < KILLS || options.rounds < ROUNDS;
    let out = sheet::table_dir(options.out.as_deref(), is_trial)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let seed = options.seed.unwrap_or_else(provenance::fresh_seed);
    let binary = Binary::find()?;
    let work = fs::canonicalize(sheet::work_dir()?)?;
    let work = work.join(format!("full-{}", std::process::id()));
    fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    let done = on(&work, &binary, options, seed);
    fs::remove_dir_all(&work).with_context(|| work.display().to_string())?;
    let (turns, kills) = done?;
    let path = out.join("full.csv");
    fs::write(&path, csv(&turns, &kills))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Seed of the moments", seed.to_string()), ("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "full.csv", &more);
    let pairs = pairs(&turns);
    sheet::write(&out.join("full.md"), &page(&head, &turns, &pairs, &kills))?;
    let is_same = kills.iter().all(|kill| kill.is_same);
    let is_slower = pairs.iter().any(|pair| pair.claim() == Claim::NotMet);
    Ok(turns.iter().all(|turn| turn.is_right) && !is_slower && is_same)
}

fn on(
    work: &Path,
    binary: &Binary,
    options: &Options,
    seed: u64,
) -> Result<(Vec<Turn>, Vec<kills::Kill>)> {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    let kills = kills::run(work, binary, options.kills, &mut dice)?;
    let mut turns = Vec::new();
    for spec in &PLACES {
        eprintln!("{}", spec.name);
        let mut place = Place::make(spec, work, binary)?;
        // At least in both orders: who comes first may pay for the room of what lies under it.
        let rounds = if spec.paired { options.rounds } else { options.rounds.min(2) };
        for round in 0..rounds {
            let order = if round % 2 == 0 { [true, false] } else { [false, true] };
            for is_ours in order {
                let turn = match is_ours {
                    true => place::full(&place, binary)?,
                    false => f3::write_and_read(&place)?,
                };
                turns.push(noted(Turn { round, ..turn }));
                place = place.renewed(binary)?;
            }
        }
        if spec.probed {
            turns.push(noted(f3::probe(&place)?));
        }
    }
    Ok((turns, kills))
}

/// Prints a turn.
fn noted(turn: Turn) -> Turn {
    let Turn { round, program, said, seconds, .. } = &turn;
    eprintln!("  round {}, {program}: {said}; {seconds:.1} s", round + 1);
    turn
}

/// Both programs on one place, round by round.
struct Pair {
    place: &'static str,
    ratio: Option<RatioInterval>,
}

/// Verdict on the claim that ours is no slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Met,
    Undecided,
    NotMet,
}

impl Pair {
    fn claim(&self) -> Claim {
        match &self.ratio {
            Some(RatioInterval { low: Some(low), .. }) if *low >= 1.0 => Claim::Met,
            Some(RatioInterval { high: Some(high), .. }) if *high < 1.0 => Claim::NotMet,
            _ => Claim::Undecided,
        }
    }

    fn row(&self) -> Vec<String> {
        let rounds = self.ratio.as_ref().map_or(0, |ratio| ratio.n);
        let ratio = match &self.ratio {
            Some(RatioInterval { ratio, low: Some(low), high: Some(high), .. }) => {
                format!("{ratio:.3} ({low:.3}–{high:.3})")
            }
            Some(RatioInterval { ratio, .. }) => format!("{ratio:.3}"),
            None => "-".to_owned(),
        };
        let claim = match self.claim() {
            Claim::Met => "met",
            Claim::Undecided => "undecided",
            Claim::NotMet => "**not met**",
        };
        vec![self.place.to_owned(), rounds.to_string(), ratio, "≥ 1".to_owned(), claim.to_owned()]
    }
}

fn of<'a>(
    turns: &'a [Turn],
    place: &'a str,
    program: &'a str,
) -> impl Iterator<Item = &'a Turn> + 'a {
    turns.iter().filter(move |turn| turn.place == place && turn.program == program)
}

fn pairs(turns: &[Turn]) -> Vec<Pair> {
    let paired = PLACES.iter().filter(|spec| spec.paired);
    let pair = |spec: &place::Spec| {
        let rates = |program| of(turns, spec.name, program).map(Turn::rate).collect::<Vec<_>>();
        let ratio = paired_ratio(&rates(place::FULL), &rates(f3::BOTH), CONFIDENCE);
        Pair { place: spec.name, ratio }
    };
    paired.map(pair).collect()
}

fn csv(turns: &[Turn], kills: &[kills::Kill]) -> String {
    let mut text =
        "place,round,program,written_bytes,read_bytes,seconds,is_right,answer\n".to_owned();
    for Turn { place, round, program, written, read, seconds, said, is_right } in turns {
        let _ = writeln!(
            text,
            "\"{place}\",{},\"{program}\",{written},{read},{seconds:.2},{is_right},\"{said}\"",
            round + 1
        );
    }
    text.push_str("\nkilled_at_us,parts_done,same_answer\n");
    for kill in kills {
        let _ = writeln!(text, "{},{},{}", kill.at_us, kill.parts, kill.is_same);
    }
    text
}

/// A program on a place, all its rounds together.
fn row(turns: &[&Turn]) -> Option<Vec<String>> {
    let first = turns.first()?;
    let mut answers: Vec<&str> = turns.iter().map(|turn| &*turn.said).collect();
    answers.dedup();
    let right = turns.iter().filter(|turn| turn.is_right).count();
    let middle = |of: &dyn Fn(&Turn) -> f64| {
        let values: Vec<f64> = turns.iter().map(|turn| of(turn)).collect();
        median(&values).unwrap_or_default()
    };
    Some(vec![
        first.place.to_owned(),
        first.program.to_owned(),
        answers.join("; "),
        format!("{right} of {}", turns.len()),
        format!("{:.0}", middle(&|turn| turn.written as f64) / 1e6),
        format!("{:.0}", middle(&|turn| turn.read as f64) / 1e6),
        format!("{:.1}", middle(&|turn| turn.seconds)),
        format!("{:.1}", middle(&Turn::rate) / 1e6),
    ])
}

fn page(head: &str, turns: &[Turn], pairs: &[Pair], kills: &[kills::Kill]) -> String {
    let programs = [place::FULL, f3::BOTH, f3::PROBE];
    let each = PLACES.iter().flat_map(|spec| programs.map(|program| (spec.name, program)));
    let rows: Vec<Vec<String>> = each
        .filter_map(|(place, program)| row(&of(turns, place, program).collect::<Vec<_>>()))
        .collect();
    let columns = ["place", "program", "answer", "right", "MB written", "MB read", "s", "MB/s"];
    let ratios: Vec<Vec<String>> = pairs.iter().map(Pair::row).collect();
    let claimed = |claim: Claim| pairs.iter().filter(|pair| pair.claim() == claim).count();
    let ours = || turns.iter().filter(|turn| turn.program == place::FULL);
    let right = ours().filter(|turn| turn.is_right).count();
    let same = kills.iter().filter(|kill| kill.is_same).count();
    let under_way = kills.iter().filter(|kill| kill.parts > 0).count();
    format!(
        "# All of a drive, written and read back\n\n`probe capacity --full` gave the right answer in {right} of {} runs. \
         Bytes per second at least those of f3write and f3read: met on {} of {} places, undecided on {}, not met on {}. Of {} \
         runs that were killed, {same} came to the same answer when resumed.\n\n{head}Each place is written and read back by \
         each program in turn: `probe capacity --full` on the device, f3write and f3read on a filesystem there (ext4 without \
         a journal), which they fill, mounted again in between. Each round runs both, and the next one in the other order. \
         Served drives are virtual drives behind FUSE and a loop device, a fresh one for each turn; they take the time that \
         the drive would take, but for that of 8 GiB, which is as fast as the machine. f3probe runs once, with `--destructive --reset-type=2`, since \
         it resets only USB devices. Seconds are those of the programs, of ours from its start to its end; f3's leave out \
         making the filesystem and mounting it. Bytes are those of f3's files, of the device for `--full`, and those that \
         the kernel counted for f3probe. Medians of the rounds.\n\n{}\n\
         Bytes per second of `--full` over those of f3write and f3read together: median of the rounds' ratios, with its \
         95% interval.\n\n{}\n\
         Kills: SIGKILL at a moment drawn evenly from the life of a run on a served fake, then `--resume`; verdict, size \
         and bad bytes are compared with those of a run that nobody disturbed. {under_way} of the runs had recorded a part \
         when they were killed. Runs that had ended before their moment came, or had no record yet, are not counted.\n",
        ours().count(),
        claimed(Claim::Met),
        pairs.len(),
        claimed(Claim::Undecided),
        claimed(Claim::NotMet),
        kills.len(),
        sheet::table(3, &columns, &rows),
        sheet::table(1, &["place", "rounds", "ratio", "claim", ""], &ratios),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when rounds are paired with those of another place, or a program that is slower in all of them passes.
    #[test]
    fn rates_are_compared_round_by_round() {
        let turn = |program, round: u32, seconds: f64| Turn {
            place: PLACES[0].name,
            round,
            program,
            written: 1 << 20,
            read: 1 << 20,
            seconds,
            said: String::new(),
            is_right: true,
        };
        let all = |ours: f64| -> Vec<Turn> {
            let rounds = (0..6).map(|round| (round, f64::from(round + 1)));
            let both = |(round, noise): (u32, f64)| {
                [turn(place::FULL, round, noise * ours), turn(f3::BOTH, round, noise)]
            };
            rounds.flat_map(both).collect()
        };
        assert_eq!(pairs(&all(1.01))[0].claim(), Claim::NotMet);
        assert_eq!(pairs(&all(0.99))[0].claim(), Claim::Met);
        assert_eq!(pairs(&all(0.99))[1].claim(), Claim::Undecided);
        assert_eq!(pairs(&all(0.99)[..10])[0].claim(), Claim::Undecided);
        assert!(pairs(&all(0.5))[0].row()[2].starts_with("2.000 (2.000"));
    }
}
