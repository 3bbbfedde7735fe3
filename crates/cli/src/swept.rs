//! A sweep as it is printed.

use anyhow::Result;
use mark::sweep::Body;
use record::Document;
use report::chart::terminal;
use report::{RateUnit, Style, Styled, render_tables};
use views::sweep::{charts, page};

use crate::messages;

/// Prints a sweep.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<Body>, json: bool, mib: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let rate = if mib { RateUnit::Mib } else { RateUnit::Mb };
    let style = Style { rate, ..Style::default() };
    let mut text = render_tables(&page(&document.body, rate), style);
    if let Some(chart) = charts::first(&document.body) {
        text += &Styled::of_lines("\n");
        text += &terminal(&chart, style)?;
    }
    messages::result(&text)
}
