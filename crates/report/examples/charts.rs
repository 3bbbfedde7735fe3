//! Draws charts of made-up drives, as SVG and PNG into the directory given and on the terminal, to be looked at.

#[path = "../tests/common/mod.rs"]
mod common;

use drivescope_report::Style;
use drivescope_report::chart::{Canvas, Ground, png, png_of_all, svg, terminal};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("which directory?")?;
    for (name, chart) in common::all() {
        let canvas = Canvas::default();
        std::fs::write(format!("{directory}/{name}.svg"), svg(&chart, canvas)?)?;
        std::fs::write(format!("{directory}/{name}.png"), png(&chart, canvas)?)?;
        println!("{}", terminal(&chart, Style::default())?.as_str());
    }
    let panels = common::all().map(|(_, chart)| chart);
    let canvas = Canvas { width: 800, height: 480, ground: Ground::Dark, ..Canvas::default() };
    std::fs::write(format!("{directory}/all-dark.png"), png_of_all(&panels, canvas, 2)?)?;
    Ok(())
}
