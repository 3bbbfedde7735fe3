//! How wide words are, so that they can be placed without asking a font.

/// Advance widths of the printable ASCII characters of DejaVu Sans, space first, in thousandths of the size.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// Largest ratio of the width of bold text to that of regular text.
const BOLD: f64 = 1.13;

/// Width of a line of text of this size, in the same unit as the size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size / 1000.0
}

/// The same for bold text.
pub(super) fn bold_width(text: &str, size: f64) -> f64 {
    BOLD * width(text, size)
}

fn advance(c: char) -> f64 {
    let index = (c as usize).wrapping_sub(32);
    match c {
        _ if index < WIDTHS.len() => f64::from(WIDTHS[index]),
        '–' => 500.0,
        '·' => 318.0,
        'µ' => 636.0,
        '°' => 500.0,
        // Wider than most letters: too much room is a smaller fault than too little.
        _ => 840.0,
    }
}

/// The text, cut with an ellipsis where it would be wider than `room`.
pub(super) fn shortened(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = width("…", size);
    for c in text.chars() {
        used += advance(c) * size / 1000.0;
        if used > room {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}
