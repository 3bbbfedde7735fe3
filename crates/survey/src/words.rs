//! Numbers within sentences.

/// Three significant digits.
pub fn rounded(value: f64) -> String {
    let whole_digits = if value.abs() < 1.0 { 1 } else { value.abs().log10().floor() as usize + 1 };
    if whole_digits >= 3 {
        let unit = 10_f64.powi(whole_digits as i32 - 3);
        return format!("{:.0}", (value / unit).round() * unit);
    }
    format!("{value:.0$}", 3 - whole_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when rounding changes the magnitude of a number in a sentence.
    #[test]
    fn numbers_keep_their_size() {
        let cases =
            [(0.5, "0.50"), (8.333, "8.33"), (17.9, "17.9"), (530.4, "530"), (17377.4, "17400")];
        for (value, text) in cases {
            assert_eq!(rounded(value), text);
        }
    }
}
