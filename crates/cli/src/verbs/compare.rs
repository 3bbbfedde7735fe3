//! `drivescope compare`: recorded runs, documents and targets, compared with each other.

mod sides;
mod turns;

use anyhow::{Context as _, Result, bail};
use clap::FromArgMatches as _;
use documents::instrument::{self, COMPARISON};
use drives::TargetSpec;
use mark::compare::{Comparison, Measured, Side, Verdict, compare};
use record::{Document, RecordError, Run, RunId, State, Summary};
use report::{RateUnit, Style};
use runner::instrument::{Instrument, Outcome, Resumed, Resumption, Running};
use runner::place::Keep;
use runner::recorder::{Beginning, Closed};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workload::plan::Plan;

use crate::announcing::{self, Next};
use crate::args::{Cli, CompareArgs, Given, KeepArgs, LoadArgs, Verb};
use crate::envelope::{run_id, seed_of};
use crate::exit::Exit;
use crate::recorded::of_printed;
use crate::session::Taken;
use crate::verbs::unrecorded;
use crate::{args, files, messages, records};

use sides::{Found, differ, find, side};
use turns::{Begun, Common, Live};

/// Flags that say how targets are measured, beside those of the load.
const HOW: [&str; 6] = ["size", "span", "engine", "buffered", "cpus", "write_budget"];

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
    if live.is_empty() && (is_told_how || args.files.dry_run) {
        bail!(
            "all sides are recorded, so nothing is measured: leave out the flags that say how, or name targets"
        );
    }
    differ(&found.iter().filter_map(Found::side).collect::<Vec<&Side>>())?;
    if live.is_empty() {
        let comparison = compared(args, &found)?;
        let exit = answer(&comparison, args.tolerance);
        let document = unrecorded(COMPARISON, comparison);
        shown(args, &document)?;
        written(args, &document, &Closed::default(), false)?;
        return Ok(exit);
    }
    let seed = seed_of(args.load.seed)?;
    let live = turns::prepared(seed, &live);
    let lasting = |(found, typed): (&Found, &TargetSpec)| found.lasting_name(typed);
    let sides = found.iter().zip(&args.sides).map(lasting).collect();
    let begun = live.iter().cloned().map(Begun::New).collect();
    Comparing { args, found, id: run_id(seed), seed, sides, live, begun }.run(None)
}

/// Resumes the comparison of this name.
fn resume(name: &str, args: &CompareArgs, given: &Given) -> Result<Exit> {
    records::check_beside_resume(given.recorded())?;
    let place = &args.record.keep.place;
    let runs = place.runs()?;
    let id = records::to_resume(&runs, name, instrument::Instrument::Comparison)?;
    let resumed = records::resume(&runs, &id, instrument::Instrument::Comparison, place)?;
    let Setup { seed, sides, live, .. } = serde_json::from_value(resumed.run.setup.clone())
        .with_context(|| format!("{id}: its setup.json is not one of this version"))?;
    let mut then = arguments_of(&resumed.run)?;
    (then.files, then.mib) = (args.files.clone(), args.mib);
    then.record.keep = KeepArgs { place: place.clone(), ..then.record.keep };
    let mut found = Vec::new();
    let mut begun = Vec::new();
    for (index, (typed, lasting)) in then.sides.iter().zip(&sides).enumerate() {
        let Some(side) = live.iter().find(|side| side.index == index) else {
            found.push(find(&TargetSpec::of(lasting), &then)?.named(typed));
            continue;
        };
        let run = match runs.load(&side.run) {
            // It was not begun yet.
            Err(RecordError::Unknown { .. }) => None,
            run => Some(run?),
        };
        if run.as_ref().is_some_and(|run| run.state == State::Finished) {
            found.push(find(&TargetSpec::of(side.run.as_str()), &then)?.measured(typed));
            continue;
        }
        begun.push(match run {
            None => Begun::New(side.clone()),
            Some(_) => {
                let (writer, run) = runs.resume(&side.run)?;
                Begun::Resumed(side.clone(), Box::new(Resumed { writer, run }))
            }
        });
        found.push(Found::Target);
    }
    Comparing { args: &then, found, id, seed, sides, live, begun }.run(Some(resumed))
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

/// A comparison of which sides are measured.
struct Comparing<'a> {
    args: &'a CompareArgs,
    /// The sides in the order named.
    found: Vec<Found>,
    id: RunId,
    seed: u64,
    /// Names of all sides that lead to the same from anywhere and at any time.
    sides: Vec<String>,
    /// The sides that are measured.
    live: Vec<Live>,
    /// Those of them that have not come to their end.
    begun: Vec<Begun>,
}

/// Setup of its record.
#[derive(Serialize, Deserialize)]
struct Setup {
    verb: String,
    target: String,
    drive: String,
    seed: u64,
    sides: Vec<String>,
    live: Vec<Live>,
}

impl Comparing<'_> {
    /// The names of all sides.
    fn target(&self) -> String {
        let names: Vec<&str> = self.args.sides.iter().map(|side| side.as_str()).collect();
        names.join(" ")
    }

    fn common<'s>(&'s self, plan: &'s Plan, keep: &'s KeepArgs) -> Common<'s> {
        Common {
            args: self.args,
            targets: &self.sides,
            plan,
            seed: self.seed,
            comparison: &self.id,
            keep,
        }
    }

    fn run(mut self, resumed: Option<Resumed>) -> Result<Exit> {
        let plan = turns::plan(self.args, &self.live, self.seed)?;
        turns::check(self.args, &self.begun)?;
        let mut keep = self.args.record.keep.clone();
        let common = self.common(&plan, &keep);
        let foreseen = turns::foreseen(common, &self.begun);
        let announced = match announcing::next(foreseen, &self.args.files)? {
            Next::Run(announced) => announced,
            Next::End(exit) => return Ok(exit),
        };
        let mut whole = Whole { comparing: &self, plan: plan.to_toml()? };
        let kept = Keep { announced, ..keep.keep() };
        let running = runner::instrument::open(&mut whole, &kept, self.id.clone(), resumed)?;
        keep.no_record |= !running.recorder.keeps();
        keep.part_of = running.recorder.keeps().then(|| self.id.to_string());
        let begun = std::mem::take(&mut self.begun);
        let places: Vec<usize> = begun.iter().map(|begun| begun.side().index).collect();
        let common = self.common(&plan, &keep);
        let mut ends = Ends::default();
        let made = turns::measure(common, begun).inspect_err(|_| self.forget())?;
        for (index, made) in places.into_iter().zip(made) {
            let name = self.args.sides[index].as_str();
            let blocks = Some(self.id.to_string());
            let side = side(name, made.document(), made.id().is_some(), blocks);
            let latencies = Some(made.latencies().clone());
            let Taken { body, record, broken } = made.take();
            ends.failure = ends.failure.or(record.failure);
            ends.interrupted |= body.interrupted && broken.is_none();
            ends.broken = ends.broken.or(broken.map(Into::into));
            self.found[index] = Found::Recorded(Box::new(side), Box::new(body), latencies);
        }
        self.end(running, ends)
    }

    /// Removes the records of sides of which no run was made, since another side could not be measured.
    fn forget(&self) {
        let Ok(runs) = self.args.record.keep.place.runs() else { return };
        let is_empty = |side: &&Live| runs.load(&side.run).is_ok_and(|run| run.steps.is_empty());
        for side in self.live.iter().filter(is_empty) {
            // A record that cannot be removed is listed as interrupted, which is correct.
            let _ = runs.remove(&side.run);
        }
    }

    /// Compares, closes the record, shows.
    fn end(self, running: Running, ends: Ends) -> Result<Exit> {
        let args = self.args;
        let comparison = compared(args, &self.found)?;
        let exit = answer(&comparison, args.tolerance);
        // An error in one side is one of the whole comparison, which can then be resumed.
        let state = match (ends.broken.is_some() || ends.failure.is_some(), ends.interrupted) {
            (true, _) => State::Broken,
            (false, true) => State::Interrupted,
            (false, false) => State::Finished,
        };
        let run_of = |side: &Live| self.found[side.index].side()?.run_id.as_ref()?.parse().ok();
        let parts = self.live.iter().filter_map(run_of).collect();
        let outcome = Outcome { parts, ..Outcome::new(comparison, state) };
        let ended = running.close(outcome, |document| Summary {
            verb: "compare".to_owned(),
            target: self.target(),
            drive: drives_of(&document.body),
            headline: views::compare::headline(&document.body),
        });
        shown(args, &ended.document)?;
        let written = written(args, &ended.document, &ended.closed, ends.interrupted);
        let next =
            if ends.interrupted { records::Next::Resume("compare") } else { records::Next::Show };
        records::end(ended.closed, next, &args.record.keep.place, args.files.result.has_page())?;
        written?;
        match ends.broken.or(ends.failure) {
            Some(error) => Err(error),
            None if ends.interrupted => Ok(Exit::Interrupted),
            None => Ok(exit),
        }
    }
}

/// Compares the sides, of which all are there.
fn compared(args: &CompareArgs, found: &[Found]) -> Result<Comparison> {
    let measured = found.iter().map(|found| match found {
        Found::Recorded(side, body, latencies) => {
            Ok(Measured { side: Side::clone(side), body, latencies: latencies.as_ref() })
        }
        Found::Target => bail!("a side was not measured"),
    });
    let measured = measured.collect::<Result<Vec<Measured<'_>>>>()?;
    let mut comparison = compare(&measured, args.margin, args.session_offset);
    views::remedies::write(&mut comparison.caveats);
    Ok(comparison)
}

/// How the measured sides ended.
#[derive(Default)]
struct Ends {
    interrupted: bool,
    broken: Option<anyhow::Error>,
    /// Why the record of one is not whole.
    failure: Option<anyhow::Error>,
}

/// A comparison as the runner sees it.
struct Whole<'a> {
    comparing: &'a Comparing<'a>,
    plan: String,
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
            sides: self.comparing.sides.clone(),
            live: self.comparing.live.clone(),
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
        let Comparing { live, begun, .. } = self.comparing;
        Ok(Resumption::after(live.len() - begun.len(), "side"))
    }
}

/// The drives of all sides.
fn drives_of(comparison: &Comparison) -> String {
    let drives: Vec<&str> = comparison.sides.iter().map(|side| side.drive.as_str()).collect();
    drives.join(", ")
}

/// Prints a comparison as the flags say.
fn shown(args: &CompareArgs, document: &Document<Comparison>) -> Result<()> {
    match (args.files.result.json, args.files.is_csv_on_stdout()) {
        (_, true) => Ok(()),
        (true, _) => messages::document(document),
        (false, _) => show(document, args.mib),
    }
}

/// Writes a comparison to the files that the flags name.
fn written(
    args: &CompareArgs,
    document: &Document<Comparison>,
    record: &Closed,
    is_halted: bool,
) -> Result<()> {
    let ended = files::Ended {
        record,
        place: &args.record.keep.place,
        is_halted,
        document: &|| of_printed(&document.to_json()?, None),
    };
    files::write(&args.files, args.mib, &ended)
}

/// Prints a comparison.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<Comparison>, mib: bool) -> Result<()> {
    let rate = if mib { RateUnit::Mib } else { RateUnit::Mb };
    let sheet = views::compare::sheet(&document.body);
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
