//! The instrument of a record, by its schema, and the commands that are suggested to users for it.

use std::fs;
use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use block::quoted;
use documents::Decode as _;
use documents::instrument::{self, Instrument, Resume, Row};
use drives::TargetSpec;
use instruments::mark::Setup;
use linux::gate;
use linux::sysfs::Roots;
use record::{Document, Envelope, RecordError, Run, RunId, Runs, State, Summary};

use runner::instrument::Resumed;
use runner::recorder::{Closed, RESUMED};

use crate::args::{PlaceArgs, takes, values_of};
use crate::envelope::{arguments, without_consent};
use crate::exit::Refused;
use crate::messages;

/// The instrument that made `run`; `None` where this version does not know it.
pub fn row_of(run: &Run) -> Option<&'static Row> {
    instrument::of_schema(&run.envelope.schema)
}

/// True when `run` was made by `instrument`.
pub fn is_of(run: &Run, instrument: Instrument) -> bool {
    row_of(run).is_some_and(|row| row.instrument == instrument)
}

/// Noun for `run`, with its article.
pub fn noun_of(run: &Run) -> &'static str {
    row_of(run).map_or("of a form that this version does not know", |row| row.noun)
}

/// The document of a recorded mark.
///
/// # Errors
/// Returns an error if another verb made it.
pub fn mark_of(run: &Run) -> Result<Option<Document<mark::Body>>> {
    if !is_of(run, Instrument::Mark) {
        bail!("{}: is {}, and a mark, run or sweep is wanted here", run.id, noun_of(run));
    }
    let Some(document) = run.document.clone() else { return Ok(None) };
    let read = Document::decode(document);
    read.map(Some)
        .with_context(|| format!("{}: its document.json is not a {}", run.id, instrument::MARK))
}

/// The verb that resumes `run`, which is unfinished.
fn goes_on_with(run: &Run) -> Option<&'static str> {
    match row_of(run)?.resume {
        Resume::By(verb) => Some(verb),
        Resume::AsSetUp => Setup::of_record(run).ok().map(|setup| setup.goes_on_with()),
        Resume::Never => None,
    }
}

/// Flags of an earlier command that the resuming command needs too: permission to write to the drive (consent itself has to
/// be given again), the files for the result, and the output format.
const AGAIN: [&str; 7] = ["write", "csv", "plot", "report", "samples", "json", "mib"];

/// Those of them that name files of the whole result.
const FILES: [&str; 3] = ["csv", "plot", "report"];

/// A flag and its value.
type Typed = (&'static str, String);

/// Arguments that name the drive. `run --resume` takes as its first word a plan, or the drive.
const DRIVE: [&str; 3] = ["device", "target", "plan"];

/// Flags of the commands that began and resumed a run that have to be given again; of two values of a flag, the later. Only
/// the last command says where the drive is. Files of a survey are not those of its parts.
fn asked_for(verb: &str, commands: &[Vec<String>]) -> Vec<Typed> {
    let mut all: Vec<Typed> = Vec::new();
    for (index, typed) in commands.iter().enumerate() {
        all.retain(|(flag, _)| !DRIVE.contains(flag));
        // The drive that the first command named is in the record.
        let drive = if index == 0 { Vec::new() } else { values_of(typed, &DRIVE) };
        let is_plan =
            |(flag, value): &Typed| *flag == "plan" && (value == "-" || value.ends_with(".toml"));
        let drive = drive.into_iter().filter(|one| !is_plan(one));
        let of_survey = verb != "survey" && typed.first().is_some_and(|word| word == "survey");
        let is_of_it = |(flag, _): &Typed| !(of_survey && FILES.contains(flag));
        let again = values_of(typed, &AGAIN).into_iter().filter(is_of_it);
        for (flag, value) in again.chain(drive) {
            match all.iter_mut().find(|(known, _)| *known == flag) {
                Some((_, old)) => *old = value,
                None => all.push((flag, value)),
            }
        }
    }
    all
}

/// The commands that began a run and went on with it.
fn commands(run: &Run) -> Vec<Vec<String>> {
    let again = run.notes.iter().filter(|(kind, _)| kind == RESUMED);
    let again = again.filter_map(|(_, now)| Envelope::decode(now.clone()).ok());
    let first = std::iter::once(run.envelope.arguments.clone());
    first.chain(again.map(|envelope| envelope.arguments)).collect()
}

/// The command by which `verb` resumes the run `id` with the flags `asked`. `wrote` are flags of the command that has just
/// ended: it wrote the files that they name.
fn resumption(verb: &str, id: &RunId, asked: &[Typed], wrote: &[Typed], place: &str) -> String {
    let has_something =
        |path: &str| fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > 0);
    let mut words = vec!["drivescope".to_owned(), verb.to_owned()];
    words.extend(["--resume".to_owned(), id.to_string()]);
    // Part of a survey is made by the survey's command, which takes other flags.
    let asked = asked.iter().filter(|(flag, _)| DRIVE.contains(flag) || takes(verb, flag));
    let mut there = Vec::new();
    for one @ (flag, value) in asked {
        if ["target", "plan"].contains(flag) {
            words.push(value.clone());
            continue;
        }
        words.push(format!("--{flag}"));
        match *flag {
            "write" | "json" | "mib" => {}
            // Of the runs to come alone.
            "samples" => words.push(unused(value)),
            "device" => words.push(value.clone()),
            _ => {
                there.extend(has_something(value).then_some(one));
                words.push(value.clone());
            }
        }
    }
    // The command may overwrite the files that it wrote itself. Later, or elsewhere, a file of that name may be another.
    if !there.is_empty() && there.into_iter().all(|one| wrote.contains(one)) {
        words.push("--force".to_owned());
    }
    format!("{}{place}", block::command_line(&words))
}

/// A name beside `path` that no file has: `ios-2.csv` for `ios.csv`.
fn unused(path: &str) -> String {
    let path = Path::new(path);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    // That of `ios-2.csv` is `ios`, too.
    let stem = match stem.rsplit_once('-') {
        Some((whole, count)) if count.parse::<u32>().is_ok() && !whole.is_empty() => {
            whole.to_owned()
        }
        _ => stem.into_owned(),
    };
    let end = path.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
    let mut names = (2..).map(|n| path.with_file_name(format!("{stem}-{n}{end}")));
    names.find(|name| !name.exists()).unwrap_or_default().to_string_lossy().into_owned()
}

/// The next thing to do with a run that is over.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// It was stopped, and is resumed by this verb.
    Resume(&'static str),
    /// It can be shown again.
    Show,
    /// Nothing: resumed, it would go beyond its limit.
    Nothing,
}

/// Says what can be done next with a run, and returns its name; that it is recorded only to a person, since `quiet` output
/// names the run anyway.
///
/// # Errors
/// When its record is not whole.
pub fn end(closed: Closed, next: Next, place: &PlaceArgs, quiet: bool) -> Result<Option<RunId>> {
    let Some(id) = closed.whole()? else { return Ok(None) };
    match next {
        Next::Resume(verb) => tell_to_go_on(verb, &id, place),
        Next::Show if !quiet && std::io::stderr().is_terminal() => say_recorded(&id, place),
        Next::Show | Next::Nothing => {}
    }
    Ok(Some(id))
}

/// Says how the run `id`, the last one, is shown as a page.
pub fn say_recorded(id: &RunId, place: &PlaceArgs) {
    let place = place.flag();
    messages::note(&format!("report: drivescope report last{place} (recorded as {id})"));
}

/// Prints how to resume the run `id`, which was stopped.
fn tell_to_go_on(verb: &str, id: &RunId, place: &PlaceArgs) {
    let now = values_of(&arguments(), &AGAIN);
    let run = place.runs().and_then(|runs| Ok(runs.load(id)?));
    let mut commands = run.map_or_else(|_| Vec::new(), |run| commands(&run));
    // One that added nothing is not in the record.
    let own = without_consent(&arguments());
    if commands.last() != Some(&own) {
        commands.push(own);
    }
    let asked = asked_for(verb, &commands);
    // The user has to repeat the consent; the suggested command must not contain it.
    if let Some((_, word)) = values_of(&arguments(), &["consent"]).first() {
        messages::note(&format!(
            "to resume it, add the word of consent again: --consent {}",
            quoted(word)
        ));
    }
    messages::note(&format!("resume it: {}", resumption(verb, id, &asked, &now, &place.flag())));
}

/// Lists files that earlier commands of a run wrote and the command that resumes it does not.
fn tell_of_files_left(verb: &str, run: &Run, place: &PlaceArgs) {
    let (asked, now) = (asked_for(verb, &commands(run)), values_of(&arguments(), &AGAIN));
    let is_left =
        |(flag, _): &&Typed| FILES.contains(flag) && !now.iter().any(|(typed, _)| typed == flag);
    let left: Vec<String> = asked.iter().filter(is_left).map(|(_, file)| quoted(file)).collect();
    if !left.is_empty() {
        let command = resumption(verb, &run.id, &asked, &[], &place.flag());
        messages::note(&format!(
            "{}: asked for when this run began, and not now: what is there stays as it is. To have all runs in it, stop \
             this and resume it: {command}",
            left.join(", ")
        ));
    }
}

/// Suggested next command for a run.
pub fn next(run: &Run, place: &PlaceArgs) -> String {
    match run.state {
        State::Finished => how_to_repeat(run, place),
        _ => how_to_go_on(run, place),
    }
}

/// Suggested command for a run that has not finished.
pub fn how_to_go_on(run: &Run, place: &PlaceArgs) -> String {
    match goes_on_with(run) {
        Some(verb) if !run.is_bare() => {
            let asked = asked_for(verb, &commands(run));
            let command = resumption(verb, &run.id, &asked, &[], &place.flag());
            match asked.iter().any(|(flag, _)| *flag == "write") {
                true => match gate::word(&Roots::default(), Path::new(&run.summary.target)) {
                    Some(word) => format!(
                        "resume it, and add the word of consent, --consent {}: {command}",
                        quoted(&word)
                    ),
                    None => format!("resume it, and add the word of consent: {command}"),
                },
                false => format!("resume it: {command}"),
            }
        }
        _ => anew(run),
    }
}

/// How to resume the comparison that a run is one side of.
pub fn of_a_comparison(run: &Run, place: &PlaceArgs) -> Option<String> {
    let whole = run.setup["part_of"].as_str().filter(|_| run.setup["verb"] == "compare")?;
    let place = place.flag();
    Some(format!(
        "one side of a comparison; to resume all its sides in turns: drivescope compare --resume {whole}{place}"
    ))
}

/// That a run has no result, and what to do.
pub fn without_result(run: &Run, runs: &Runs, place: &PlaceArgs) -> anyhow::Error {
    if run.state == State::Finished {
        return anyhow!(
            "{}: it came to its end, and its result (document.json) is gone; take it from an archive of it \
             (drivescope runs import), or {}",
            run.id,
            how_to_repeat(run, place)
        );
    }
    let next = match runs.is_live(&run.id) {
        true => "it is being made now".to_owned(),
        false => how_to_go_on(run, place),
    };
    anyhow!("{}: has no result yet; {next}", run.id)
}

/// How to make a finished run again.
fn how_to_repeat(run: &Run, place: &PlaceArgs) -> String {
    match is_of(run, Instrument::Mark) && !run.is_bare() {
        true => format!("repeat it: drivescope rerun {}{}", run.id, place.flag()),
        false => anew(run),
    }
}

/// Prints how to repeat a run that was stopped and cannot be resumed.
pub fn tell_to_make_anew() {
    if !values_of(&arguments(), &["consent"]).is_empty() {
        messages::note("to repeat it, give the word of consent again");
    }
    messages::note(&to_make_anew(&arguments()));
}

fn to_make_anew(words: &[String]) -> String {
    let words = without_consent(&with_new_files(words));
    format!("to make it again: drivescope {}", block::command_line(&words))
}

/// A command with names that are free for the files that it writes and that are there by now.
fn with_new_files(words: &[String]) -> Vec<String> {
    const OUTPUTS: [&str; 7] = ["csv", "plot", "report", "samples", "data", "save", "output"];
    let mut words = words.to_vec();
    if words.iter().any(|word| word == "--force") {
        return words;
    }
    for (flag, value) in values_of(&words, &OUTPUTS) {
        if Path::new(&value).is_file() {
            let (joined, new) = (format!("--{flag}={value}"), unused(&value));
            for word in &mut words {
                if *word == value {
                    word.clone_from(&new);
                } else if *word == joined {
                    *word = format!("--{flag}={new}");
                }
            }
        }
    }
    words
}

/// A command with the drive's whole name, as the record has it: it may be read in another directory than it was given in.
fn from_anywhere(words: &[String], run: &Run) -> Vec<String> {
    let (typed, whole) = (values_of(words, &DRIVE), run.setup["target"].as_str());
    let whole = |word: &String| match (typed.first(), whole) {
        (Some((_, typed)), Some(whole)) if word == typed => whole.to_owned(),
        _ => word.clone(),
    };
    words.iter().map(whole).collect()
}

/// The command that made a run, for one that is made from its beginning.
fn anew(run: &Run) -> String {
    let Summary { verb, target, .. } = &run.summary;
    let words = &run.envelope.arguments;
    let is_its_own = words.first().map(String::as_str) == verb.split(' ').next();
    if !words.is_empty() && is_its_own && !words.iter().any(|word| word.starts_with("--resume")) {
        return to_make_anew(&from_anywhere(words, run));
    }
    // It was made by the command of a survey, or ended by one that went on with it.
    let words: Vec<String> = verb.split(' ').chain([target.as_str()]).map(str::to_owned).collect();
    match target.is_empty() {
        true => "measure again".to_owned(),
        false => format!("to make it again: drivescope {}", block::command_line(&words)),
    }
}

/// Refuses flags beside `--resume` that say what the record says: those of `Given::recorded` that a verb does not compare
/// with the record.
///
/// # Errors
/// Names the first flag.
pub fn check_beside_resume<'a>(mut flags: impl Iterator<Item = &'a str>) -> Result<()> {
    match flags.next() {
        None => Ok(()),
        Some(flag) => bail!(
            "--{}: a run goes on as its record says; leave it out with --resume, or begin a new run",
            flag.replace('_', "-")
        ),
    }
}

/// Refuses to go on with a run that might write as one that may not, or the other way round: it would be of two kinds.
///
/// # Errors
/// [`Refused`] with what to say.
pub fn check_write(id: &RunId, might: bool, may: bool) -> Result<()> {
    let how = match (might, may) {
        (true, false) => "with --write; say so again, with --consent WORD",
        (false, true) => "without --write; leave it out",
        _ => return Ok(()),
    };
    Err(Refused(format!("{id}: was made {how}, or begin a new run")).into())
}

/// Refuses to look for the target where it was, when it is there no more and the user did not say where it is now.
fn check_place(verb: &str, run: &Run, place: &PlaceArgs) -> Result<()> {
    // The only word beside `run --resume` is the target, unless it is a plan.
    let is_named = !values_of(&arguments(), &DRIVE).is_empty();
    let target = run.summary.target.as_str();
    // A comparison has several, and its sides look for their own.
    let is_no_place = verb == "compare" || target.is_empty() || !TargetSpec::of(target).is_real();
    if is_named || run.state == State::Finished || is_no_place || Path::new(target).exists() {
        return Ok(());
    }
    let now = if verb == "pts" { "--device DEVICE" } else { "TARGET" };
    bail!(
        "{target}: is not there any more; when it has another name or place now, name it: drivescope {verb} --resume {} \
         {now}{}",
        run.id,
        place.flag()
    )
}

/// The run that `--resume NAME` means: for `last` the last unfinished one that the typed verb resumes. Where there is none,
/// the last of all runs is meant, so that the refusal names it.
///
/// # Errors
/// As [`Runs::find`].
pub fn to_resume(runs: &Runs, name: &str, wanted: Instrument) -> Result<RunId> {
    let id = runs.find(name)?;
    if name != "last" {
        return Ok(id);
    }
    let is_sweep = arguments().first().is_some_and(|verb| verb == "sweep");
    let is_meant = |run: &Run| {
        let is_open = run.state != State::Finished && !run.is_bare() && is_of(run, wanted);
        is_open && is_sweep == (goes_on_with(run) == Some("sweep"))
    };
    let ids = runs.ids()?;
    // A part of another run is resumed with that.
    let mut wholes = ids.into_iter().filter(|one| !runs.is_part(one));
    let meant = wholes.find(|one| runs.load(one).is_ok_and(|run| is_meant(&run)));
    if let Some(meant) = meant.as_ref().filter(|meant| **meant != id) {
        messages::note(&format!("resuming {meant}, the last run that this verb can resume"));
    }
    Ok(meant.unwrap_or(id))
}

/// Resumes and locks the run `id`, which has to be of `wanted`.
///
/// # Errors
/// When it is of another kind, finished, or as [`Runs::resume`]; the error says what to do instead.
pub fn resume(runs: &Runs, id: &RunId, wanted: Instrument, place: &PlaceArgs) -> Result<Resumed> {
    let run = runs.load(id)?;
    let next = next(&run, place);
    if !is_of(&run, wanted) && !run.is_bare() {
        let ended = if run.state == State::Finished { ", and finished" } else { "" };
        bail!("{id}: is {}{ended}; {next}", noun_of(&run));
    }
    let verb = goes_on_with(&run);
    verb.map_or(Ok(()), |verb| check_place(verb, &run, place))?;
    let (writer, recorded) = runs.resume(id).map_err(|error| match error {
        RecordError::NotResumable { .. } => anyhow!("{error}; {next}"),
        error => error.into(),
    })?;
    if let Some(verb) = verb {
        tell_of_files_left(verb, &run, place);
    }
    Ok(Resumed { writer, run: recorded })
}
