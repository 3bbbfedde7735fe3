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
pub(crate) use case::{Case, by_cache_devices, degraded, mb_s};
use case::{MARGIN, device_bytes, growth, percent};

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
        steady: steady::judge(case),
        repeatable: repeatable::judge(case),
        unhindered: unhindered::judge(case),
        undisturbed: undisturbed::judge(case),
    }
}
