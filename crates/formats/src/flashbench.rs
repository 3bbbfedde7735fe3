//! Lines as flashbench prints them, from plain numbers, so that guides and scripts for it work on ours.
//!
//! Formats: flashbench's source (github.com/bradfa/flashbench, `flashbench.c` and `vm.c`). Two of its faults are left
//! out: it takes every negative time for nanoseconds, and it cuts figures after seven bytes, units included. A figure
//! that flashbench would cut is printed whole here; all others are the same to the byte. Lines come without their
//! end, but with the spaces before it.

/// A row of `--align`: mean times before, across and behind boundaries of one alignment, and what crossing costs
/// (flashbench: on − (pre + post) / 2, in whole nanoseconds).
pub fn align(align_bytes: u64, pre_ns: i64, on_ns: i64, post_ns: i64, diff_ns: i64) -> String {
    let [pre, on, post, diff] = [pre_ns, on_ns, post_ns, diff_ns].map(time);
    format!("align {align_bytes}\tpre {pre}\ton {on}\tpost {post}\tdiff {diff}")
}

/// A row of `--open-au`: the size of the writes and their rate.
pub fn open_au(len_bytes: u64, bytes_per_s: u64) -> String {
    format!("{:<7} {:<7} ", size(len_bytes), rate(bytes_per_s))
}

/// A row of `--find-fat`: the size of the writes and the rate of each erase block.
pub fn find_fat(len_bytes: u64, bytes_per_s: &[u64]) -> String {
    let cells = bytes_per_s.iter().map(|bytes_per_s| format!("{:<7}  ", rate(*bytes_per_s)));
    format!("{:<7} ", size(len_bytes)) + &cells.collect::<String>()
}

/// A line of the file of `--scatter`: where the read began, in MiB, and its least time, in milliseconds.
pub fn scatter(offset_bytes: u64, ns: i64) -> String {
    format!("{:.6}\t{:.6}", offset_bytes as f64 / 1_048_576.0, ns as f64 / 1e6)
}

/// A line of `--interval`: least, mean and largest time of reads of one size, and the rate at the least.
pub fn interval(bytes: u64, min_ns: i64, avg_ns: i64, max_ns: i64) -> String {
    let [min, avg, max] = [min_ns, avg_ns, max_ns].map(time);
    let mb_per_s = bytes as f64 / (min_ns as f64 / 1000.0);
    format!("{bytes} bytes: min {min} avg {avg} max {max}: {} MB/s", general(mb_per_s, 6))
}

/// The line behind those: slope and intercept of a straight line through them.
pub fn interval_fit(mb_per_s: f64, access_ns: i64) -> String {
    format!("{} MB/s, {} access time", general(mb_per_s, 6), time(access_ns))
}

/// A last line for each size: its least time and how far it lies above the straight line.
pub fn interval_overhead(bytes: u64, min_ns: i64, overhead_ns: f64) -> String {
    format!("bytes {bytes}, time {min_ns} overhead {}", general(overhead_ns, 6))
}

/// `980ns`, `53.3µs`, `1.08ms`, `2.135s`; negative ones in the unit of their size.
pub fn time(ns: i64) -> String {
    let value = ns as f64;
    match ns.unsigned_abs() {
        0..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => format!("{}µs", general(value / 1e3, 3)),
        1_000_000..1_000_000_000 => format!("{}ms", general(value / 1e6, 3)),
        _ => format!("{}s", general(value / 1e9, 4)),
    }
}

/// `512B`, `16KiB`, `4MiB`, `1GiB`.
pub fn size(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..0x400 => format!("{bytes}B"),
        0x400..0x10_0000 => format!("{}KiB", general(value / 1024.0, 3)),
        0x10_0000..0x4000_0000 => format!("{}MiB", general(value / 1_048_576.0, 3)),
        _ => format!("{}GiB", general(value / 1_073_741_824.0, 4)),
    }
}

/// `999B/s`, `912K/s`, `8.79M/s`, `1.208G/s`, in powers of 1,000.
pub fn rate(bytes_per_s: u64) -> String {
    let value = bytes_per_s as f64;
    match bytes_per_s {
        0..1_000 => format!("{bytes_per_s}B/s"),
        1_000..1_000_000 => format!("{}K/s", general(value / 1e3, 3)),
        1_000_000..1_000_000_000 => format!("{}M/s", general(value / 1e6, 3)),
        _ => format!("{}G/s", general(value / 1e9, 4)),
    }
}

/// A number as C's `%.Ng` prints it, `digits` being N, at least 1: that many significant digits without zeros at the
/// end, with an exponent where it is below −4 or not below N (ISO C, `fprintf`).
pub fn general(value: f64, digits: usize) -> String {
    let digits = digits.max(1);
    if !value.is_finite() {
        return format!("{value}").to_lowercase();
    }
    // The exponent is that of the rounded number: 999.6 becomes 1e+03.
    let rounded = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match usize::try_from(exponent) {
        Ok(whole) if whole < digits => {
            without_zeros(&format!("{value:.*}", digits - 1 - whole)).to_owned()
        }
        Err(_) if exponent >= -4 => {
            let places = digits - 1 + exponent.unsigned_abs() as usize;
            without_zeros(&format!("{value:.places$}")).to_owned()
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.unsigned_abs())
        }
    }
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a line is not what Debian's flashbench (62+git20120606) printed.
    #[test]
    fn lines_are_those_of_flashbench() {
        assert_eq!(
            align(67_108_864, 302, 327, 300, 26),
            "align 67108864\tpre 302ns\ton 327ns\tpost 300ns\tdiff 26ns"
        );
        assert_eq!(
            align(4_194_304, 737_300, 1_061_000, 793_000, -3),
            "align 4194304\tpre 737µs\ton 1.06ms\tpost 793µs\tdiff -3ns"
        );
        assert_eq!(open_au(512, 23_500_000), "512B    23.5M/s ");
        assert_eq!(open_au(262_144, 940_100), "256KiB  940K/s  ");
        assert_eq!(open_au(8_388_608, 3_680), "8MiB    3.68K/s ");
        let fat = find_fat(4_194_304, &[865_000, 3_560_000, 5_190_000_000]);
        assert_eq!(fat, "4MiB    865K/s   3.56M/s  5.19G/s  ");
        assert_eq!(scatter(8192, 230), "0.007812\t0.000230");
        assert_eq!(
            interval(512, 230, 1320, 8700),
            "512 bytes: min 230ns avg 1.32µs max 8.7µs: 2226.09 MB/s"
        );
        assert_eq!(interval_fit(180_214.2, 217), "180214 MB/s, 217ns access time");
        assert_eq!(interval_overhead(512, 230, 10.15894), "bytes 512, time 230 overhead 10.1589");
    }

    // Breaks when a figure that flashbench would cut loses its end here too.
    #[test]
    fn figures_are_whole() {
        assert_eq!(time(-90_026), "-90µs");
        assert_eq!(time(-412_331), "-412µs");
        assert_eq!(time(-1_500_000_000), "-1.5s");
        assert_eq!(time(999_600), "1e+03µs");
        assert_eq!(time(12_345_678_900), "12.35s");
        assert_eq!(rate(3_755_000_000), "3.755G/s");
        assert_eq!(rate(999_900), "1e+03K/s");
        assert_eq!(find_fat(4 << 20, &[3_755_000_000, 1]), "4MiB    3.755G/s  1B/s     ");
    }

    // Breaks at the ends of what can be asked for.
    #[test]
    fn nothing_overflows() {
        assert_eq!(time(i64::MIN), "-9.223e+09s");
        assert_eq!(rate(u64::MAX), "1.845e+10G/s");
        assert_eq!(size(u64::MAX), "1.718e+10GiB");
        assert_eq!(scatter(3 << 31, i64::MAX), "6144.000000\t9223372036854.775391");
        assert_eq!(interval(512, 0, 0, 0), "512 bytes: min 0ns avg 0ns max 0ns: inf MB/s");
        assert_eq!(general(f64::NAN, 3), "nan");
        assert_eq!(general(-0.0, 3), "-0");
        assert_eq!(general(5.0, 0), "5");
    }
}
