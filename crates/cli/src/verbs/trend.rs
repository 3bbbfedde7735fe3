//! `drivescope trend`: the recorded marks of a drive over time.

use anyhow::{Context as _, Result};
use mark::Body;
use mark::trend::{Marked, Trend, Verdict, trend};
use record::Document;
use report::{RateUnit, Style};
use serde::Serialize;

use crate::args::TrendArgs;
use crate::exit::Exit;
use crate::known_drives::{Named, who};
use crate::verbs::print_json;
use crate::{messages, records, session};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.trend/1";

/// Printed result.
#[derive(Serialize)]
struct Printed<'a> {
    drive: &'a str,
    #[serde(flatten)]
    trend: &'a Trend,
}

/// A recorded mark, and where it was made.
struct Kept {
    document: Document<Body>,
    place: String,
    with: Vec<(&'static str, String)>,
}

/// Runs the verb.
///
/// # Errors
/// When no run, or runs of several drives, are meant, or a record cannot be read.
pub fn main(args: &TrendArgs) -> Result<Exit> {
    let runs = args.place.runs()?;
    let found = Named::new(&args.drive).runs_of_one(&runs)?;
    let drive = found.last().map_or(String::new(), |(_, identity)| who(identity));
    let mut kept = Vec::new();
    for (run, identity) in &found {
        let is_mark = run.envelope.schema == session::SCHEMA && run.summary.verb != "sweep";
        let Some(document) = is_mark.then(|| records::mark_of(run)).transpose()?.flatten() else {
            continue;
        };
        if !document.body.has_numbers() {
            continue;
        }
        let envelope = &run.envelope;
        let with = vec![
            ("the machine", envelope.host.name.clone()),
            ("its kernel", envelope.host.kernel.clone()),
            ("drivescope", envelope.version.clone()),
        ];
        kept.push(Kept { document, place: identity.name.clone(), with });
    }
    let marks: Vec<Marked<'_>> = kept
        .iter()
        .map(|kept| Marked {
            run_id: kept.document.envelope.run_id.as_str(),
            date: &kept.document.envelope.date,
            place: &kept.place,
            with: &kept.with,
            body: &kept.document.body,
        })
        .collect();
    if marks.is_empty() {
        let count = found.len();
        anyhow::bail!(
            "{}: none of its {count} recorded runs is a mark with a number; make some with drivescope mark",
            args.drive
        );
    }
    let mut trend = trend(&marks, args.margin);
    views::remedies::write(&mut trend.caveats);
    if args.json {
        print_json(SCHEMA, &Printed { drive: &drive, trend: &trend })?;
    } else {
        let rate = if args.mib { RateUnit::Mib } else { RateUnit::Mb };
        let sheet = views::trend::sheet(&drive, marks.len(), &trend);
        messages::result(&report::render_sheet(&sheet, Style { rate, ..Style::default() }))
            .context("cannot print the history")?;
    }
    Ok(if trend.verdict == Verdict::Slower { Exit::No } else { Exit::Done })
}
