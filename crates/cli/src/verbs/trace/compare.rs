//! `drivescope trace compare`.

use anyhow::Result;
use documents::replay::CompareBody;
use record::{Document, State};
use replay::Comparison;
use runner::place::Keep;
use trace::replay::compare::Suits;

use super::replaying::{cost, ended_early, replayer};
use crate::announcing::{Next, announced_together};
use crate::args::TraceCompareArgs;
use crate::exit::Exit;
use crate::recorded::of_printed;
use crate::{files, messages, records};

/// Runs the verb.
///
/// # Errors
/// What makes a replay impossible.
pub fn main(args: &TraceCompareArgs) -> Result<Exit> {
    let replayer = replayer(&args.trace, &args.reading, &args.play)?;
    let costs = [&args.a, &args.b].map(|side| Ok((side, cost(&replayer, side, args.rounds)?)));
    let costs = costs.into_iter().collect::<Result<Vec<_>>>()?;
    let anyway = args.play.tester.anyway;
    let announced = match announced_together(&costs, &args.files, anyway)? {
        Next::Run(announced) => announced,
        Next::End(exit) => return Ok(exit),
    };
    let comparison = Comparison {
        replayer: &replayer,
        a: &args.a,
        b: &args.b,
        rounds: args.rounds,
        keep: Keep { announced, ..args.record.keep().keep() },
        is_quiet: args.files.result.no_progress,
    };
    let finished = match comparison.run()? {
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
            is_halted: finished.state != State::Finished,
            document: &|| of_printed(&finished.document.to_json()?, None),
        },
    );
    finished.closed.whole()?;
    written?;
    if finished.state != State::Finished {
        records::tell_to_make_anew();
    }
    if let Some(broken) = finished.broken {
        return Err(broken);
    }
    Ok(match (finished.state, finished.document.body.compared.verdict) {
        (State::Finished, Suits::A | Suits::B) => Exit::Done,
        (State::Finished, Suits::Equivalent | Suits::Undecided) => Exit::No,
        _ => Exit::Interrupted,
    })
}

/// Prints a comparison.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<CompareBody>, json: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let tables = views::replay::compared(&document.body);
    messages::result(&report::render_tables(&tables, report::Style::default()))
}
