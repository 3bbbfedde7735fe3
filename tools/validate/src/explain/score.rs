//! Comparison of predictions with measurements.

use serde_json::Value;

use super::case::Case;
use super::measure::Done;

/// How far a share may be from the likeliest one, where threads do not run abreast.
const SHARE: f64 = 0.02;
/// A time limit is kept within this share: fio looks at its clock between I/Os.
const TIME: f64 = 0.05;
/// Bytes of the device that may be read for what is said to come from memory: read-ahead, once.
const ONCE: f64 = 16_777_216.0;

/// A command with its predictions.
pub(super) struct Scored {
    pub from: String,
    pub command: String,
    pub set: String,
    pub lines: Vec<Line>,
}

/// One prediction.
pub(super) struct Line {
    pub job: String,
    pub what: &'static str,
    pub min: f64,
    pub expected: Option<f64>,
    pub max: Option<f64>,
    pub measured: f64,
    pub is_right: bool,
}

impl Scored {
    pub(super) fn is_right(&self) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(|line| line.is_right)
    }
}

impl Line {
    fn of(job: &str, what: &'static str, told: &Value, measured: f64) -> Line {
        let number = |name: &str| told[name].as_f64();
        let (min, max) = (number("min").unwrap_or(0.0), number("max"));
        Line {
            job: job.to_owned(),
            what,
            min,
            expected: number("expected"),
            max,
            measured,
            is_right: measured >= min && max.is_none_or(|max| measured <= max),
        }
    }

    /// Whether nothing was left open.
    pub(super) fn is_exact(&self) -> bool {
        self.max == Some(self.min)
    }

    /// For a cell of the table.
    pub(super) fn words(&self) -> String {
        let told = match (self.is_exact(), self.expected, self.max) {
            (true, ..) => number(self.min),
            (false, Some(expected), _) => format!("about {}", number(expected)),
            (false, None, Some(max)) => format!("{} to {}", number(self.min), number(max)),
            (false, None, None) => format!("from {}", number(self.min)),
        };
        let wrong = if self.is_right { "" } else { " **wrong**" };
        let name = if self.job.is_empty() { String::new() } else { format!("{} ", self.job) };
        format!("{name}{}: {told}, {}{wrong}", self.what, number(self.measured))
    }
}

fn number(value: f64) -> String {
    if value == value.round() { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// Holds what `told`, the body that drivescope printed, says against what was `done`.
pub(super) fn scored(case: &Case, told: &Value, done: &[Done]) -> Scored {
    let jobs = told["jobs"].as_array().cloned().unwrap_or_default();
    let mut lines = Vec::new();
    for (job, done) in jobs.iter().zip(done) {
        job_lines(job, done, &mut lines);
    }
    // A line without bounds is not a prediction.
    lines.retain(|line| line.min > 0.0 || line.max.is_some());
    if jobs.len() == 1 {
        lines.iter_mut().for_each(|line| line.job.clear());
    }
    // A job that is predicted and not done, or the reverse, is a prediction that failed.
    let counts = Line {
        job: String::new(),
        what: "jobs",
        min: jobs.len() as f64,
        expected: Some(jobs.len() as f64),
        max: Some(jobs.len() as f64),
        measured: done.len() as f64,
        is_right: jobs.len() == done.len(),
    };
    lines.push(counts);
    Scored {
        from: case.from.clone(),
        command: case.shown().to_owned(),
        set: case.set.join(" "),
        lines,
    }
}

fn job_lines(job: &Value, done: &Done, lines: &mut Vec<Line>) {
    let name = job["name"].as_str().unwrap_or_default();
    let total = done.read_bytes + done.write_bytes;
    let of = |what, field: &str, measured: u64| Line::of(name, what, &job[field], measured as f64);
    let is_memory = job["way"] == "memory";
    if !done.only_shares {
        lines.push(of("bytes read", "read_bytes", done.read_bytes));
        lines.push(of("bytes written", "write_bytes", done.write_bytes));
        if !is_memory {
            lines.push(of("I/Os", "ios", done.ios));
        }
    }
    if let Some(unique) = done.unique_bytes {
        lines.push(of("different bytes", "unique_bytes", unique));
        let share = if total == 0 { 0.0 } else { 1.0 - unique as f64 / total as f64 };
        let mut line = Line::of(name, "share again", &job["duplicate_share"], share);
        let near = |expected: f64| (share - expected).abs() <= SHARE;
        let within = share >= line.min - 1e-9 && line.max.is_none_or(|max| share <= max + SHARE);
        // Threads of their own speed are less abreast the shorter the run is.
        let is_timed = done.seconds.is_some() && job["ends_by"] != "size";
        line.is_right = within && (is_timed || line.expected.is_none_or(near));
        lines.push(line);
    }
    if let Some(flushes) = done.flushes {
        lines.push(of("flushes", "flushes", flushes));
    }
    if let (true, Some(device)) = (is_memory, done.device_bytes) {
        lines.push(Line {
            job: name.to_owned(),
            what: "bytes of the device, of data in memory",
            min: 0.0,
            expected: None,
            max: Some(ONCE),
            measured: device as f64,
            is_right: device as f64 <= ONCE,
        });
    }
    let limit = job["time_max_ns"].as_f64().map(|ns| ns / 1e9);
    if let (Some(seconds), Some(limit)) = (done.seconds, limit) {
        let by_time = job["ends_by"] == "time";
        let least = if by_time { limit * (1.0 - TIME) } else { 0.0 };
        // A load that is asked to stop ends with what is outstanding.
        let most = limit * (1.0 + TIME) + 0.2;
        lines.push(Line {
            job: name.to_owned(),
            what: "seconds",
            min: least,
            expected: by_time.then_some(limit),
            max: Some(most),
            measured: seconds,
            is_right: (least..=most).contains(&seconds),
        });
    }
}
