//! Sizes, times and versions as fio writes them: what is known of them once, for all who read fio's options.

/// Bytes of a size such as `64m`, `1GiB` or `4096`; `None` for a share of the file (`50%`) and for other text.
///
/// fio's default, `kb_base=1024`, is the reverse of the standard: `k`, `kb` and `ki` are 1,024, and `kib` alone is 1,000;
/// with `kb_base=1000` it is the other way round. The manual has `ki` with `kib`; fio 3.33 reads it as `k` (it was run).
pub fn bytes(text: &str, kb_base: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, suffix) = text.split_at_checked(digits)?;
    let count: u64 = count.parse().ok()?;
    let mut letters = suffix.chars();
    let power = match letters.next() {
        None => return Some(count),
        Some('b') if suffix == "b" => return Some(count),
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        Some(_) => return None,
    };
    let is_decimal = match letters.as_str() {
        "" | "b" | "i" => kb_base == 1000,
        "ib" => kb_base != 1000,
        _ => return None,
    };
    let base: u64 = if is_decimal { 1000 } else { 1024 };
    count.checked_mul(base.checked_pow(power)?)
}

/// Seconds of a time such as `30`, `10m` or `500ms`; a bare number counts what `bare_s` says.
pub fn seconds(text: &str, bare_s: f64) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, suffix) = text.split_at_checked(digits)?;
    let count: f64 = count.parse().ok()?;
    let unit = match suffix {
        "" => bare_s,
        "d" => 86_400.0,
        "h" => 3600.0,
        "m" => 60.0,
        "s" => 1.0,
        "ms" | "msec" => 1e-3,
        "us" | "usec" => 1e-6,
        _ => return None,
    };
    Some(count * unit)
}

/// Major and minor of `fio-3.33` or `fio-3.36-12-gabcdef`.
pub fn version(text: &str) -> Option<(u64, u64)> {
    let numbers = text.trim().strip_prefix("fio-")?;
    let (major, rest) = numbers.split_once('.')?;
    let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    // With the standard's meaning of `kib`, a range of fio's would be 2.4% off, and a fill of it too.
    #[test]
    fn sizes_are_read_as_fio_means_them() {
        let cases = [
            ("4096", 4096),
            ("4k", 4096),
            ("4kb", 4096),
            ("4ki", 4096),
            ("4KiB", 4000),
            ("64m", 64 << 20),
            ("2G", 2 << 30),
            ("1t", 1 << 40),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text, 1024), Some(expected), "{text}");
        }
        assert_eq!((bytes("4k", 1000), bytes("4kib", 1000)), (Some(4000), Some(4096)));
        for text in ["", "50%", "x", "4q", "99999999999999999999", "99999999999p", "4kx"] {
            assert_eq!(bytes(text, 1024), None, "{text}");
        }
    }

    // A window of 30 minutes taken for 30 seconds would hide the overflow of its slope.
    #[test]
    fn times_have_units() {
        assert_eq!(seconds("30", 1.0), Some(30.0));
        assert_eq!(seconds("30m", 1.0), Some(1800.0));
        assert_eq!(seconds("500ms", 1.0), Some(0.5));
        assert_eq!(seconds("500", 1e-3), Some(0.5));
        assert_eq!((seconds("x", 1.0), seconds("3y", 1.0), seconds("", 1.0)), (None, None, None));
    }

    #[test]
    fn versions_of_releases_and_of_builds() {
        assert_eq!(version("fio-3.33"), Some((3, 33)));
        assert_eq!(version("fio-3.36-12-gabcdef"), Some((3, 36)));
        assert_eq!((version("3.33"), version("fio-x"), version("")), (None, None, None));
    }
}
