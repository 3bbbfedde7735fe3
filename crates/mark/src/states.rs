//! States of the drive that the runs of one test were made in, where there was more than one.

use serde::{Deserialize, Serialize};
use stats::{coefficient_of_variation, median};

use crate::burst::Writes;
use crate::proofs::Case;

/// States of a test whose runs were not all made in one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct States {
    /// Why there is more than one, as far as the runs show it.
    pub cause: Cause,
    /// Index in `states` of the one that the test's numbers are of; `None` where they are of all runs.
    pub answer: Option<usize>,
    /// In the order in which the drive was first in them.
    pub states: Vec<State>,
}

/// One state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Median throughput in it, in MB/s (10^6 bytes per second).
    pub mb_s: f64,
    /// Coefficient of variation of its runs.
    pub cv: f64,
    /// Its runs: indices of the test's `runs`.
    pub runs: Vec<usize>,
}

/// Reason for several states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A cache for writes was used up.
    WriteCache,
    /// The first runs were made before the drive had settled, such as after earlier writes.
    Settling,
    /// The drive went back and forth between them: other activity, background work, temperature.
    Alternating,
}

/// States of the runs of `case`; `None` where one describes them.
pub(crate) fn find(case: &Case<'_>, writes: Option<&Writes>) -> Option<States> {
    let rates = case.rates();
    let unsettled = case.series.unsettled();
    if unsettled > 0 {
        let is_cache = writes.is_some_and(|writes| writes.sustained_mb_s.is_some());
        let cause = if is_cache { Cause::WriteCache } else { Cause::Settling };
        let states = vec![
            state(&rates, (0..unsettled).collect()),
            state(&rates, (unsettled..rates.len()).collect()),
        ];
        return Some(States { cause, answer: Some(1), states });
    }
    let (low, high, _) = case.series.two_modes()?;
    let middle = (low * high).sqrt();
    let (above, below): (Vec<usize>, Vec<usize>) =
        (0..rates.len()).partition(|run| rates[*run] > middle);
    let mut groups = [above, below];
    groups.sort();
    let states = groups.into_iter().map(|runs| state(&rates, runs)).collect();
    Some(States { cause: Cause::Alternating, answer: None, states })
}

fn state(rates: &[f64], runs: Vec<usize>) -> State {
    let of_state: Vec<f64> = runs.iter().map(|run| rates[*run]).collect();
    State {
        mb_s: median(&of_state).unwrap_or(0.0),
        cv: coefficient_of_variation(&of_state).unwrap_or(0.0),
        runs,
    }
}
