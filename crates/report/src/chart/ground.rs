//! Page backgrounds of charts.

use super::shape::Rgb;

/// The page that a chart is drawn on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ground {
    /// White, as paper is.
    #[default]
    Light,
    /// Nearly black, for screens. Colours that are dark on a light page are light here, in the same hue, so that the same
    /// layers are prominent.
    Dark,
}

impl Ground {
    /// The page's own colour.
    pub(super) fn page(self) -> Rgb {
        self.of([255, 255, 255])
    }

    /// Colour on this page that corresponds to `colour` on a light page.
    pub(super) fn of(self, colour: Rgb) -> Rgb {
        match self {
            Ground::Light => colour,
            Ground::Dark => dark(colour),
        }
    }
}

/// The colour of the same hue whose lightness is as far from black as it was from white; from 0.11 on, since a black page
/// glares. (Lightness as of HSL: the mean of the strongest and the weakest channel.)
fn dark(colour: Rgb) -> Rgb {
    const BLACKEST: f64 = 0.11;
    let channels = colour.map(|channel| f64::from(channel) / 255.0);
    let (most, least) = channels.iter().fold((0.0f64, 1.0f64), |e, c| (e.0.max(*c), e.1.min(*c)));
    let (before, after) = ((most + least) / 2.0, 1.0 - (most + least) / 2.0);
    let after = BLACKEST + (1.0 - BLACKEST) * after;
    // As vivid as it was: how far channels may be apart depends on the lightness.
    let room = |lightness: f64| 1.0 - (2.0 * lightness - 1.0).abs();
    let factor = if room(before) > 0.0 { room(after) / room(before) } else { 0.0 };
    channels.map(|channel| {
        let value = after + (channel - before) * factor;
        (value.clamp(0.0, 1.0) * 255.0).round() as u8
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::chart::hue::Hue;
    use crate::chart::{heat, picture};

    /// As WCAG defines it: from 1 for equal colours to 21 for black on white.
    pub(crate) fn contrast(a: Rgb, b: Rgb) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let light = |[r, g, b]: Rgb| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
        let (a, b) = (light(a), light(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// If it failed, words, or layers, could not be seen on one of the two pages.
    #[test]
    fn everything_stands_out_from_either_page() {
        for ground in [Ground::Light, Ground::Dark] {
            let page = ground.page();
            assert!(contrast(ground.of(picture::INK), page) > 7.0, "{ground:?}");
            for hue in (0..6).map(Hue::nth) {
                let (colour, ink) = (ground.of(hue.rgb()), ground.of(hue.ink()));
                assert!(contrast(colour, page) >= 3.0, "{ground:?} {hue:?} {colour:?}");
                assert!(contrast(ink, page) > 4.5, "{ground:?} {hue:?} {ink:?}");
            }
            // Larger values have more contrast, at every shade.
            let shades = (0..heat::SHADES).map(|step| heat::shade(step, ground));
            let contrasts: Vec<f64> = shades.map(|shade| contrast(shade, page)).collect();
            assert!(contrasts.windows(2).all(|pair| pair[0] < pair[1]), "{ground:?} {contrasts:?}");
            assert!(contrasts[0] > 1.5 && contrasts[31] > 8.0, "{ground:?} {contrasts:?}");
        }
        assert_eq!(dark([255, 255, 255]), [28, 28, 28]);
    }
}
