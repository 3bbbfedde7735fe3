//! Page of an analysed trace.

use std::path::PathBuf;

use report::number::{bytes, digits, nanoseconds, share, thousands};
use report::{Table, Tables, Tone};
use trace::analyze::Phase;
use trace::analyze::body::{Body, Device};
use trace::analyze::histogram::Spread;
use trace::analyze::phases::{Overhead, Phases};
use trace::analyze::seeks::SeekFigures;
use trace::analyze::tally::Counts;
use trace::analyze::tasks::Process;

use super::{heads, load, maybe, seconds};

/// Most devices, and most tasks, that a page shows.
const SHOWN: usize = 12;

/// Lays out `body`, of the trace in `files`.
pub fn tables(body: &Body, files: &[PathBuf]) -> Tables {
    let (closing, tone) = closing(body);
    let parts = [
        Some(headline(body)),
        Some(phases(body)),
        body.overhead.as_ref().map(overhead),
        load::table(body),
        devices(body),
        processes(body),
        seeks(body),
        merges(body),
        plugs(body),
    ];
    Tables {
        title: format!("drivescope trace analyze: {}", subject(body, files)),
        facts: facts(body),
        tables: parts.into_iter().flatten().filter(|table| !table.rows.is_empty()).collect(),
        caveats: crate::remedies::written(&body.caveats),
        closing,
        tone,
    }
}

fn subject(body: &Body, files: &[PathBuf]) -> String {
    let source = &body.trace.source;
    match files {
        [] => source.clone(),
        [file] => format!("{} ({source})", file.display()),
        [first, others @ ..] => {
            format!("{} and {} more ({source})", first.display(), others.len())
        }
    }
}

fn facts(body: &Body) -> Vec<String> {
    let mut facts = body.trace.settled.clone();
    let at = |ns: u64| nanoseconds(ns as f64);
    match (body.trace.from_ns, body.trace.until_ns) {
        (None, None) => {}
        (Some(from), None) => facts.push(format!("I/Os that arrive from {} on", at(from))),
        (None, Some(until)) => facts.push(format!("I/Os that arrive before {}", at(until))),
        (Some(from), Some(until)) => {
            facts.push(format!("I/Os that arrive from {} to {}", at(from), at(until)));
        }
    }
    if !body.trace.only_devices.is_empty() {
        facts.push(format!("only {}", body.trace.only_devices.join(", ")));
    }
    facts
}

/// The figures that differ between drives under the same trace.
fn headline(body: &Body) -> Table {
    let counts = &body.counts;
    let depth = body.queue_depth.as_ref();
    let row = vec![
        counts.requests.to_string(),
        bytes(counts.bytes_read as f64),
        bytes(counts.bytes_written as f64),
        maybe(body.completion_s, seconds),
        maybe(body.q2c_sum_s, seconds),
        maybe(depth, |depth| digits(depth.mean)),
        maybe(depth, |depth| depth.max.to_string()),
    ];
    let mut notes = vec![kinds(counts)];
    if let Some(rates) = &body.rates {
        let rate = |bytes: f64| digits(bytes / 1e6);
        notes.push(format!(
            "per second: {} I/Os (at most {}), {} MB read (at most {}), {} MB written (at most {})",
            thousands(rates.iops_mean),
            thousands(rates.iops_max),
            rate(rates.bytes_read_per_s_mean),
            rate(rates.bytes_read_per_s_max),
            rate(rates.bytes_written_per_s_mean),
            rate(rates.bytes_written_per_s_max),
        ));
    }
    let flushes = body.devices.iter().filter_map(|device| device.drive_flushes);
    let (n, sum_ns, max_ns) = flushes.fold((0, 0.0, 0), |(n, sum_ns, max_ns), one| {
        (n + one.n, sum_ns + one.n as f64 * one.mean_ns, one.max_ns.max(max_ns))
    });
    if n > 0 {
        notes.push(format!(
            "flushes at the drive (D to C): {n}, mean {}, at most {}",
            nanoseconds(sum_ns / n as f64),
            nanoseconds(max_ns as f64)
        ));
    }
    if let Some(depth) = &body.device_depth {
        notes.push(format!(
            "at the drive (D to C): depth {}, at most {}",
            digits(depth.mean),
            depth.max
        ));
    }
    if let Some(live) = body.activity {
        notes.push(format!(
            "active {} of the time, in {} periods of {} with {} between them",
            share(live.live_share),
            live.periods,
            nanoseconds(live.mean_live_ns),
            nanoseconds(live.mean_idle_ns)
        ));
    }
    Table {
        title: String::new(),
        columns: heads(&["I/Os", "read", "written", "completion", "Σ Q2C", "depth", "max"]),
        rows: vec![("all".to_owned(), row)],
        notes,
    }
}

/// `800 reads, 400 writes, 12 flushes; 3 with an error`.
fn kinds(counts: &Counts) -> String {
    let kinds = [
        (counts.reads, "reads"),
        (counts.writes, "writes"),
        (counts.flushes, "flushes"),
        (counts.discards, "discards"),
        (counts.others, "others"),
    ];
    let named = kinds.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}"));
    let mut text = named.collect::<Vec<_>>().join(", ");
    for (n, what) in [
        (counts.errors, "with an error"),
        (counts.requeued, "requeued"),
        (counts.split, "split"),
        (counts.never_completed, "not completed"),
    ] {
        if n > 0 {
            text.push_str(&format!("; {n} {what}"));
        }
    }
    text
}

fn phase_rows(phases: &Phases, name: impl Fn(Phase) -> String) -> Vec<(String, Vec<String>)> {
    let known = Phase::ALL.into_iter().filter_map(|phase| Some((phase, phases.of(phase)?)));
    let ns = |ns: u64| nanoseconds(ns as f64);
    known
        .map(|(phase, spread)| {
            let fields = vec![
                spread.n.to_string(),
                ns(spread.min_ns),
                nanoseconds(spread.mean_ns),
                ns(spread.p50_ns),
                ns(spread.p99_ns),
                ns(spread.p999_ns),
                ns(spread.max_ns),
            ];
            (name(phase), fields)
        })
        .collect()
}

const PHASE_HEADS: [&str; 7] = ["n", "min", "mean", "p50", "p99", "p99.9", "max"];

fn phases(body: &Body) -> Table {
    let mut rows = phase_rows(&body.phases, |phase| phase.name().to_owned());
    // A flush without data has no request of its own in most phases; what it takes is what matters.
    let flush = phase_rows(&body.flush_phases, |phase| format!("flush {}", phase.name()));
    let wanted = ["flush D2C", "flush Q2C"];
    rows.extend(flush.into_iter().filter(|(name, _)| wanted.contains(&name.as_str())));
    Table { title: "Phase".to_owned(), columns: heads(&PHASE_HEADS), rows, notes: Vec::new() }
}

fn overhead(overhead: &Overhead) -> Table {
    let parts = [
        ("Q2G", overhead.q2g),
        ("G2I", overhead.g2i),
        ("Q2M", overhead.q2m),
        ("I2D", overhead.i2d),
        ("M2D", overhead.m2d),
        ("D2C", overhead.d2c),
        ("none", overhead.unaccounted),
    ];
    let known: Vec<_> = parts.into_iter().filter(|(_, part)| part.abs() >= 5e-5).collect();
    Table {
        title: "Share".to_owned(),
        columns: known.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: vec![("of Q2C".to_owned(), known.iter().map(|(_, part)| share(*part)).collect())],
        notes: Vec::new(),
    }
}

/// Columns common to the tables of devices and of tasks.
const SERVED: [&str; 6] = ["I/Os", "read", "written", "D2C", "Q2C", "Q2C p99"];

fn served(counts: &Counts, phases: &Phases) -> Vec<String> {
    let mean = |spread: Option<Spread>| maybe(spread, |spread| nanoseconds(spread.mean_ns));
    vec![
        counts.requests.to_string(),
        bytes(counts.bytes_read as f64),
        bytes(counts.bytes_written as f64),
        mean(phases.d2c),
        mean(phases.q2c),
        maybe(phases.q2c, |spread| nanoseconds(spread.p99_ns as f64)),
    ]
}

/// Each device's own figures, where there are several.
fn devices(body: &Body) -> Option<Table> {
    if body.devices.len() < 2 {
        return None;
    }
    let mut devices: Vec<&Device> = body.devices.iter().collect();
    devices.sort_by(|a, b| b.counts.requests.cmp(&a.counts.requests).then(a.space.cmp(&b.space)));
    let row = |device: &&Device| {
        let mut fields = served(&device.counts, &device.phases);
        fields.push(maybe(device.queue_depth.as_ref(), |depth| digits(depth.mean)));
        (named(device), fields)
    };
    Some(Table {
        title: "Device".to_owned(),
        columns: heads(&[&SERVED[..], &["depth"]].concat()),
        rows: devices.iter().take(SHOWN).map(row).collect(),
        notes: left_out(devices.len(), "devices"),
    })
}

fn named(device: &Device) -> String {
    if device.stacked { format!("{} (stacked)", device.name) } else { device.name.clone() }
}

fn left_out(all: usize, what: &str) -> Vec<String> {
    let more = all.saturating_sub(SHOWN);
    if more == 0 { Vec::new() } else { vec![format!("{more} more {what} in the JSON")] }
}

fn processes(body: &Body) -> Option<Table> {
    let row = |process: &Process| {
        let name = match (&process.name, process.pid) {
            (Some(name), Some(pid)) => format!("{name} ({pid})"),
            (None, Some(pid)) => format!("pid {pid}"),
            (_, None) => "others".to_owned(),
        };
        (name, served(&process.counts, &process.phases))
    };
    (!body.processes.is_empty()).then(|| Table {
        title: "Process".to_owned(),
        columns: heads(&SERVED),
        rows: body.processes.iter().take(SHOWN).map(row).collect(),
        notes: left_out(body.processes.len(), "processes"),
    })
}

fn seeks(body: &Body) -> Option<Table> {
    let row = |name: String, seeks: &SeekFigures| {
        let closest = &seeks.closest;
        let at_least = if closest.exact { "" } else { "≥ " };
        let fields = vec![
            seeks.n.to_string(),
            share(seeks.contiguous as f64 / seeks.n as f64),
            bytes(closest.mean_bytes),
            bytes(closest.median_bytes as f64),
            format!("{} ({at_least}{}×)", bytes(closest.mode_bytes as f64), closest.mode_n),
        ];
        (name, fields)
    };
    let rows = body.devices.iter().take(SHOWN).flat_map(|device| {
        let q2q = device.seeks_q2q.as_ref().map(|seeks| row(format!("{} Q2Q", device.name), seeks));
        let d2d = device.seeks_d2d.as_ref().map(|seeks| row(format!("{} D2D", device.name), seeks));
        [q2q, d2d].into_iter().flatten()
    });
    Some(Table {
        title: "Seeks".to_owned(),
        columns: heads(&["n", "contiguous", "mean", "median", "mode"]),
        rows: rows.collect(),
        notes: Vec::new(),
    })
}

fn merges(body: &Body) -> Option<Table> {
    let known = body.devices.iter().filter_map(|device| Some((device, device.merges.as_ref()?)));
    let rows = known.take(SHOWN).map(|(device, merges)| {
        let fields = vec![
            merges.queued.to_string(),
            merges.issued.to_string(),
            digits(merges.ratio),
            bytes(merges.request_min_bytes as f64),
            bytes(merges.request_mean_bytes),
            bytes(merges.request_max_bytes as f64),
            maybe(device.active_at_q, |active| digits(active.mean)),
        ];
        (device.name.clone(), fields)
    });
    Some(Table {
        title: "Merges".to_owned(),
        columns: heads(&["#Q", "#D", "Q/D", "min", "mean", "max", "waiting at Q"]),
        rows: rows.collect(),
        notes: Vec::new(),
    })
}

fn plugs(body: &Body) -> Option<Table> {
    let known = body.devices.iter().filter_map(|device| Some((device, device.plugs.as_ref()?)));
    let rows = known.take(SHOWN).map(|(device, plugs)| {
        let fields = vec![
            plugs.plugs.to_string(),
            plugs.timer_unplugs.to_string(),
            share(plugs.plugged_share),
            digits(plugs.requests_per_unplug),
        ];
        (device.name.clone(), fields)
    });
    Some(Table {
        title: "Plugs".to_owned(),
        columns: heads(&["plugs", "by timer", "plugged", "requests/unplug"]),
        rows: rows.collect(),
        notes: Vec::new(),
    })
}

fn closing(body: &Body) -> (String, Tone) {
    let requests = body.counts.requests;
    if requests == 0 {
        return (
            "No I/O was looked at: none lies within what was asked for.".to_owned(),
            Tone::Bad,
        );
    }
    let tone = if body.caveats.is_empty() { Tone::Good } else { Tone::Mixed };
    let text = match (body.completion_s, body.phases.q2c) {
        (Some(completion), Some(q2c)) => format!(
            "{requests} I/Os in {}: {} each, {} for 99% of them.",
            seconds(completion),
            nanoseconds(q2c.mean_ns),
            nanoseconds(q2c.p99_ns as f64)
        ),
        _ => format!("{requests} I/Os arrive in {}.", seconds(body.arrivals_s)),
    };
    (text, tone)
}
