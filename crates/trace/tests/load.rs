//! The lenses on load against values of NumPy and SciPy that `tests/fixtures/load/make.py` wrote. What fails here
//! computes something else than its name says.

use block::{Bytes, Nanos};
use drivescope_trace::analyze::bursts::{Bursts, BurstsBody};
use drivescope_trace::analyze::sizes::Sizes;
use drivescope_trace::{Io, Kind, Stamp};
use serde_json::Value;

fn fixture() -> Value {
    let path = format!("{}/tests/fixtures/load/load.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap()
}

fn cases<'a>(fixture: &'a Value, name: &str) -> &'a [Value] {
    let cases = fixture[name].as_array().expect(name);
    assert!(!cases.is_empty(), "{name} is empty: nothing would be tested");
    cases
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|x| x.as_u64().unwrap()).collect()
}

#[track_caller]
fn close(ours: Option<f64>, reference: &Value, relative: f64, what: &str) {
    let Some(reference) = reference.as_f64() else {
        assert_eq!(ours, None, "{what}: the reference has none");
        return;
    };
    let ours = ours.unwrap_or_else(|| panic!("{what}: none, reference {reference}"));
    let off = (ours - reference).abs();
    assert!(off <= relative * reference.abs().max(1e-9), "{what}: {ours}, reference {reference}");
}

fn arriving(at: u64) -> Io {
    Io::arriving(Nanos(at), Kind::Read, Bytes::ZERO, Bytes(4096))
}

fn watched(ios: impl IntoIterator<Item = Io>) -> BurstsBody {
    let mut lens = Bursts::new();
    ios.into_iter().for_each(|io| lens.see(&io));
    lens.finish(Nanos(1))
}

/// The arrivals of a case, with their completions.
fn served(case: &Value) -> Vec<Io> {
    let (at, service) = (numbers(&case["arrivals_ns"]), numbers(&case["service_ns"]));
    let done = |(at, service): (&u64, &u64)| Io {
        completed: Stamp::at(Nanos(at + service)),
        ..arriving(*at)
    };
    at.iter().zip(&service).map(done).collect()
}

#[test]
fn gaps_between_arrivals_are_those_of_numpy() {
    for case in cases(&fixture(), "arrivals") {
        let kind = case["kind"].as_str().unwrap();
        let gaps = watched(served(case)).gaps;
        close(gaps.mean_ns, &case["mean_ns"], 1e-12, &format!("{kind}: mean"));
        let cv = case["cv"].as_f64().unwrap();
        assert!(
            (gaps.cv.unwrap() - cv).abs() < 1e-6 * cv.max(1.0),
            "{kind}: {:?} for {cv}",
            gaps.cv
        );
        let told = [
            ("1", gaps.p01_ns),
            ("10", gaps.p10_ns),
            ("50", gaps.p50_ns),
            ("90", gaps.p90_ns),
            ("99", gaps.p99_ns),
            ("99.9", gaps.p999_ns),
        ];
        for (percent, ours) in told {
            let reference = &case["percentiles_ns"][percent];
            close(ours.map(|ns| ns as f64), reference, 1.1e-3, &format!("{kind}: p{percent}"));
        }
        assert_eq!(gaps.by_ns.iter().map(|range| range.count).sum::<u64>(), gaps.count);
    }
}

#[test]
fn counts_in_windows_are_those_of_numpy() {
    let mut dispersions = 0;
    for case in cases(&fixture(), "arrivals") {
        let kind = case["kind"].as_str().unwrap();
        let windows = watched(served(case)).windows;
        for reference in case["windows"].as_array().unwrap() {
            let width = reference["window_ns"].as_u64().unwrap();
            let ours = windows.iter().find(|window| window.window_ns == width).unwrap();
            let what = format!("{kind}, windows of {width} ns");
            assert_eq!(ours.windows, reference["windows"].as_u64().unwrap(), "{what}");
            assert_eq!(ours.peak_ios, reference["peak_ios"].as_u64(), "{what}: peak");
            close(ours.mean_ios, &reference["mean_ios"], 1e-12, &format!("{what}: mean"));
            // A metronome's dispersion is nothing but a difference of large numbers.
            if reference["dispersion"].as_f64().is_none_or(|d| d > 1e-9) {
                close(ours.dispersion, &reference["dispersion"], 1e-9, &format!("{what}: IDC"));
            } else {
                assert!(ours.dispersion.unwrap() < 1e-9, "{what}: IDC {:?}", ours.dispersion);
            }
            dispersions += usize::from(ours.dispersion.is_some());
        }
    }
    assert!(dispersions >= 8, "{dispersions}: too few windows to test anything");
}

#[test]
fn idle_times_are_those_of_a_union_of_intervals() {
    for case in cases(&fixture(), "arrivals") {
        let idle = watched(served(case)).idle;
        let (total, end) = (case["idle_ns"].as_u64().unwrap(), case["end_ns"].as_u64().unwrap());
        assert_eq!(idle.total_ns, Some(total), "{}", case["kind"]);
        assert_eq!(idle.share, Some(total as f64 / end as f64));
        assert_eq!(
            idle.gaps.iter().map(|range| range.gaps).sum::<u64>(),
            case["idle_gaps"].as_u64().unwrap()
        );
        assert!(idle.gaps.iter().all(|range| range.total_ns >= range.gaps * range.from_ns));
    }
}

/// If it failed, a trace without completions would be called idle all the time.
#[test]
fn idle_times_are_not_told_where_completions_are_not() {
    let none = watched((0..100).map(|i| arriving(i * 1000))).idle;
    assert!(none.share.is_none() && none.why_not.is_some() && none.unknown_ios == 100);
    let known = |at: u64| Io { completed: Stamp::at(Nanos(at + 10)), ..arriving(at) };
    let ios = |unknown: u64| {
        (0..1000).map(move |i| if i < unknown { arriving(i * 1000) } else { known(i * 1000) })
    };
    assert!(watched(ios(11)).idle.share.is_none());
    let few = watched(ios(10)).idle;
    assert!(few.unknown_ios == 10 && (few.share.unwrap() - 0.99).abs() < 0.001, "{few:?}");
    assert!(watched([]).idle.why_not.is_some());
}

#[test]
fn the_hurst_exponent_is_that_of_scipy_and_near_the_truth() {
    for case in cases(&fixture(), "hurst") {
        let hex = case["counts"].as_str().unwrap();
        let counts = (0..hex.len() / 2).map(|i| u64::from_str_radix(&hex[2 * i..2 * i + 2], 16));
        let counts: Vec<u64> = counts.map(Result::unwrap).collect();
        let slot = |(slot, count): (usize, &u64)| (0..*count).map(move |i| slot as u64 * 1024 + i);
        let all = counts.iter().enumerate().flat_map(slot);
        // The last slot is not whole, and is left out.
        let hurst = watched(all.chain([counts.len() as u64 * 1024]).map(arriving)).hurst;
        let what = format!("H = {}", case["true"]);
        assert_eq!(hurst.why_not, None, "{what}");
        assert_eq!(hurst.octaves, case["octaves"].as_u64().unwrap(), "{what}");
        close(hurst.wavelet, &case["wavelet"], 1e-5, &what);
        close(hurst.wavelet_low, &case["low"], 1e-4, &what);
        close(hurst.wavelet_high, &case["high"], 1e-4, &what);
        close(hurst.aggregated_variance, &case["aggregated_variance"], 1e-9, &what);
        let truth = case["true"].as_f64().unwrap();
        assert!((hurst.wavelet.unwrap() - truth).abs() < 0.12, "{what}: {hurst:?}");
    }
}

/// If it failed, a load without an exponent would get one: a few I/Os, one rhythm, a clock that hardly moves.
#[test]
fn the_hurst_exponent_is_refused_where_nothing_tells_it() {
    let few = watched((0..999).map(|i| arriving(i * 1000))).hurst;
    assert!(few.wavelet.is_none() && few.why_not.unwrap().contains("too few"));
    let at_once = watched((0..5000).map(|_| arriving(0))).hurst;
    assert!(at_once.wavelet.is_none() && at_once.why_not.is_some());
    // One period of 1.6 ms: unevenness is of one scale only.
    let rhythm = (0..400_000u64).filter(|i| i / 80 % 2 == 0).map(|i| arriving(i * 10_000));
    let rhythm = watched(rhythm).hurst;
    assert!(rhythm.why_not.is_some() || rhythm.wavelet.unwrap() < 0.4, "{rhythm:?}");
    let mut lens = Bursts::new();
    (0..100_000u64).for_each(|i| lens.see(&arriving(i / 1000 * 1_000_000_000)));
    let coarse = lens.finish(Nanos::secs(1));
    assert!(coarse.hurst.wavelet.is_none(), "{:?}", coarse.hurst);
    let widths: Vec<u64> = coarse.windows.iter().map(|window| window.window_ns).collect();
    assert_eq!(widths, [10_000_000_000, 100_000_000_000]);
}

#[test]
fn percentiles_of_sizes_are_those_of_numpy() {
    let fixture = fixture();
    let case = &fixture["sizes"];
    let mut lens = Sizes::new();
    for size in numbers(&case["sizes"]) {
        lens.see(&Io { length: Bytes(size), ..arriving(0) });
    }
    let reads = lens.finish().reads;
    close(reads.mean_bytes, &case["mean"], 1e-12, "mean");
    let told = [
        ("1", reads.p01_bytes),
        ("10", reads.p10_bytes),
        ("25", reads.p25_bytes),
        ("50", reads.p50_bytes),
        ("75", reads.p75_bytes),
        ("90", reads.p90_bytes),
        ("99", reads.p99_bytes),
        ("99.9", reads.p999_bytes),
    ];
    for (percent, ours) in told {
        assert_eq!(ours, case["percentiles"][percent].as_u64(), "p{percent}");
    }
}
