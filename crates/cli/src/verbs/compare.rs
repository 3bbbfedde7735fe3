//! `drivescope compare`: recorded runs, documents and targets, compared with each other.

mod sides;
mod turns;

use anyhow::{Context as _, Result, bail};
use clap::FromArgMatches as _;
use documents::instrument::{self, COMPARISON};
use mark::compare::{Comparison, Measured, Side, Verdict, compare};
use record::{Document, Run, RunId, State, Summary};
use report::{RateUnit, Style};
use runner::instrument::{Instrument, Outcome, Resumed, Resumption, Running};
use runner::recorder::{Beginning, Noted};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::{Cli, CompareArgs, Given, KeepArgs, LoadArgs, Verb};
use crate::envelope::{run_id, seed_of};
use crate::exit::Exit;
use crate::session::Taken;
use crate::verbs::print_json;
use crate::{args, messages, records, session};

use sides::{Found, differ, find, measured, side};
use turns::{Begun, Live};

/// Flags that say how targets are measured, beside those of the load.
const HOW: [&str; 5] = ["size", "span", "engine", "buffered", "cpus"];

/// Flags that may stand beside `--resume`: everything else is in the record.
const BESIDE_RESUME: [&str; 5] = ["resume", "runs_dir", "json", "mib", "no_progress"];

/// Runs the verb; `given` are the flags that the user typed.
///
/// # Errors
/// When a side is nothing that can be compared, or what makes a measurement impossible.
pub fn main(args: &CompareArgs, given: &Given) -> Result<Exit> {
    if let Some(name) = &args.record.resume {
        return resume(name, args, given);
    }
    args.load.check()?;
    let found: Vec<Found> =
        args.sides.iter().map(|side| find(side, args)).collect::<Result<_>>()?;
    let live: Vec<usize> =
        (0..found.len()).filter(|&side| matches!(found[side], Found::Target)).collect();
    let is_told_how = given.any_of::<LoadArgs>() || HOW.iter().any(|flag| given.has(flag));
    if live.is_empty() && is_told_how {
        bail!(
            "all sides are recorded, so nothing is measured: leave out the flags that say how, or name targets"
        );
    }
    differ(&found.iter().filter_map(Found::side).collect::<Vec<&Side>>())?;
    let seed = seed_of(args.load.seed)?;
    let live = turns::prepared(args, seed, &live);
    Comparing { args, found, seed, id: run_id(seed), live, begun: Vec::new() }.run(None)
}

/// Resumes the comparison of this name.
fn resume(name: &str, args: &CompareArgs, given: &Given) -> Result<Exit> {
    records::check_beside_resume(given, &BESIDE_RESUME)?;
    let place = &args.record.keep.place;
    let runs = place.runs()?;
    let id = runs.find(name)?;
    let resumed = records::resume(&runs, &id, instrument::Instrument::Comparison, place)?;
    let Setup { seed, live, .. } = serde_json::from_value(resumed.run.setup.clone())
        .with_context(|| format!("{id}: its setup.json is not one of this version"))?;
    let mut then = arguments_of(&resumed.run)?;
    (then.json, then.mib, then.no_progress) = (args.json, args.mib, args.no_progress);
    then.record.keep = KeepArgs { place: place.clone(), ..then.record.keep };
    let is_live = |index| live.iter().any(|side| side.index == index);
    let find = |(index, side)| if is_live(index) { Ok(Found::Target) } else { find(side, &then) };
    let found = then.sides.iter().enumerate().map(find).collect::<Result<Vec<Found>>>()?;
    let mut begun = Vec::new();
    for side in &live {
        begun.push(match runs.load(&side.run) {
            Err(_) => Begun::New,
            Ok(run) if run.state == State::Finished => Begun::Ended(Box::new(run)),
            Ok(_) => {
                let (writer, run) = runs.resume(&side.run)?;
                Begun::Resumed(Box::new(Resumed { writer, run }))
            }
        });
    }
    Comparing { args: &then, found, seed, id, live, begun }.run(Some(resumed))
}

/// The flags by which a comparison was begun.
fn arguments_of(run: &Run) -> Result<Box<CompareArgs>> {
    let words = &run.envelope.arguments;
    let matches = args::command().no_binary_name(true).try_get_matches_from(words);
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)).map(|cli| cli.verb) {
        Ok(Verb::Compare(args)) => Ok(args),
        _ => bail!("{}: the command that it began with is not one of this version", run.id),
    }
}

/// One comparison.
struct Comparing<'a> {
    args: &'a CompareArgs,
    /// The sides in the order named.
    found: Vec<Found>,
    seed: u64,
    id: RunId,
    /// The sides that are measured.
    live: Vec<Live>,
    /// How far each of those is; empty when all are measured from their beginning.
    begun: Vec<Begun>,
}

/// Setup of its record.
#[derive(Serialize, Deserialize)]
struct Setup {
    verb: String,
    target: String,
    drive: String,
    seed: u64,
    live: Vec<Live>,
}

impl Comparing<'_> {
    /// The names of all sides.
    fn target(&self) -> String {
        let names: Vec<&str> = self.args.sides.iter().map(|side| side.as_str()).collect();
        names.join(" ")
    }

    fn run(mut self, resumed: Option<Resumed>) -> Result<Exit> {
        let mut ends = Ends::default();
        let mut running = None;
        let mut live = std::mem::take(&mut self.live);
        let mut sides = Vec::new();
        if !live.is_empty() {
            let plan = turns::plan(self.args, &live, self.seed)?;
            let mut keep = self.args.record.keep.clone();
            let mut whole = Whole { comparing: &self, plan: plan.to_toml()?, live: &live };
            let open =
                runner::instrument::open(&mut whole, &keep.keep(), self.id.clone(), resumed)?;
            keep.no_record |= !open.recorder.keeps();
            keep.part_of = open.recorder.keeps().then(|| self.id.to_string());
            running = Some(open);
            let mut begun = std::mem::take(&mut self.begun).into_iter();
            let begun = live.drain(..).map(|side| (side, begun.next().unwrap_or(Begun::New)));
            let (mut ended, mut rest) = (Vec::new(), Vec::new());
            for (side, begun) in begun {
                match begun {
                    Begun::Ended(run) => ended.push((side.index, run)),
                    begun => rest.push((side, begun)),
                }
            }
            let places: Vec<usize> = rest.iter().map(|(side, _)| side.index).collect();
            let made = turns::measure(self.args, rest, (&plan, self.seed), (&self.id, &keep))?;
            for (index, run) in ended {
                let document = session::of_record(&run)?.context("a side without a result")?;
                ends.parts.push((index, run.id.clone()));
                let name = self.args.sides[index].as_str();
                sides.push((index, measured(name, &run, document)));
            }
            for (index, made) in places.into_iter().zip(made) {
                ends.parts.extend(made.id().map(|id| (index, id.clone())));
                let name = self.args.sides[index].as_str();
                let blocks = Some(self.id.to_string());
                let side = side(name, made.document(), !keep.no_record, blocks);
                let latencies = Some(made.latencies().clone());
                let Taken { body, record, broken } = made.take();
                ends.failure = ends.failure.or(record.failure);
                ends.interrupted |= body.interrupted && broken.is_none();
                ends.broken = ends.broken.or(broken.map(Into::into));
                sides.push((index, Found::Recorded(side, Box::new(body), latencies)));
            }
        }
        for (index, found) in sides {
            self.found[index] = found;
        }
        self.end(running, ends)
    }

    /// Compares, closes the record, shows.
    fn end(self, running: Option<Running>, ends: Ends) -> Result<Exit> {
        let Comparing { args, found, .. } = &self;
        let measured = found.iter().map(|found| match found {
            Found::Recorded(side, body, latencies) => {
                Ok(Measured { side: side.clone(), body, latencies: latencies.as_ref() })
            }
            Found::Target => bail!("a side was not measured"),
        });
        let measured = measured.collect::<Result<Vec<Measured<'_>>>>()?;
        let mut comparison = compare(&measured, args.margin, args.session_offset);
        views::remedies::write(&mut comparison.caveats);
        let exit = answer(&comparison, args.tolerance);
        let Some(running) = running else {
            show_or_print(&comparison, args)?;
            return Ok(exit);
        };
        let state = match (&ends.broken, ends.interrupted) {
            (Some(_), _) => State::Broken,
            (None, true) => State::Interrupted,
            (None, false) => State::Finished,
        };
        let mut parts = ends.parts;
        parts.sort_by_key(|(index, _)| *index);
        let parts = parts.into_iter().map(|(_, id)| id).collect();
        let outcome = Outcome { parts, ..Outcome::new(comparison, state) };
        let ended = running.close(outcome, |document| Summary {
            verb: "compare".to_owned(),
            target: self.target(),
            drive: drives_of(&document.body),
            headline: views::compare::headline(&document.body),
        });
        match args.json {
            true => messages::document(&ended.document)?,
            false => show(&ended.document, args.mib)?,
        }
        let next =
            if ends.interrupted { records::Next::Resume("compare") } else { records::Next::Show };
        records::end(ended.closed, next, &args.record.keep.place, args.json)?;
        match ends.broken.or(ends.failure) {
            Some(error) => Err(error),
            None if ends.interrupted => Ok(Exit::Interrupted),
            None => Ok(exit),
        }
    }
}

/// How the measured sides ended.
#[derive(Default)]
struct Ends {
    interrupted: bool,
    broken: Option<anyhow::Error>,
    /// Why the record of one is not whole.
    failure: Option<anyhow::Error>,
    /// Their runs.
    parts: Vec<(usize, RunId)>,
}

/// A comparison as the runner sees it.
struct Whole<'a> {
    comparing: &'a Comparing<'a>,
    plan: String,
    live: &'a [Live],
}

impl Instrument for Whole<'_> {
    type Step = Value;

    fn schema(&self) -> &'static str {
        COMPARISON
    }

    fn noun(&self) -> &'static str {
        "comparison"
    }

    fn beginning(&self) -> Result<Beginning> {
        let setup = Setup {
            verb: "compare".to_owned(),
            target: self.comparing.target(),
            drive: self.comparing.target(),
            seed: self.comparing.seed,
            live: self.live.to_vec(),
        };
        Ok(Beginning {
            plan: self.plan.clone(),
            setup: serde_json::to_value(setup)?,
            steps: None,
            // Each side has its own.
            drive: None,
            samples: None,
        })
    }

    fn resume(&mut self, _: &Run, _: Vec<Value>) -> Result<Resumption> {
        let is_over = |begun: &&Begun| matches!(begun, Begun::Ended(_));
        let over = self.comparing.begun.iter().filter(is_over).count();
        let resumption = Resumption::after(over, "side");
        Ok(Resumption { noted: Noted::AtOnce, ..resumption })
    }
}

/// The drives of all sides.
fn drives_of(comparison: &Comparison) -> String {
    let drives: Vec<&str> = comparison.sides.iter().map(|side| side.drive.as_str()).collect();
    drives.join(", ")
}

fn show_or_print(comparison: &Comparison, args: &CompareArgs) -> Result<()> {
    if args.json {
        return print_json(COMPARISON, comparison);
    }
    print(comparison, args.mib)
}

/// Prints a comparison.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<Comparison>, mib: bool) -> Result<()> {
    print(&document.body, mib)
}

fn print(comparison: &Comparison, mib: bool) -> Result<()> {
    let rate = if mib { RateUnit::Mib } else { RateUnit::Mb };
    let sheet = views::compare::sheet(comparison);
    messages::result(&report::render_sheet(&sheet, Style { rate, ..Style::default() }))
}

fn answer(comparison: &Comparison, tolerance: Option<f64>) -> Exit {
    let is_withdrawn = |verdict| verdict == Verdict::NotComparable;
    let withdrawn = comparison.pairs().any(|(_, pair)| is_withdrawn(pair.outcome));
    let has_nothing = comparison.pairs().next().is_none();
    match has_nothing || withdrawn || comparison.differs_beyond(tolerance.unwrap_or(0.0)) {
        true => Exit::No,
        false => Exit::Done,
    }
}
