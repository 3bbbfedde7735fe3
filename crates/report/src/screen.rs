//! A full screen of something that goes on: lines above and below a chart, as many as there are rows.

use anstyle::Style as Ansi;
use stats::{Proof, Verdict};
use unicode_width::UnicodeWidthStr;

use crate::chart::{Chart, terminal_within};
use crate::styled::Styled;
use crate::tables::fit;
use crate::terminal::{BOLD, DIM, GREEN, Style, YELLOW, paint, signs};

/// Content of the screen.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    /// Description of the work in progress.
    pub title: String,
    /// Lines above the chart.
    pub above: Vec<Item>,
    /// Values so far; left out if there is not enough space.
    pub chart: Option<Chart>,
    /// Lines below the chart. When there are too few rows, the last ones are left out.
    pub below: Vec<Item>,
    /// Keys that may be pressed, in the last row.
    pub keys: String,
}

/// A line of a screen. It is cut at the width of the screen.
#[derive(Clone, Debug)]
pub enum Item {
    /// Words.
    Text(String),
    /// Something that is to be known now.
    Warning(String),
    /// How far something has come, from 0 to 1, and words behind it.
    Share(f64, String),
    /// Proofs so far, and their subject.
    Proofs(String, Vec<(&'static str, Proof)>),
}

/// Columns of a bar.
const BAR: usize = 24;
/// Least lines that a chart is drawn in: it has no fewer.
const CHART_LEAST: usize = 9;

/// The screen as `rows` lines at most, each at most `style.width` columns wide, with escape codes for colours and no
/// others.
pub fn render_screen(screen: &Screen, style: Style, rows: usize) -> Vec<Styled> {
    let width = style.width;
    let mut lines = vec![cut(BOLD, &screen.title, width)];
    lines.extend(screen.above.iter().flat_map(|item| drawn(item, width)));
    let below: Vec<Styled> = screen.below.iter().flat_map(|item| drawn(item, width)).collect();
    let last = usize::from(!screen.keys.is_empty());
    let room = rows.saturating_sub(lines.len() + below.len() + last);
    lines.extend(screen.chart.iter().flat_map(|chart| course(chart, style, room)));
    lines.extend(below);
    lines.truncate(rows.saturating_sub(last));
    if last == 1 && rows > 0 {
        lines.resize(rows - 1, Styled::default());
        lines.push(cut(DIM, &screen.keys, width));
    }
    lines
}

/// The chart in `room` lines; nothing where that is too little, or where it cannot be drawn: a run goes on without it.
fn course(chart: &Chart, style: Style, room: usize) -> Vec<Styled> {
    let text = match room {
        CHART_LEAST.. => terminal_within(chart, style, room).unwrap_or_default(),
        _ => Styled::default(),
    };
    let lines = text.split();
    if lines.len() > room { Vec::new() } else { lines }
}

fn cut(style: Ansi, text: &str, width: usize) -> Styled {
    match fit(text, width).trim_end() {
        text if text.is_empty() || width == 0 => Styled::default(),
        text => paint(style, text),
    }
}

fn drawn(item: &Item, width: usize) -> Vec<Styled> {
    match item {
        Item::Text(text) => vec![cut(Ansi::new(), text, width)],
        Item::Warning(text) if width < 2 => vec![cut(YELLOW, text, width)],
        Item::Warning(text) => {
            vec![paint(YELLOW, "!") + " " + cut(Ansi::new(), text, width.saturating_sub(2))]
        }
        Item::Share(share, text) => vec![bar(*share, text, width)],
        Item::Proofs(of, proofs) => proven(of, proofs, width),
    }
}

fn bar(share: f64, text: &str, width: usize) -> Styled {
    if width < 2 * BAR {
        return cut(Ansi::new(), text, width);
    }
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let (done, open) = ("━".repeat(full), "─".repeat(BAR - full));
    let words = cut(Ansi::new(), text, width.saturating_sub(BAR + 1));
    paint(GREEN, &done) + paint(DIM, &open) + " " + words
}

/// Subject and signs of all proofs; on another line, the reason of the first that is refuted.
fn proven(of: &str, proofs: &[(&'static str, Proof)], width: usize) -> Vec<Styled> {
    let bare = signs(proofs).plain();
    let (name, wide) = (cut(Ansi::new(), of, width), bare.width());
    let mut lines = match of.width() + 2 + wide {
        both if both <= width => vec![name + "  " + signs(proofs)],
        _ if wide <= width => vec![name, signs(proofs)],
        // Coloured text cannot be cut.
        _ => vec![name, cut(Ansi::new(), &bare, width)],
    };
    let refuted = proofs.iter().find(|(_, proof)| proof.verdict == Verdict::Refuted);
    lines.extend(refuted.into_iter().flat_map(|(name, proof)| {
        drawn(&Item::Warning(format!("{name} rejected: {}", proof.reason)), width)
    }));
    lines
}

#[cfg(test)]
mod tests {
    use stats::Unit;

    use super::*;
    use crate::chart::{Axis, Hue, Layer, Points};

    fn screen() -> Screen {
        let points = (0..200).map(|at| (f64::from(at), 100.0 + f64::from(at % 7))).collect();
        let (x, y) = (Axis::new("Time", Unit::Ns), Axis::new("Throughput", Unit::MbPerS));
        let layers = vec![Layer::Points(Points::new("now", Hue::Blue, points))];
        let proof = |verdict| Proof::new(verdict, "3 GB were read by somebody else meanwhile");
        Screen {
            title: "drivescope pts wsat sim:mlc-nvme".to_owned(),
            above: vec![Item::Share(0.5, "round 3".to_owned())],
            chart: Some(Chart { layers, ..Chart::new("", x, y) }),
            below: vec![
                Item::Text("now 12.5 MB/s".to_owned()),
                Item::Proofs(
                    "RND4KQ1T1 read".to_owned(),
                    vec![
                        ("reached", proof(Verdict::Proven)),
                        ("undisturbed", proof(Verdict::Refuted)),
                    ],
                ),
                Item::Warning("a name that\u{1b}[2J clears the screen".to_owned()),
            ],
            keys: "q ends it".to_owned(),
        }
    }

    fn plain(lines: &[Styled]) -> Vec<String> {
        lines.iter().map(Styled::plain).collect()
    }

    // Breaks when a frame is larger than its terminal, which would scroll and smear the screen: in any size, also a useless
    // one.
    #[test]
    fn a_frame_fits_any_terminal() {
        for rows in 0..60 {
            for columns in [0, 1, 2, 5, 20, 39, 40, 41, 60, 80, 200, 1200] {
                let style = Style { width: columns, ..Style::default() };
                let lines = plain(&render_screen(&screen(), style, rows));
                assert!(lines.len() <= rows, "{} lines in {rows} rows", lines.len());
                for line in &lines {
                    assert!(line.width() <= columns, "{columns} columns: {line:?}");
                    assert!(!line.contains(char::is_control), "{line:?}");
                }
            }
        }
    }

    // Breaks when a usual terminal does not show the curve, or what has to be known loses its place to it.
    #[test]
    fn the_usual_terminal_shows_everything() {
        let lines = plain(&render_screen(&screen(), Style::default(), 24));
        let text = lines.join("\n");
        assert_eq!(lines.len(), 24, "{text}");
        for words in [
            "drivescope pts wsat sim:mlc-nvme",
            "━━━━━━━━━━━━──────────── round 3",
            "Throughput",
            "now 12.5 MB/s",
            "RND4KQ1T1 read  ✓reached ✗undisturbed",
            "! undisturbed rejected: 3 GB were read",
        ] {
            assert!(text.contains(words), "{words:?} is missing:\n{text}");
        }
        assert_eq!(lines[23], "q ends it");
        assert!(lines.iter().filter(|line| line.contains('│') || line.contains('┤')).count() >= 6);
    }

    // Breaks when a low terminal shows a chart and leaves out the figures.
    #[test]
    fn a_low_terminal_keeps_the_figures() {
        let lines = plain(&render_screen(&screen(), Style::default(), 12));
        let text = lines.join("\n");
        assert!(!text.contains("Throughput") && text.contains("now 12.5 MB/s"), "{text}");
        assert!(text.ends_with("q ends it"));
    }
}
