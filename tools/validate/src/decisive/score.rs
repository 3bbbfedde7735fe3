//! Confirmed and right numbers of a mark.

use serde_json::Value;

/// Share of the numbers of single states that are confirmed and right.
pub(super) const CONFIRMED_MIN: f64 = 0.9;
/// Time that a mark may take on the drive.
pub(super) const WITHIN_S: f64 = 300.0;
/// A number that is further from that of its test alone is wrong.
pub(super) const MARGIN: f64 = 0.05;

/// How the numbers of a drive came out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Score {
    pub(super) confirmed: usize,
    /// Of those: further from the test alone than the margin, in no state that was named.
    pub(super) wrong: usize,
    /// Not confirmed, in several states, which were named.
    pub(super) in_states: usize,
    pub(super) provisional: usize,
    pub(super) rejected: usize,
    /// The longest mark, on the drive.
    pub(super) longest_s: f64,
    /// Bytes of the measured windows of all marks.
    pub(super) bytes: u64,
}

impl Score {
    pub(super) fn all(&self) -> usize {
        self.confirmed + self.in_states + self.provisional + self.rejected
    }

    /// Numbers that answer what was asked, of those of a single state.
    pub(super) fn share(&self) -> f64 {
        (self.confirmed - self.wrong) as f64 / (self.all() - self.in_states).max(1) as f64
    }

    /// Adds a number; wrong where it is confirmed and neither its median nor a state `is_right`.
    pub(super) fn add(&mut self, test: &Test<'_>, is_right: impl Fn(f64) -> bool) {
        let states = test.states();
        if test.is_confirmed() {
            self.confirmed += 1;
            self.wrong += usize::from(!test.rate().into_iter().chain(states).any(is_right));
        } else if test.0["headline"] != true {
            self.rejected += 1;
        } else if states.is_empty() {
            self.provisional += 1;
        } else {
            self.in_states += 1;
        }
    }

    pub(super) fn with(self, other: Score) -> Score {
        Score {
            confirmed: self.confirmed + other.confirmed,
            wrong: self.wrong + other.wrong,
            in_states: self.in_states + other.in_states,
            provisional: self.provisional + other.provisional,
            rejected: self.rejected + other.rejected,
            longest_s: self.longest_s.max(other.longest_s),
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A test of a body, by name and direction.
pub(super) struct Test<'a>(pub(super) &'a Value);

impl Test<'_> {
    pub(super) fn words(&self) -> (&str, &str) {
        let word = |field: &str| self.0[field].as_str().unwrap_or_default();
        (word("name"), word("op"))
    }

    pub(super) fn rate(&self) -> Option<f64> {
        self.0["mb_s"]["median"].as_f64()
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.lacking().is_empty() && self.0["headline"] == true
    }

    /// Proofs that are not proven.
    pub(super) fn lacking(&self) -> Vec<&str> {
        let proofs = self.0["proofs"].as_object().into_iter().flatten();
        let lacking = proofs.filter(|(_, proof)| proof["verdict"] != "proven");
        lacking.map(|(name, _)| name.as_str()).collect()
    }

    /// Medians of the states that are named.
    pub(super) fn states(&self) -> Vec<f64> {
        let states = self.0["states"]["states"].as_array();
        states.into_iter().flatten().filter_map(|state| state["mb_s"].as_f64()).collect()
    }

    /// True where the number is called the rate of first writes.
    pub(super) fn is_burst(&self) -> bool {
        self.0["writes"]["shown"] == "burst"
    }

    pub(super) fn bytes(&self) -> u64 {
        let runs = self.0["runs"].as_array();
        runs.into_iter().flatten().filter_map(|run| run["bytes"].as_u64()).sum()
    }
}

pub(super) fn tests(body: &Value) -> impl Iterator<Item = Test<'_>> {
    body["tests"].as_array().into_iter().flatten().map(Test)
}

pub(super) fn score(body: &Value, alone: &[Option<f64>]) -> Score {
    let mut score = Score {
        longest_s: body["elapsed_ns"].as_f64().unwrap_or(f64::NAN) / 1e9,
        bytes: tests(body).map(|test| test.bytes()).sum(),
        ..Score::default()
    };
    for (test, truth) in tests(body).zip(alone) {
        let is_near = |rate: f64, truth: f64| (rate / truth - 1.0).abs() <= MARGIN;
        score.add(&test, |rate| truth.is_some_and(|truth| is_near(rate, truth)));
    }
    score
}
