//! Draws what a command prints on a terminal: `picture FILE.svg 'drivescope mark sim:hdd-7200'`.
//!
//! The picture brings its own dark ground, so that it is readable on a light page and on a dark one.

use std::fs;

use anstyle_svg::{Term, WIN10_CONSOLE};
use anyhow::{Context as _, Result, bail};
use drivescope_house::{program, repository};

/// Eighty columns of the font that the picture asks for, and the margin within.
const WIDTH_PX: usize = 690;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, command] = arguments.as_slice() else {
        bail!("usage: picture FILE.svg 'COMMAND'");
    };
    let binary = program::build("release")?;
    let printed = program::run(command, &binary, true)?;
    let screen = format!("\u{1b}[1m$ {command}\u{1b}[0m\n{}", printed.text.trim_end());
    let picture = Term::new().palette(WIN10_CONSOLE).min_width_px(WIDTH_PX).render_svg(&screen);
    let path = repository::root().join(file);
    fs::write(&path, picture).with_context(|| format!("{}", path.display()))?;
    println!("{file}: drawn; the command ended with exit code {}", printed.code);
    Ok(())
}
