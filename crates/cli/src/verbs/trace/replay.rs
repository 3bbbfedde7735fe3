//! `drivescope trace replay`.

use anyhow::Result;
use bench::outputs;
use block::quoted;
use documents::replay::ReplayBody;
use live::Display;
use record::{Document, State};
use replay::Single;
use runner::place::Keep;
use trace::replay::Limit;

use super::replaying::{cost, ended_early, replayer};
use crate::announcing::{Next, announced};
use crate::args::TraceReplayArgs;
use crate::exit::Exit;
use crate::recorded::of_printed;
use crate::{files, messages, records};

/// Runs the verb.
///
/// # Errors
/// What makes a replay impossible.
pub fn main(args: &TraceReplayArgs) -> Result<Exit> {
    args.live.when(true).check()?;
    args.save.as_deref().map_or(Ok(()), outputs::declare)?;
    let replayer = replayer(&args.trace, &args.reading, &args.play)?;
    let cost = cost(&replayer, &args.target, 1)?;
    let anyway = args.play.tester.anyway;
    let announced = match announced(&args.target, &|_| cost.clone(), &args.files, anyway)? {
        Next::Run(announced) => announced,
        Next::End(exit) => return Ok(exit),
    };
    let single = Single {
        replayer: &replayer,
        target: &args.target,
        save: args.save.as_deref(),
        verify: args.verify,
        keep: Keep { announced, ..args.record.keep().keep() },
        display: Display {
            live: args.live.when(true),
            is_quiet: args.files.result.no_progress,
            verb: "trace replay",
            target: args.target.as_str(),
        },
    };
    let finished = match single.run()? {
        Ok(finished) => finished,
        Err(early) => return ended_early(early),
    };
    if !args.files.is_csv_on_stdout() {
        show(&finished.document, args.files.result.json)?;
    }
    let written = files::write(
        &args.files,
        false,
        &files::Ended {
            record: &finished.closed,
            place: &args.record.place,
            is_halted: finished.state == State::Interrupted,
            document: &|| of_printed(&finished.document.to_json()?, None),
        },
    );
    if let Some(path) = args.save.as_ref().filter(|_| finished.unsaved.is_none()) {
        let path = quoted(&path.to_string_lossy());
        messages::note(&format!("kept as a trace: drivescope trace analyze {path}"));
    }
    if finished.state == State::Interrupted {
        records::tell_to_make_anew();
    }
    finished.closed.whole()?;
    written?;
    finished.unsaved.map_or(Ok(()), Err)?;
    if let Some(broken) = finished.broken {
        records::tell_to_make_anew();
        return Err(broken);
    }
    Ok(match (finished.state, finished.document.body.replay.fidelity.verdict) {
        (State::Interrupted, _) => Exit::Interrupted,
        (_, Limit::ReplayerLimited) => Exit::No,
        (_, Limit::Faithful | Limit::DriveLimited) => Exit::Done,
    })
}

/// Prints a replay.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<ReplayBody>, json: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let tables = views::replay::tables(&document.body);
    messages::result(&report::render_tables(&tables, report::Style::default()))
}
