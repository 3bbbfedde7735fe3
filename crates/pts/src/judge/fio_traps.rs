//! Artifacts of fio in a result, found by the options and figures in its JSON.

use serde_json::Value;

use super::fio_kind::Kind;
use super::fio_log::Log;
use super::fio_options::Options;
use super::recorded::{Claim, FioSteadyState, Pattern, Recorded};
use workload::fio_units;

/// The middle of the last bin of fio's latency histogram, which ends at 2^34 ns: what longer latencies are counted as
/// (29 groups of 64 bins; stat.h, and issue 1668).
const TOP_BIN_NS: f64 = ((1_u64 << 34) - (1 << 26)) as f64;
/// End of that bin.
const TOP_NS: f64 = (1_u64 << 34) as f64;

/// From this number of samples on, the sum of squares of their positions overflows an `int`: (n - 1) n (2 n - 1), which
/// is divided by 6 only afterwards.
const OVERFLOW_FROM: u64 = 1025;

/// First version whose steady state computes that sum in an `int`; 3.33 does not (both were run).
const OVERFLOW_SINCE: (u64, u64) = (3, 34);

/// Adds to `result` what is doubtful about it.
pub(super) fn add(result: &mut Recorded, job: &Value, options: &Options, logs: &[&Log]) {
    addresses(result, options);
    if let Some(Claim::Fio(state)) = result.claim.clone() {
        steady_state(result, &state);
    }
    histogram(result, job);
    averages(result, options, logs);
    if options.text(&["write_hist_log", "log_hist_msec"]).is_some() {
        result.doubt(
            "histogram_log_ends_early",
            "fio writes no line for the last, unfinished interval of a histogram log",
            stats::remedy::Command::WholeIntervals,
        );
    }
    if job.get("error").and_then(Value::as_i64).is_some_and(|error| error != 0) {
        result.doubt(
            "error",
            "fio reports an error of this job",
            stats::remedy::Command::RepeatWithoutError,
        );
    }
    if options.text(&["ioengine"]) == Some("null") {
        let cause = "the engine is null: no drive was measured, only fio";
        result.doubt("no_drive", cause, stats::remedy::Command::AsynchronousIo);
    }
}

fn addresses(result: &mut Recorded, options: &Options) {
    let passes = result.range_bytes.is_some_and(|range| result.written_bytes > Some(range));
    match result.load.pattern {
        Pattern::Replayed => result.doubt(
            "replayed_permutation",
            "each pass wrote the same addresses in the same order (randrepeat=1 with a random map), which a log-structured \
             drive sees as a sequential overwrite: its write amplification stays 1 for ever",
            stats::remedy::Command::UniformAddresses,
        ),
        Pattern::Permutations if passes => result.doubt(
            "permutations",
            "each pass wrote each block once: write amplification goes up and down with each pass, and is on average far \
             below that of uniform random writes",
            stats::remedy::Command::UniformOrAsIs,
        ),
        _ if options.may_replay() => result.doubt(
            "perhaps_replayed",
            "fio began again with the same seed, and its JSON does not record whether there was a random map: if there was, \
             each pass wrote the same addresses in the same order, and write amplification stayed 1",
            stats::remedy::Command::OptionsWithValues,
        ),
        _ => {}
    }
}

fn steady_state(result: &mut Recorded, state: &FioSteadyState) {
    let samples = state.samples_count();
    let version = result.tool_version.as_deref().and_then(fio_units::version);
    if state.slope && samples >= OVERFLOW_FROM && version.is_some_and(|v| v >= OVERFLOW_SINCE) {
        result.doubt(
            "slope_overflow",
            format!(
                "fio's slope over {samples} samples is wrong: a sum overflows from {OVERFLOW_FROM} samples on in versions since \
                 {}.{}, and nearly any series passes",
                OVERFLOW_SINCE.0, OVERFLOW_SINCE.1
            ),
            stats::remedy::Command::FewerSamples,
        );
    }
    let steps = samples.saturating_sub(1) as f64;
    if state.slope
        && state.percent
        && state.limit * steps > 100.0 * stats::steady::snia::SLOPE_SHARE
    {
        result.doubt(
            "slope_limit_is_a_sample",
            format!(
                "the limit of {}% is of a sample: over the {samples} samples of the window the series may drift by {}%",
                state.limit,
                (state.limit * steps).round()
            ),
            stats::Remedy::SlopeLimit {
                percent: 100.0 * stats::steady::snia::SLOPE_SHARE / steps.max(1.0),
            },
        );
    }
}

fn histogram(result: &mut Recorded, job: &Value) {
    for direction in ["read", "write"] {
        let of = |pointer: &str| job.pointer(&format!("/{direction}/{pointer}"));
        let Some(max) = of("clat_ns/max").and_then(Value::as_f64) else { continue };
        let percentiles = of("clat_ns/percentile").and_then(Value::as_object);
        let clamped = |value: &Value| value.as_f64().is_some_and(|ns| ns >= TOP_BIN_NS);
        let names: Vec<&str> = percentiles
            .into_iter()
            .flatten()
            .filter(|(_, value)| clamped(value))
            .filter_map(|(name, _)| name.split('.').next())
            .collect();
        if max > TOP_NS && !names.is_empty() {
            result.doubt(
                "histogram_clamped",
                format!(
                    "fio's histogram ends at 17.18 s: {} percentiles of {direction} latency say 17,113 ms where the longest took \
                     {:.1} s",
                    names.len(),
                    max / 1e9
                ),
                stats::remedy::Command::LogEachLatency,
            );
        }
    }
}

fn averages(result: &mut Recorded, options: &Options, logs: &[&Log]) {
    let of_latency = |log: &&&Log| {
        matches!(log.kind, Kind::Latency | Kind::CompletionLatency) && !log.sums.per_io
    };
    let has_windows = logs.iter().any(|log| of_latency(&log));
    if has_windows && !options.logs_greatest() {
        let window = options.log_avg_ms().map_or(String::new(), |ms| format!(" of {ms} ms"));
        result.doubt(
            "tails_averaged",
            format!("the latency logs hold means of windows{window}: no percentile can be taken from them"),
            stats::remedy::Command::LogTails,
        );
    }
}
