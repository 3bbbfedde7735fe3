//! The six proofs. Each is a pure function from what was seen of one test to a verdict with its reason.

mod below;
mod case;
mod events;
mod expected;
pub(crate) mod pattern;
mod ratios;
mod reached;
mod repeatable;
mod steady;
mod undisturbed;
pub(crate) mod unhindered;
mod wave;

use stats::{Proof, Verdict};

use crate::body::Proofs;
pub(crate) use case::{Case, RunSeries, by_cache_devices, degraded, mb_s};
use case::{MARGIN, device_bytes, growth, percent};

/// Runs at which it is asked whether a test needs more than were planned.
const LOOKS: [usize; 2] = [12, 18];

/// True when more runs may decide what these leave undecided: whether the drive was steady, or how well the median is known.
pub(crate) fn need_more(runs: &RunSeries<'_>) -> bool {
    let count = runs.runs.len();
    if runs.is_extended && !LOOKS.contains(&count) {
        return count < LOOKS[LOOKS.len() - 1];
    }
    let steady = steady::judge(runs);
    let is_open = |proof: &Proof| proof.verdict == Verdict::Unprovable;
    let is_unknown = is_open(&steady) && steady.evidence.get("state") == Some(&"unknown".into());
    let is_cached = runs.burst_runs() > runs.in_cache();
    let may_decide = is_cached || is_unknown || is_open(&repeatable::judge(runs));
    count < LOOKS[LOOKS.len() - 1] && may_decide
}

/// Judges all six.
pub(crate) fn judge(case: &Case<'_>) -> Proofs {
    if case.runs().is_empty() {
        let none = || Proof::new(Verdict::Unprovable, "no counted run was finished");
        return Proofs {
            reached: reached::by_construction(case).unwrap_or_else(none),
            pattern: none(),
            steady: none(),
            repeatable: none(),
            unhindered: none(),
            undisturbed: undisturbed::by_failure(case).unwrap_or_else(none),
        };
    }
    Proofs {
        reached: reached::judge(case),
        pattern: pattern::judge(case),
        steady: steady::after_recovery(case, steady::judge(&case.series)),
        repeatable: repeatable::judge(&case.series),
        unhindered: unhindered::judge(case),
        undisturbed: undisturbed::judge(case),
    }
}
