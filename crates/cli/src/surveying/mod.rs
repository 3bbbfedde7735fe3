//! A survey from its target to its conclusions: the parts are made one after the other, each as a run of its own, and
//! recorded; what they say together is shown.

mod keep;
mod part;
mod subject;

use std::io::IsTerminal;

use anyhow::{Context as _, Result};
use bench::consent::{self, Consent};
use bench::engines;
use block::{Bounds, Bytes, DriveInfo, Nanos};
use drives::TargetSpec;
use instruments::announce::Cost;
use instruments::mark::absolute;
use live::view::go_within;
use record::{Document, Run, RunId, SamplesFormat, State, Summary};
use runner::instrument::{Outcome, Resumed, Resumption};
use runner::place::Keep;
use runner::recorder::{Beginning, Closed, Recorder};
use survey::body::{self, Body, LeftOut, Setup};
use survey::parts::{self, Allotted, Instrument, Left, Shown};
use survey::plan::{Planned, PlannedPart};
use survey::{Seen, conclude};

use crate::announcing::{Next as Announced, announced};
use crate::args::{Given, SurveyArgs};
use crate::envelope::{run_id, seed_of};
use crate::exit::{self, Exit};
use crate::recorded::of_printed;
use crate::records::{self, Next};
use crate::verbs::print_json;
use crate::{files, messages};

use keep::{Asked, Kept, Turn};
use subject::Subject;

/// The form of a survey's body.
pub use documents::instrument::SURVEY as SCHEMA;
/// The form of what `--plan --json` prints.
const PLAN_SCHEMA: &str = "drivescope.survey-plan/1";

/// A survey while it is made.
struct Survey<'a> {
    args: &'a SurveyArgs,
    asked: Asked,
    subject: Subject,
    order: Vec<Instrument>,
    turns: Vec<Turn>,
    interrupted: bool,
    /// Its record, which those of its parts name.
    id: Option<RunId>,
    /// The run of the part that was being made when it was stopped, which is the next one's.
    begun: Option<Run>,
    /// True when the first part could not be made.
    is_impossible: bool,
    /// Why the record of a part is not whole.
    failure: Option<anyhow::Error>,
    /// Announcement, kept for the record.
    announced: Option<Box<record::Announced>>,
}

/// Runs the verb; `given` are the flags that the user typed.
///
/// # Errors
/// What makes a survey impossible.
pub fn main(args: &SurveyArgs, given: &Given) -> Result<Exit> {
    args.live.when(false).check()?;
    if let Some(name) = &args.record.resume {
        return go_on(name, args, given);
    }
    let subject = Subject::chosen(args.target.as_ref())?;
    let asked = Asked {
        target: absolute(&subject.name),
        chosen: subject.chosen.clone(),
        engine: engines::chosen(&subject.name, args.engine).to_string(),
        may_write: subject.is_not_real() || args.writing.write,
        time_budget_ns: args.time_budget,
        write_budget_bytes: args.write_budget,
        seed: seed_of(args.seed)?,
    };
    let mut survey = Survey::new(args, asked, subject);
    if args.plan {
        return survey.show_plan();
    }
    if let Some(exit) = survey.announce()? {
        return Ok(exit);
    }
    survey.consented()?;
    survey.run(None)
}

/// Resumes a recorded survey at the first part that is not done.
fn go_on(name: &str, args: &SurveyArgs, given: &Given) -> Result<Exit> {
    records::check_beside_resume(given.recorded())?;
    let runs = args.record.keep.place.runs()?;
    let id = records::to_resume(&runs, name, documents::instrument::Instrument::Survey)?;
    let place = &args.record.keep.place;
    let resumed = records::resume(&runs, &id, documents::instrument::Instrument::Survey, place)?;
    let plan = toml::from_str(&resumed.run.plan);
    let asked: Asked = plan.with_context(|| format!("{id}: its plan.toml"))?;
    let target = args.target.clone().unwrap_or_else(|| TargetSpec::of(&asked.target));
    let subject = Subject::of(target, asked.chosen.clone())?;
    let might_write = asked.may_write;
    // Consent is required again each time.
    let asked = Asked { may_write: subject.is_not_real() || args.writing.write, ..asked };
    records::check_write(&id, might_write, asked.may_write)?;
    let mut survey = Survey::new(args, asked, subject);
    if let Some(exit) = survey.announce()? {
        return Ok(exit);
    }
    survey.consented()?;
    survey.run(Some(resumed))
}

impl runner::instrument::Instrument for Survey<'_> {
    type Step = Kept;

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn noun(&self) -> &'static str {
        "survey"
    }

    fn beginning(&self) -> Result<Beginning> {
        Ok(Beginning {
            plan: toml::to_string(&self.asked).context("what is asked has no text form")?,
            setup: serde_json::json!({
                "verb": "survey",
                "target": self.asked.target,
                "drive": runner::recorder::drive_words(&self.subject.identity),
            }),
            steps: u32::try_from(self.order.len()).ok(),
            drive: Some(self.subject.identity.clone()),
            samples: Some(SamplesFormat::Parquet),
        })
    }

    fn resume(&mut self, run: &Run, steps: Vec<Kept>) -> Result<Resumption> {
        let runs = self.args.record.keep.place.runs()?;
        self.turns = keep::turns(&runs, &run.id, steps, &self.order)?;
        if let Some(next) = self.order.get(self.turns.len()) {
            self.begun = keep::begun(&runs, &run.id, &self.turns, *next)?;
        }
        let resumption = Resumption::after(self.turns.len(), "part");
        Ok(resumption)
    }
}

impl runner::instrument::Measure for Survey<'_> {
    type Body = Body;

    fn measure(&mut self, run_id: &RunId, recorder: &mut Recorder) -> Result<Outcome<Body>> {
        self.id = recorder.keeps().then(|| run_id.clone());
        let mut is_whole = true;
        while let Some(instrument) = self.order.get(self.turns.len()).copied() {
            let position = self.turns.len();
            let turn = self.turn(instrument, position);
            self.is_impossible = position == 0 && turn.is_err();
            let Some(turn) = turn? else { break };
            // Resumed, a survey measures a part without a whole record again, and the parts after it.
            is_whole &= turn.kept.part.is_none() || turn.kept.run.is_some();
            if is_whole {
                recorder.step(position as u32, instrument.word(), &turn.kept, Vec::new());
            }
            self.turns.push(turn);
        }
        let parts = self.turns.iter().filter_map(|turn| turn.kept.run.clone()).collect();
        let state = match (self.interrupted, self.failure.is_some()) {
            (true, _) => State::Interrupted,
            (false, true) => State::Broken,
            (false, false) => State::Finished,
        };
        Ok(Outcome { parts, ..Outcome::new(self.body(), state) })
    }

    fn summary(&self, body: &Body) -> Summary {
        Summary {
            verb: "survey".to_owned(),
            target: self.asked.target.clone(),
            drive: views::drive(&body.target, &body.stack),
            headline: views::survey::headline(body),
        }
    }
}

impl<'a> Survey<'a> {
    fn new(args: &'a SurveyArgs, asked: Asked, subject: Subject) -> Survey<'a> {
        let order = parts::order(subject.sort, asked.may_write);
        Survey {
            args,
            asked,
            subject,
            order,
            turns: Vec::new(),
            interrupted: false,
            id: None,
            begun: None,
            is_impossible: false,
            failure: None,
            announced: None,
        }
    }

    /// Asks the safety gate, which reports the cost of writing, before the first part begins. Each part asks it again.
    fn consented(&self) -> Result<()> {
        let is_real_write = self.args.writing.write && !self.subject.is_not_real();
        if is_real_write && self.order.len() > 1 {
            let writing = &self.args.writing;
            let said = Consent { consent: writing.consent.as_ref(), allow: &writing.allow };
            let most = Some(self.asked.write_budget_bytes);
            drop(consent::ask(said, self.subject.name.as_path(), most)?);
        }
        Ok(())
    }

    /// Announces what it takes; `Some` where that was all.
    fn announce(&mut self) -> Result<Option<Exit>> {
        let planned = self.planned();
        let parts: Vec<&str> = planned.parts.iter().map(|part| part.part).collect();
        let test_file = planned.makes_test_file.then_some(crate::verbs::mark::SIZE.0);
        let cost = |_: &DriveInfo| Cost {
            work: format!("a survey in parts: {}", parts.join(", ")),
            time_ns: Bounds::up_to(Some(planned.time_budget_ns.0)),
            read: None,
            written: match (planned.write_budget_bytes, test_file) {
                (Some(most), _) => Bounds::up_to(Some(most.0)),
                (None, Some(_)) => Bounds::up_to(None),
                (None, None) => Bounds::of(0),
            },
        };
        match announced(&self.subject.name, &cost, &self.args.files, self.args.anyway)? {
            Announced::Run(announced) => self.announced = announced,
            Announced::End(exit) => return Ok(Some(exit)),
        }
        Ok(None)
    }

    fn planned(&self) -> Planned {
        let mut left = self.left();
        let part = |(at, instrument): (usize, &Instrument)| {
            let later = &self.order[at + 1..];
            let allotted =
                parts::allot(*instrument, later, (left, Shown::default()), &self.subject.info);
            let time = allotted.ok().map(|allotted| allotted.time);
            left.time = Nanos(left.time.0.saturating_sub(time.map_or(0, |time| time.0)));
            PlannedPart { part: instrument.word(), why: instrument.why(), time_ns: time }
        };
        Planned {
            target: self.subject.name.to_string(),
            chosen: self.subject.chosen.clone(),
            time_budget_ns: self.asked.time_budget_ns,
            write_budget_bytes: self.asked.may_write.then_some(self.asked.write_budget_bytes),
            makes_test_file: self.subject.sort == parts::Sort::Directory,
            parts: self.order.iter().enumerate().map(part).collect(),
            not_looked_at: self.never_looked_at(),
        }
    }

    fn show_plan(&self) -> Result<Exit> {
        let planned = self.planned();
        match self.args.files.result.json {
            true => print_json(PLAN_SCHEMA, &planned)?,
            false => messages::result(&views::survey::plan(&planned))?,
        }
        Ok(Exit::Done)
    }

    /// Topics that no part can examine, whatever the parts find.
    fn never_looked_at(&self) -> Vec<LeftOut> {
        let unwritten =
            parts::not_without_writing(self.subject.sort).filter(|_| !self.asked.may_write);
        unwritten.into_iter().chain(parts::not_through(self.subject.sort)).collect()
    }

    /// Budgets that remain after the parts that were made.
    fn left(&self) -> Left {
        let bytes = if self.asked.may_write { self.asked.write_budget_bytes } else { Bytes::ZERO };
        let all = Left { time: self.asked.time_budget_ns, bytes };
        let found = self.turns.iter().filter_map(|turn| turn.found.as_ref());
        found.fold(all, |left, found| found.spend(left))
    }

    fn run(mut self, resumed: Option<Resumed>) -> Result<Exit> {
        let announced = self.announced.take();
        let keep = Keep { announced, ..self.args.record.keep.keep() };
        let seed = self.asked.seed;
        match runner::instrument::run(&mut self, &keep, run_id(seed), resumed) {
            // The user did not name this directory, and a virtual drive demonstrates a survey as well.
            Err(error) if self.is_impossible && self.may_change(&error) => self.changed(&error),
            ended => {
                let ended = ended?;
                let exit = self.end(&ended.document, ended.closed)?;
                self.failure.map_or(Ok(exit), Err)
            }
        }
    }

    /// True when the target was ours to choose, and cannot be measured.
    fn may_change(&self, error: &anyhow::Error) -> bool {
        let is_ours = self.subject.chosen.is_some() && !self.subject.is_not_real();
        is_ours && exit::of(error) != Exit::Interrupted
    }

    /// The same on the virtual drive, with a record of its own.
    fn changed(self, error: &anyhow::Error) -> Result<Exit> {
        let subject = Subject::embedded(&format!(
            "the current directory cannot be measured ({})",
            messages::described(error)
        ))?;
        let asked = Asked {
            target: subject.name.to_string(),
            chosen: subject.chosen.clone(),
            may_write: true,
            ..self.asked
        };
        Survey::new(self.args, asked, subject).run(None)
    }

    /// Lets one instrument work, where it fits; `None` when the user stopped it.
    fn turn(&mut self, instrument: Instrument, position: usize) -> Result<Option<Turn>> {
        let later = &self.order[position + 1..];
        let info = &self.subject.info;
        let allotted = parts::allot(instrument, later, (self.left(), self.shown()), info);
        let allotted = match allotted {
            Ok(allotted) => allotted,
            Err(left_out) => return Ok(Some(not_made(left_out))),
        };
        let words = self.words(instrument, allotted);
        let left = Nanos(self.left().time.0 / 1_000_000_000 * 1_000_000_000);
        self.tell(&format!(
            "part {} of {}: {} ({}); {left} of its time are left",
            position + 1,
            self.order.len(),
            instrument.word(),
            instrument.why()
        ));
        go_within(
            format!(
                "part {} of {} of a survey: {}",
                position + 1,
                self.order.len(),
                instrument.why()
            ),
            !self.args.live.no_live,
        );
        let made = match self.gone_on(instrument).transpose() {
            Some(made) => made,
            None => part::make(&self.with_record(&words)),
        };
        let made = match made {
            Ok(made) => made,
            Err(error) => return self.failed(instrument, position, error),
        };
        if made.interrupted {
            self.interrupted = true;
            return Ok(None);
        }
        if let Some(why) = &made.broken {
            messages::note(&format!("{} ended early: {why}", instrument.word()));
        }
        let command = block::command_line(&words);
        let part = body::Part {
            part: instrument.word().to_owned(),
            command,
            why: instrument.why().to_owned(),
        };
        self.failure = self.failure.take().or(made.failure);
        let kept = Kept { part: Some(part), run: made.run, left_out: None };
        Ok(Some(Turn { kept, found: Some(made.found) }))
    }

    /// Resumes the run of the part during which the survey was stopped; `None` when there is none that can be resumed.
    fn gone_on(&mut self, instrument: Instrument) -> Result<Option<part::Made>> {
        let Some(run) = self.begun.take() else { return Ok(None) };
        if run.state == State::Finished {
            return part::of_run(instrument, &run)
                .map(|found| Some(part::Made::before(found, run.id)));
        }
        messages::note(&format!("its part {} goes on: {}", instrument.word(), run.id));
        match part::make(&self.resumption(instrument, &run.id)) {
            Err(error) if !matches!(exit::of(&error), Exit::Refused | Exit::Interrupted) => {
                messages::note(&format!(
                    "{}; so the part starts over",
                    messages::described(&error)
                ));
                Ok(None)
            }
            made => made.map(Some),
        }
    }

    /// The command line that resumes a part.
    fn resumption(&self, instrument: Instrument, id: &RunId) -> Vec<String> {
        let verb = instrument.verb()[0];
        let mut words = vec!["drivescope".to_owned(), verb.to_owned(), format!("--resume={id}")];
        match instrument {
            Instrument::Wsat => words.push(format!("--device={}", self.subject.name)),
            _ => words.push(self.subject.name.to_string()),
        }
        words.extend(self.consent());
        words.extend(self.around());
        words
    }

    /// Leaves out and names a part that fails; if it is the first, nothing can be measured, and its error is returned.
    fn failed(
        &self,
        instrument: Instrument,
        position: usize,
        error: anyhow::Error,
    ) -> Result<Option<Turn>> {
        if position == 0 || matches!(exit::of(&error), Exit::Refused | Exit::Interrupted) {
            return Err(error);
        }
        Ok(Some(not_made(LeftOut {
            what: format!("{}: {}", instrument.word(), instrument.why()),
            why: messages::described(&error),
            remedy: None,
        })))
    }

    /// The command line of a part, the program's name first, without what is only about records and talk.
    fn words(&self, instrument: Instrument, allotted: Allotted) -> Vec<String> {
        let mut words = vec!["drivescope".to_owned()];
        words.extend(instrument.verb().iter().map(|word| (*word).to_owned()));
        words.push(self.subject.name.to_string());
        let (info, sort) = (&self.subject.info, self.subject.sort);
        let told = (info, sort, self.shown());
        words.extend(parts::flags(instrument, allotted, told, self.asked.may_write));
        words.push(format!("--seed={}", self.asked.seed));
        if !self.subject.is_not_real() {
            words.push(format!("--engine={}", self.asked.engine));
        }
        words.extend(self.consent());
        words
    }

    /// The words that consent to writing, where the user said them.
    fn consent(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.args.writing.write && !self.subject.is_not_real() {
            words.push("--write".to_owned());
            words.extend(self.args.writing.consent.iter().map(|word| format!("--consent={word}")));
            words.extend(self.args.writing.allow.iter().map(|word| format!("--allow={word}")));
        }
        words
    }

    /// With where it is recorded, and silent where the survey is.
    fn with_record(&self, words: &[String]) -> Vec<String> {
        let mut words = words.to_vec();
        if self.args.record.keep.no_record {
            words.push("--no-record".to_owned());
        }
        words.extend(self.id.iter().map(|id| format!("--part-of={id}")));
        words.extend(self.around());
        words
    }

    /// Flags that a part shares with the survey: runs directory, progress and `--anyway`.
    fn around(&self) -> Vec<String> {
        let dir = self.args.record.keep.place.runs_dir.iter();
        let mut words: Vec<String> =
            dir.map(|dir| format!("--runs-dir={}", dir.to_string_lossy())).collect();
        if self.args.files.result.no_progress {
            words.push("--no-progress".to_owned());
        }
        if self.args.anyway {
            words.push("--anyway".to_owned());
        }
        words
    }

    /// Results of the parts that were made.
    fn seen(&self) -> Seen<'_> {
        let mut seen = Seen {
            target: &self.subject.info,
            stack: &self.subject.stack,
            mark: None,
            probes: Vec::new(),
            wsat: None,
            health: &self.subject.health,
        };
        self.turns
            .iter()
            .filter_map(|turn| turn.found.as_ref())
            .for_each(|found| found.seen(&mut seen));
        seen
    }

    fn shown(&self) -> Shown {
        survey::shown(&self.seen())
    }

    fn body(&self) -> Body {
        let seen = self.seen();
        let turns = || self.turns.iter();
        let mut caveats: Vec<stats::Caveat> = Vec::new();
        for caveat in turns().filter_map(|turn| turn.found.as_ref()).flat_map(part::Found::caveats)
        {
            if !caveats.contains(&caveat) {
                caveats.push(caveat);
            }
        }
        let left_out = turns().filter_map(|turn| turn.kept.left_out.clone());
        Body {
            target: self.subject.info.clone(),
            stack: self.subject.stack.clone(),
            chosen: self.subject.chosen.clone(),
            sort: self.subject.sort,
            setup: Setup {
                time_budget_ns: self.asked.time_budget_ns,
                may_write: self.asked.may_write,
                write_budget_bytes: self.asked.write_budget_bytes,
                seed: self.asked.seed,
            },
            parts: turns().filter_map(|turn| turn.kept.part.clone()).collect(),
            conclusions: conclude(&seen),
            not_looked_at: self.never_looked_at().into_iter().chain(left_out).collect(),
            caveats,
            interrupted: self.interrupted,
        }
    }

    fn end(&self, document: &Document<Body>, closed: Closed) -> Result<Exit> {
        let body = &document.body;
        let files = &self.args.files;
        match (files.is_csv_on_stdout(), files.result.json) {
            (true, _) => {}
            (_, true) => messages::document(document)?,
            (_, false) => show(document)?,
        }
        let place = &self.args.record.keep.place;
        let next = if body.interrupted { Next::Resume("survey") } else { Next::Show };
        let ended = files::Ended {
            record: &closed,
            place,
            is_halted: body.interrupted,
            document: &|| of_printed(&document.to_json()?, None),
        };
        let written = files::write(files, false, &ended);
        let quiet = files.result.no_progress || files.result.has_page();
        records::end(closed, next, place, quiet)?;
        written?;
        let concluded = body.conclusions.iter().any(|said| said.verdict != probe::Verdict::Unknown);
        let is_bad = views::survey::warning(body).is_some();
        Ok(match (body.interrupted, concluded && !is_bad) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::Done,
            (false, false) => Exit::No,
        })
    }

    /// Says how it goes, to a person.
    fn tell(&self, text: &str) {
        if !self.args.files.result.no_progress && std::io::stderr().is_terminal() {
            messages::note(text);
        }
    }
}

fn not_made(left_out: LeftOut) -> Turn {
    Turn { kept: Kept { part: None, run: None, left_out: Some(left_out) }, found: None }
}

/// Prints a survey.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<Body>) -> Result<()> {
    let answers = views::survey::answers(&document.body, &document.envelope.parts);
    messages::result(&report::render_answers(&answers, report::Style::default()))
}
