//! `drivescope rerun RUN`: a recorded run, made again and compared.

use anyhow::{Context as _, Result, bail};
use bench::engines;
use block::EngineChoice;
use documents::instrument::Instrument;
use instruments::mark::{Job, RunMode, Setup, file_size};
use mark::Body;
use mark::repeat::{self, Repeat};
use record::{Document, Envelope, Integrity, Run, RunId, Runs, State};
use report::Style;
use runner::recorder::identity_of;
use serde::Serialize;
use workload::plan::Plan;

use crate::args::{PlaceArgs, RerunArgs};
use crate::envelope::run_id;
use crate::exit::Exit;
use crate::messages;
use crate::records;
use crate::session::{self, Session};
use crate::verbs::resume::trace_cap;

/// The repetition as every mark is printed, and beside it how it compares.
#[derive(Serialize)]
struct Repeated<'a> {
    envelope: &'a Envelope,
    body: &'a Body,
    comparison: Comparison<'a>,
}

#[derive(Serialize)]
struct Comparison<'a> {
    original: &'a RunId,
    #[serde(flatten)]
    repeat: &'a Repeat,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such run or it has no result yet, when the drive is another one, or what makes a
/// measurement impossible.
pub fn main(args: &RerunArgs) -> Result<Exit> {
    let runs = args.record.place.runs()?;
    let id = runs.find(&args.run)?;
    let run = runs.load(&id)?;
    if let Integrity::Altered(files) = runs.verify(&id)? {
        bail!(
            "{id}: is not what was recorded ({}), so nothing can be compared with it",
            files.join(", ")
        );
    }
    let original = original(&run, &runs, &args.record.place)?;
    let mut setup = Setup::of_record(&run)?;
    let plan = Plan::from_toml(&run.plan).with_context(|| format!("{id}: its plan.toml"))?;
    let mut target = setup.target(args.consent.settings())?;
    target.engine = args.engine.unwrap_or(EngineChoice::From(target.engine.first()));
    setup.engine = target.kernel_engine().to_string();
    setup.engine_refused = engines::refused();
    "rerun".clone_into(&mut setup.verb);
    setup.repeats = Some(id.clone());
    setup.part_of.clone_from(&args.record.part_of);
    setup.samples = args.record.keep_samples;
    setup.samples_max = args.output.samples_max;
    let new = run_id(plan.seed);
    let job = Job {
        target: &target,
        plan: &|_| Ok(plan.clone()),
        default_size: file_size(&plan),
        default_span: None,
        may_widen: false,
        run_id: new.as_str(),
        drive_seed: setup.drive_seed,
        trace_cap: trace_cap(&setup, &args.record, &args.output),
        turn: None,
    };
    let course = RunMode::Repeated(Box::new(identity_of(&run)?));
    let (keep, output) = (&args.record, &args.output);
    let session = Session { job: &job, run_id: new.clone(), setup, course, keep, output };
    if output.files.dry_run {
        return session.dry_run();
    }
    let compare = |body: &Body| repeat::compare(&original.body, body, args.margin);
    let made = session.make(&|body| {
        let comparison = Comparison { original: &id, repeat: &compare(body) };
        Ok(vec![("comparison", serde_json::to_value(comparison)?)])
    })?;
    let repeat = compare(&made.document().body);
    if output.files.result.json {
        let comparison = Comparison { original: &id, repeat: &repeat };
        let Document { envelope, body } = made.document();
        let mut text = serde_json::to_string_pretty(&Repeated { envelope, body, comparison })?;
        text.push('\n');
        messages::json(&text)?;
    } else if !output.files.is_csv_on_stdout() {
        session::show("rerun", made.document(), false, output.mib)?;
        let sheet = views::rerun::sheet(&id, &repeat);
        let sheet = report::render_sheet(&sheet, Style::default());
        messages::result(&(report::Styled::of_lines("\n") + sheet))?;
    }
    let again = made.id().cloned();
    let written = made.write(output, None);
    let exit = made.end()?;
    written?;
    if let (Exit::Interrupted, Some(again)) = (exit, again) {
        let place = keep.place.flag();
        messages::note(&format!("and then: drivescope compare {id} {again}{place}"));
    }
    Ok(match exit {
        Exit::Done if repeat.differs() => Exit::No,
        exit => exit,
    })
}

/// The result of the recorded run, when it is whole.
fn original(run: &Run, runs: &Runs, place: &PlaceArgs) -> Result<Document<Body>> {
    let id = &run.id;
    if !records::is_of(run, Instrument::Mark) {
        let next = records::next(run, place);
        bail!("{id}: is {}, and rerun repeats a mark, run or sweep; {next}", records::noun_of(run));
    }
    match (records::mark_of(run)?, run.state) {
        (None, _) => Err(records::without_result(run, runs, place)),
        (Some(document), State::Finished) => Ok(document),
        (Some(_), _) if run.is_bare() => {
            bail!("{id}: was imported as a document alone, of a run that was interrupted")
        }
        (Some(_), state) => {
            let next = records::how_to_go_on(run, place);
            bail!("{id}: is {}, so its result is not whole; {next}", state.word())
        }
    }
}
