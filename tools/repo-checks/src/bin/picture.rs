//! Draws what a command prints on a terminal: `picture FILE.svg 'drivescope mark sim:hdd-7200'`.
//!
//! The picture brings its own dark ground, so that it is readable on a light page and on a dark one.

use std::fs;

use anstyle::RgbColor;
use anstyle_svg::{Palette, Term};
use anyhow::{Context as _, Result, bail};
use drivescope_repo_checks::{program, repository};

/// Eighty columns of the font that the picture asks for.
const WIDTH_PX: usize = 672;

const GROUND: RgbColor = RgbColor(0x16, 0x1b, 0x22);
const TEXT: RgbColor = RgbColor(0xd6, 0xdc, 0xe4);

/// The eight colours of a terminal, each with a contrast of 5 : 1 or more against [`GROUND`]; the usual
/// red and blue have less than 3 : 1.
const COLOURS: [RgbColor; 8] = [
    RgbColor(0x8b, 0x94, 0x9e),
    RgbColor(0xff, 0x7b, 0x72),
    RgbColor(0x56, 0xd3, 0x64),
    RgbColor(0xe3, 0xb3, 0x41),
    RgbColor(0x79, 0xb8, 0xff),
    RgbColor(0xd2, 0xa8, 0xff),
    RgbColor(0x56, 0xd4, 0xdd),
    TEXT,
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, command] = arguments.as_slice() else {
        bail!("usage: picture FILE.svg 'COMMAND'");
    };
    let binary = program::build("release")?;
    let printed = program::run(command, &binary, true)?;
    let path = repository::root().join(file);
    fs::write(&path, draw(command, printed.text.trim_end()))
        .with_context(|| format!("{}", path.display()))?;
    println!("{file}: drawn; the command ended with exit code {}", printed.code);
    Ok(())
}

fn draw(command: &str, text: &str) -> String {
    let mut palette = [TEXT; 16];
    palette[..8].copy_from_slice(&COLOURS);
    palette[8..].copy_from_slice(&COLOURS);
    Term::new()
        .palette(Palette::from(palette))
        .fg_color(TEXT.into())
        .bg_color(GROUND.into())
        .min_width_px(WIDTH_PX)
        .render_svg(&format!("\u{1b}[1m$ {command}\u{1b}[0m\n{text}"))
        // Browsers heed no `opacity` on a part of a text.
        .replace(".dimmed { opacity: 0.4; }", ".dimmed { fill-opacity: 0.65; }")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_the_command_its_text_and_dimmed_words_dimmed() {
        let picture = draw("a --b", "\u{1b}[2mfaint\u{1b}[0m <bold>");
        assert!(picture.contains("$ a --b") && picture.contains("faint"), "{picture}");
        assert!(picture.contains("&lt;bold&gt;"), "{picture}");
        // Fails when the library writes that rule in another way, and faint words would be lost.
        assert!(picture.contains(".dimmed { fill-opacity: 0.65; }"), "{picture}");
    }
}
