//! A probing as a page.

use block::Bytes;
use probe::advice::Advice;
use probe::body::Worked;
use probe::capacity::full;
use probe::claims::{Agreement, Checked};
use probe::speed_class::{self, Reached};
use probe::{Body, Finding, Name, ProbeName, Unit, Verdict};
use report::{Answer, Answers, Said, ToDo, Tone, number};
use stats::{Assessment, Better, Quantity};

/// Lays out `body`; `verb` is what the user called it.
pub fn answers(verb: &str, body: &Body) -> Answers {
    let (closing, tone) = closing(body);
    let warning = warning(body);
    Answers {
        title: format!("drivescope {verb}: {}", subject(body)),
        tone: if warning.is_some() { Tone::Bad } else { tone },
        warning,
        facts: facts(body),
        answers: body
            .findings
            .iter()
            .map(|finding| answer(finding, body.assessment(finding)))
            .collect(),
        remarks: remarks(body),
        advice: body.advice.iter().map(to_do).collect(),
        caveats: crate::remedies::written(&body.caveats),
        closing,
    }
}

/// Advice as it is shown.
pub fn to_do(advice: &Advice) -> ToDo {
    let Advice { erases, command, why, .. } = advice;
    let erases = erases.as_ref().map(|erases| format!("{erases}."));
    ToDo { erases, command: command.clone(), why: format!("{why}.") }
}

/// The result in one line, for a list of runs.
pub fn headline(body: &Body) -> String {
    if let Some(warning) = warning(body) {
        return warning;
    }
    let found: Vec<String> = body.findings.iter().filter_map(in_words).collect();
    if !found.is_empty() {
        return found.join(", ");
    }
    if !body.findings.is_empty() {
        return "nothing found".to_owned();
    }
    // Of probes that measure and answer nothing, what they have measured.
    let figures = figures(body).into_iter().filter(|(name, _)| TELLING.contains(&name.as_str()));
    let figures: Vec<String> = figures.map(|(name, text)| format!("{name} {text}")).collect();
    if figures.is_empty() { "nothing measured".to_owned() } else { figures.join("; ") }
}

/// Figures that say in a line what a probe without answers has come to.
const TELLING: [&str; 6] =
    ["access time:", "rate beyond it:", "speed:", "classes met:", "not met:", "undecided:"];

/// Answers of a table that others measured, which have no drive.
pub fn of_findings(title: String, facts: Vec<String>, findings: &[Finding]) -> Answers {
    let (closing, tone) = sentence(findings);
    Answers {
        title,
        warning: None,
        facts,
        answers: findings.iter().map(|finding| answer(finding, Assessment::Neutral)).collect(),
        remarks: Vec::new(),
        advice: Vec::new(),
        caveats: Vec::new(),
        closing,
        tone,
    }
}

fn subject(body: &Body) -> String {
    match &body.target.model {
        Some(model) => format!("{} ({})", body.target.name, model.trim()),
        None => body.target.name.clone(),
    }
}

fn facts(body: &Body) -> Vec<String> {
    let size = |bytes: Bytes| number::bytes(bytes.0 as f64);
    let spent = &body.spent;
    let region = body.setup.region;
    let part = if region.length.0 + body.target.logical_block_bytes.0 > body.target.capacity_bytes.0
    {
        format!("all {}", size(region.length))
    } else {
        format!("{} from {} on", size(region.length), size(region.offset))
    };
    let writes = match body.setup.may_write {
        true => format!("{} written", size(spent.written_bytes)),
        false => "nothing written".to_owned(),
    };
    vec![
        format!("{part}; {}; seed {}", body.setup.engine, body.setup.seed),
        format!(
            "{} I/Os in {}: {} read, {writes}",
            number::thousands(spent.ios as f64),
            number::nanoseconds(spent.elapsed_ns.0 as f64),
            size(spent.read_bytes),
        ),
    ]
}

/// A drive that holds less than it reports, or whose partitions begin within an erase block, in one sentence.
fn warning(body: &Body) -> Option<String> {
    let reported = body.target.capacity_bytes;
    let found = body.smaller_capacity().map(|found| counterfeit(found, reported));
    let lost = || body.evidence.full.as_ref().and_then(full::lost);
    let damaged = || Some(format!("DAMAGED OR COUNTERFEIT: {}; do not use it", lost()?));
    let bounded = || Some(format!("COUNTERFEIT: {}", body.bound_in_words()?));
    let found = found.or_else(damaged).or_else(bounded);
    found.or_else(|| Some(format!("PARTITION OFFSET: {}", body.off_grid()?)))
}

/// Warning about a drive that holds `found` of the bytes that it reports.
pub fn counterfeit(found: Bytes, reported: Bytes) -> String {
    format!(
        "COUNTERFEIT OR DAMAGED: holds {} of the {} it reports; do not use it",
        number::bytes(found.0 as f64),
        number::bytes(reported.0 as f64)
    )
}

fn answer(finding: &Finding, assessment: Assessment) -> Answer {
    let quantity = |value: u64| Quantity {
        value: value as f64,
        low: finding.low.map(|low| low as f64),
        high: finding.high.map(|high| high as f64),
        confidence: finding.confidence.unwrap_or(0.0),
        unit: match finding.unit {
            Unit::Bytes => stats::Unit::Bytes,
            Unit::Count => stats::Unit::Count,
        },
        n: 1,
        n_effective: 1.0,
        better: Better::Neither,
    };
    let said = match (finding.verdict, finding.value) {
        (Verdict::Found, Some(value)) => Said::Value(quantity(value)),
        (Verdict::None, _) => Said::None,
        _ => Said::Unknown,
    };
    Answer {
        name: name(finding.name).to_owned(),
        said,
        confidence: finding.confidence,
        reason: finding.reason.clone(),
        assessment,
        is_provisional: false,
    }
}

/// Name for people.
pub fn name(name: Name) -> &'static str {
    match name {
        Name::EraseBlock => "erase block",
        Name::Page => "page",
        Name::MultiPlanePage => "multi-plane page",
        Name::OpenAuLinear => "open AUs, linear",
        Name::OpenAuRandom => "open AUs, random",
        Name::FatZone => "FAT zone",
        Name::CellBands => "bands",
        Name::SlowZone => "slow zone",
        Name::Chunk => "chunk",
        Name::Interleave => "interleave",
        Name::WriteBuffer => "write buffer",
        Name::SlcCache => "SLC cache",
        Name::RealCapacity => "real capacity",
    }
}

/// `erase block 8 MiB`, of what was found.
pub fn in_words(finding: &Finding) -> Option<String> {
    if let (Name::RealCapacity, None, Some(stated)) =
        (finding.name, finding.confidence, finding.value)
    {
        let stated = number::bytes(stated as f64);
        return Some(format!("no sign of less than {stated}; only a full write proves it"));
    }
    let value = finding.value.filter(|_| finding.verdict == Verdict::Found)?;
    let value = match finding.unit {
        Unit::Bytes => number::bytes(value as f64),
        Unit::Count => value.to_string(),
    };
    Some(format!("{} {value}", name(finding.name)))
}

/// Further remarks: probes that could not run, and what the drive reports about itself.
fn remarks(body: &Body) -> Vec<(String, String)> {
    let mut remarks = Vec::new();
    for Worked { probe, halted, .. } in &body.probes {
        if let Some(why) = halted {
            let probe = probe.text(ProbeName::as_str);
            remarks.push((format!("{probe} did not run:"), why.clone()));
        }
    }
    remarks.extend(figures(body));
    for Checked { claim, about, agreement } in &body.claims {
        let size = number::bytes(claim.bytes.0 as f64);
        let beside = about.map_or("a finding", name);
        let agreement = match agreement {
            Agreement::Same => format!(", as the {beside} that was found"),
            Agreement::Multiple => format!(", a multiple of the {beside} that was found"),
            Agreement::Part => format!(", which divides the {beside} that was found"),
            Agreement::Differs => format!(", which contradicts the {beside} that was found"),
            Agreement::Open => String::new(),
        };
        remarks
            .push((format!("{}:", claim.name), format!("{size} ({}){agreement}", claim.meaning)));
    }
    if !body.classes.is_empty() {
        remarks.push(("classes it states:".to_owned(), body.classes.join(", ")));
    }
    remarks
}

/// Measurements of probes that have no answers.
fn figures(body: &Body) -> Vec<(String, String)> {
    let mut figures = Vec::new();
    let mut add = |name: &str, text: String| figures.push((name.to_owned(), text));
    let (ns, rate) = (number::nanoseconds, |bytes: f64| number::digits(bytes / 1e6));
    if let Some(line) = body.evidence.interval.as_ref().and_then(|interval| interval.line.as_ref())
    {
        let (low, high) = (line.access_low_ns, line.access_high_ns);
        add("access time:", format!("{} ({}–{})", ns(line.access_ns), ns(low), ns(high)));
        add(
            "rate beyond it:",
            match line.bytes_per_s {
                Some(bytes) => format!("{} MB/s", rate(bytes)),
                None => "too high to be seen in reads of these sizes".to_owned(),
            },
        );
    }
    if let Some(surface) = &body.evidence.surface {
        if let Some(s) = &surface.speed_bytes_per_s {
            let ends = format!("least {}, greatest {}", rate(s.min), rate(s.max));
            add("speed:", format!("mean {} MB/s; {ends}", rate(s.mean)));
        }
        if let Some(s) = &surface.access_ns {
            let ends = format!("least {}, greatest {}", ns(s.min), ns(s.max));
            add("access time:", format!("mean {}; {ends}", ns(s.mean)));
        }
        if !surface.slow_spots.is_empty() {
            let places = surface.slow_spots.iter().map(|s| number::bytes(s.offset as f64));
            add("slow places:", places.collect::<Vec<_>>().join(", "));
        }
    }
    if let Some(full) = &body.evidence.full {
        for (verify, name) in [(false, "written:"), (true, "read back:")] {
            let of = full.rates.iter().filter(|rate| rate.verify == verify);
            let rates: Vec<f64> = of.map(|part| part.bytes_per_s).collect();
            let (least, most) = rates.iter().fold((f64::MAX, 0.0_f64), |(least, most), rate| {
                (least.min(*rate), most.max(*rate))
            });
            if !rates.is_empty() {
                let bytes = if verify { full.verified_bytes } else { full.written_bytes };
                let all = Bytes(bytes).about();
                add(name, format!("{all}; least {} MB/s, greatest {}", rate(least), rate(most)));
            }
        }
    }
    if let Some(classes) = &body.evidence.speed_class {
        speeds(classes).into_iter().for_each(|(name, text)| add(name, text));
        for (reached, name) in [
            (Reached::Met, "classes met:"),
            (Reached::NotMet, "not met:"),
            (Reached::Undecided, "undecided:"),
        ] {
            let of = classes.classes.iter().filter(|class| class.reached == reached);
            let names: Vec<&str> = of.map(|class| class.name.as_str()).collect();
            if !names.is_empty() {
                add(name, names.join(", "));
            }
        }
        if let Some(limit) = &classes.limit {
            add("ended early:", limit.clone());
        }
        classes.not_kept.iter().for_each(|condition| add("not tested:", condition.clone()));
    }
    figures
}

/// Figures behind the speed classes, beside what the application classes ask for.
fn speeds(classes: &speed_class::Evidence) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let units = &classes.units_bytes_per_s;
    let ends = units
        .iter()
        .copied()
        .fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    if let (Some(unit), false) = (classes.unit_bytes, units.is_empty()) {
        let (least, most) = (number::digits(ends.0 / 1e6), number::digits(ends.1 / 1e6));
        let (count, unit) = (units.len(), number::bytes(unit as f64));
        lines.push((
            "recording:",
            format!("slowest of {count} units of {unit} {least} MB/s, fastest {most} MB/s"),
        ));
    }
    if let (Some(unit), Some(from)) = (classes.unit_bytes, &classes.unit_from) {
        lines.push(("allocation unit:", format!("{}, {from}", number::bytes(unit as f64))));
    }
    let rates = [
        ("random reads:", [classes.reads, classes.queued_reads]),
        ("random writes:", [classes.writes, classes.queued_writes]),
    ];
    for (name, [one, queued]) in rates {
        let text = [(one, "one at a time"), (queued, "32 together")];
        let text =
            text.into_iter().zip(speed_class::APPLICATION).filter_map(|((rate, how), asked)| {
                let (class, reads, writes, _) = asked;
                let asked = if name == "random reads:" { reads } else { writes };
                let (rate, asked) = (number::thousands(rate?.per_s), number::thousands(asked));
                Some(format!("{rate} IOPS {how} ({class} asks for {asked})"))
            });
        let text: Vec<String> = text.collect();
        if !text.is_empty() {
            lines.push((name, text.join(", ")));
        }
    }
    lines
}

fn closing(body: &Body) -> (String, Tone) {
    if body.interrupted {
        let done = body.probes.len();
        return (format!("Ended early, after {done} of its probes."), Tone::Bad);
    }
    if body.findings.is_empty() {
        return ("Measured, with no answer asked for.".to_owned(), Tone::Good);
    }
    sentence(&body.findings)
}

/// Summary of the findings in one sentence.
fn sentence(findings: &[Finding]) -> (String, Tone) {
    let value = |name: Name| {
        let finding = findings.iter().find(|finding| finding.name == name)?;
        finding.value.filter(|_| finding.verdict == Verdict::Found)
    };
    let found = findings.iter().filter(|finding| finding.verdict == Verdict::Found).count();
    let size = |bytes: u64| number::bytes(bytes as f64);
    let mut parts = Vec::new();
    parts.extend(value(Name::EraseBlock).map(|bytes| format!("erase blocks of {}", size(bytes))));
    parts.extend(value(Name::Page).map(|bytes| format!("pages of {}", size(bytes))));
    if let Some(open) = value(Name::OpenAuLinear) {
        let units = if open == 1 { "open unit" } else { "open units" };
        let random = value(Name::OpenAuRandom);
        let random = random.map_or(String::new(), |random| format!(" ({random} at random)"));
        parts.push(format!("{open} {units}{random}"));
    }
    parts.extend(value(Name::FatZone).map(|bytes| format!("a FAT zone of {}", size(bytes))));
    parts.extend(value(Name::CellBands).map(bits));
    parts.extend(value(Name::SlcCache).map(|bytes| format!("an SLC cache of {}", size(bytes))));
    let text = match parts.as_slice() {
        [] if findings.is_empty() => {
            return ("Nothing can be concluded of this.".to_owned(), Tone::Mixed);
        }
        [] if found == 0 => {
            return match findings.iter().all(|finding| finding.verdict == Verdict::None) {
                true => ("There is none of what was looked for.".to_owned(), Tone::Mixed),
                false => ("Nothing was found: see the reasons above.".to_owned(), Tone::Bad),
            };
        }
        [] => format!("{found} of {} answers found.", findings.len()),
        [one] => format!("A drive with {one}."),
        [before @ .., last] => format!("A drive with {} and {last}.", before.join(", ")),
    };
    let all = findings.iter().all(|finding| finding.verdict != Verdict::Unknown);
    (text, if all { Tone::Good } else { Tone::Mixed })
}

/// Bands as a hypothesis about the cells.
fn bits(bands: u64) -> String {
    match bands {
        2 => "two bits a cell (MLC)".to_owned(),
        3 => "three bits a cell (TLC)".to_owned(),
        4 => "four bits a cell (QLC)".to_owned(),
        other => format!("{other} bands of reads"),
    }
}
