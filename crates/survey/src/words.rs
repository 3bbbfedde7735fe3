//! Numbers within sentences.

use block::Bytes;

/// Three significant digits.
pub fn rounded(value: f64) -> String {
    let whole_digits = if value.abs() < 1.0 { 1 } else { value.abs().log10().floor() as usize + 1 };
    if whole_digits >= 3 {
        let unit = 10_f64.powi(whole_digits as i32 - 3);
        return format!("{:.0}", (value / unit).round() * unit);
    }
    format!("{value:.0$}", 3 - whole_digits)
}

/// A size in binary units: whole where it is, else three significant digits.
pub fn size(bytes: u64) -> String {
    Bytes(bytes).about()
}

/// A time of so many nanoseconds.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{} us", rounded(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", rounded(ns / 1e6)),
        ns => format!("{} s", rounded(ns / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a sentence tells a number of another size than its value.
    #[test]
    fn numbers_keep_their_size() {
        let cases =
            [(0.5, "0.50"), (8.333, "8.33"), (17.9, "17.9"), (530.4, "530"), (17377.4, "17400")];
        for (value, text) in cases {
            assert_eq!(rounded(value), text);
        }
        let sizes = [
            (0, "0 B"),
            (512, "512 B"),
            (16 << 10, "16 KiB"),
            (1 << 30, "1 GiB"),
            (1224 << 20, "1.20 GiB"),
            (1_024_209_543_168, "954 GiB"),
            (1023 << 20, "1023 MiB"),
            ((1 << 30) - 1, "1 GiB"),
            ((63 << 20) + (820 << 10), "63.8 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(size(bytes), text, "{bytes}");
        }
        assert_eq!([time(85_000.0), time(8.3e6), time(2e9)], ["85.0 us", "8.30 ms", "2.00 s"]);
    }
}
