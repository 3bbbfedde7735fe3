//! Every value of every flag, with nonsense in its place: one clear error, exit code 2, and nothing made. The flags are
//! those of the program's own definitions, so that a new one is here by itself, and a new verb has to be.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::cases;

use crate::args::{self, Patient};

use std::any::TypeId;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cases::fixture::{Ended, Fixture};
use cases::known::{self, Judged, VERBS};
use cases::values::{NUMBERS, VALUES, Value};
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory};
use drives::{TargetSpec, VirtualSpec};

/// A place in a command line where a value stands.
#[derive(Clone, Debug)]
struct Slot {
    /// `probe align`.
    verb: String,
    /// `--span`, or the name of a positional argument as help shows it.
    shown: String,
    id: String,
    long: Option<String>,
    /// Its definition makes more of it than text: what that takes is a number, a size, a word of a list.
    is_typed: bool,
}

/// All verbs that do something, with the arguments that they take a value for.
fn slots() -> Vec<Slot> {
    let mut found = Vec::new();
    collect(&args::Cli::command(), "", &mut found);
    found
}

fn collect(command: &Command, path: &str, found: &mut Vec<Slot>) {
    for verb in command.get_subcommands() {
        let path = format!("{path} {}", verb.get_name()).trim().to_owned();
        let taking = verb.get_arguments().filter(|argument| takes_value(argument));
        found.extend(taking.map(|argument| Slot {
            verb: path.clone(),
            shown: shown(argument),
            id: argument.get_id().to_string(),
            long: argument.get_long().map(str::to_owned),
            is_typed: is_typed(argument),
        }));
        collect(verb, &path, found);
    }
}

fn takes_value(argument: &Arg) -> bool {
    argument.get_action().takes_values()
}

fn is_typed(argument: &Arg) -> bool {
    let made = argument.get_value_parser().type_id();
    made != TypeId::of::<String>()
        && made != TypeId::of::<PathBuf>()
        && made != TypeId::of::<OsString>()
        // Any text may be the name of a target.
        && made != TypeId::of::<TargetSpec>()
        && made != TypeId::of::<VirtualSpec>()
        && made != TypeId::of::<Patient>()
}

fn shown(argument: &Arg) -> String {
    match argument.get_long() {
        Some(long) => format!("--{long}"),
        None => argument.get_id().to_string(),
    }
}

/// A command line with nonsense in one place.
struct Case {
    slot: Slot,
    value: Value,
    line: Vec<OsString>,
}

impl Case {
    fn new(slot: &Slot, value: Value) -> Case {
        let text = (value.text)();
        let mut line: Vec<OsString> = slot.verb.split(' ').map(OsString::from).collect();
        let usual = known::usual(&slot.verb, &slot.id);
        match &slot.long {
            Some(long) => {
                let flag = format!("--{long}");
                let is_it = |word: &&&str| word.split('=').next() == Some(&*flag);
                line.extend(usual.iter().filter(|word| !is_it(word)).map(OsString::from));
                let mut word = OsString::from(format!("{flag}="));
                word.push(&text);
                line.push(word);
            }
            None => line.extend(known::with_positional(&usual, &slot.verb, &slot.id, &text)),
        }
        Case { slot: slot.clone(), value, line }
    }

    fn name(&self) -> String {
        format!("{} {} = {}", self.slot.verb, self.slot.shown, self.value.name)
    }

    /// Parses it by the flags' own definitions: the error, as it is printed.
    fn parsed(&self, definitions: &mut Command) -> Result<(), clap::Error> {
        let program = std::iter::once(OsString::from("drivescope"));
        definitions.try_get_matches_from_mut(program.chain(self.line.clone())).map(drop)
    }
}

/// Fault of an error message, if it were the answer to this case.
fn faults(case: &Case, code: Option<i32>, said: &str) -> Option<String> {
    let text = (case.value.text)();
    let value = text.to_string_lossy();
    // A long value may be shortened, and characters that no terminal should get are replaced.
    let start: String = value.chars().take_while(|c| !c.is_control() && *c != '\u{fffd}').collect();
    let start: String = start.chars().take(40).collect();
    // Values not visible in it: white space shows nothing, invalid UTF-8 a replacement character.
    let unseen = match () {
        () if value.is_empty() => said.contains("\"\"") || said.contains("empty"),
        () if value.starts_with('\u{fffd}') => said.contains("UTF-8") || said.contains('\u{fffd}'),
        () => value.trim().is_empty(),
    };
    let named = unseen
        || said.contains("<") && said.contains("a value is required")
        || said.contains("the part to be used") && case.slot.id == "region"
        || said.contains("region:") && ["size", "span"].contains(&&*case.slot.id)
        || said.contains(&case.slot.shown)
        || said.to_lowercase().contains(&case.slot.id.replace('_', "-"))
        || (!start.trim().is_empty() && said.contains(start.trim()));
    let errors = said.lines().filter(|line| line.starts_with("error:")).count();
    let harmful = |c: char| c.is_control() && c != '\n';
    match () {
        () if code == Some(3) && known::may_be_refused(&case.slot.id, case.value.name) => None,
        () if code != Some(2) => Some(format!("ended with {code:?}")),
        () if errors != 1 => Some(format!("{errors} errors")),
        () if said.contains("panicked") => Some("panicked".to_owned()),
        () if said.contains(harmful) => Some("control characters go to the terminal".to_owned()),
        () if said.len() > 2000 + 3 * value.len() => Some("it floods the terminal".to_owned()),
        () if !named => Some("neither the flag nor the value is named".to_owned()),
        () => None,
    }
}

/// If a verb were not in the list, its flags would go untried.
#[test]
fn every_verb_has_a_usual_line() {
    let verbs: BTreeSet<String> = slots().into_iter().map(|slot| slot.verb).collect();
    let listed: BTreeSet<String> = VERBS.iter().map(|verb| verb.name.to_owned()).collect();
    assert_eq!(verbs, listed, "cases/known.rs has a line for each verb");
}

/// If a usual line were wrong by itself, the nonsense in it would never be looked at.
#[test]
fn usual_lines_are_good() {
    let fixture = Fixture::new();
    for verb in VERBS.iter().filter(|verb| verb.ends) {
        let mut line: Vec<OsString> = verb.name.split(' ').map(OsString::from).collect();
        line.extend(known::usual(verb.name, "").iter().map(OsString::from));
        let ended = fixture.copy().run(&line);
        assert!(matches!(ended.code, Some(0 | 1)), "{line:?}: {ended:?}");
    }
}

#[test]
fn nonsense_is_one_clear_error_and_makes_nothing() {
    let fixture = Fixture::new();
    let slots = slots();
    let cases: Vec<Case> = slots
        .iter()
        .flat_map(|slot| {
            // To what takes any text, one number is as good as another.
            let tells = |value: &&Value| slot.is_typed || !NUMBERS.contains(&value.name);
            VALUES.iter().filter(tells).map(|value| Case::new(slot, *value))
        })
        .collect();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    let counts = [const { AtomicUsize::new(0) }; 4];
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                // Cases that may create files run in a directory of their own.
                let mine = [fixture.copy(), fixture.copy()];
                let mut definitions = args::Cli::command();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (who, fault) = judge(case, &mut definitions, &mine);
                    counts[who as usize].fetch_add(1, Ordering::Relaxed);
                    fault.iter().for_each(|fault| println!("{fault}"));
                    wrong.lock().unwrap().extend(fault);
                }
            });
        }
    });
    let [definitions, verbs, alike, good] = counts.map(AtomicUsize::into_inner);
    println!(
        "refused: {definitions} by the flags' definitions, {verbs} by verbs; {alike} as another verb does; {good} good"
    );
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} are not answered so", wrong.len(), cases.len());
    assert!(definitions > 1000 && verbs > 200, "the cases are gone");
}

/// Source of the answer.
#[derive(Clone, Copy)]
enum Who {
    Definitions,
    Verb,
    /// Not asked: another verb has the same flag and hands it to the same code.
    Alike,
    /// No answer, since the value is good.
    Good,
}

/// Source of the answer, and its fault.
fn judge(case: &Case, definitions: &mut Command, fixtures: &[Fixture; 2]) -> (Who, Option<String>) {
    let told = |fault: String, said: &str| format!("{}: {fault}\n    {}", case.name(), said.trim());
    let Slot { verb, id, is_typed, .. } = &case.slot;
    let parsed = case.parsed(definitions);
    // Invalid UTF-8 is reported by the program itself.
    let said_here = parsed.as_ref().err().filter(|error| error.kind() != ErrorKind::InvalidUtf8);
    if let Some(error) = said_here {
        let helps = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        let code = if helps { Some(0) } else { Some(error.exit_code()) };
        // The program says what the definitions say, made harmless; that is held below.
        let said = error.render().to_string().replace(|c: char| c.is_control() && c != '\n', "?");
        return (Who::Definitions, faults(case, code, &said).map(|fault| told(fault, &said)));
    }
    let judged = match parsed {
        Err(_) => Judged::Wrong,
        Ok(()) => known::judged(verb, id, *is_typed, case.value.name),
    };
    if judged == Judged::Good {
        return (Who::Good, None);
    }
    if known::is_alike(verb, id) {
        return (Who::Alike, None);
    }
    let ended = fixtures[usize::from(judged == Judged::Either)].run(&case.line);
    let fault = match (judged, ended.code) {
        (Judged::Either, Some(0 | 1)) => None,
        (Judged::Either, _) => faults(case, ended.code, &ended.stderr),
        _ => faults(case, ended.code, &ended.stderr)
            .or_else(|| made(&fixtures[0]))
            .or_else(|| result(&ended)),
    };
    (Who::Verb, fault.map(|fault| told(fault, &ended.stderr)))
}

fn made(fixture: &Fixture) -> Option<String> {
    let made = fixture.made();
    (!made.is_empty()).then(|| format!("it made {made:?}"))
}

fn result(ended: &Ended) -> Option<String> {
    (!ended.stdout.is_empty()).then(|| format!("an error came with a result: {}", ended.stdout))
}

/// The program prints what the definitions say, without what a terminal would take for an order.
#[test]
fn the_program_says_what_the_definitions_say() {
    let fixture = Fixture::new();
    for (line, word) in [
        (&["mark", "--runs=\u{1b}]0;x\u{7}7"][..], "--runs"),
        (&["mark", "--tests=\u{7}\u{8}"], "--tests"),
        (&["\u{1b}[31mmark"], "mark"),
        (&["plan", "\u{7}more"], "more"),
    ] {
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        let ended = fixture.run(&line);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(word), "{ended:?}");
        assert!(!ended.stderr.contains(|c: char| c.is_control() && c != '\n'), "{ended:?}");
    }
    let line = [OsStr::from_bytes(b"mark"), OsStr::from_bytes(b"--runs=\xff")].map(OsString::from);
    let ended = fixture.run(&line);
    assert!(ended.code == Some(2) && ended.stderr.contains("--runs"), "{ended:?}");
}
