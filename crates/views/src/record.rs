//! Listing of a recorded trace.

use linux::tracer::Recorded;
use report::{Entry, Listing, Tone, number};

use block::quoted;
use documents::trace_record::Body;

/// Lays out a recording.
pub fn listing(body: &Body) -> Listing {
    let names: Vec<_> =
        body.devices.iter().map(|device| device.path.display().to_string()).collect();
    let entry = Entry {
        title: format!("recorded {}", names.join(", ")),
        summary: format!("for {}", number::nanoseconds(body.duration_ns.0 as f64)),
        facts: facts(body),
        notes: notes(body),
        leads: false,
    };
    Listing { entries: vec![entry], empty: String::new() }
}

fn facts(body: &Body) -> Vec<(String, String)> {
    let recorder = &body.recorder;
    let of_rate = |count: u64| {
        let seconds = body.duration_ns.as_secs_f64();
        let rate = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        format!("{count} ({}/s)", number::thousands(rate))
    };
    let mut facts = vec![
        ("I/Os", of_rate(body.ios)),
        ("events", of_rate(recorder.events)),
        ("lost", if recorder.lost == 0 { "none".to_owned() } else { recorder.lost.to_string() }),
        ("back end", backend(recorder)),
    ];
    if body.marks > 0 {
        facts.push(("marks", body.marks.to_string()));
    }
    if body.unfinished > 0 {
        facts.push(("unfinished", format!("{}: their end was not recorded", body.unfinished)));
    }
    if let Some(command) = &body.command {
        let how = match (command.status, command.signal) {
            (Some(status), _) => format!("status {status}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        };
        facts.push(("command", format!("{how}: {}", command.command)));
    }
    let size = number::bytes(body.file_bytes as f64);
    facts.push(("file", format!("{}, {size}", body.file.display())));
    facts.push((
        "next",
        format!("drivescope trace analyze {}", quoted(&body.file.to_string_lossy())),
    ));
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn backend(recorder: &Recorded) -> String {
    let buffer = number::bytes(recorder.buffer.0 as f64);
    format!("{}, {buffer} of buffer for each CPU", recorder.backend)
}

fn notes(body: &Body) -> Vec<(Tone, String)> {
    let recorder = &body.recorder;
    let mut notes: Vec<(Tone, String)> = recorder
        .unused
        .iter()
        .map(|unused| (Tone::Mixed, format!("not {}: {}", unused.backend, unused.why)))
        .collect();
    if let Some(fault) = &recorder.fault {
        notes.push((Tone::Bad, format!("the recording broke off: {fault}")));
    }
    if recorder.lost > 0 {
        let share = recorder.lost as f64 / (recorder.lost + recorder.events) as f64;
        let text = format!(
            "{} of the events were lost: I/Os are missing, or their times; record again with a larger --buffer",
            number::share(share)
        );
        notes.push((Tone::Bad, text));
    }
    if recorder.malformed > 0 {
        let text = format!(
            "{} records of this kernel were not understood and are missing; try another --backend",
            recorder.malformed
        );
        notes.push((Tone::Bad, text));
    }
    if !recorder.removed.is_empty() {
        let text = format!(
            "removed from the kernel what dead recorders had left: {}",
            recorder.removed.join(", ")
        );
        notes.push((Tone::Mixed, text));
    }
    if body.ios == 0 && recorder.fault.is_none() {
        notes.push((Tone::Mixed, "nothing was asked of it while it was recorded".to_owned()));
    }
    if body.command.as_ref().is_some_and(|command| !command.success) {
        notes
            .push((Tone::Bad, "the command failed; what it did until then is recorded".to_owned()));
    }
    notes
}
