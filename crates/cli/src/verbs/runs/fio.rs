//! `drivescope runs export --format fio-json`: a recorded mark as the JSON that fio would have written.

use std::path::Path;

use anyhow::{Result, bail};
use bench::outputs;
use record::Integrity;
use serde_json::json;

use super::printed::tell;
use crate::args::PlaceArgs;
use crate::exit::Exit;
use crate::{messages, records};

/// Exports the one run that is named.
///
/// # Errors
/// When it is not one, has no result, is no mark or sweep, or the file cannot be written.
pub(super) fn export(
    names: &[String],
    place: &PlaceArgs,
    (output, force): (&Path, bool),
    json: bool,
) -> Result<Exit> {
    let [name] = names else {
        bail!("--format fio-json takes one run, such as last: a document of fio's is of one");
    };
    let runs = place.runs()?;
    let id = runs.find(name)?;
    let run = runs.load(&id)?;
    if let Integrity::Altered(files) = runs.verify(&id)? {
        bail!("{id}: is not what was recorded ({}), so it is not passed on", files.join(", "));
    }
    let document =
        records::mark_of(&run)?.ok_or_else(|| records::without_result(&run, &runs, place))?;
    let exported = views::fio::document(&run, &document)?;
    exported.notes.iter().for_each(|note| messages::note(note));
    let mut text = serde_json::to_string_pretty(&exported.document)?;
    text.push('\n');
    if output == Path::new("-") {
        messages::json(&text)?;
        return Ok(Exit::Done);
    }
    outputs::protect(Path::new(&run.summary.target))?;
    outputs::write(output, text.as_bytes(), force)?;
    let name = output.display().to_string();
    let jobs = exported.jobs;
    let said = format!("{name}: {jobs} jobs of {id}\n");
    tell(
        json,
        json!({ "file": name, "runs": [id], "jobs": jobs, "withdrawn": exported.withdrawn }),
        &report::Styled::of_lines(&said),
    )
}
