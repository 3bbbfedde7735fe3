//! Caveats of an analysis: figures that the trace lacks or has wrong, and why.

use stats::Caveat;
use stats::remedy::Trace;

use crate::analyze::body::Body;

/// Steps of time that are long for a drive: a read of flash takes a tenth of it.
const COARSE_NS: u64 = 1_000_000;

/// All doubts about `body`; `early` moments were processed before their time.
pub(super) fn of(body: &Body, early: u64) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut add = |code: &str, cause: String, remedy: Trace| {
        caveats.push(Caveat::new(code, "trace", cause, remedy));
    };
    let Body { trace, counts, .. } = body;
    if trace.lost_events > 0 {
        let cause = format!(
            "the recorder lost {} events: counts are too low, and an I/O that lost one lacks the phases around it",
            trace.lost_events
        );
        add("lost_events", cause, Trace::LargerBuffers);
    }
    if trace.skipped_rows > 0 {
        let cause = format!("{} rows could not be read and were left out", trace.skipped_rows);
        add("skipped_rows", cause, Trace::ReadStrictly);
    }
    if counts.requests > 0 && body.completion_s.is_none() {
        let cause =
            "the trace has arrivals only: latency, queue depth and completion time are unknown"
                .to_owned();
        add("arrivals_only", cause, Trace::ReplayForCompletions);
    }
    if counts.never_completed > 0 {
        let cause = format!(
            "{} of {} I/Os have no completion: they are in no sum, mean or depth",
            counts.never_completed, counts.requests
        );
        add("never_completed", cause, Trace::RecordUntilIdle);
    }
    if counts.errors > 0 {
        let cause = match counts.errors {
            1 => "1 I/O completed with an error, and counts as any other".to_owned(),
            errors => format!("{errors} I/Os completed with an error, and count as any other"),
        };
        add("errors", cause, Trace::LookAtErrors);
    }
    if trace.resolution_ns >= COARSE_NS {
        let cause = format!(
            "the trace's times have steps of {}: gaps, latencies and depths below cannot be distinguished",
            block::Nanos(trace.resolution_ns).human()
        );
        add("coarse_times", cause, Trace::OrderAndRates);
    }
    if early > 0 {
        let cause = format!(
            "more than half a million I/Os were outstanding at once: {early} were let go too early"
        );
        add("depth_too_great", cause, Trace::LowerBounds);
    }
    if body.stacked.is_some() {
        let cause =
            "devices that hand their I/Os on to others in the trace count for themselves alone"
                .to_owned();
        add("stacked", cause, Trace::ChooseDevice);
    }
    caveats
}
