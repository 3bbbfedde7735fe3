//! `drivescope trace analyze`.

use anyhow::{Result, ensure};
use bench::outputs;
use report::Styled;
use report::chart::Ground;
use trace::analyze;

use crate::args::TraceAnalyzeArgs;
use crate::exit::Exit;
use crate::messages;
use crate::verbs::print_json;

use crate::trace_files::opened;

/// The form of what this verb prints as JSON.
pub use documents::instrument::ANALYSIS as SCHEMA;

/// Runs the verb.
///
/// # Errors
/// When the trace cannot be read, or has no I/O.
pub fn main(args: &TraceAnalyzeArgs) -> Result<Exit> {
    if let (Some(from), Some(until)) = (args.from, args.until) {
        ensure!(
            from < until,
            "--from {from} is not before --until {until}: no I/O is between them"
        );
    }
    args.plot.as_deref().map_or(Ok(()), |path| outputs::check(path, args.force))?;
    let mut source = opened(&args.traces, &args.reading.options())?;
    let mut body = analyze::run(&args.options(), &mut *source)?;
    views::remedies::write(&mut body.caveats);
    if let Some(path) = &args.plot {
        let ground = if args.dark { Ground::Dark } else { Ground::Light };
        crate::drawings::of_trace(&body, path, ground, args.force)?;
    }
    if args.json {
        print_json(SCHEMA, body)?;
        return Ok(Exit::Done);
    }
    let text = match args.btt {
        true => Styled::of_lines(&formats::btt::summary(&views::btt::summary(&body))),
        false => report::render_tables(
            &views::analyze::tables(&body, &args.traces),
            report::Style::default(),
        ),
    };
    messages::result(&text)?;
    Ok(Exit::Done)
}
