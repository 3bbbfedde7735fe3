//! Pages of a replay and of a comparison of two.

use documents::replay::{CompareBody, Drive, ReferenceBody, ReplayBody};
use report::number::{bytes, counted, digits, nanoseconds, share, value};
use report::{RateUnit, Table, Tables, Tone};
use stats::Quantity;
use trace::replay::compare::{Contestant, Metric, Ratio, Suits};
use trace::replay::{ErrorSpans, Fidelity, Limit, Mode, Options, Origin, Since, Spans};

use super::{heads, maybe, seconds};

/// One line for a list of runs.
pub fn headline(body: &ReplayBody) -> String {
    let replay = &body.replay;
    let sum = maybe(replay.run.q2c_sum_s, seconds);
    let ended_early = replay.run.caveats.iter().any(|caveat| caveat.code == "ended_early");
    let verdict = match ended_early {
        true => format!(
            "ended early, after {}",
            counted(replay.run.counts.requests as usize, "request")
        ),
        false => replay.fidelity.verdict.word().to_owned(),
    };
    format!("{verdict}; completion {}, sum of Q2C {sum}", seconds(replay.elapsed_s))
}

/// Lays a replay out.
pub fn tables(body: &ReplayBody) -> Tables {
    let replay = &body.replay;
    let tables = [load(body), fidelity(body), latency(body)];
    let Fidelity { verdict, reason, .. } = &replay.fidelity;
    let tone = match verdict {
        Limit::Faithful => Tone::Good,
        Limit::DriveLimited => Tone::Mixed,
        Limit::ReplayerLimited => Tone::Bad,
    };
    Tables {
        title: format!("drivescope trace replay: {} on {}", body.file.display(), name(&body.drive)),
        facts: facts(body),
        tables: tables.into_iter().filter(|table| !table.rows.is_empty()).collect(),
        caveats: crate::remedies::written(&replay.run.caveats),
        closing: format!("{}: {reason}.", verdict.word()),
        tone,
    }
}

fn name(drive: &Drive) -> String {
    match &drive.target.model {
        Some(model) => format!("{} ({})", drive.target.name, model.trim()),
        None => drive.target.name.clone(),
    }
}

fn facts(body: &ReplayBody) -> Vec<String> {
    let plan = &body.replay.plan;
    let mut facts = vec![how(&plan.options, body.reference.as_ref(), plan.original)];
    facts.push(format!("{}; addresses {}", plan.layout, plan.addresses));
    facts.push(format!("{}; seed {}", drive_words(&body.drive), body.seed));
    facts.extend(plan.notes.iter().cloned());
    facts
}

fn drive_words(drive: &Drive) -> String {
    let schedulers = drive.stack.schedulers();
    let set = drive
        .scheduler
        .as_ref()
        .map(|one| format!("; set to {} (before: {})", one.set, one.before));
    match schedulers.as_slice() {
        [] => drive.engine.clone(),
        all => {
            format!("{}; I/O scheduler {}{}", drive.engine, all.join(", "), set.unwrap_or_default())
        }
    }
}

/// The mode, in words.
fn how(options: &Options, reference: Option<&ReferenceBody>, origin: Origin) -> String {
    let times =
        if options.loops > 1 { format!(", {} times", options.loops) } else { String::new() };
    let mode = match options.mode {
        Mode::Timed => "timed: each request at its own time".to_owned(),
        Mode::Scaled(scale) => {
            let what = if scale.idle_only { "idle times" } else { "times" };
            let most =
                scale.idle_max.map(|most| format!(", none idle for longer than {}", most.human()));
            format!("scaled: {what} × {}{}", digits(scale.factor), most.unwrap_or_default())
        }
        Mode::Afap(depth) => format!("as fast as possible: {depth} outstanding"),
        Mode::Outstanding(_) => {
            "outstanding: as much as the original had before each request".to_owned()
        }
    };
    let from = match (origin, reference) {
        (Origin::Reference, Some(reference)) => format!(
            "; what the original had comes from a timed replay on {} (times × {}), for the trace has arrivals only",
            reference.drive,
            digits(reference.factor)
        ),
        _ => String::new(),
    };
    format!("{mode}{times}{from}")
}

/// The issued load beside that of the original.
fn load(body: &ReplayBody) -> Table {
    let (replay, original) = (&body.replay, &body.replay.original);
    let counts = &replay.run.counts;
    let depth = replay.run.queue_depth.as_ref().map(|depth| depth.mean);
    let mut notes = Vec::new();
    if let Some(over) = replay.overload.filter(|over| over.episodes > 0) {
        notes.push(format!(
            "the drive fell behind in {} of the time, by {} at most",
            share(over.time_share),
            nanoseconds(over.backlog_ns)
        ));
    }
    notes.push(format!(
        "{} reads of {}, {} writes of {}",
        counts.reads,
        bytes(counts.bytes_read as f64),
        counts.writes,
        bytes(counts.bytes_written as f64)
    ));
    Table {
        title: String::new(),
        columns: heads(&["requests", "completion", "ΣQ2C", "mean depth"]),
        rows: vec![
            (
                "replayed".to_owned(),
                vec![
                    counts.requests.to_string(),
                    seconds(replay.elapsed_s),
                    maybe(replay.run.q2c_sum_s, seconds),
                    maybe(depth, digits),
                ],
            ),
            (
                "original".to_owned(),
                vec![
                    original.requests.to_string(),
                    seconds(original.completion_s),
                    maybe(original.q2c_sum_s, seconds),
                    maybe(original.mean_depth, digits),
                ],
            ),
        ],
        notes,
    }
}

fn errors(name: &str, spans: &ErrorSpans) -> (String, Vec<String>) {
    let of = |ns: u64| nanoseconds(ns as f64);
    (name.to_owned(), vec![of(spans.p50), of(spans.p99), of(spans.p999), of(spans.max)])
}

/// How late requests were, and by whose fault.
fn fidelity(body: &ReplayBody) -> Table {
    let fidelity = &body.replay.fidelity;
    let mut rows = match fidelity.issue_error_since {
        Since::Due => vec![
            errors("issued − due", &fidelity.issue_error_ns),
            errors("by the replayer", &fidelity.own_error_ns),
        ],
        Since::Ready => vec![errors("issued − possible", &fidelity.issue_error_ns)],
    };
    let mut notes = Vec::new();
    if let Some(kernel) = &body.kernel {
        if let Some(spans) = &kernel.kernel.issue_error_ns {
            rows.push(errors("kernel's Q − due", spans));
        }
        rows.push(errors("kernel's Q − issued", &kernel.kernel.stamp_error_ns));
        notes.push(format!(
            "of {} requests the kernel saw {}, and {} bios of others ({}, {} events lost)",
            kernel.kernel.requests,
            kernel.kernel.matched,
            kernel.kernel.foreign,
            kernel.recorder,
            kernel.lost_events
        ));
    }
    notes.push(format!(
        "{} late (by more than {}), {} out of order, {} waited for a slot",
        fidelity.late,
        nanoseconds(fidelity.late_tolerance_ns.0 as f64),
        fidelity.reordered,
        fidelity.no_slot
    ));
    notes.extend(drift(fidelity));
    notes.extend(held(fidelity));
    Table {
        title: "Lateness".to_owned(),
        columns: heads(&["p50", "p99", "p99.9", "max"]),
        rows,
        notes,
    }
}

fn drift(fidelity: &Fidelity) -> Option<String> {
    let drift = fidelity.drift?;
    let ends = drift.low.zip(drift.high);
    let interval = ends.map(|(low, high)| format!(" ({} to {})", digits(low), digits(high)));
    Some(format!("drift {} ppm{}", digits(drift.ppm), interval.unwrap_or_default()))
}

fn held(fidelity: &Fidelity) -> Option<String> {
    if let Some(held) = fidelity.depth_held {
        return Some(format!(
            "outstanding before a request: {} where {} were meant",
            digits(held.held_mean),
            digits(held.planned_mean)
        ));
    }
    let over = fidelity.over_time?;
    let depth = over.depth_rmse.map(|rmse| format!(", depth off by {} (RMS)", digits(rmse)));
    let rate = over.iops_mape.map(share);
    Some(format!(
        "over slices of {}: rate off by {} on average{}",
        nanoseconds(over.slice_ns.0 as f64),
        rate.unwrap_or_else(|| "–".to_owned()),
        depth.unwrap_or_default()
    ))
}

fn spans(name: &str, spans: &Spans) -> (String, Vec<String>) {
    let of = |quantity: &Quantity| value(quantity, RateUnit::Mb);
    let fields = [&spans.mean, &spans.p50, &spans.p99, &spans.p999].map(of);
    (name.to_owned(), fields.into_iter().chain([nanoseconds(spans.max_ns as f64)]).collect())
}

fn latency(body: &ReplayBody) -> Table {
    let replay = &body.replay;
    let rows = [("Q2C, from issue", &replay.q2c), ("from the due time", &replay.from_due)];
    let rows = rows.into_iter().filter_map(|(name, found)| Some(spans(name, found.as_ref()?)));
    let distance = replay.fidelity.latency_distance.as_ref().map(|distance| {
        format!(
            "against the original: Kolmogorov–Smirnov {}, Wasserstein {}, p50 × {}, p99 × {}",
            digits(distance.ks),
            nanoseconds(distance.wasserstein_ns),
            maybe(distance.p50_ratio, digits),
            maybe(distance.p99_ratio, digits)
        )
    });
    Table {
        title: "Latency".to_owned(),
        columns: heads(&["mean", "p50", "p99", "p99.9", "max"]),
        rows: rows.collect(),
        notes: distance.into_iter().collect(),
    }
}

/// Lays a comparison out.
pub fn compared(body: &CompareBody) -> Tables {
    let compared = &body.compared;
    let names: Vec<String> = compared.drives.iter().map(|drive| drive.name.clone()).collect();
    let mut facts = vec![how(&body.plan.options, body.reference.as_ref(), body.plan.original)];
    facts.push(format!("{}; addresses {}", body.plan.layout, body.plan.addresses));
    facts.extend(body.on.iter().map(|drive| format!("{}: {}", name(drive), drive_words(drive))));
    let rounds = compared.drives[0].rounds.len();
    facts.push(format!("{} each, interleaved; seed {}", counted(rounds, "round"), body.seed));
    facts.extend(body.plan.notes.iter().cloned());
    let decided = matches!(compared.verdict, Suits::A | Suits::B);
    let closing = match (&compared.winner, compared.by) {
        (Some(winner), Some(Metric::Completion | Metric::Q2cSum)) => {
            format!("{winner} suits this trace: {}.", compared.reason)
        }
        _ => format!("No verdict: {}.", compared.reason),
    };
    Tables {
        title: format!(
            "drivescope trace compare: {} on {}",
            body.file.display(),
            names.join(" and ")
        ),
        facts,
        tables: vec![contest(body), ratios(body)],
        caveats: crate::remedies::written(&compared.caveats),
        closing,
        tone: if decided { Tone::Good } else { Tone::Mixed },
    }
}

fn contest(body: &CompareBody) -> Table {
    let of = |quantity: Option<Quantity>| maybe(quantity, |one| value(&one, RateUnit::Mb));
    let row = |drive: &Contestant| {
        let depth = maybe(drive.mean_depth, |depth| digits(depth.value));
        let fields =
            [drive.completion, drive.q2c_sum, drive.q2c_mean, drive.q2c_p50, drive.q2c_p99];
        let fields = fields.into_iter().map(of).chain([depth]).collect();
        (drive.name.clone(), fields)
    };
    let limits = body.compared.drives.iter().map(|drive| {
        let count = |limit| drive.rounds.iter().filter(|round| round.verdict == limit).count();
        let words = [Limit::Faithful, Limit::DriveLimited, Limit::ReplayerLimited];
        let words = words.into_iter().filter(|limit| count(*limit) > 0);
        let words: Vec<_> =
            words.map(|limit| format!("{} {}", count(limit), limit.word())).collect();
        format!("{}: {}", drive.name, words.join(", "))
    });
    Table {
        title: String::new(),
        columns: heads(&["completion", "ΣQ2C", "Q2C mean", "p50", "p99", "depth"]),
        rows: body.compared.drives.iter().map(row).collect(),
        notes: limits.collect(),
    }
}

fn ratios(body: &CompareBody) -> Table {
    let fields = |ratio: &Ratio| {
        let estimate = ratio.estimate;
        let ends = estimate.low.zip(estimate.high);
        let interval = ends.map(|(low, high)| format!("{}–{}", four(low), four(high)));
        vec![four(estimate.ratio), interval.unwrap_or_else(|| "–".to_owned())]
    };
    let rows =
        [("completion", &body.compared.completion_ratio), ("ΣQ2C", &body.compared.q2c_sum_ratio)];
    let rows = rows
        .into_iter()
        .filter_map(|(name, ratio)| Some((name.to_owned(), fields(ratio.as_ref()?))));
    Table {
        title: "A over B".to_owned(),
        columns: heads(&["ratio", "95% interval"]),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// Four decimals: ratios near 1 differ in the fourth.
fn four(ratio: f64) -> String {
    format!("{ratio:.4}")
}
