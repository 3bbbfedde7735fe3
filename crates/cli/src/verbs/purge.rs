//! `drivescope purge`: empties a drive, and shows whether it is empty.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use bench::opening;
use block::{EngineChoice, EngineKind};
use documents::purge::{Body, SCHEMA};
use instruments::purge::{self, PurgeOutcome};
use record::Document;
use report::Style;
use runner::recorder::Closed;

use crate::args::{FilesArgs, PurgeArgs};
use crate::envelope::{SystemClock, envelope, run_id};
use crate::exit::Exit;
use crate::recorded::of_printed;
use crate::{files, messages};

/// Runs the verb.
///
/// # Errors
/// When it is impossible; [`crate::exit::Refused`] inside when the safety gate refuses it.
pub fn main(args: &PurgeArgs) -> Result<Exit> {
    args.check()?;
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly(&cancel);
    let others = [("--engine", args.engine.first() != EngineKind::Psync)];
    opening::note_without_effect(&args.device, EngineChoice::default(), None, &others);
    let settings = args.settings()?;
    let (document, closed) = match purge::run(&settings, &cancel)? {
        PurgeOutcome::Done(ended) => (ended.document, ended.closed),
        PurgeOutcome::Planned(mut body) => {
            views::remedies::write(&mut body.caveats);
            let envelope = envelope(SCHEMA, run_id(settings.seed), &SystemClock);
            (Document { envelope, body: *body }, Closed::default())
        }
    };
    print(&document, args.output.result.json)?;
    let written = files::write(
        &FilesArgs { result: args.output.result.clone(), ..FilesArgs::default() },
        false,
        &files::Ended {
            record: &closed,
            place: &args.output.place,
            is_halted: cancel.load(Ordering::Relaxed),
            document: &|| of_printed(&document.to_json()?, None),
        },
    );
    closed.whole()?;
    written?;
    Ok(match (document.body.is_good(), cancel.load(Ordering::Relaxed)) {
        (true, _) => Exit::Done,
        (false, true) => Exit::Interrupted,
        (false, false) => Exit::No,
    })
}

/// Prints a purge.
///
/// # Errors
/// When it cannot be printed.
pub fn print(document: &Document<Body>, json: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let listing = views::purge::listing(&document.body);
    messages::result(&report::render_listing(&listing, Style::default()))
}
