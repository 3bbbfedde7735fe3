//! Sides held against each other.

use block::quoted;
use mark::compare::{
    ComparedTest, Comparison, Figures, NoInterval, Pair, PercentileRatio, Side, Tie, Verdict,
    letter,
};
use mark::findings::CONFIDENCE;
use report::{Cell, Group, Row, Sheet, Standing, Tone};
use stats::{Better, Design, Judged, Quantity, Unit};

use super::mark::title;

/// A comparison in one line.
pub fn headline(comparison: &Comparison) -> String {
    closing(comparison).0
}

/// Lays out a comparison.
pub fn sheet(comparison: &Comparison) -> Sheet {
    let (closing, tone) = closing(comparison);
    let mut facts: Vec<String> = comparison.sides.iter().enumerate().map(named).collect();
    facts.push(format!(
        "MB/s; a ratio within {}% of 1 on either side is no difference",
        comparison.margin_percent
    ));
    Sheet {
        title: "compared".to_owned(),
        facts,
        groups: groups(comparison),
        caveats: crate::remedies::written(&comparison.caveats),
        closing,
        tone,
    }
}

fn named((index, side): (usize, &Side)) -> String {
    let drive = if side.drive.is_empty() || side.name.contains(&side.drive) {
        String::new()
    } else {
        format!(", {}", side.drive)
    };
    format!("{}: {}{drive}", letter(index), side.name)
}

/// Who comes first, where there are more than two; then a table per pair and direction, in the order of the tests.
fn groups(comparison: &Comparison) -> Vec<Group> {
    let many = comparison.sides.len() > 2;
    let mut groups: Vec<Group> = if many { rankings(comparison) } else { Vec::new() };
    for of in 1..comparison.sides.len() {
        for to in 0..of {
            for test in &comparison.tests {
                let Some(pair) = test.pairs.iter().find(|pair| (pair.of, pair.to) == (of, to))
                else {
                    continue;
                };
                let direction = title(&test.op);
                let (a, b) = (letter(to), letter(of));
                let title = if many { format!("{direction}, {b} to {a}") } else { direction };
                let row = row(test, pair, comparison);
                match groups.iter_mut().find(|group| group.title == title) {
                    Some(group) => group.rows.push(row),
                    None => {
                        let columns =
                            [a.clone(), b.clone(), format!("{b} / {a}"), "95% interval".to_owned()];
                        groups.push(Group { title, columns: columns.to_vec(), rows: vec![row] });
                    }
                }
            }
        }
    }
    groups
}

/// The ranks of the sides, a table per direction.
fn rankings(comparison: &Comparison) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for test in &comparison.tests {
        let title = format!("{}, ranks", title(&test.op));
        let row = Row {
            name: test.name.clone(),
            standing: Standing::Stands(vec![]),
            detail: vec![ranked(test)],
            proofs: vec![],
        };
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { title, columns: vec![], rows: vec![row] }),
        }
    }
    groups
}

fn ranked(test: &ComparedTest) -> String {
    let letters = |sides: &mut dyn Iterator<Item = usize>| sides.map(letter).collect::<Vec<_>>();
    let group = |group: mark::compare::Group| {
        let ranks = match group.best == group.worst {
            true => group.best.to_string(),
            false => format!("{}–{}", group.best, group.worst),
        };
        let how = match group.tie {
            Tie::Alone => "",
            Tie::Equivalent => " (equivalent)",
            Tie::NotToldApart => " (not told apart)",
        };
        format!("{ranks}: {}{how}", letters(&mut group.sides.into_iter()).join(", "))
    };
    let mut parts: Vec<String> = test.groups().into_iter().map(group).collect();
    let is_left_out = |side: &usize| {
        test.sides[*side].is_some() && !test.ranking.iter().any(|ranked| ranked.side == *side)
    };
    let left_out = letters(&mut (0..test.sides.len()).filter(is_left_out));
    if !left_out.is_empty() {
        parts.push(format!("not ranked: {}", left_out.join(", ")));
    }
    parts.join("; ")
}

/// Why two sides cannot be held against each other.
fn not_comparable(test: &ComparedTest, pair: &Pair, sides: &[Side]) -> Standing {
    let of = |wanted: &dyn Fn(&Figures) -> bool| {
        let is_wanted = |&index: &usize| test.sides[index].as_ref().is_some_and(wanted);
        let letters: Vec<String> =
            [pair.to, pair.of].into_iter().filter(is_wanted).map(letter).collect();
        (!letters.is_empty()).then(|| letters.join(" and "))
    };
    if let Some(sides) = of(&|figures| figures.mb_s.n == 0) {
        return Standing::Open(format!("no run of {sides} counts so far"));
    }
    let reason = match of(&|figures| !figures.headline) {
        None => "one of the two has no run with a throughput".to_owned(),
        Some(sides) => {
            format!("the number of {sides} was withdrawn: it is no property of the drive")
        }
    };
    let is_withdrawn =
        |index: &usize| test.sides[*index].as_ref().is_some_and(|figures| !figures.headline);
    let first = [pair.to, pair.of].into_iter().find(is_withdrawn);
    let name = first.map(|index| sides[index].run_id.as_deref().unwrap_or(&sides[index].name));
    let why = name.map(|name| format!("drivescope show {} tells why", quoted(name)));
    Standing::Withdrawn { reason, instead: why.unwrap_or_default() }
}

fn row(test: &ComparedTest, pair: &Pair, comparison: &Comparison) -> Row {
    let name = test.name.clone();
    let side = |index: usize| test.sides[index].as_ref();
    let speed = |figures: &Figures| figures.mb_s.quantity(Unit::MbPerS);
    let speeds = side(pair.to).and_then(speed).zip(side(pair.of).and_then(speed));
    let (Some(judged), Some((to, of))) = (&pair.throughput, speeds) else {
        let standing = not_comparable(test, pair, &comparison.sides);
        return Row { name, standing, detail: vec![], proofs: vec![] };
    };
    let ratio = Quantity {
        value: judged.ratio.ratio,
        low: judged.ratio.low,
        high: judged.ratio.high,
        confidence: comparison.confidence,
        unit: Unit::Ratio,
        n: pair.runs.0.min(pair.runs.1),
        n_effective: pair.runs.0.min(pair.runs.1) as f64,
        better: Better::Higher,
    };
    let cells = vec![Cell::Value(to), Cell::Value(of), Cell::Value(ratio), Cell::Interval(ratio)];
    let detail = vec![said(pair, judged, comparison.session_offset_percent), latency(pair)];
    let detail = detail.into_iter().filter(|line| !line.is_empty()).collect();
    Row { name, standing: Standing::Stands(cells), detail, proofs: vec![] }
}

fn said(pair: &Pair, judged: &Judged, session_offset: f64) -> String {
    let (of, to) = pair.runs;
    let one = if pair.by_sessions { "session" } else { "run" };
    let runs = match pair.design {
        Design::Blocks => report::number::counted(of, "block"),
        Design::Separate => format!("{to} and {}", report::number::counted(of, one)),
    };
    let blocks = judged.blocks_to_decide.map(|blocks| report::number::counted(blocks, "block"));
    let is_apart = session_offset > 0.0 && !pair.by_sessions;
    let why = match (pair.outcome, &pair.not_decided, judged.runs_to_decide) {
        (Verdict::Undecided, Some(why), _) => {
            let blocks = blocks.map(|blocks| format!(" (about {blocks} would decide)"));
            format!(": {why}{}", blocks.unwrap_or_default())
        }
        (Verdict::Undecided, None, _) if is_apart && blocks.is_some() => {
            format!(": about {} of both would decide", blocks.unwrap_or_default())
        }
        (Verdict::Undecided, None, Some(runs)) => {
            format!(": about {runs} {one}s of each would decide")
        }
        (Verdict::Undecided, None, None) => {
            ": one I/O more or less of a run is as much, and longer runs would decide".to_owned()
        }
        (Verdict::Equivalent, ..) if pair.design == Design::Separate && !pair.by_sessions => {
            " in these two sessions".to_owned()
        }
        _ => String::new(),
    };
    format!("{}{why}; {runs}, p {}", pair.outcome.word(), probability(judged.p_holm))
}

/// A probability, to three places.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

fn latency(pair: &Pair) -> String {
    let Some(latency) = pair.latency else { return String::new() };
    let percentiles = [(latency.p50, "the median"), (latency.p99, "99%"), (latency.p999, "99.9%")];
    let told = percentiles.map(|(found, at)| {
        let interval = times(&found, pair).map_or(String::new(), |told| format!(" ({told})"));
        format!("{}{interval} at {at}", report::number::digits(found.ratio))
    });
    let missing = |why: NoInterval| {
        let lacks = percentiles.iter().filter(|(found, _)| found.no_interval == Some(why));
        let lacks: Vec<&str> = lacks.map(|(_, at)| *at).collect();
        let why = match why {
            NoInterval::FewRuns => "of fewer than 6 runs",
            NoInterval::FewLatencies => "of so few latencies",
            NoInterval::NotKept => "without the latencies of each run",
        };
        let which = match lacks.len() {
            3 => String::new(),
            _ => format!(" at {}", lacks.join(" and ")),
        };
        (!lacks.is_empty()).then(|| format!("; no interval{which} {why}"))
    };
    let missing = [NoInterval::FewRuns, NoInterval::FewLatencies, NoInterval::NotKept].map(missing);
    format!(
        "latency of {} to that of {}: {}{}",
        letter(pair.of),
        letter(pair.to),
        told.join(", "),
        missing.into_iter().flatten().collect::<String>()
    )
}

/// The interval of a ratio of latencies, where there is one.
fn times(found: &PercentileRatio, pair: &Pair) -> Option<String> {
    found.low.zip(found.high)?;
    let runs = pair.runs.0.min(pair.runs.1);
    let ratio = Quantity {
        value: found.ratio,
        low: found.low,
        high: found.high,
        confidence: CONFIDENCE,
        unit: Unit::Ratio,
        n: runs,
        n_effective: runs as f64,
        better: Better::Lower,
    };
    Some(report::number::interval(&ratio, report::RateUnit::Mb))
}

fn closing(comparison: &Comparison) -> (String, Tone) {
    let count = |verdict| comparison.pairs().filter(|(_, pair)| pair.outcome == verdict).count();
    let all = comparison.pairs().count();
    let (faster, slower) = (count(Verdict::Faster), count(Verdict::Slower));
    let (equivalent, withdrawn) = (count(Verdict::Equivalent), count(Verdict::NotComparable));
    if all == 0 {
        let remedy = "measure both with the same --tests or --profile";
        return (format!("The sides have no test in common; {remedy}."), Tone::Bad);
    }
    if withdrawn == all {
        return ("No number of the sides can be compared.".to_owned(), Tone::Bad);
    }
    if equivalent == all {
        let what = if all == 1 { "The number is" } else { "All numbers are" };
        return (format!("{what} equivalent."), Tone::Good);
    }
    let subject =
        if comparison.sides.len() == 2 { "B is " } else { "Of the later to the earlier: " };
    let parts = [
        (faster, "faster"),
        (slower, "slower"),
        (equivalent, "equivalent"),
        (count(Verdict::Undecided), "undecided"),
        (withdrawn, "not comparable"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{word} in {count} of {all}"))
        .collect();
    let tone = if faster + slower > 0 { Tone::Good } else { Tone::Mixed };
    (format!("{subject}{}.", parts.join(", ")), tone)
}
