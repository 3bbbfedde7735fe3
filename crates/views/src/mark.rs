//! A mark as a page.

use block::{Bytes, DriveKind, Medium, Nanos};
use mark::Body;
use mark::body::{Latency, Reliability, Spread, Test};
use mark::burst::Shown;
use mark::cache::{Answer, Found, Held};
use mark::states::{Cause, State};
use report::number;
use report::{Cell, Group, RateUnit, Row, Sheet, Standing, Tone};
use stats::{Better, Caveat, Quantity, Unit, Verdict};

use crate::remedies;

/// Lays out `body`; `verb` is what the user called it.
pub fn sheet(verb: &str, body: &Body, rate: RateUnit) -> Sheet {
    let (closing, tone) = closing(body);
    Sheet {
        title: format!("drivescope {verb}: {}", subject(body)),
        facts: facts(body),
        groups: groups(body, rate),
        caveats: caveats(verb, body),
        closing,
        tone,
    }
}

/// Doubts. Of a plan from a file it is the plan that has to be another: `run` has none of the flags that make one.
fn caveats(verb: &str, body: &Body) -> Vec<Caveat> {
    match verb {
        "run" => remedies::with_flags_of("make a new plan with drivescope plan", &body.caveats),
        _ => remedies::written(&body.caveats),
    }
}

/// The result in one line, for a list of runs.
pub fn headline(body: &Body) -> String {
    if let Some(warning) = unsafe_cache(body) {
        return warning;
    }
    let confirmed = |test: &&Test| test.reliability() == Reliability::Confirmed;
    let stand = match &body.imported {
        Some(imported) => format!("as {} reports", imported.tool),
        None => {
            let confirmed = body.tests.iter().filter(confirmed).count();
            format!("{confirmed} of {} confirmed", number::counted(body.tests.len(), "result"))
        }
    };
    match first_rates(body) {
        None => stand,
        Some(rates) => format!("{rates}; {stand}"),
    }
}

/// The first test whose number is shown, with its rates: `SEQ1M Q8T1 read 3360 MB/s, write 655 MB/s (provisional)`.
pub fn first_rates(body: &Body) -> Option<String> {
    let mut shown = body.tests.iter().filter(|test| test.headline).peekable();
    let name = &shown.peek()?.name;
    let rate = |test: &Test| {
        let rate = number::value(&test.mb_s.quantity(Unit::MbPerS)?, RateUnit::Mb);
        let is_open = body.imported.is_none() && test.reliability() == Reliability::Provisional;
        let state = if is_open { " (provisional)" } else { "" };
        Some(format!("{} {rate} MB/s{state}", test.op))
    };
    let rates: Vec<String> = shown.filter(|test| test.name == *name).filter_map(rate).collect();
    (!rates.is_empty()).then(|| format!("{name} {}", rates.join(", ")))
}

fn subject(body: &Body) -> String {
    super::subject(&body.target, &body.stack)
}

fn facts(body: &Body) -> Vec<String> {
    if let Some(imported) = &body.imported {
        return super::imported::facts(imported);
    }
    let setup = &body.setup;
    let runs = body.tests.iter().map(|t| t.runs.len()).max().unwrap_or(0);
    let size = number::bytes(setup.region_bytes.0 as f64);
    let whole =
        setup.region_bytes.0 + body.target.logical_block_bytes.0 > body.target.capacity_bytes.0;
    let region = match (&body.extents, setup.region_offset_bytes) {
        (Some(_), Bytes(0)) if whole => format!("file of {size}"),
        (_, Bytes(0)) if whole => format!("all {size}"),
        (_, Bytes(0)) => format!("the first {size}"),
        (_, offset) => format!("{size} from {} on", number::bytes(offset.0 as f64)),
    };
    let access = match (setup.engine.as_str(), setup.direct) {
        ("virtual" | "null", _) => "",
        (_, true) => ", direct I/O",
        (_, false) => ", through the page cache",
    };
    let in_place = if setup.in_place { ", written in place (no copy on write)" } else { "" };
    let durable = if setup.durable { ", durable writes" } else { "" };
    if runs == 0 && body.stack.is_memory() {
        return vec![region, format!("not measured; seed {}", setup.seed)];
    }
    let fewest = body.tests.iter().map(|t| t.runs.len()).filter(|n| *n > 0).min().unwrap_or(0);
    let runs = match fewest < runs && !body.interrupted {
        true => format!("{fewest} to {runs} runs"),
        false => number::counted(runs, "run"),
    };
    // A plan may bound its phases by bytes or I/Os instead.
    let timed = match (setup.duration_ns, setup.warm_up_ns) {
        (Nanos::ZERO, _) => String::new(),
        (time, Nanos::ZERO) => format!(" of {}", time.human()),
        (time, warm_up) => {
            format!(" of {} each after {} of warm-up", time.human(), warm_up.human())
        }
    };
    let mut facts = vec![
        format!("{region}; {}{access}{in_place}{durable}", setup.engine),
        format!("{runs}{timed}; seed {}", setup.seed),
    ];
    facts.extend(body.cache.as_ref().map(cache));
    let size = |bytes: Bytes| number::bytes(bytes.0 as f64);
    let moved = [(body.read_bytes, "read"), (body.written_bytes, "written")];
    let moved = moved.into_iter().filter(|(bytes, _)| bytes.0 > 0);
    let moved: Vec<String> = moved.map(|(bytes, word)| format!("{} {word}", size(bytes))).collect();
    if !moved.is_empty() {
        facts.push(format!("{} in all", moved.join(" and ")));
    }
    facts
}

/// Result of the cache probe, in words.
fn cache(found: &Found) -> String {
    let held = |held: &Held| match (held.served_bytes, held.not_served_bytes) {
        (Some(served), Some(not)) => {
            format!("{} served again and {} not", served.human(), not.human())
        }
        (Some(served), None) => format!("{} served again, or more", served.human()),
        (None, Some(not)) => format!("{} not served again", not.human()),
        (None, None) => "unknown".to_owned(),
    };
    let spent = number::bytes(found.read_bytes.0 as f64);
    let what = match found.answer {
        Answer::Seen => format!(
            "seen, in sequence {}, scattered {}",
            held(&found.in_sequence),
            held(&found.scattered)
        ),
        answer => answer.word().to_owned(),
    };
    format!("drive's cache: {what} (read {spent} to probe it)")
}

/// A table per direction, in the order of the tests.
fn groups(body: &Body, rate: RateUnit) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for test in &body.tests {
        let title = title(&test.op);
        let row = row(test, body, rate);
        match groups.iter_mut().find(|g| g.title == title) {
            Some(group) => group.rows.push(row),
            None => {
                let columns = [rate.name(), "95% interval", "IOPS", "p50", "p99", "p99.9", "max"];
                let columns = columns.map(str::to_owned).to_vec();
                groups.push(Group { title, columns, rows: vec![row] });
            }
        }
    }
    groups
}

/// The head of a table of one direction.
pub fn title(op: &str) -> String {
    if let Some(reads) = op.strip_prefix("mix") {
        return format!("Mix {reads}% R");
    }
    super::capital(op)
}

fn row(test: &Test, body: &Body, rate: RateUnit) -> Row {
    let name = test.name.clone();
    let figures = test.mb_s.quantity(Unit::MbPerS).zip(test.iops.quantity(Unit::Iops));
    let empty = test.runs.iter().filter(|run| run.is_empty()).count();
    let figures = match figures {
        None => Err(match &test.proofs.reached {
            reached if reached.verdict == Verdict::Refuted => reached.reason.as_str(),
            _ => "no counted run was finished",
        }),
        Some(_) if 2 * empty >= test.runs.len() => Err(match test.runs.len() {
            all if all == empty => "no I/O finished in the measured time",
            _ => "in most runs no I/O finished in the measured time",
        }),
        Some(figures) => Ok(figures),
    };
    let (throughput, iops) = match figures {
        Ok(figures) => figures,
        Err(reason) => {
            let reason = reason.to_owned();
            let standing = Standing::Withdrawn { reason, instead: String::new() };
            return Row { name, standing, detail: vec![], proofs: vec![] };
        }
    };
    let proofs = test.proofs.named().map(|(name, proof)| (name, proof.clone())).to_vec();
    let (standing, detail) = if test.headline {
        (
            Standing::Stands(cells(test, throughput, iops, body.imported.is_some())),
            std::iter::once(spread(&test.mb_s, throughput, rate) + &mean(test, body))
                .chain(states(test, rate))
                .chain(burst(test, rate))
                .collect(),
        )
    } else {
        (withdrawn(test, throughput, body, rate), Vec::new())
    };
    Row { name, standing, detail, proofs }
}

/// In another program's result, 0 means a figure that it does not report.
fn cells(test: &Test, rate: Quantity, iops: Quantity, is_imported: bool) -> Vec<Cell> {
    let Latency { p50, p99, p999, max, .. } = test.latency_ns;
    let time = |ns: u64| {
        let bare = Quantity { value: ns as f64, low: None, high: None, ..rate };
        if is_imported && ns == 0 {
            return Cell::Unknown;
        }
        Cell::Value(Quantity { unit: Unit::Ns, better: Better::Lower, ..bare })
    };
    let is_told = !is_imported || iops.value > 0.0;
    let iops = if is_told { Cell::Value(iops) } else { Cell::Unknown };
    let mut cells = vec![Cell::Value(rate), Cell::Interval(rate), iops];
    cells.extend([p50, p99, p999, max].map(time));
    cells
}

fn spread(mb_s: &Spread, median: Quantity, rate: RateUnit) -> String {
    let best = mb_s.best.map(|value| Quantity { value, low: None, high: None, ..median });
    format!(
        "n {}, R/Avg {}, CV {}, best {}",
        mb_s.n,
        of_several(mb_s, mb_s.r_over_avg),
        of_several(mb_s, mb_s.cv),
        best.map_or("none".to_owned(), |best| number::value(&best, rate))
    )
}

/// States of the drive, where there were several.
fn states(test: &Test, rate: RateUnit) -> Option<String> {
    let states = test.states.as_ref()?;
    let median = test.mb_s.quantity(Unit::MbPerS)?;
    let all = test.runs.len();
    let value = |state: &State| {
        let value = Quantity { value: state.mb_s, low: None, high: None, ..median };
        format!("{} {}", number::value(&value, rate), rate.name())
    };
    let parts: Vec<String> = (states.states.iter())
        .map(|state| format!("{} in {} of {all} runs", value(state), state.runs.len()))
        .collect();
    let parts = parts.join(", then ");
    Some(match states.cause {
        Cause::WriteCache => format!("two states: {parts}, when a cache for writes was full"),
        Cause::Changed => format!("two states: {parts}; why, and whether it stays, is unknown"),
        Cause::Alternating => {
            format!("two states, back and forth: {}", parts.replace(", then ", " and "))
        }
    })
}

/// A measure of spread, which one run alone does not have.
pub(crate) fn of_several(runs: &Spread, spread: f64) -> String {
    if runs.n > 1 { number::share(spread) } else { "–".to_owned() }
}

/// The rate that a number of writes is: what the drive takes at first, or what it keeps up.
fn burst(test: &Test, rate: RateUnit) -> Option<String> {
    let writes = test.writes.as_ref()?;
    let value = |quantity: &Quantity| number::value(quantity, rate);
    let word = writes.safety.word();
    let written = writes.written_bytes.about();
    let Some((burst, sustained)) = writes.burst_mb_s.zip(writes.sustained_mb_s) else {
        return Some(match writes.shown? {
            Shown::Burst => {
                let idle = number::nanoseconds(writes.idle_ns.0 as f64);
                format!("{word}: burst ({written} after {idle} idle)")
            }
            Shown::Sustained => format!("{word}: sustained ({written}, more than its cache holds)"),
        });
    };
    let knee = value(&writes.until_knee_bytes?);
    let then = if writes.shown == Some(Shown::Sustained) { "sustained" } else { "then" };
    let (burst, sustained, unit) = (value(&burst), value(&sustained), rate.name());
    Some(format!(
        "{word}: burst {burst}, {then} {sustained} {unit}; it fell when {knee} were written"
    ))
}

/// The mean latency, when another program reports nothing else of latencies.
fn mean(test: &Test, body: &Body) -> String {
    let Latency { p50, mean, .. } = test.latency_ns;
    match body.imported.is_some() && p50 == 0 && mean > 0.0 {
        true => format!(", mean latency {}", number::nanoseconds(mean)),
        false => String::new(),
    }
}

/// The reason is that of the first refuted proof, which the rows of proofs then need not repeat.
fn withdrawn(test: &Test, median: Quantity, body: &Body, rate: RateUnit) -> Standing {
    let proofs = test.proofs.named();
    let refuted = proofs.into_iter().find(|(_, p)| p.verdict == Verdict::Refuted);
    let reason = refuted.map_or(String::new(), |(_, proof)| proof.reason.clone());
    let ram = body.stack.leaves.iter().any(|l| l.medium == Medium::Ram);
    let empty = body.extents.as_ref().is_some_and(|e| e.unwritten_bytes.0 + e.hole_bytes.0 > 0);
    let what = match body.target.kind {
        DriveKind::Null => "of the tester alone",
        _ if ram => "of this machine's memory, not of the drive",
        _ if empty => "of zeros that no device was asked for",
        _ => "of caches and I/O together, not of the drive",
    };
    let value = number::value(&median, rate);
    Standing::Withdrawn { reason, instead: format!("measured: {value} {} {what}", rate.name()) }
}

/// One sentence, and how good it is.
fn closing(body: &Body) -> (String, Tone) {
    let (sentence, tone) = reliability(body);
    match unsafe_cache(body) {
        Some(warning) => (format!("{warning}. {sentence}"), Tone::Bad),
        None => (sentence, tone),
    }
}

/// A cache that loses acknowledged writes, in one sentence without a full stop.
fn unsafe_cache(body: &Body) -> Option<String> {
    let caveat = body.unsafe_cache()?;
    // Of flash, time alone does not show whether capacitors keep the cache.
    let unless = if caveat.code == "flush_too_short" { "" } else { ", unless capacitors keep it" };
    Some(format!("UNSAFE WRITE CACHE{unless}: {}", caveat.cause))
}

/// How far a run came that was ended before its plan was done.
fn stopped(body: &Body) -> String {
    let made: usize = body.tests.iter().map(|test| test.runs.len()).sum();
    match body.planned_runs {
        Some(planned) => format!("Stopped after {made} of {planned} runs."),
        None if made == 1 => "Stopped after 1 run.".to_owned(),
        None => format!("Stopped after {made} runs."),
    }
}

/// How far the results can be relied on, in one sentence.
fn reliability(body: &Body) -> (String, Tone) {
    let tests = body.tests.len();
    if let Some(imported) = &body.imported {
        return (super::imported::closing(imported, tests), Tone::Mixed);
    }
    if body.interrupted {
        return (stopped(body), Tone::Bad);
    }
    let count = |of| body.tests.iter().filter(|test| test.reliability() == of).count();
    let [confirmed, provisional, rejected] =
        [Reliability::Confirmed, Reliability::Provisional, Reliability::Rejected].map(count);
    if rejected == tests {
        return ("All results rejected: this is not the speed of a drive.".to_owned(), Tone::Bad);
    }
    if confirmed == tests {
        return match tests {
            1 => ("The result is confirmed.".to_owned(), Tone::Good),
            _ => (format!("All {tests} results confirmed."), Tone::Good),
        };
    }
    let words = ["confirmed", "provisional (marked ? or ✗)", "rejected"];
    let parts = [confirmed, provisional, rejected].into_iter().zip(words);
    let parts: Vec<String> =
        parts.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let tone = if rejected > 0 { Tone::Bad } else { Tone::Mixed };
    (format!("Of {}: {}.", number::counted(tests, "result"), parts.join(", ")), tone)
}
