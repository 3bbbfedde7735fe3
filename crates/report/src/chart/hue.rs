//! Colours of layers: few, told apart by eyes of every kind, dark enough for a white page.

use anstyle::AnsiColor;

/// Colour of a layer, a mark or a zone.
///
/// The named ones are those of Okabe and Ito ("Color Universal Design", 2008), which people of every kind of
/// colour vision tell apart; for layers that are different things. [`Hue::Step`] is for layers that are the
/// same thing at rising counts: dark to light, so that their order is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hue {
    /// The first to take.
    Blue,
    /// Red enough to warn, and not mistaken for green.
    Vermillion,
    /// Bluish green.
    Green,
    /// Reddish purple.
    Purple,
    /// Yellowish orange.
    Orange,
    /// Light blue.
    Sky,
    /// For what is context and not data.
    Grey,
    /// Number `index` (from 0) of `of` steps from dark violet over green to a dull yellow.
    Step {
        /// Which step, from 0; one past the last counts as the last.
        index: u8,
        /// How many there are.
        of: u8,
    },
}

/// Anchors of the ramp, evenly spaced: the colours of viridis (van der Walt and Smith, 2015), which grow
/// lighter at an even pace; its last, a bright yellow, is darkened so that it stands on white.
const RAMP: [[f64; 3]; 5] = [
    [68.0, 1.0, 84.0],
    [59.0, 82.0, 139.0],
    [33.0, 145.0, 140.0],
    [84.0, 186.0, 88.0],
    [196.0, 176.0, 20.0],
];

impl Hue {
    /// The named colour for the layer number `index` (from 0) of a chart: six, and then from the beginning.
    pub fn nth(index: usize) -> Hue {
        const ORDER: [Hue; 6] =
            [Hue::Blue, Hue::Vermillion, Hue::Green, Hue::Purple, Hue::Orange, Hue::Sky];
        ORDER[index % ORDER.len()]
    }

    /// Number `index` (from 0) of `of` shades of a grid on a dark page: viridis from where it stands out from the page to
    /// its bright yellow.
    pub(super) fn on_dark(index: u8, of: u8) -> [u8; 3] {
        const BRIGHT: [[f64; 3]; 5] = [
            [72.0, 60.0, 128.0],
            [57.0, 96.0, 148.0],
            [33.0, 145.0, 140.0],
            [94.0, 201.0, 98.0],
            [253.0, 231.0, 37.0],
        ];
        along(&BRIGHT, index, of)
    }

    /// Red, green and blue.
    pub(super) fn rgb(self) -> [u8; 3] {
        match self {
            Hue::Blue => [0, 114, 178],
            Hue::Vermillion => [213, 94, 0],
            Hue::Green => [0, 158, 115],
            Hue::Purple => [204, 121, 167],
            Hue::Orange => [230, 159, 0],
            Hue::Sky => [86, 180, 233],
            Hue::Grey => [110, 110, 110],
            Hue::Step { index, of } => along(&RAMP, index, of),
        }
    }

    /// The same hue dark enough to read words in: 4.5 to 1 on white needs about this much.
    pub(super) fn ink(self) -> [u8; 3] {
        let [red, green, blue] = self.rgb().map(f64::from);
        let light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        let factor = if light > 95.0 { 95.0 / light } else { 1.0 };
        [red, green, blue].map(|channel| (channel * factor).round() as u8)
    }

    /// The colour of a terminal that comes nearest. Terminals choose the shades themselves, so that these are
    /// readable on dark and light ones alike.
    pub(super) fn ansi(self) -> AnsiColor {
        const STEPS: [AnsiColor; 6] = [
            AnsiColor::Magenta,
            AnsiColor::Blue,
            AnsiColor::Cyan,
            AnsiColor::Green,
            AnsiColor::Yellow,
            AnsiColor::Red,
        ];
        match self {
            Hue::Blue => AnsiColor::Blue,
            Hue::Vermillion => AnsiColor::Red,
            Hue::Green => AnsiColor::Green,
            Hue::Purple => AnsiColor::Magenta,
            Hue::Orange => AnsiColor::Yellow,
            Hue::Sky => AnsiColor::Cyan,
            Hue::Grey => AnsiColor::BrightBlack,
            Hue::Step { index, .. } => STEPS[usize::from(index) % STEPS.len()],
        }
    }
}

fn along(anchors: &[[f64; 3]; 5], index: u8, of: u8) -> [u8; 3] {
    let last = f64::from(of.max(2) - 1);
    let at = (f64::from(index) / last).min(1.0) * (anchors.len() - 1) as f64;
    let below = (at.floor() as usize).min(anchors.len() - 2);
    let share = at - below as f64;
    std::array::from_fn(|channel| {
        let (from, to) = (anchors[below][channel], anchors[below + 1][channel]);
        (from + share * (to - from)).round() as u8
    })
}
