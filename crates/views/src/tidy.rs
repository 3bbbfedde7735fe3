//! Rows for other programs: a row for each run, units in the names of columns, bare numbers in the cells, and nothing where
//! a number is not known.

use block::text::csv_field;
use documents::recorded::{Recorded, ResultBody};
use mark::body::Run;
use mark::compare::letter;
use report::chart::unit;
use report::{Answers, Said};
use stats::Assessment;
use trace::replay::Score;

/// Columns of runs, whichever verb made them.
const OF_RUNS: [&str; 17] = [
    "target",
    "side",
    "test",
    "op",
    "block_bytes",
    "depth",
    "threads",
    "run",
    "throughput_bytes_per_s",
    "iops",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_p999_ns",
    "latency_max_ns",
    "duration_ns",
    "bytes",
    "ios",
];

/// Columns of rounds of a trace.
const OF_ROUNDS: [&str; 14] = [
    "target",
    "side",
    "trace",
    "run",
    "completion_ns",
    "requests",
    "q2c_sum_ns",
    "q2c_mean_ns",
    "q2c_p50_ns",
    "q2c_p99_ns",
    "q2c_p999_ns",
    "mean_depth",
    "overload_share",
    "limit",
];

/// Columns of answers.
const OF_ANSWERS: [&str; 9] =
    ["about", "value", "low", "high", "unit", "answer", "confidence", "assessment", "reason"];

/// Rows of the first of `all`, behind which a survey has its parts; `None` of a result without numbers.
pub fn rows(all: &[Recorded]) -> Option<String> {
    let recorded = all.first()?;
    Some(match &recorded.found {
        ResultBody::Mark(body, _) => of_mark(body),
        ResultBody::Sweep(body) => crate::sweep::csv(body),
        ResultBody::Comparison(body) => of_comparison(body),
        ResultBody::Tests(bodies) => crate::pts::csv(bodies),
        ResultBody::Probe(body) => of_answers(&crate::probe::answers(&recorded.verb, body)),
        ResultBody::Survey(body) => {
            of_answers(&crate::survey::answers(body, &recorded.envelope.parts))
        }
        ResultBody::Replay(body) => {
            let file = body.file.display().to_string();
            let score = Score::of(&body.replay);
            let round = |score| round([&body.drive.target.name, "", &file], 1, score);
            table(&OF_ROUNDS, score.as_ref().map(round))
        }
        ResultBody::Compare(body) => {
            let file = body.file.display().to_string();
            let mut rows = Vec::new();
            for (at, drive) in body.compared.drives.iter().enumerate() {
                let names = [drive.name.as_str(), &letter(at), &file];
                rows.extend(
                    (1..).zip(&drive.rounds).map(|(number, score)| round(names, number, score)),
                );
            }
            table(&OF_ROUNDS, rows)
        }
        ResultBody::Purge(_) | ResultBody::Analysis(_) => return None,
    })
}

/// Columns and rows as text.
fn table(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = columns.join(",") + "\n";
    for row in rows {
        text += &row.iter().map(|field| csv_field(field)).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

/// Rows of runs, with `more` columns behind those of all.
pub fn of_runs(more: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table(&[&OF_RUNS, more].concat(), rows)
}

/// Columns that the runs of one test on one side share.
pub struct Shared<'a> {
    /// Name of the target.
    pub target: &'a str,
    /// Letter of the side; empty where there is one alone.
    pub side: String,
    /// `SEQ1M Q8T1`.
    pub test: &'a str,
    /// `read`, `write`, or `mix70`.
    pub op: &'a str,
    /// Size of a transfer, where it is known.
    pub block_bytes: Option<u64>,
    /// Outstanding I/Os per thread, where they are known.
    pub depth: Option<u16>,
    /// Submitters, where they are known.
    pub threads: Option<u16>,
}

impl Shared<'_> {
    /// The row of a run, of which `number` counts from 1.
    pub fn row(&self, number: usize, run: &Run) -> Vec<String> {
        // Values that another program did not report are 0 in the body.
        let has_data = run.mb_s > 0.0;
        let known = |value: u64| if has_data && value == 0 { None } else { Some(value) };
        let latency = run.latency_ns;
        let latencies = [latency.p50, latency.p99, latency.p999, latency.max];
        let mut row = vec![
            self.target.to_owned(),
            self.side.clone(),
            self.test.to_owned(),
            self.op.to_owned(),
            cell(self.block_bytes.filter(|bytes| *bytes > 0)),
            cell(self.depth.filter(|depth| *depth > 0)),
            cell(self.threads.filter(|threads| *threads > 0)),
            number.to_string(),
            (run.mb_s * 1e6).round().to_string(),
            cell((!has_data || run.iops > 0.0).then_some(thousandths(run.iops))),
        ];
        row.extend(latencies.map(|ns| cell((ns > 0).then_some(ns))));
        row.extend([run.duration_ns, run.bytes, run.ios].map(|value| cell(known(value))));
        row
    }
}

/// `value` to three places.
fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn of_mark(body: &mark::Body) -> String {
    let of_test = |test: &mark::body::Test| {
        let shared = Shared {
            target: &body.target.name,
            side: String::new(),
            test: &test.name,
            op: &test.op,
            block_bytes: Some(test.block_bytes.0),
            depth: Some(test.depth),
            threads: Some(test.threads),
        };
        (1..).zip(&test.runs).map(|(number, run)| shared.row(number, run)).collect::<Vec<_>>()
    };
    of_runs(&[], body.tests.iter().flat_map(of_test))
}

fn of_comparison(body: &mark::compare::Comparison) -> String {
    let mut rows = Vec::new();
    for test in &body.tests {
        for (at, (side, figures)) in body.sides.iter().zip(&test.sides).enumerate() {
            let shared = Shared {
                target: side.target.as_deref().unwrap_or(&side.name),
                side: letter(at),
                test: &test.name,
                op: &test.op,
                block_bytes: test.block_bytes.map(|bytes| bytes.0),
                depth: test.depth,
                threads: test.threads,
            };
            let runs = figures.iter().flat_map(|figures| &figures.runs);
            rows.extend((1..).zip(runs).map(|(number, run)| shared.row(number, run)));
        }
    }
    of_runs(&[], rows)
}

fn round([target, side, file]: [&str; 3], number: usize, score: &Score) -> Vec<String> {
    let ns = |seconds: f64| (seconds * 1e9).round().to_string();
    let mut row = [target, side, file].map(str::to_owned).to_vec();
    row.extend([number.to_string(), ns(score.completion_s), score.requests.to_string()]);
    row.push(ns(score.q2c_sum_s));
    let times = [score.q2c_mean_ns, score.q2c_p50_ns, score.q2c_p99_ns, score.q2c_p999_ns];
    row.extend(times.map(|ns| ns.round().to_string()));
    row.extend([score.mean_depth, score.overload].map(|value| value.to_string()));
    row.push(score.verdict.word().to_owned());
    row
}

fn of_answers(answers: &Answers) -> String {
    let row = |answer: &report::Answer| {
        let (value, text) = match &answer.said {
            Said::Value(quantity) => (Some(quantity), String::new()),
            Said::Word(word) => (None, word.clone()),
            Said::None => (None, "none".to_owned()),
            Said::Unknown => (None, "unknown".to_owned()),
        };
        let assessment = match answer.assessment {
            Assessment::Good => "good",
            Assessment::Bad => "bad",
            Assessment::Neutral => "",
        };
        vec![
            answer.name.clone(),
            cell(value.map(|quantity| quantity.value)),
            cell(value.and_then(|quantity| quantity.low)),
            cell(value.and_then(|quantity| quantity.high)),
            value.map_or("", |quantity| unit(quantity.unit)).to_owned(),
            text,
            cell(answer.confidence),
            assessment.to_owned(),
            answer.reason.clone(),
        ]
    };
    table(&OF_ANSWERS, answers.answers.iter().map(row))
}
