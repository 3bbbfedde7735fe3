//! Results of comparisons.

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
    let names: Vec<&str> = comparison.sides.iter().map(|side| side.name.as_str()).collect();
    let mut facts: Vec<String> = comparison.sides.iter().enumerate().map(named).collect();
    facts.push(format!(
        "MB/s; a ratio within {}% of 1 on either side is no difference",
        comparison.margin_percent
    ));
    Sheet {
        title: format!("drivescope compare: {}", names.join(", ")),
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

/// Most columns of a name that heads a column.
const LABEL: usize = 14;

/// A side as columns, charts and sentences name it: by its own name where that is short and of no other side, else by its
/// letter, which the facts explain.
pub(crate) fn label(comparison: &Comparison, index: usize) -> String {
    let name = |side: &Side| {
        let name = side.name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        // A virtual drive's parameters, such as its seed, are in the facts.
        name.split('?').next().unwrap_or_default().to_owned()
    };
    let own = name(&comparison.sides[index]);
    let is_of_another = comparison.sides.iter().filter(|side| name(side) == own).count() > 1;
    let is_short = !own.is_empty() && own.chars().count() <= LABEL;
    if is_short && !is_of_another { own } else { letter(index) }
}

/// Rankings, if there are more than two sides; then a table per pair and direction, in the order of the tests.
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
                let (a, b) = (label(comparison, to), label(comparison, of));
                let ratio = format!("{} / {}", letter(of), letter(to));
                let title = if many { format!("{direction}, {ratio}") } else { direction };
                let row = row(test, pair, comparison);
                match groups.iter_mut().find(|group| group.title == title) {
                    Some(group) => group.rows.push(row),
                    None => {
                        let [interval, verdict] = ["95% interval", "verdict"].map(str::to_owned);
                        let columns = vec![a, b, ratio, interval, verdict];
                        groups.push(Group { title, columns, rows: vec![row] });
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
            detail: vec![ranked(comparison, test)],
            proofs: vec![],
        };
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { title, columns: vec![], rows: vec![row] }),
        }
    }
    groups
}

fn ranked(comparison: &Comparison, test: &ComparedTest) -> String {
    let letters = |sides: &mut dyn Iterator<Item = usize>| {
        sides.map(|side| label(comparison, side)).collect::<Vec<_>>()
    };
    let group = |group: mark::compare::Group| {
        let ranks = match group.best == group.worst {
            true => group.best.to_string(),
            false => format!("{}–{}", group.best, group.worst),
        };
        let how = match group.tie {
            Tie::Alone => "",
            Tie::Equivalent => " (equivalent)",
            Tie::NotToldApart => " (not distinguished)",
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

/// Why two sides cannot be compared.
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
            format!("the number of {sides} was withdrawn: it is not a property of the drive")
        }
    };
    let is_withdrawn =
        |index: &usize| test.sides[*index].as_ref().is_some_and(|figures| !figures.headline);
    let first = [pair.to, pair.of].into_iter().find(is_withdrawn);
    let name = first.map(|index| sides[index].run_id.as_deref().unwrap_or(&sides[index].name));
    let why = name.map(|name| format!("drivescope show {} has the reason", quoted(name)));
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
    let mut cells = vec![to, of, ratio].into_iter().map(Cell::Value).collect::<Vec<_>>();
    cells.extend([Cell::Interval(ratio), Cell::Word(pair.outcome.word())]);
    let is_open = |index: &usize| side(*index).is_some_and(|figures| figures.provisional);
    let open: Vec<String> = [pair.to, pair.of].into_iter().filter(is_open).map(letter).collect();
    let open = match open.is_empty() {
        true => String::new(),
        false => format!("provisional: the number of {}", open.join(" and of ")),
    };
    let detail = vec![said(pair, judged, comparison.session_offset_percent), latency(pair), open];
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
            format!("; {why}{}", blocks.unwrap_or_default())
        }
        (Verdict::Undecided, None, _) if is_apart && blocks.is_some() => {
            format!("; about {} of both would decide", blocks.unwrap_or_default())
        }
        (Verdict::Undecided, None, Some(runs)) => {
            format!("; about {runs} {one}s of each would decide")
        }
        (Verdict::Undecided, None, None) => {
            "; one I/O more or less of a run is as much, and longer runs would decide".to_owned()
        }
        (Verdict::Equivalent, ..) if pair.design == Design::Separate && !pair.by_sessions => {
            "; equivalent in these two sessions".to_owned()
        }
        _ => String::new(),
    };
    format!("{runs}, p {}{why}", probability(judged.p_holm))
}

/// A probability, to three places.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

fn latency(pair: &Pair) -> String {
    let Some(latency) = pair.latency else { return String::new() };
    let percentiles = [(latency.p50, "median"), (latency.p99, "p99"), (latency.p999, "p99.9")];
    let told = percentiles.map(|(found, at)| {
        let interval = times(&found, pair).map_or(String::new(), |told| format!(" ({told})"));
        format!("{at} {}{interval}", report::number::digits(found.ratio))
    });
    let missing = |why: NoInterval| {
        let lacks = percentiles.iter().filter(|(found, _)| found.no_interval == Some(why));
        let lacks: Vec<&str> = lacks.map(|(_, at)| *at).collect();
        let why = match why {
            NoInterval::FewRuns => "fewer than 6 runs",
            NoInterval::FewLatencies => "too few I/Os",
            NoInterval::NotKept => "the latencies of each run were not kept",
        };
        let which = match lacks.len() {
            3 => String::new(),
            _ => format!(" of {}", lacks.join(" and ")),
        };
        (!lacks.is_empty()).then(|| format!("; no interval{which}: {why}"))
    };
    let missing = [NoInterval::FewRuns, NoInterval::FewLatencies, NoInterval::NotKept].map(missing);
    format!(
        "latency {} / {}: {}{}",
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
    // Green only where all that is compared is confirmed.
    let figures = || comparison.tests.iter().flat_map(|test| test.sides.iter().flatten());
    let is_confirmed = figures().all(|figures| figures.headline && !figures.provisional);
    if equivalent == all {
        let what = if all == 1 { "The number is" } else { "All numbers are" };
        let tone = if is_confirmed { Tone::Good } else { Tone::Mixed };
        return (format!("{what} equivalent."), tone);
    }
    let tone = if faster + slower > 0 && is_confirmed { Tone::Good } else { Tone::Mixed };
    if comparison.sides.len() > 2 {
        return (fastest(comparison), tone);
    }
    // The faster one is the subject, where one alone is faster.
    let is_turned = faster == 0 && slower > 0;
    let (subject, other) = if is_turned { (0, 1) } else { (1, 0) };
    let (faster, slower) = if is_turned { (slower, faster) } else { (faster, slower) };
    let pairs = || {
        comparison.pairs().filter_map(|(test, pair)| {
            let ratio = pair.throughput.as_ref()?.ratio.ratio;
            Some((test, pair, if is_turned { 1.0 / ratio } else { ratio }))
        })
    };
    let decided = |pair: &Pair| matches!(pair.outcome, Verdict::Faster | Verdict::Slower);
    let most = pairs().filter(|(_, pair, ratio)| decided(pair) && *ratio > 1.0);
    let most = most.max_by(|a, b| a.2.total_cmp(&b.2));
    let least = pairs().filter(|(_, pair, ratio)| decided(pair) && *ratio < 1.0);
    let least = least.min_by(|a, b| a.2.total_cmp(&b.2));
    let tests = if all == 1 { "test" } else { "tests" };
    let mut parts = Vec::new();
    for (count, word, extreme) in [(faster, "faster", most), (slower, "slower", least)] {
        if count > 0 {
            let than = match (parts.is_empty(), word) {
                (true, _) => {
                    format!("{word} than {} in {count} of {all} {tests}", label(comparison, other))
                }
                (false, _) => format!("{word} in {count}"),
            };
            let how = extreme.map(|(test, _, ratio)| {
                let up_to = if count > 1 { "up to " } else { "" };
                format!(", {up_to}{ratio:.2}x ({} {})", test.name, test.op)
            });
            parts.push(than + &how.unwrap_or_default());
        }
    }
    for (count, word) in [
        (equivalent, "equivalent"),
        (count(Verdict::Undecided), "undecided"),
        (withdrawn, "not comparable"),
    ] {
        match count {
            0 => {}
            count if parts.is_empty() => parts.push(format!(
                "{word} to {} in {count} of {all} {tests}",
                label(comparison, other)
            )),
            count => parts.push(format!("{word} in {count}")),
        }
    }
    (format!("{} is {}.", label(comparison, subject), parts.join("; ")), tone)
}

/// Sentence about which of several sides is the fastest, and in how many tests.
fn fastest(comparison: &Comparison) -> String {
    let first = |test: &ComparedTest| {
        let group = test.groups().into_iter().next()?;
        (group.tie == Tie::Alone).then(|| group.sides.first().copied()).flatten()
    };
    let firsts: Vec<Option<usize>> = comparison.tests.iter().map(first).collect();
    let all = report::number::counted(firsts.len(), "test");
    let mut counts: Vec<(usize, usize)> = (0..comparison.sides.len())
        .map(|side| (side, firsts.iter().filter(|first| **first == Some(side)).count()))
        .filter(|(_, count)| *count > 0)
        .collect();
    counts.sort_by_key(|(side, count)| (std::cmp::Reverse(*count), *side));
    let mut parts: Vec<String> = counts
        .iter()
        .map(|(side, count)| {
            format!("{} is the fastest in {count} of {all}", label(comparison, *side))
        })
        .collect();
    let open = firsts.iter().filter(|first| first.is_none()).count();
    if open > 0 {
        let no = if parts.is_empty() { "No" } else { "no" };
        parts.push(format!("{no} side alone is the fastest in {open} of {all}"));
    }
    parts.join("; ") + "."
}
