//! Numbers for people: four significant digits at most, and the unit that fits. Every text that people read takes them from
//! here; what flags and files take is the `Display` of [`Bytes`] and [`Nanos`](crate::Nanos).

use crate::Bytes;

/// Four significant digits, never in scientific notation.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    let places = match size {
        _ if size >= 999.95 => 0,
        _ if size >= 99.995 => 1,
        _ if size >= 9.9995 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

/// Four significant digits, with a suffix from a hundred thousand on: `0.597`, `11643`, `131.1k`, `13.11M`.
pub fn compact(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 999_950_000.0 => (value / 1e9, "G"),
        size if size >= 999_950.0 => (value / 1e6, "M"),
        size if size >= 99_999.5 => (value / 1e3, "k"),
        _ => return digits(value),
    };
    format!("{}{suffix}", digits(scaled))
}

/// A whole number with its digits by threes, as ISO 80000-1 has it: `13 107 200`. The spaces are narrow and do not
/// break.
pub fn grouped(value: f64) -> String {
    let whole = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if value < 0.0 && whole != "0" { format!("-{text}") } else { text }
}

/// Counts: whole up to 9999, then `12.3k`, `1.29M`.
pub fn thousands(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 999_950.0 => (value / 1e6, "M"),
        size if size >= 9_999.5 => (value / 1e3, "k"),
        size if size >= 99.95 => return format!("{value:.0}"),
        _ => return format!("{value:.1}"),
    };
    format!("{}{suffix}", three(scaled))
}

/// `980 ns`, `12.3 µs`, `4.56 ms`, `7.89 s`.
pub fn nanoseconds(ns: f64) -> String {
    let (scaled, suffix) = match ns.abs() {
        size if size >= 999.5e6 => (ns / 1e9, "s"),
        size if size >= 999.5e3 => (ns / 1e6, "ms"),
        size if size >= 999.5 => (ns / 1e3, "µs"),
        _ => return format!("{ns:.0} ns"),
    };
    format!("{} {suffix}", three(scaled))
}

/// `512 B`, `1 MiB`, `3.64 TiB`: whole where it is, else three significant digits.
pub fn bytes(value: f64) -> String {
    let text = Bytes(value.abs().round() as u64).about();
    if value < 0.0 { format!("-{text}") } else { text }
}

fn three(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.places$}")
}

/// A share as a percentage: `0.4%`, `12%`.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

/// A count with what is counted: `1 run`, `2 runs`. Only for words whose plural ends in s.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_them_is_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "run")), ["0 runs", "1 run", "2 runs"]);
    }

    #[test]
    fn numbers_keep_four_digits_at_most_over_all_scales() {
        let rates = [0.597, 1.6494, 16.549, 177.34, 999.96, 3412.1, 11642.9];
        assert_eq!(
            rates.map(digits),
            ["0.597", "1.649", "16.55", "177.3", "1000", "3412", "11643"]
        );
        let counts = [0.4, 99.96, 145.7, 9_999.6, 52_100.0, 999_951.0, 1_290_000.0];
        assert_eq!(
            counts.map(thousands),
            ["0.4", "100", "146", "10.0k", "52.1k", "1.00M", "1.29M"]
        );
        let times = [0.0, 980.0, 999.6, 12_345.0, 4_560_000.0, 7_890_000_000.0];
        assert_eq!(
            times.map(nanoseconds),
            ["0 ns", "980 ns", "1.00 µs", "12.3 µs", "4.56 ms", "7.89 s"]
        );
        let sizes = [512.0, 1024.0, 1536.0, (1u64 << 40) as f64 * 3.64];
        assert_eq!(sizes.map(bytes), ["512 B", "1 KiB", "1.50 KiB", "3.64 TiB"]);
    }

    // Breaks when cells of a table grow as wide as their numbers are great.
    #[test]
    fn great_numbers_stay_short_or_are_grouped() {
        let numbers = [0.597, 11_642.9, 99_999.0, 131_072.0, 999_960.0, 13_107_200.0, 2.5e9];
        assert_eq!(
            numbers.map(compact),
            ["0.597", "11643", "99999", "131.1k", "1.000M", "13.11M", "2.500G"]
        );
        let numbers = [0.0, -0.2, 999.0, 1000.0, -12_345.4, 13_107_200.0];
        assert_eq!(
            numbers.map(|number| grouped(number).replace('\u{202f}', "_")),
            ["0", "0", "999", "1_000", "-12_345", "13_107_200"]
        );
    }

    // Breaks when a sentence names another size than its value.
    #[test]
    fn sizes_are_whole_or_have_three_digits() {
        let sizes = [
            (0, "0 B"),
            (16 << 10, "16 KiB"),
            (1 << 30, "1 GiB"),
            (1224 << 20, "1.20 GiB"),
            (1_024_209_543_168, "954 GiB"),
            (1023 << 20, "1023 MiB"),
            ((1 << 30) - 1, "1 GiB"),
            ((63 << 20) + (820 << 10), "63.8 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (size, text) in sizes {
            assert_eq!(bytes(size as f64), text, "{size}");
        }
        assert_eq!(bytes(-1536.0), "-1.50 KiB");
    }
}
