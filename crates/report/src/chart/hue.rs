//! Colours of layers: few, distinct to eyes of every kind, dark enough for a white page.

use anstyle::AnsiColor;

/// Colour of a layer, a mark or a zone.
///
/// The named ones are for layers that are different things: those of Okabe and Ito ("Color Universal Design", 2008), of
/// which three are too light for a white page, or too dark for a black one. Each of the six has a contrast of 3 to 1 with
/// either page (WCAG 2.2, 1.4.11), and people of every kind of colour vision distinguish them at least as well as those of
/// the two authors. [`Hue::Step`] is for layers that are the same thing at rising counts: dark to light, so that their
/// order is seen.
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
    /// Dark enough not to be taken for vermillion.
    Brown,
    /// Light blue.
    Sky,
    /// For what is context and not data.
    Grey,
    /// Number `index` (from 0) of `of` steps from dark violet over green to a dull yellow.
    Step {
        /// Index of the step, from 0; one past the last counts as the last.
        index: u8,
        /// How many there are.
        of: u8,
    },
}

/// Anchors of the ramp, evenly spaced: the colours of viridis (van der Walt and Smith, 2015), which grow
/// lighter at an even pace; its last, a bright yellow, is darkened so that it can be seen on white.
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
            [Hue::Blue, Hue::Vermillion, Hue::Green, Hue::Purple, Hue::Brown, Hue::Sky];
        ORDER[index % ORDER.len()]
    }

    /// Number `index` (from 0) of `of` shades of a grid on a dark page: viridis from the first shade that contrasts with the
    /// page to its bright yellow.
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
            Hue::Purple => [190, 95, 150],
            Hue::Brown => [110, 75, 0],
            Hue::Sky => [40, 150, 255],
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
            Hue::Brown => AnsiColor::Yellow,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::ground::Ground;

    type Matrix = [[f64; 3]; 3];

    /// Perception of linear light: with all three cones, and with one missing (Machado, Oliveira and Fernandes, "A
    /// Physiologically-based Model for Simulation of Color Vision Deficiency", 2009, at severity 1).
    const EYES: [(&str, Matrix); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    /// Linear sRGB to XYZ (IEC 61966-2-1).
    const XYZ: Matrix = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ];

    fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// CIE L*a*b* under D65 of what these eyes see.
    fn seen(colour: [u8; 3], eyes: &Matrix) -> [f64; 3] {
        let linear = colour.map(|channel| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        });
        let light = times(eyes, linear).map(|channel| channel.clamp(0.0, 1.0));
        let [x, y, z] = times(&XYZ, light);
        let f = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let (x, y, z) = (f(x / 0.95047), f(y), f(z / 1.08883));
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// The least distance (CIE 1976) of two of `colours` to any eyes.
    fn least_distance(colours: &[[u8; 3]]) -> f64 {
        let mut least = f64::INFINITY;
        for (_, eyes) in &EYES {
            for (index, one) in colours.iter().enumerate() {
                for other in &colours[..index] {
                    let (a, b) = (seen(*one, eyes), seen(*other, eyes));
                    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
                    least = least.min(squares.sum::<f64>().sqrt());
                }
            }
        }
        least
    }

    /// If it failed, a chart of two things would show one of them to every twelfth man.
    #[test]
    fn named_colours_are_told_apart_by_all_eyes() {
        const OKABE_AND_ITO: [[u8; 3]; 6] = [
            [0, 114, 178],
            [213, 94, 0],
            [0, 158, 115],
            [204, 121, 167],
            [230, 159, 0],
            [86, 180, 233],
        ];
        let ours: Vec<[u8; 3]> = (0..6).map(|index| Hue::nth(index).rgb()).collect();
        for ground in [Ground::Light, Ground::Dark] {
            let on = |colours: &[[u8; 3]]| -> Vec<[u8; 3]> {
                colours.iter().map(|colour| ground.of(*colour)).collect()
            };
            let (found, known) = (least_distance(&on(&ours)), least_distance(&on(&OKABE_AND_ITO)));
            assert!(found >= known && found > 16.5, "{ground:?}: {found} beside {known}");
        }
    }
}
