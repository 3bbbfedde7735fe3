//! Known properties of a drive when a probe begins: found by earlier probes, or given by the user.

use crate::finding::{Finding, Name, Verdict};

/// Findings so far, by name, and values that the user gave, which override them.
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

    /// Records the findings of a probe. Of two findings about one property, one that decides replaces one that does
    /// not; of two that agree, the surer is kept; and of two that contradict each other, the surer is kept only if the
    /// odds of both together still leave little doubt.
    pub fn learn(&mut self, findings: &[Finding]) {
        for new in findings {
            match self.findings.iter_mut().find(|known| known.name == new.name) {
                Some(known) => *known = reconciled(known, new),
                None => self.findings.push(new.clone()),
            }
        }
    }

    /// Takes back sizes that reads showed where any number of places can be written at once: such a drive maps its pages
    /// one by one, and the steps are of something else, as of its map or of a stripe over dies.
    pub(crate) fn without_units(&mut self) {
        let free = self.finding(Name::OpenAuLinear).is_some_and(|f| f.verdict == Verdict::None);
        let sizes = [Name::EraseBlock, Name::Page, Name::MultiPlanePage];
        let said = |f: &Finding| f.verdict == Verdict::Found || !f.one_of.is_empty();
        for finding in self.findings.iter_mut().filter(|f| free && sizes.contains(&f.name)) {
            if said(finding) {
                *finding = Finding::unknown(
                    finding.name,
                    "reads show a step, and writes all over the drive take no longer than in order: it may be that of \
                     a map of pages or of a stripe over dies",
                );
            }
        }
    }

    /// The value, given or found.
    pub fn value(&self, name: Name) -> Option<u64> {
        self.given(name).or_else(|| self.finding(name)?.value)
    }

    /// The value, or the greatest of the class that it is one of: a distance at which everything of its kind is alike.
    pub fn scale(&self, name: Name) -> Option<u64> {
        self.value(name).or_else(|| self.finding(name)?.one_of.iter().copied().max())
    }

    /// The value that the user gave.
    pub fn given(&self, name: Name) -> Option<u64> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// `finding` as it may be stated: with the confidence that calibration bears out at most, or as it is of a value that the
    /// user gave.
    #[must_use]
    pub fn stated(&self, finding: Finding) -> Finding {
        if self.given(finding.name).is_some() { finding } else { finding.borne_out() }
    }

    /// Finding of the probes about `name`.
    pub fn finding(&self, name: Name) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.name == name)
    }

    /// All answers, in the order in which they are shown.
    pub fn findings(&self) -> Vec<Finding> {
        Name::ALL.iter().filter_map(|name| self.finding(*name).cloned()).collect()
    }
}

/// Least confidence of the surer of two contradicting findings for it to be kept.
const STANDS: f64 = 0.95;

/// Combines two answers about one property.
fn reconciled(one: &Finding, other: &Finding) -> Finding {
    let decides = |finding: &Finding| finding.verdict != Verdict::Unknown;
    match (decides(one), decides(other)) {
        // A class says more than nothing.
        (false, false) if one.one_of.is_empty() && !other.one_of.is_empty() => {
            return other.clone();
        }
        (_, false) => return one.clone(),
        (false, true) => return other.clone(),
        (true, true) => {}
    }
    let (surer, less) = if odds(other) > odds(one) { (other, one) } else { (one, other) };
    if (surer.verdict, surer.value) == (less.verdict, less.value) {
        return surer.clone();
    }
    let confidence = odds(surer) / (odds(surer) + odds(less));
    if confidence < STANDS {
        let reason =
            format!("two probes contradict each other: {}; but {}", one.reason, other.reason);
        return Finding::unknown(surer.name, reason);
    }
    Finding { confidence: Some(confidence), ..surer.clone() }
}

/// Odds that an answer is right. No probe is surer than ten million to one.
fn odds(finding: &Finding) -> f64 {
    let p = finding.confidence.unwrap_or(0.0).clamp(0.0, 1.0 - 1e-7);
    p / (1.0 - p)
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
        // 99 to 1 against 1.5 to 1.
        let confidence = known.finding(Name::Page).unwrap().confidence.unwrap();
        assert!((confidence - 99.0 / 100.5).abs() < 1e-9, "{confidence}");
        known.give(Name::Page, 16384);
        assert_eq!(known.value(Name::Page), Some(16384));
        assert_eq!(known.findings().len(), 1);
    }

    // Breaks when one of two probes that contradict each other passes for the truth.
    #[test]
    fn answers_that_contradict_each_other_leave_it_open() {
        let mut known = Known::new();
        known.learn(&[Finding::found(Name::FatZone, 4 << 20, 0.98, "reads are slower")]);
        known.learn(&[Finding::none(Name::FatZone, 0.99, "writes are alike")]);
        let answer = known.finding(Name::FatZone).unwrap();
        assert_eq!(answer.verdict, Verdict::Unknown);
        assert!(answer.reason.contains("slower") && answer.reason.contains("alike"));
    }
}
