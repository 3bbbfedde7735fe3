//! Every document that is read, with each thing wrong in it that can be: the error names the file and what in it is
//! wrong, or the document means what it meant. Nothing is made of what was not understood.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::cases;

use std::ffi::OsString;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cases::fixture::{Ended, Fixture};
use cases::mutate::{Change, mutants, torn};
use serde_json::Value;

/// A document, and who reads it.
struct Read {
    /// Its file in the fixture, which the error has to name.
    file: &'static str,
    /// The line that reads it; it ends with 0 or 1 when the document is sound.
    line: &'static str,
    form: Form,
    /// Depth of nested tables up to which changes are made.
    depth: usize,
    /// Changes that are accepted, and the reasons.
    taken: &'static [Taken],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Toml,
    Json,
    /// Only cut and flipped.
    Bytes,
}

/// Changes below a path that are not errors.
struct Taken(&'static str, &'static [Change], #[allow(dead_code)] &'static str);

use Change::{Cut, Doubled, Extra, Flipped, Huge, Negative, Removed, Retyped};

const QUICKLY: &str = "sim:hdd-7200 --no-progress --no-record --span=64MiB";

fn reads() -> Vec<Read> {
    let read = |file, line, form, depth, taken| Read { file, line, form, depth, taken };
    vec![
        read("plan.toml", "run plan.toml", Form::Toml, 9, PLAN),
        read("hdd.toml", "sim show ./hdd.toml", Form::Toml, 9, MODEL),
        read("ssd.toml", "sim show ./ssd.toml", Form::Toml, 9, MODEL),
        read("card.toml", "sim show ./card.toml", Form::Toml, 9, MODEL),
        read("document.json", "runs import document.json", Form::Json, 3, DOCUMENT),
        read(
            "health.json",
            "health commands:worn-nvme.commands --since health.json",
            Form::Json,
            9,
            HEALTH,
        ),
        read("runs.tar.gz", "runs import runs.tar.gz", Form::Bytes, 0, &[]),
        read("shop.parquet", "trace analyze shop.parquet", Form::Bytes, 0, &[]),
        read("shop.spc", "trace analyze shop.spc", Form::Bytes, 0, TEXT),
        read("align.txt", "import flashbench align.txt", Form::Bytes, 0, TEXT),
        read("rows.txt", "rows merge rows.txt", Form::Bytes, 0, TEXT),
        read("worn-nvme.commands", "health commands:worn-nvme.commands", Form::Bytes, 0, TEXT),
    ]
}

const ALL: &[Change] = &[Removed, Retyped, Huge, Negative, Extra, Doubled];

const TEXT: &[Taken] =
    &[Taken("", &[Cut, Flipped], "lines that are whole are read, and of a word another may come")];

const PLAN: &[Taken] = &[
    Taken("/content", &[Removed], "has a default"),
    Taken("/schedule", &[Removed], "has a default"),
    Taken("/seed", &[Huge], "is a good seed"),
    Taken("/step/*/phase/*/address", &[Extra], "a kind without settings of its own looks at none"),
];

const MODEL: &[Taken] = &[
    Taken("", &[Flipped], "a remark, or one digit of a number"),
    Taken("/identity/temperature_c", &[Negative, Removed], "may be cold, and has a default"),
    Taken("/fat", &[Removed], "not every card has one"),
    Taken("/read/crossings", &[Removed], "not every card has one"),
    Taken("/slc", &[Removed], "not every drive has one"),
];

const DOCUMENT: &[Taken] = &[
    Taken("", &[Flipped], "one digit of a number"),
    Taken("/body", &[Doubled], "the last one counts in JSON"),
    Taken("/body", ALL, "is kept as it is, and not understood before it is shown"),
    Taken("/envelope", &[Removed, Extra, Huge], "older and later versions tell less and more"),
];

const HEALTH: &[Taken] = &[
    Taken("", &[Flipped], "one letter of a word"),
    Taken("/body", &[Doubled], "the last one counts in JSON"),
    Taken("/body/stack", ALL, "is not looked at"),
    Taken("/body/target", ALL, "is not looked at"),
    Taken("/body/changes", ALL, "is not looked at"),
    Taken("/envelope", ALL, "nothing of it but its form is looked at"),
    Taken("/body", &[Extra], "later versions tell more"),
    Taken("/body/drives", &[Removed, Huge, Negative], "a drive may not tell it, or may tell it so"),
];

/// A document with something wrong, to be read.
struct Case {
    read: usize,
    change: Change,
    path: String,
    key: String,
    bytes: Vec<u8>,
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models");
    for (name, to) in [("hdd-7200", "hdd"), ("tlc-pslc", "ssd"), ("usb-8m", "card")] {
        fs::copy(format!("{models}/{name}.toml"), fixture.path(&format!("{to}.toml"))).unwrap();
    }
    fixture
}

fn cases(fixture: &Fixture) -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, read) in reads().iter().enumerate() {
        let sound = fs::read(fixture.path(read.file)).unwrap();
        let mut add = |change, path: &str, key: &str, bytes| {
            let (path, key) = (path.to_owned(), key.to_owned());
            cases.push(Case { read: at, change, path, key, bytes });
        };
        for (change, bytes) in torn(&sound) {
            add(change, "", "", bytes);
        }
        let text = String::from_utf8_lossy(&sound).into_owned();
        let (document, print): (Value, fn(&Value) -> String) = match read.form {
            Form::Toml => (toml::from_str(&text).unwrap(), |v| toml::to_string(v).unwrap()),
            Form::Json => (serde_json::from_str(&text).unwrap(), Value::to_string),
            Form::Bytes => continue,
        };
        for mutant in mutants(&document, read.depth) {
            add(mutant.change, &mutant.path, mutant.key(), print(&mutant.document).into_bytes());
        }
        if let (Form::Json, Some((key, value))) =
            (read.form, document.as_object().unwrap().iter().next())
        {
            let twice = text.replacen('{', &format!("{{\"{key}\":{value},"), 1);
            add(Doubled, &format!("/{key}"), key, twice.into_bytes());
        }
    }
    cases
}

fn run(fixture: &Fixture, read: &Read) -> Ended {
    let tail = if read.line.starts_with("run ") { format!(" {QUICKLY}") } else { String::new() };
    let line: Vec<OsString> =
        format!("{}{tail}", read.line).split(' ').map(OsString::from).collect();
    fixture.run(&line)
}

/// Fault of the answer to a case.
fn fault(case: &Case, read: &Read, ended: &Ended) -> Option<String> {
    let said = &ended.stderr;
    let is_taken = || {
        read.taken.iter().any(|Taken(path, changes, _)| {
            case.path.starts_with(path) && changes.contains(&case.change) && case.key != "schema"
        })
    };
    let errors = said.lines().filter(|line| line.starts_with("error:")).count();
    let line =
        |(at, _): (usize, &str)| said[at + read.file.len() + 1..].starts_with(char::is_numeric);
    let has_line = || said.match_indices(&format!("{}:", read.file)).any(line);
    let names_it = case.key.is_empty()
        || said.contains(&case.key)
        || said.contains("nobody_knows")
        // The form of a document has no other name, and what a drive is has words of its own.
        || (case.path.starts_with("/envelope") && said.contains(" form "))
        || said.contains("is of another drive: its")
        // A file that is decoded as a whole is reported by its expected form.
        || (read.file == "document.json" && ["expected ", "missing field"].iter().any(|w| said.contains(w)))
        || said.contains("line ")
        || has_line();
    match ended.code {
        _ if said.contains("panicked") => Some("panicked".to_owned()),
        Some(0 | 1) if is_taken() => None,
        Some(0 | 1) => Some("taken".to_owned()),
        Some(2) if errors != 1 => Some(format!("{errors} errors")),
        // A run is called by its own name.
        Some(2) if said.contains("is there already, with other content") => None,
        Some(2) if !said.contains(read.file) => Some("the file is not named".to_owned()),
        Some(2) if !names_it => Some("neither the key nor a line is named".to_owned()),
        Some(2) if said.contains(|c: char| c.is_control() && c != '\n') => {
            Some("control characters".to_owned())
        }
        Some(2) if !ended.stdout.is_empty() => Some("an error came with a result".to_owned()),
        Some(2) => None,
        code => Some(format!("ended with {code:?}")),
    }
}

#[test]
fn sound_documents_are_read() {
    let fixture = fixture();
    for read in reads() {
        let ended = run(&fixture, &read);
        assert!(matches!(ended.code, Some(0 | 1)), "{}: {ended:?}", read.line);
    }
}

#[test]
fn what_is_wrong_in_a_document_is_named() {
    let sound = fixture();
    let (reads, cases) = (reads(), cases(&sound));
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let mine = sound.copy();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let read = &reads[case.read];
                    let file = mine.path(read.file);
                    let before = fs::read(&file).unwrap();
                    fs::write(&file, &case.bytes).unwrap();
                    let ended = run(&mine, read);
                    fs::write(&file, before).unwrap();
                    if let Some(fault) = fault(case, read, &ended) {
                        let (file, said) = (read.file, ended.stderr.trim());
                        let what =
                            format!("{file} {} {:?}: {fault}\n    {said}", case.path, case.change);
                        wrong.lock().unwrap().push(what);
                    }
                }
            });
        }
    });
    println!("{} documents", cases.len());
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() > 500, "the cases are gone");
}
