//! diskspd's report of a run, and the verdicts beside it.

use std::borrow::Cow;

use block::{DriveKind, WallClock as _};
use formats::diskspd::{Figures, Fill, Order, Report, Row, Target};
use mark::Body;
use mark::diskspd::{self, Manner, ResultFormat, Threads};
use record::rfc3339;
use runner::envelope::SystemClock;
use runner::messages;
use stats::remedy::Run;
use stats::{Caveat, Proof, Remedy, Verdict};
use workload::plan::{Address, Share};

use crate::command_line::{CommandLine, Loaded};

/// The report, in the form that was asked for.
pub fn report(command: &CommandLine<'_>, loaded: &[Loaded]) -> String {
    let options = command.options;
    // A run on virtual drives alone is a function of its options, and says nothing of this machine.
    let is_virtual = |one: &Loaded| one.info.kind == DriveKind::Virtual;
    let nowhere = loaded.iter().all(is_virtual);
    let windows = loaded.iter().map(|one| one.outcome.window.as_secs_f64());
    let real = loaded.iter().find(|one| !is_virtual(one)).or(loaded.first());
    let report = Report {
        command_line: command.typed.clone(),
        tool: ("drivescope".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        host: if nowhere { String::new() } else { linux::host::host_name() },
        date: if nowhere { String::new() } else { rfc3339(SystemClock.now()) },
        duration_s: options.duration_s,
        warm_up_s: options.warm_up_s,
        cool_down_s: options.cool_down_s,
        latency: options.latency,
        interval_ms: options.iops_interval_ms,
        seed: loaded.first().map_or(0, |one| one.plan.seed),
        targets: options
            .targets
            .iter()
            .zip(loaded)
            .map(|(name, one)| target(options, name, one))
            .collect(),
        processors: real.map_or_else(Vec::new, |one| one.processors.clone()),
        seconds: windows.fold(0.0, f64::max),
        rows: rows(options, loaded),
    };
    match options.results {
        ResultFormat::Text => formats::diskspd::text(&report),
        ResultFormat::Xml => formats::diskspd::xml(&report),
    }
}

fn target(options: &diskspd::Options, name: &str, one: &Loaded) -> Target {
    let capacity = one.info.capacity_bytes.0;
    let size = options.create.unwrap_or(capacity);
    let region = one.plan.region;
    let address = one.plan.steps[0].phases[0].address;
    let block = options.block;
    let (order, stride) = match address {
        Address::Random => (Order::Random, block),
        Address::Aligned { align, .. } => (Order::Random, align.0),
        Address::Sequential { share: Share::Cursor } => (Order::Interlocked, block),
        Address::Strided { stride, .. } if address.is_shared() => (Order::Interlocked, stride.0),
        Address::Strided { stride, .. } => (Order::Sequential, stride.0),
        _ => (Order::Sequential, block),
    };
    let bottom = one.stack.leaves.first();
    let device = bottom.map_or("unknown".to_owned(), |leaf| leaf.name.clone());
    let scheduler =
        one.stack.layers.iter().find_map(|layer| layer.attributes.get("scheduler").cloned());
    Target {
        path: name.to_owned(),
        size,
        direct: options.caching.direct,
        durable: options.caching.durable,
        write_percent: options.write_percent,
        block,
        order,
        stride,
        depth: options.depth,
        base_offset: options.base_offset,
        end: options.end.unwrap_or(region.map_or(size, |_| size)),
        thread_stride: options.thread_stride.unwrap_or(0),
        fill: match options.buffers.fill {
            diskspd::Fill::Ramp => Fill::Usual,
            diskspd::Fill::Zeros => Fill::Zeros,
            diskspd::Fill::Random => Fill::Random,
        },
        separate: options.buffers.separate,
        threads: match options.threads {
            Threads::PerTarget(threads) => Some(threads),
            Threads::Total(_) => None,
        },
        device,
        scheduler: scheduler.unwrap_or_else(|| "none".to_owned()),
        bytes_per_ms: options.bytes_per_ms,
    }
}

/// A row for each thread and target. With `-t` threads count over all targets, with `-F` each loads all of them.
fn rows(options: &diskspd::Options, loaded: &[Loaded]) -> Vec<Row> {
    let figures = |figures: &diskspd::Figures| Figures {
        bytes: figures.bytes.0,
        ios: figures.ios,
        latency: figures.latency.clone(),
        per_interval: figures.per_interval.clone(),
    };
    let mut rows = Vec::new();
    let mut before = 0;
    for (target, one) in loaded.iter().enumerate() {
        for (thread, seen) in (0..).zip(&one.outcome.threads) {
            let (reads, writes) = (figures(&seen.reads), figures(&seen.writes));
            rows.push(Row { thread: before + thread, target, reads, writes });
        }
        if let Threads::PerTarget(threads) = options.threads {
            before += threads;
        }
    }
    rows.sort_by_key(|row| (row.thread, row.target));
    rows
}

/// Counters of the system and of this program count several targets together: verdicts by them prove nothing about one.
pub fn of_several(body: &mut Body, kinds: &[DriveKind]) {
    let real = kinds.iter().filter(|kind| **kind != DriveKind::Virtual).count();
    if real < 2 || body.target.kind == DriveKind::Virtual {
        return;
    }
    let reason = "several targets were loaded at once, and the counts are not separate";
    for test in &mut body.tests {
        for proof in [&mut test.proofs.reached, &mut test.proofs.undisturbed] {
            *proof = Proof::new(Verdict::Unprovable, reason);
        }
        test.headline = test.proofs.hold();
    }
    let counted = ["not_reached", "disturbed"];
    body.caveats.retain(|caveat| !counted.contains(&caveat.code.as_str()));
}

/// Prints verdicts on the numbers; true when a proof was refuted without which they are worth nothing.
pub fn verdicts(command: &CommandLine<'_>, loaded: &[Loaded]) -> bool {
    let mut refuted = false;
    let cut = loaded.iter().flat_map(|one| &one.outcome.threads);
    if command.options.iops_interval_ms.is_some()
        && cut.flat_map(|thread| [&thread.reads, &thread.writes]).any(|f| f.per_interval.is_none())
    {
        messages::note(
            "-D: there were too many transfers to count them by intervals; take a shorter -d",
        );
    }
    for (name, one) in command.options.targets.iter().zip(loaded) {
        let body = &one.outcome.body;
        for test in &body.tests {
            let verdicts = test.proofs.named().map(|(proof, found)| {
                let verdict = match found.verdict {
                    Verdict::Proven => "confirmed",
                    Verdict::Refuted => "rejected",
                    Verdict::Unprovable => "inconclusive",
                };
                format!("{proof} {verdict}")
            });
            messages::note(&format!("verdict on {name}: {}", verdicts.join(", ")));
            let is_refuted = |(_, proof): &(&str, &Proof)| proof.verdict == Verdict::Refuted;
            for (proof, found) in test.proofs.named().into_iter().filter(is_refuted) {
                messages::note(&format!("{name}: {proof} rejected: {}", found.reason));
            }
            if !test.headline {
                refuted = true;
                let remedy = match command.own.manner {
                    Manner::Emulated => "; leave --emulate out to measure it",
                    Manner::Right => "",
                };
                let what = "the figures are no property of the drive";
                messages::note(&format!("{name}: {what}{remedy}"));
            }
        }
        if body.tests.iter().any(|test| !test.runs.is_empty()) {
            messages::note("one run says nothing of how far runs lie apart; make six or more");
        }
        for caveat in &body.caveats {
            if let Some(remedy) = remedy(command, caveat) {
                messages::note(&format!("{}: {}; {remedy}", caveat.subject, caveat.cause));
            }
        }
    }
    refuted
}

/// Remedy of a caveat, in diskspd's options; `None` where it is printed already.
fn remedy<'a>(command: &CommandLine<'_>, caveat: &'a Caveat) -> Option<Cow<'a, str>> {
    let words = match caveat.code.as_str() {
        "few_runs" => return None,
        "pattern" if command.own.manner == Manner::Emulated => return None,
        "nothing_finished" => "take a larger -d",
        "pattern" => "take a file several times as large as the drive's cache, or a larger -f",
        "drift" => "take larger -W and -d",
        "hindered"
            if command.options.engine == diskspd::Engine::PosixAio
                && command.own.engine.is_none() =>
        {
            "leave -xp out, which does one transfer at a time"
        }
        "hindered" => "leave the machine otherwise idle, or take fewer threads than processors",
        "volatile_writes" => "add -Ss for durable writes, or a larger -d for sustained ones",
        "maybe_never_written" => "write what is to be read first, with -w100",
        _ if matches!(caveat.remedy, Remedy::Run(Run::DirectIo | Run::DirectToDrive)) => {
            "take -Sd to bypass the page cache"
        }
        _ => return Some(views::remedies::sentence(caveat)),
    };
    Some(words.into())
}
