//! The recording replayed on two drives of which it is known which answers sooner: in virtual time, and served as files
//! to real replays.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use crate::binary::{Binary, number, text};
use crate::serve::server::Server;
use crate::sheet;

/// The drives, the one that is known to suit first: `sata-a` takes half the time of `sata-b` for a read, and more of
/// them in a second.
const DRIVES: [&str; 2] = ["sata-a", "sata-b"];

/// Both ways to replay that source documents know.
const MODES: [&str; 2] = ["timed", "outstanding"];

/// One comparison.
pub struct Contest {
    mode: &'static str,
    served: bool,
    body: Value,
}

/// Compares the drives by the first `seconds` of the trace in `file`, in both modes, virtual and served.
///
/// # Errors
/// When a drive cannot be served, or a comparison cannot be made.
pub fn contests(binary: &Binary, file: &Path, seconds: u32, rounds: u32) -> Result<Vec<Contest>> {
    let served = [Server::start(binary, DRIVES[0])?, Server::start(binary, DRIVES[1])?];
    let files = [served[0].file().to_owned(), served[1].file().to_owned()];
    let mut contests = Vec::new();
    for mode in MODES {
        let compare = |targets: [&str; 2], consent: &[String]| {
            let mut arguments = vec!["trace".to_owned(), "compare".to_owned()];
            arguments.push(file.display().to_string());
            arguments.extend(targets.map(str::to_owned));
            let how = format!("--mode={mode} --until={seconds}s --rounds={rounds} --seed=1");
            arguments.extend(how.split(' ').map(str::to_owned));
            arguments.extend_from_slice(consent);
            binary.body(&arguments)
        };
        let names = DRIVES.map(|drive| format!("sim:{drive}"));
        let body = compare([&names[0], &names[1]], &[])?;
        contests.push(Contest { mode, served: false, body });
        let paths = files.each_ref().map(|file| file.display().to_string());
        let mut consent = vec!["--write".to_owned()];
        for file in &files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            consent.push(format!("--consent={name}"));
        }
        let body = compare([&paths[0], &paths[1]], &consent)?;
        contests.push(Contest { mode, served: true, body });
    }
    for server in served {
        server.stop()?;
    }
    Ok(contests)
}

impl Contest {
    fn name(&self) -> String {
        format!("{}, {}", self.mode, if self.served { "served" } else { "virtual" })
    }

    /// Describes the fault: the verdict names another drive than the first, or none.
    ///
    /// # Errors
    /// Returns an error if the body does not have the expected form.
    pub fn fault(&self) -> Result<Option<String>> {
        let verdict = text(&self.body, "/verdict")?;
        let reason = text(&self.body, "/reason")?;
        Ok((verdict != "a").then(|| {
            format!("{}: {verdict} where {} was to be named: {reason}", self.name(), DRIVES[0])
        }))
    }

    fn row(&self) -> Result<Vec<String>> {
        let of = |drive: usize, what: &str| -> Result<String> {
            let ns = number(&self.body, &format!("/drives/{drive}/{what}/value"))?;
            Ok(format!("{:.3}", ns / 1e9))
        };
        let ratio = |what: &str| -> Result<String> {
            let at = |end: &str| number(&self.body, &format!("/{what}/{end}"));
            Ok(match (at("low"), at("high")) {
                (Ok(low), Ok(high)) => format!("{:.3} ({low:.3}–{high:.3})", at("ratio")?),
                _ => format!("{:.3}", at("ratio")?),
            })
        };
        Ok(vec![
            self.name(),
            of(0, "completion")?,
            of(1, "completion")?,
            ratio("completion_ratio")?,
            of(0, "q2c_sum")?,
            of(1, "q2c_sum")?,
            ratio("q2c_sum_ratio")?,
            text(&self.body, "/verdict")?.to_owned(),
        ])
    }
}

/// The comparisons as a table.
///
/// # Errors
/// When one has not the form that it should.
pub fn table(contests: &[Contest]) -> Result<String> {
    let rows = contests.iter().map(Contest::row).collect::<Result<Vec<_>>>()?;
    let heads =
        ["replay", "completion A, s", "B, s", "A / B", "Σ Q2C A, s", "B, s", "A / B", "verdict"];
    Ok(sheet::table(1, &heads, &rows))
}
