//! Advice about files that were given to the wrong verb: an error names the right one.

use std::path::{Path, PathBuf};

use block::quoted;
use documents::format::{FileFormat, detect_format};
use documents::instrument;

/// Hint where a plan comes from.
pub const PLANS: &str = "`drivescope plan` prints one";

/// Verb that was given the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// `runs import`, which takes what drivescope exported or printed.
    Runs,
    /// `import`, which takes what other programs printed.
    Import,
    /// `import flashbench`.
    Flashbench,
    /// Verbs that show or compare results.
    Show,
    /// Verbs that run plans.
    Plan,
    /// `judge`.
    Judge,
    /// `trace`, where a trace is wanted.
    Trace,
}

/// Advice for the file at `path`, which is not for `reader`; `None` where nothing is known of it.
pub fn advice(path: &Path, reader: Reader) -> Option<String> {
    let name = path.display();
    let word = quoted(&path.to_string_lossy());
    let said = match (detect_format(path)?, reader) {
        (FileFormat::Empty, Reader::Plan) => format!("is empty, and a plan belongs there: {PLANS}"),
        (FileFormat::Empty, _) => "is empty: there is no result in it".to_owned(),
        (FileFormat::Directory, Reader::Plan) => format!("is a directory, and a plan belongs there: {PLANS}"),
        (FileFormat::FioJob, Reader::Plan) => {
            format!("is a job file of fio, and a plan is TOML; make one of it: drivescope explain --plan {word} > plan.toml")
        }
        (FileFormat::Json, Reader::Plan) => format!("is JSON, and a plan is TOML: {PLANS}"),
        (FileFormat::Document(form), Reader::Plan) => {
            format!("is a result ({form}), and no plan; see it with: drivescope report {word}")
        }
        (FileFormat::Directory, Reader::Show) => {
            "is a directory; name a recorded run, or a file that --json was printed to".to_owned()
        }
        (
            FileFormat::Archive,
            Reader::Import | Reader::Flashbench | Reader::Show | Reader::Plan | Reader::Judge,
        ) => {
            format!(
                "is packed (gzip); unpack it first (gunzip), or, when `drivescope runs export` packed it, read it with: \
                 drivescope runs import {word}"
            )
        }
        (FileFormat::Trace, _) if reader != Reader::Trace => {
            format!("is a table in Parquet, as a trace is; read it with: drivescope trace analyze {word}")
        }
        (FileFormat::Document(form), Reader::Import | Reader::Flashbench) if form == instrument::MARK => {
            format!("is drivescope's own result; take it in with: drivescope runs import {word}")
        }
        (FileFormat::Document(form), Reader::Judge) => format!(
            "is drivescope's own ({form}), and already says which results are confirmed; see it with: drivescope show {word}"
        ),
        (FileFormat::Document(form), Reader::Import | Reader::Flashbench | Reader::Trace) => {
            format!("is drivescope's own ({form}); see it with: drivescope report {word}")
        }
        (FileFormat::Result(program), Reader::Trace) => {
            format!("is a result of {program}, and no trace; read it with: drivescope import {word}")
        }
        (FileFormat::Result(program), Reader::Runs | Reader::Flashbench | Reader::Show | Reader::Plan) => {
            format!("is a result of {program}; read it with: drivescope import {word}")
        }
        (FileFormat::Flashbench, _) if reader != Reader::Flashbench => {
            format!("is what flashbench printed; read it with: drivescope import flashbench {word}")
        }
        (FileFormat::Json, Reader::Show) => {
            "is JSON, but nothing that drivescope printed: it has no envelope; give what --json printed, or the name of a \
             run"
                .to_owned()
        }
        (FileFormat::Binary, Reader::Show) => {
            "is neither a recorded run nor what --json printed, but other data".to_owned()
        }
        _ => return None,
    };
    Some(format!("{name}: {said}"))
}

/// Advice for the first of `paths` that another verb is for, else `error`.
pub fn instead(paths: &[PathBuf], reader: Reader, error: anyhow::Error) -> anyhow::Error {
    let advice = paths.iter().find_map(|path| advice(path, reader));
    advice.map_or(error, anyhow::Error::msg)
}
