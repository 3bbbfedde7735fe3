//! Whose a file is that was given to the wrong verb, by what is in it: so that the error can name the right one.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use block::quoted;
use probe::flashbench::parse_all;
use pts::judge;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::session;

/// So much of a file is looked at.
const LOOK_BYTES: u64 = 8 << 20;
/// So much of JSON, of which nothing is kept.
const JSON_BYTES: u64 = 512 << 20;

/// Where a plan comes from.
pub const PLANS: &str = "`drivescope plan` prints one";

/// Who was given the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// `runs import`, which takes what drivescope exported or printed.
    Runs,
    /// `import`, which takes what other programs printed.
    Import,
    /// `import flashbench`.
    Flashbench,
    /// What shows or compares results.
    Show,
    /// What runs plans.
    Plan,
    /// `judge`.
    Judge,
    /// `trace`, where a trace is wanted.
    Trace,
}

/// What a file is.
enum Whose {
    Nothing,
    Directory,
    Archive,
    Trace,
    /// What `--json` printed, of this form.
    Document(String),
    Result(&'static str),
    Flashbench,
    Json,
    Binary,
    /// fio's, by its sections and one of its words. Results have none.
    Job,
}

/// What to do with the file at `path` instead of giving it to `reader`; none where nothing is known of it.
pub fn advice(path: &Path, reader: Reader) -> Option<String> {
    let name = path.display();
    let word = quoted(&path.to_string_lossy());
    let said = match (whose(path)?, reader) {
        (Whose::Nothing, Reader::Plan) => format!("is empty, and a plan belongs there: {PLANS}"),
        (Whose::Nothing, _) => "is empty: there is no result in it".to_owned(),
        (Whose::Directory, Reader::Plan) => format!("is a directory, and a plan belongs there: {PLANS}"),
        (Whose::Job, Reader::Plan) => {
            format!("is a job file of fio, and a plan is TOML; make one of it: drivescope explain --plan {word} > plan.toml")
        }
        (Whose::Json, Reader::Plan) => format!("is JSON, and a plan is TOML: {PLANS}"),
        (Whose::Document(form), Reader::Plan) => {
            format!("is a result ({form}), and no plan; see it with: drivescope report {word}")
        }
        (Whose::Directory, Reader::Show) => {
            "is a directory; name a recorded run, or a file that --json was printed to".to_owned()
        }
        (
            Whose::Archive,
            Reader::Import | Reader::Flashbench | Reader::Show | Reader::Plan | Reader::Judge,
        ) => {
            format!(
                "is packed (gzip); unpack it first (gunzip), or, when `drivescope runs export` packed it, read it with: \
                 drivescope runs import {word}"
            )
        }
        (Whose::Trace, _) if reader != Reader::Trace => {
            format!("is a table in Parquet, as a trace is; read it with: drivescope trace analyze {word}")
        }
        (Whose::Document(form), Reader::Import | Reader::Flashbench) if form == session::SCHEMA => {
            format!("is drivescope's own result; take it in with: drivescope runs import {word}")
        }
        (Whose::Document(form), Reader::Judge) => format!(
            "is drivescope's own ({form}), and says itself what is proven; see it with: drivescope show {word}"
        ),
        (Whose::Document(form), Reader::Import | Reader::Flashbench | Reader::Trace) => {
            format!("is drivescope's own ({form}); see it with: drivescope report {word}")
        }
        (Whose::Result(whose), Reader::Trace) => {
            format!("is a result of {whose}, and no trace; read it with: drivescope import {word}")
        }
        (Whose::Result(whose), Reader::Runs | Reader::Flashbench | Reader::Show | Reader::Plan) => {
            format!("is a result of {whose}; read it with: drivescope import {word}")
        }
        (Whose::Flashbench, _) if reader != Reader::Flashbench => {
            format!("is what flashbench printed; read it with: drivescope import flashbench {word}")
        }
        (Whose::Json, Reader::Show) => {
            "is JSON, but nothing that drivescope printed: it has no envelope; give what --json printed, or the name of a \
             run"
                .to_owned()
        }
        (Whose::Binary, Reader::Show) => {
            "is neither a recorded run nor what --json printed, but other data".to_owned()
        }
        _ => return None,
    };
    Some(format!("{name}: {said}"))
}

/// What to do with the first of `paths` that another verb is for, else the `error` that told of them.
pub fn instead(paths: &[PathBuf], reader: Reader, error: anyhow::Error) -> anyhow::Error {
    let advice = paths.iter().find_map(|path| advice(path, reader));
    advice.map_or(error, anyhow::Error::msg)
}

/// True of a file that `--json` was printed to, whatever it is called.
pub fn is_document(path: &Path) -> bool {
    let mut first = [0];
    let begins = |mut file: File| file.read_exact(&mut first).is_ok() && first == *b"{";
    // A disk's image is not read to its end for this.
    path.is_file()
        && File::open(path).is_ok_and(begins)
        && matches!(whose(path), Some(Whose::Document(_)))
}

fn is_job(text: &str) -> bool {
    let has = |words: &[&str]| {
        text.lines().any(|line| words.iter().any(|word| line.trim_start().starts_with(word)))
    };
    has(&["["]) && has(&["rw=", "readwrite=", "ioengine=", "filename="])
}

/// What every document of ours begins with; the rest is passed over.
#[derive(Deserialize)]
struct Headed {
    envelope: Head,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// Whether the file is JSON, and the form that its envelope names.
fn json(path: &Path) -> Option<Option<String>> {
    let open = || Some(BufReader::new(File::open(path).ok()?.take(JSON_BYTES)));
    let headed = serde_json::from_reader::<_, Headed>(open()?);
    if let Ok(headed) = headed {
        return Some(Some(headed.envelope.schema));
    }
    serde_json::from_reader::<_, IgnoredAny>(open()?).ok().map(|_| None)
}

fn whose(path: &Path) -> Option<Whose> {
    if path.is_dir() {
        return Some(Whose::Directory);
    }
    let mut bytes = Vec::new();
    // What waits for a writer has no content to look at.
    let file = path.is_file().then(|| File::open(path).ok()).flatten()?;
    file.take(LOOK_BYTES).read_to_end(&mut bytes).ok()?;
    match bytes.as_slice() {
        [] => return Some(Whose::Nothing),
        [0x1f, 0x8b, ..] => return Some(Whose::Archive),
        [b'P', b'A', b'R', b'1', ..] => return Some(Whose::Trace),
        _ => {}
    }
    let json = json(path);
    if let Some(Some(form)) = json {
        return Some(Whose::Document(form));
    }
    let name = path.to_string_lossy().into_owned();
    if parse_all([(name.as_str(), bytes.as_slice())]).is_ok() {
        return Some(Whose::Flashbench);
    }
    let is_text = std::str::from_utf8(&bytes).is_ok();
    let text = String::from_utf8_lossy(&bytes);
    match (judge::format_in(&name, &text), json) {
        (Some(format), _) => Some(Whose::Result(format.tool())),
        (None, Some(_)) => Some(Whose::Json),
        (None, None) if !is_text => Some(Whose::Binary),
        (None, None) if is_job(&text) => Some(Whose::Job),
        _ => None,
    }
}
