//! `drivescope report`: recorded runs as a page, as pictures, as Markdown and as tables.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use bench::outputs;
use block::quoted;
use block::text::harmless;
use documents::recorded::Recorded;
use report::chart::{Canvas, Chart, Ground, png, svg, terminal};
use report::html::{Block, Document};
use report::{RateUnit, Style};
use serde_json::{Value, json};
use views::reporting as view;

use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::messages;
use crate::recorded;
use crate::verbs::print_json;

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.report/1";

/// A file that is to be written.
struct Output {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// Runs the verb.
///
/// # Errors
/// When a run is not there, a file exists already or cannot be written.
pub fn main(args: &ReportArgs) -> Result<Exit> {
    let to_stdout = args.markdown.as_deref().is_some_and(|path| path == Path::new("-"));
    if to_stdout && args.json {
        bail!("--markdown=- and --json both print to standard output; give --markdown a file");
    }
    if args.markdown.as_deref() == Some(Path::new(""))
        && let Some(word) = args.runs.iter().find(|word| *word == "-" || word.ends_with(".md"))
    {
        bail!("--markdown takes its file behind an equals sign: --markdown={}", quoted(word));
    }
    let runs = recorded::open_all(&recorded::or_last(&args.runs, &args.place)?, &args.place)?;
    runs.iter().try_for_each(|run| outputs::protect(Path::new(&run.target)))?;
    let altered: Vec<Exit> = runs.iter().map(recorded::tell_altered).collect();
    let rate = if args.mib { RateUnit::Mib } else { RateUnit::Mb };
    let document = view::document(&runs, rate);
    let charts = view::named_charts(&document);
    let ground = if args.dark { Ground::Dark } else { Ground::Light };
    let canvas = Canvas { rate, ground, ..Canvas::default() };

    let mut outputs = Vec::new();
    if let Some(path) = page_path(args, &runs) {
        let html = report::html::render(&document)?;
        outputs.push(Output { path, bytes: html.into_bytes() });
    }
    if let Some(dir) = &args.png {
        for (name, chart) in &charts {
            let path = dir.join(format!("{name}.png"));
            outputs.push(Output { path, bytes: png(chart, canvas)? });
        }
    }
    if let Some(dir) = &args.svg {
        for (name, chart) in &charts {
            let path = dir.join(format!("{name}.svg"));
            outputs.push(Output { path, bytes: svg(chart, canvas)?.into_bytes() });
        }
    }
    if let Some(dir) = &args.csv {
        outputs.extend(tables(&document, &charts, dir));
    }
    let mut printed = String::new();
    if let Some(path) = &args.markdown {
        let text = markdown(&document, &charts, args, rate)?;
        match path.as_os_str().to_str() {
            Some("-") => printed = text,
            Some("") => outputs.push(Output {
                path: recorded::file_name(&runs, "md").into(),
                bytes: text.into_bytes(),
            }),
            _ => outputs.push(Output { path: path.clone(), bytes: text.into_bytes() }),
        }
    }
    write(&outputs, args)?;
    if args.json {
        let files: Vec<Value> = outputs
            .iter()
            .map(|o| json!({ "file": o.path.display().to_string(), "bytes": o.bytes.len() }))
            .collect();
        let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
        print_json(SCHEMA, json!({ "runs": names, "files": files, "charts": charts.len() }))?;
    } else if to_stdout {
        messages::plain(&printed)?;
    } else {
        let line = |o: &Output| {
            format!("{}: {}\n", o.path.display(), report::number::bytes(o.bytes.len() as f64))
        };
        messages::plain(&outputs.iter().map(line).collect::<String>())?;
    }
    Ok(if altered.contains(&Exit::No) { Exit::No } else { Exit::Done })
}

/// Path of the page; `None` if only other formats were requested.
fn page_path(args: &ReportArgs, runs: &[Recorded]) -> Option<PathBuf> {
    let others = [&args.png, &args.svg, &args.csv, &args.markdown];
    match &args.output {
        Some(path) => Some(path.clone()),
        None if others.iter().any(|other| other.is_some()) => None,
        None => Some(recorded::file_name(runs, "html").into()),
    }
}

/// Tables as they are shown, and the values of charts.
fn tables(document: &Document, charts: &[(String, &Chart)], dir: &Path) -> Vec<Output> {
    let blocks = document.pages.iter().flat_map(|page| &page.blocks);
    let tables = blocks.filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let of_tables = tables.enumerate().map(|(at, table)| Output {
        path: dir.join(format!("table-{:02}-{}.csv", at + 1, view::slug(&table.caption))),
        bytes: view::csv_of_table(table).into_bytes(),
    });
    let of_charts = charts.iter().map(|(name, chart)| Output {
        path: dir.join(format!("chart-{name}.csv")),
        bytes: view::csv_of_chart(chart).into_bytes(),
    });
    of_tables.chain(of_charts).collect()
}

/// Charts are links to the pictures that are made beside it, or else drawn in letters.
fn markdown(
    document: &Document,
    charts: &[(String, &Chart)],
    args: &ReportArgs,
    rate: RateUnit,
) -> Result<String> {
    let pictures = [(&args.svg, "svg"), (&args.png, "png")];
    let pictures = pictures.into_iter().find_map(|(dir, end)| Some((dir.as_ref()?, end)));
    let mut names = charts.iter().map(|(name, _)| name);
    view::markdown(document, |chart| {
        let name = names.next();
        if let (Some((dir, end)), Some(name)) = (pictures, name) {
            let link = dir.join(format!("{name}.{end}"));
            let link = link.display().to_string().replace('<', "%3C").replace('>', "%3E");
            return Ok(format!("![{}](<{}>)", view::plain(&chart.title), harmless(&link)));
        }
        let drawn = terminal(chart, Style { rate, ..Style::default() })?;
        let drawn = drawn.plain();
        // Longer than any in a title, which would end it.
        let fence = (3..).map(|count| "`".repeat(count)).find(|fence| !drawn.contains(fence));
        let fence = fence.unwrap_or_default();
        Ok(format!("{fence}text\n{drawn}{fence}"))
    })
}

/// All files, or none where one is in the way: asked before the first is written.
fn write(all: &[Output], args: &ReportArgs) -> Result<()> {
    for dir in [&args.png, &args.svg, &args.csv].into_iter().flatten() {
        outputs::check_dir(dir)?;
        if dir.exists() && !dir.is_dir() {
            bail!("{}: is not a directory, and several files are written into one", dir.display());
        }
    }
    // In a directory that is still to be made nothing is in the way.
    let is_there = |output: &&Output| output.path.parent().is_none_or(Path::exists);
    all.iter().filter(is_there).try_for_each(|output| outputs::check(&output.path, args.force))?;
    for dir in [&args.png, &args.svg, &args.csv].into_iter().flatten() {
        fs::create_dir_all(dir)
            .with_context(|| format!("{}: the directory cannot be made", dir.display()))?;
    }
    all.iter().try_for_each(|output| outputs::write(&output.path, &output.bytes, args.force))
}
