//! The history of a drive.

use block::Bytes;
use mark::trend::{History, Trend, Verdict};
use report::{Cell, Group, Row, Sheet, Standing, Tone, number};
use stats::{Better, COURSE_MIN, JudgedCourse, Quantity, Unit};

use super::mark::title;

/// Number of the latest runs that are shown one by one.
const LATEST: usize = 10;

/// Lays out the history of `drive`, which has `marks` marks.
pub fn sheet(drive: &str, marks: usize, trend: &Trend) -> Sheet {
    let (closing, tone) = closing(trend);
    let mut groups: Vec<Group> = Vec::new();
    let places = many(trend.histories.iter().map(|history| history.settings.place.as_str()));
    for history in &trend.histories {
        let direction = title(&history.op);
        let title = match places {
            true => format!("{direction}, {}", history.settings.place),
            false => direction,
        };
        let mut row = row(history, trend.confidence);
        row.detail.splice(..0, apart(history, &trend.histories));
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.rows.push(row),
            None => {
                let columns = ["before", "now", "now / before", "95% interval"];
                let columns = columns.map(str::to_owned).to_vec();
                groups.push(Group { title, columns, rows: vec![row] });
            }
        }
    }
    Sheet {
        title: "trend".to_owned(),
        facts: vec![
            drive.to_owned(),
            format!("{}, {}", number::counted(marks, "recorded mark"), dates(trend)),
            format!(
                "MB/s; a ratio within {}% of 1 on either side is no change",
                trend.margin_percent
            ),
        ],
        groups,
        caveats: crate::remedies::written(&trend.caveats),
        closing,
        tone,
    }
}

fn many<'a>(mut places: impl Iterator<Item = &'a str>) -> bool {
    let first = places.next();
    places.any(|place| Some(place) != first)
}

fn dates(trend: &Trend) -> String {
    let points = || trend.histories.iter().flat_map(|history| &history.points);
    let (first, last) =
        (points().map(|point| &point.date).min(), points().map(|point| &point.date).max());
    match first.zip(last) {
        Some((first, last)) if day(first) == day(last) => format!("of {}", day(first)),
        Some((first, last)) => format!("from {} to {}", day(first), day(last)),
        None => "none with a number".to_owned(),
    }
}

/// The day of a date in RFC 3339.
fn day(date: &str) -> &str {
    date.get(..10).unwrap_or(date)
}

/// How `history` was made, as far as others of its name were made otherwise.
fn apart(history: &History, all: &[History]) -> Option<String> {
    let is_alike = |other: &&History| {
        (&other.name, &other.op, &other.settings.place)
            == (&history.name, &history.op, &history.settings.place)
    };
    let ways = |history: &History| {
        let settings = &history.settings;
        let way = |is: bool, yes: &str, no: &str| if is { yes } else { no }.to_owned();
        let (length, offset) = (settings.region_bytes, settings.region_offset_bytes);
        let region = match offset {
            Bytes::ZERO => format!("the first {length}"),
            offset => format!("{length} at {offset}"),
        };
        [
            settings.engine.clone(),
            way(settings.direct, "direct", "through the page cache"),
            way(settings.durable, "durable", "not durable"),
            region,
            format!("{} measured", settings.duration_ns.human()),
            format!("{} of warm-up", settings.warm_up_ns.human()),
            format!("{} of rest", settings.pause_ns.human()),
        ]
    };
    let own = ways(history);
    let others: Vec<_> = all.iter().filter(is_alike).map(ways).collect();
    let told = own.iter().enumerate();
    let told = told.filter(|(at, way)| others.iter().any(|other| other[*at] != **way));
    let told: Vec<&str> = told.map(|(_, way)| way.as_str()).collect();
    (!told.is_empty()).then(|| format!("with {}", told.join(", ")))
}

fn row(history: &History, confidence: f64) -> Row {
    let name = history.name.clone();
    let Some(course) = &history.course else {
        let count = history.points.len();
        let missing = COURSE_MIN.saturating_sub(count);
        let are = if count == 1 { "is" } else { "are" };
        let runs = number::counted(count, "run");
        let standing = Standing::Open(format!("{runs} {are} too few; {missing} more would decide"));
        return Row { name, standing, detail: vec![], proofs: vec![] };
    };
    let rates = history.rates();
    let at = course.at.unwrap_or(rates.len() / 2);
    let level =
        |part: &[f64]| stats::median_quantity(part, confidence, Unit::MbPerS, Better::Higher);
    let ratio = Quantity {
        value: course.ratio.ratio,
        low: course.ratio.low,
        high: course.ratio.high,
        confidence,
        unit: Unit::Ratio,
        n: rates.len(),
        n_effective: rates.len() as f64,
        better: Better::Higher,
    };
    let levels = level(&rates[..at]).zip(level(&rates[at..]));
    let cells = levels.map_or(Vec::new(), |(before, now)| {
        vec![Cell::Value(before), Cell::Value(now), Cell::Value(ratio), Cell::Interval(ratio)]
    });
    let detail = vec![said(history, course), latest(&rates)];
    Row { name, standing: Standing::Stands(cells), detail, proofs: vec![] }
}

/// The latest runs in a line, the oldest of them first.
fn latest(rates: &[f64]) -> String {
    let from = rates.len().saturating_sub(LATEST);
    let shown: Vec<String> = rates[from..].iter().map(|rate| number::digits(*rate)).collect();
    let earlier = if from > 0 { "… " } else { "" };
    format!("{earlier}{}", shown.join(" "))
}

fn said(history: &History, course: &JudgedCourse) -> String {
    let count = history.points.len();
    let word = history.verdict.word();
    let p = super::compare::probability(course.p_holm);
    match (history.changed_at(), course.values_to_decide) {
        (Some(since), _) => {
            let at = course.at.unwrap_or(0);
            let (day, run) = (day(&since.date), &since.run_id);
            format!(
                "{word} since {day} ({run}); {} before, {} since, p {p}",
                number::counted(at, "run"),
                count - at
            )
        }
        (None, Some(runs)) => {
            format!("{word}: about {} in all would decide; {count} runs, p {p}", 2 * runs)
        }
        (None, None) => format!("{word}; {count} runs"),
    }
}

fn closing(trend: &Trend) -> (String, Tone) {
    let all = trend.histories.iter().filter(|history| history.verdict != Verdict::TooFew).count();
    let count = |verdict| trend.histories.iter().filter(|h| h.verdict == verdict).count();
    match trend.verdict {
        Verdict::Slower => {
            let slower = count(Verdict::Slower);
            (
                format!("It has become slower in {slower} of {}.", number::counted(all, "test")),
                Tone::Bad,
            )
        }
        Verdict::Faster => {
            let faster = count(Verdict::Faster);
            (
                format!("It has become faster in {faster} of {}.", number::counted(all, "test")),
                Tone::Good,
            )
        }
        Verdict::Unchanged => ("It is what it was.".to_owned(), Tone::Good),
        Verdict::Undecided => {
            let open = count(Verdict::Undecided);
            let sure = count(Verdict::Unchanged);
            let text = format!(
                "No change is known: {sure} of {} unchanged, {open} undecided.",
                number::counted(all, "test")
            );
            (text, Tone::Mixed)
        }
        Verdict::TooFew => {
            (format!("No test was made {COURSE_MIN} times in the same way yet."), Tone::Mixed)
        }
    }
}
