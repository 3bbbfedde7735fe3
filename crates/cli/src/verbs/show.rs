//! `drivescope show`: a recorded run in the terminal, with all its plots.

use anyhow::{Result, bail};
use report::chart::{Chart, rows, terminal_within};
use report::{RateUnit, Style, Styled};
use serde_json::{Value, json};
use views::reporting as view;

use crate::args::ShowArgs;
use crate::exit::Exit;
use crate::verbs::print_json;
use crate::{messages, recorded};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.show/1";

/// Runs the verb.
///
/// # Errors
/// When the run is not there, cannot be read, or has no plot of that name.
pub fn main(args: &ShowArgs) -> Result<Exit> {
    let name = recorded::or_last(args.run.as_slice(), &args.place)?.remove(0);
    let run = recorded::open(&name, &args.place)?;
    let altered = recorded::tell_altered(&run);
    let rate = if args.mib { RateUnit::Mib } else { RateUnit::Mb };
    let style = Style { width: usize::from(args.width), rate };
    let laid = view::laid(&run, rate).text(style);
    let document = view::document(&[run], rate);
    let charts = view::named_charts(&document);
    let shown: Vec<&(String, &Chart)> = charts
        .iter()
        .filter(|(name, _)| args.plot.as_ref().is_none_or(|part| name.contains(part.as_str())))
        .collect();
    if let (Some(part), true) = (&args.plot, shown.is_empty()) {
        let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
        match names.as_slice() {
            [] => bail!("--plot {part}: the run has nothing to draw"),
            names => {
                bail!("--plot {part}: is not a plot of this run; there are {}", names.join(", "))
            }
        }
    }
    if args.json {
        let plots: Vec<Value> = shown.iter().map(|(name, chart)| plot(name, chart)).collect();
        print_json(SCHEMA, json!({ "run": name, "plots": plots }))?;
        return Ok(altered);
    }
    let mut text = Styled::default();
    if args.plot.is_none() {
        text += &laid;
    }
    for (name, chart) in &shown {
        if !text.as_str().is_empty() {
            text += &Styled::of_lines("\n");
        }
        text += &terminal_within(chart, style, usize::from(args.height))?;
        if args.plot.is_none() {
            text += &Styled::of_lines(&format!("  --plot {name}\n"));
        }
    }
    messages::result(&text)?;
    Ok(altered)
}

/// A plot with its values, in the units of its axes.
fn plot(name: &str, chart: &Chart) -> Value {
    let values = rows(chart).into_iter().map(|value| {
        json!({
            "series": value.series,
            "x": value.x,
            "y": value.y,
            "low": value.interval.map(|ends| ends.0),
            "high": value.interval.map(|ends| ends.1),
            "amount": value.amount,
        })
    });
    let axis = |axis: &report::chart::Axis| json!({ "label": axis.label, "unit": report::chart::unit(axis.unit), "classes": axis.classes });
    json!({
        "name": name,
        "title": chart.title,
        "x": axis(&chart.x),
        "y": axis(&chart.y),
        "y2": chart.y2.as_ref().map(axis),
        "values": values.collect::<Vec<Value>>(),
    })
}
