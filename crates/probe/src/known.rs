//! What is known of a drive when a probe begins: found by earlier probes, or given by the user.

use crate::finding::{Finding, Name, Verdict};

/// Findings so far, by name, and values that the user gave, which stand above them.
#[derive(Clone, Debug, Default)]
pub struct Known {
    findings: Vec<Finding>,
    given: Vec<(Name, u64)>,
}

impl Known {
    /// Nothing known.
    pub fn new() -> Known {
        Known::default()
    }

    /// Takes `value` as given, whatever probes say.
    pub fn give(&mut self, name: Name, value: u64) {
        self.given.retain(|(known, _)| *known != name);
        self.given.push((name, value));
    }

    /// Takes note of what a probe said. Of two answers about one thing, one that decides takes the place of one that
    /// does not; of two that decide, the surer stands.
    pub fn learn(&mut self, findings: &[Finding]) {
        for new in findings {
            match self.findings.iter_mut().find(|known| known.name == new.name) {
                Some(known) if rank(new) > rank(known) => *known = new.clone(),
                Some(_) => {}
                None => self.findings.push(new.clone()),
            }
        }
    }

    /// The value, given or found.
    pub fn value(&self, name: Name) -> Option<u64> {
        self.given(name).or_else(|| self.finding(name)?.value)
    }

    /// The value that the user gave.
    pub fn given(&self, name: Name) -> Option<u64> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// What the probes said.
    pub fn finding(&self, name: Name) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.name == name)
    }

    /// All answers, in the order in which they are shown.
    pub fn findings(&self) -> Vec<Finding> {
        Name::ALL.iter().filter_map(|name| self.finding(*name).cloned()).collect()
    }
}

/// How much an answer says.
fn rank(finding: &Finding) -> (u8, f64) {
    let decides = u8::from(finding.verdict != Verdict::Unknown);
    (decides, finding.confidence.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a later probe that does not know wipes out what an earlier one found.
    #[test]
    fn an_answer_that_decides_stands() {
        let mut known = Known::new();
        known.learn(&[Finding::unknown(Name::Page, "noise")]);
        known.learn(&[Finding::found(Name::Page, 8192, 0.99, "a step")]);
        known.learn(&[Finding::unknown(Name::Page, "time")]);
        known.learn(&[Finding::found(Name::Page, 4096, 0.6, "a small step")]);
        assert_eq!(known.value(Name::Page), Some(8192));
        known.give(Name::Page, 16384);
        assert_eq!(known.value(Name::Page), Some(16384));
        assert_eq!(known.findings().len(), 1);
    }
}
