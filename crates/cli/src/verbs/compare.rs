//! `drivescope compare`: recorded runs, documents and targets, held against each other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};
use documents::Decode as _;
use drives::TargetSpec;
use mark::compare::{
    Comparison, Measured, RunLatencies, Side, SideSession, Verdict, compare, letter, of_sessions,
};
use mark::{Body, Options};
use record::{Document, Envelope, Integrity, RunId};
use report::{RateUnit, Style};
use serde_json::json;
use stats::Design;
use workload::plan::Plan;
use workload::rng::Rng;

use crate::args::{
    CompareArgs, ConsentArgs, Given, LiveArgs, LoadArgs, OutputArgs, PlaceArgs, TargetArgs,
    values_of,
};
use crate::envelope::arguments;
use crate::exit::{Exit, Refused};
use crate::measure::Job;
use crate::recording::{self, Course};
use crate::session::{self, Made, Session};
use crate::setup::Setup;
use crate::turns::{Turn, Turns};
use crate::verbs::mark::{SIZE, default_size, options, run_id, seed_of};
use crate::verbs::print_json;
use crate::{consent, recorded, records, talk, whose};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.comparison/1";
/// Most single I/Os kept of a run, when they are kept.
const SAMPLES_MAX: u64 = 1_000_000;
/// Flags that say how targets are measured, beside those of the load.
const HOW: [&str; 5] = ["size", "span", "engine", "buffered", "cpus"];
/// The kind of the note by which runs that were measured in turns know each other.
const BLOCKS: &str = "blocks";

/// Runs the verb; `given` are the flags that the user typed.
///
/// # Errors
/// When a side is nothing that can be compared, or what makes a measurement impossible.
pub fn main(args: &CompareArgs, given: &Given) -> Result<Exit> {
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
    let measured = measure(args, &live)?;
    let mut made: Vec<Made> = Vec::new();
    let mut sides: Vec<(Side, Body, Option<RunLatencies>)> = Vec::new();
    let mut measured = measured.into_iter();
    for (name, found) in args.sides.iter().zip(found) {
        match found {
            Found::Recorded(side, body, latencies) => sides.push((side, *body, latencies)),
            Found::Target => {
                let (one, blocks) = measured.next().context("a side was not measured")?;
                let is_run = !args.record.no_record;
                let side = side(name.as_str(), &one.document, is_run, Some(blocks));
                sides.push((side, one.document.body.clone(), Some(one.latencies().clone())));
                made.push(one);
            }
        }
    }
    let sides: Vec<Measured<'_>> = (sides.iter())
        .map(|(side, body, latencies)| Measured {
            side: side.clone(),
            body,
            latencies: latencies.as_ref(),
        })
        .collect();
    let comparison = compare(&sides, args.margin, args.session_offset);
    if args.json {
        print_json(SCHEMA, &comparison)?;
    } else {
        let rate = if args.mib { RateUnit::Mib } else { RateUnit::Mb };
        let sheet = views::compare::sheet(&comparison);
        talk::result(&report::render_sheet(&sheet, Style { rate, ..Style::default() }))?;
    }
    let mut exit = answer(&comparison, args.tolerance);
    // What a comparison of the same sides is made with later.
    let mut names: Vec<String> = args.sides.iter().map(TargetSpec::to_string).collect();
    for (one, side) in made.into_iter().zip(live) {
        let id = one.id().map(ToString::to_string);
        // What a mark's numbers are worth by themselves is not asked here.
        if one.end()? == Exit::Interrupted {
            exit = Exit::Interrupted;
        }
        names[side] = id.unwrap_or_default();
    }
    let are_recorded = names.iter().all(|name| !name.is_empty());
    if exit == Exit::Interrupted && are_recorded {
        tell_to_compare(&names, &args.record.place);
    }
    Ok(exit)
}

/// Tells what to do when the sides of a comparison that was stopped have come to their ends.
fn tell_to_compare(names: &[String], place: &PlaceArgs) {
    let mut words = vec!["drivescope".to_owned(), "compare".to_owned()];
    words.extend_from_slice(names);
    for (flag, value) in
        values_of(&arguments(), &["margin", "tolerance", "session-offset", "json", "mib"])
    {
        words.push(format!("--{flag}"));
        words.extend(Some(value).filter(|_| !["json", "mib"].contains(&flag)));
    }
    talk::note(&format!("and then: {}{}", block::command_line(&words), place.flag()));
    talk::note(
        "sides that go on one by one are not measured in turns, which tells less; to measure them in turns, give the \
         same command again",
    );
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

/// What a name leads to.
enum Found {
    /// A result that is there, with the latencies of its runs where they were kept.
    Recorded(Side, Box<Body>, Option<RunLatencies>),
    /// Something to measure.
    Target,
}

impl Found {
    fn side(&self) -> Option<&Side> {
        match self {
            Found::Recorded(side, ..) => Some(side),
            Found::Target => None,
        }
    }
}

/// Refuses a run that is compared with itself.
fn differ(sides: &[&Side]) -> Result<()> {
    let mut runs = BTreeSet::new();
    for id in sides.iter().filter_map(|side| side.run_id.as_ref()) {
        if !runs.insert(id) {
            bail!("{id}: is on more than one side, and a run equals itself; name another");
        }
    }
    Ok(())
}

fn find(side: &TargetSpec, args: &CompareArgs) -> Result<Found> {
    let TargetSpec::Path(name) = side else { return Ok(Found::Target) };
    // Where runs are recorded it is a directory, too, which nobody means to measure.
    if name.parse::<RunId>().is_ok() {
        return of_run(name, args);
    }
    let path = Path::new(name);
    let is_list = name.contains(',') && name.split(',').all(|part| !part.is_empty());
    if is_list && !path.exists() {
        return in_sessions(name, args);
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && is_document(path) => document(name, path),
        Ok(_) => Ok(Found::Target),
        Err(_) => of_run(name, args),
    }
}

/// A side of several recorded sessions, with commas between them.
fn in_sessions(name: &str, args: &CompareArgs) -> Result<Found> {
    let (mut sides, mut bodies) = (Vec::new(), Vec::new());
    for part in name.split(',') {
        match find(&TargetSpec::of(part), args)? {
            Found::Recorded(side, body, _) => {
                sides.push(side);
                bodies.push(*body);
            }
            Found::Target => bail!(
                "{part} is a target; expected a recorded run or document, as each session of {name}\n\
                 hint: name a target as a side of its own"
            ),
        }
    }
    differ(&sides.iter().collect::<Vec<_>>())?;
    let session = |side: &Side| SideSession { name: side.name.clone(), date: side.date.clone() };
    let sessions = sides.iter().map(session).collect();
    let first = sides.into_iter().next().context("a side without a session")?;
    let body = of_sessions(&bodies).context("a side without a session")?;
    let side = Side { name: name.to_owned(), run_id: None, blocks: None, sessions, ..first };
    Ok(Found::Recorded(side, Box::new(body), None))
}

/// A file that is called so is one, whatever is in it: nobody means to measure it.
fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "json") || whose::is_document(path)
}

fn document(name: &str, path: &Path) -> Result<Found> {
    let (form, value) = recorded::read(name, path)?;
    if form != session::SCHEMA {
        bail!(
            "{name}: has the form {form}; what `drivescope mark --json` prints is {}",
            session::SCHEMA
        );
    }
    let document: Document<Body> = Document::decode(value)
        .with_context(|| format!("{name}: is no whole {}", session::SCHEMA))?;
    if !document.body.has_numbers() {
        bail!("{name}: {NO_NUMBERS}");
    }
    Ok(Found::Recorded(side(name, &document, false, None), Box::new(document.body), None))
}

/// Why there is nothing to hold against another.
const NO_NUMBERS: &str = "was stopped before a run of it counted, so it has no number";

fn of_run(name: &str, args: &CompareArgs) -> Result<Found> {
    let runs = recording::runs(&args.record.place)?;
    let id = runs.find(name).with_context(|| {
        format!(
            "{name}: is no target, no file and no recorded run (drivescope runs list shows those)"
        )
    })?;
    let run = runs.load(&id)?;
    if let Integrity::Altered(files) = runs.verify(&id)? {
        bail!(
            "{id}: is not what was recorded ({}), so nothing can be held against it",
            files.join(", ")
        );
    }
    let document = session::of_record(&run)?
        .ok_or_else(|| records::without_result(&run, &runs, &args.record.place))?;
    // Before another side is measured for nothing.
    if !document.body.has_numbers() {
        bail!("{id}: {NO_NUMBERS}; {}", records::how_to_go_on(&run, &args.record.place));
    }
    // What was gone on with was no longer measured in turns with the other.
    let is_whole = !run.notes.iter().any(|(kind, _)| kind == recording::RESUMED);
    let note = run.notes.iter().find(|(kind, _)| kind == BLOCKS).filter(|_| is_whole);
    let blocks = note.and_then(|(_, note)| Some(note["comparison"].as_str()?.to_owned()));
    // However it was named: the last run is another one tomorrow.
    let side = side(id.as_str(), &document, true, blocks);
    Ok(Found::Recorded(side, Box::new(document.body), recording::latencies(&run)))
}

/// `blocks` names the measurement in turns that it was part of.
fn side(name: &str, document: &Document<Body>, is_run: bool, blocks: Option<String>) -> Side {
    let Envelope { run_id, date, .. } = &document.envelope;
    Side {
        name: name.to_owned(),
        run_id: is_run.then(|| run_id.to_string()),
        date: Some(date.clone()),
        drive: views::drive(&document.body.target, &document.body.stack),
        blocks,
        sessions: Vec::new(),
    }
}

/// Measures the `live` ones of the sides in turns; each with the name that their runs know each other by.
fn measure(args: &CompareArgs, live: &[usize]) -> Result<Vec<(Made, String)>> {
    if live.is_empty() {
        return Ok(Vec::new());
    }
    let seed = seed_of(args.load.seed)?;
    let comparison = run_id(seed).to_string();
    let runs = runs_of_each(args, live.len(), options(&args.load, seed, true).plan().steps.len());
    let plan = plan_of(args, seed, true, runs)?;
    // Before the other side is begun: a comparison takes no consent.
    if plan_of(args, seed, false, runs)?.alters() {
        for name in live.iter().map(|&side| args.sides[side].as_str()) {
            if fs::metadata(name).is_ok_and(|meta| !meta.is_dir()) {
                return Err(Refused(format!(
                    "{name}: the plan writes, and a comparison only reads what is there; mark each by itself with {}, and \
                     compare the two runs",
                    consent::flags_for(name)
                ))
                .into());
            }
        }
    }
    let blocks = plan.schedule.runs.saturating_add(args.load.discard_first);
    let names: Vec<String> = live.iter().map(|&side| args.sides[side].to_string()).collect();
    let turns = Turns::among(&names, seed, blocks, !args.no_progress);
    let Some(first) = turns.first() else { return Ok(Vec::new()) };
    let _orderly = linux::signals::orderly(&first.cancel());
    let one = |turn: &Turn, side: usize| {
        let _leaving = Leaving(turn);
        turn.prepare();
        let made = alone(args, side, (seed, runs), &comparison, turn);
        turn.leave(made.is_err());
        made
    };
    let made: Vec<Result<Made>> = thread::scope(|scope| {
        let begun: Vec<_> = turns
            .iter()
            .zip(live)
            .map(|(turn, &side)| scope.spawn(move || one(turn, side)))
            .collect();
        let ended = begun.into_iter().map(|thread| thread.join());
        ended
            .map(|ended| ended.unwrap_or_else(|_| Err(anyhow!("a measurement ended badly"))))
            .collect()
    });
    made.into_iter().map(|made| Ok((made?, comparison.clone()))).collect()
}

/// Runs of each test: as many as are asked for, or the fewest blocks in which all tests of all pairs can be told apart
/// together. Six have intervals, but of eight tests they leave each undecided, however far the sides are apart.
fn runs_of_each(args: &CompareArgs, live: usize, tests: usize) -> u32 {
    let pairs = live * live.saturating_sub(1) / 2;
    let fewest = Design::Blocks.fewest_runs(tests * pairs);
    let usual = u32::try_from(fewest).unwrap_or(u32::MAX).max(Options::RUNS);
    if let Some(asked) = args.load.runs {
        if pairs > 0 && asked < usual {
            talk::note(&format!(
                "with fewer than {usual} runs of each, not all of {} can be faster or slower at 98% together",
                report::number::counted(tests * pairs, "comparison")
            ));
        }
        return asked;
    }
    usual
}

fn plan_of(args: &CompareArgs, seed: u64, may_write: bool, runs: u32) -> Result<Plan> {
    let plan = Options { runs, ..options(&args.load, seed, may_write) }.plan();
    plan.check()?;
    Ok(plan)
}

/// Leaves also when the measurement panics: the others would wait for ever.
struct Leaving<'a>(&'a Turn);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave(thread::panicking());
    }
}

/// One side as it is measured alone, but for the turns that it takes.
fn alone(
    args: &CompareArgs,
    side: usize,
    (seed, runs): (u64, u32),
    comparison: &str,
    turn: &Turn,
) -> Result<Made> {
    let named = &args.sides[side];
    let target = TargetArgs {
        anyway: true,
        target: named.clone(),
        size: args.size,
        span: args.span,
        engine: args.engine,
        iopoll: false,
        buffered: args.buffered,
        no_cow: args.no_cow,
        cpus: args.cpus.clone(),
        consent: ConsentArgs::default(),
    };
    let output = OutputArgs {
        json: args.json,
        mib: args.mib,
        no_progress: true,
        live: LiveArgs::default(),
        samples: None,
        samples_max: SAMPLES_MAX,
        force: false,
    };
    // Two virtual drives of one kind are two drives, unless they are named as one.
    let own = Rng::for_path(seed, &[side as u64]).next_u64();
    let is_drawn = named.as_virtual().is_some_and(|spec| !spec.has_seed());
    let drive_seed = is_drawn.then_some(own);
    let run_id: RunId = run_id(own);
    let default_size = default_size(&args.load);
    let job = Job {
        target: &target,
        plan: &|may_write| plan_of(args, seed, may_write, runs),
        default_size,
        default_span: Some(SIZE),
        run_id: run_id.as_str(),
        drive_seed,
        trace_cap: output.trace_cap(&args.record),
        turn: Some(turn),
    };
    let file_bytes = target.size.unwrap_or(default_size);
    let setup = Setup::new("compare", &target, file_bytes, drive_seed, &args.record, &output);
    let session = Session {
        job: &job,
        run_id: run_id.clone(),
        setup,
        course: Course::New,
        keep: &args.record,
        output: &output,
    };
    let note = json!({ "comparison": comparison, "side": letter(side) });
    session.make(&|_| Ok(vec![(BLOCKS, note.clone())]))
}
