//! What a trace cannot say, or says wrongly, and why.

use stats::Caveat;

use crate::analyze::body::Body;

/// Steps of time that are long for a drive: a read of flash takes a tenth of it.
const COARSE_NS: u64 = 1_000_000;

/// All doubts about `body`; `early` moments were told before their time.
pub(super) fn of(body: &Body, early: u64) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut add = |code: &str, cause: String, remedy: &str| {
        let (code, subject) = (code.to_owned(), "trace".to_owned());
        caveats.push(Caveat { code, subject, cause, remedy: remedy.to_owned() });
    };
    let Body { trace, counts, .. } = body;
    if trace.lost_events > 0 {
        let cause = format!(
            "the recorder lost {} events: counts are too low, and an I/O that lost one lacks the phases around it",
            trace.lost_events
        );
        add("lost_events", cause, "record again with larger buffers");
    }
    if trace.skipped_rows > 0 {
        let cause = format!("{} rows could not be read and were left out", trace.skipped_rows);
        add("skipped_rows", cause, "read without --lenient to see the first of them");
    }
    if counts.requests > 0 && body.completion_s.is_none() {
        let cause =
            "the trace has arrivals only: latency, queue depth and completion time cannot be told"
                .to_owned();
        add("arrivals_only", cause, "replay it on a drive, which records them");
    }
    if counts.never_completed > 0 {
        let cause = format!(
            "{} of {} I/Os have no completion: they are in no sum, mean or depth",
            counts.never_completed, counts.requests
        );
        add("never_completed", cause, "record until the device is idle, and without losses");
    }
    if counts.errors > 0 {
        let cause = match counts.errors {
            1 => "1 I/O completed with an error, and counts as any other".to_owned(),
            errors => format!("{errors} I/Os completed with an error, and count as any other"),
        };
        add("errors", cause, "see errors_by_number in the JSON, and the kernel's log");
    }
    if trace.resolution_ns >= COARSE_NS {
        let cause = format!(
            "the trace's times have steps of {}: gaps, latencies and depths below cannot be told apart",
            block::Nanos(trace.resolution_ns).human()
        );
        add("coarse_times", cause, "take its order and its rates only");
    }
    if early > 0 {
        let cause = format!(
            "more than half a million I/Os were outstanding at once: {early} were let go too early"
        );
        add("depth_too_great", cause, "take queue depth and activity for lower bounds");
    }
    if body.stacked.is_some() {
        let cause =
            "devices that hand their I/Os on to others in the trace count for themselves alone"
                .to_owned();
        add("stacked", cause, "choose what to look at with --device");
    }
    caveats
}
