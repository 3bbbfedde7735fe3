//! Runs of one job, a JSON each, as rounds of one cell: harnesses that follow the PTS start fio once a round.

use stats::steady::snia;

use super::measured::Way;
use super::recorded::{Figure, Format, Recorded, Rounds};

/// Fewer runs are repetitions: each stays a result of its own.
const ROUNDS_MIN: usize = 3;

/// `results` with runs of one job put together, where each has a file of its own and they ran one after the other: a
/// result with a round each. What has a series of its own stays as it is.
pub fn rounds(results: Vec<Recorded>) -> Vec<Recorded> {
    let mut joined: Vec<Recorded> = Vec::new();
    let mut left: Vec<Option<Recorded>> = results.into_iter().map(Some).collect();
    for at in 0..left.len() {
        let Some(first) = left[at].take() else { continue };
        let is_same = |other: &Option<Recorded>| {
            other.as_ref().is_some_and(|other| is_round(&first) && is_of_cell(&first, other))
        };
        let others: Vec<usize> = (at..left.len()).filter(|index| is_same(&left[*index])).collect();
        let all: Vec<&Recorded> = std::iter::once(&first)
            .chain(others.iter().filter_map(|i| left[*i].as_ref()))
            .collect();
        let Some(one) = one_of(&all) else {
            joined.push(first);
            continue;
        };
        for index in others {
            left[index] = None;
        }
        joined.push(one);
    }
    joined
}

fn is_round(result: &Recorded) -> bool {
    result.format == Format::FioJson
        && result.cell.is_some()
        && result.series.is_none()
        && result.claim.is_none()
        && !result.measured.is_empty()
        && !result.asked.is_one_of_threads
}

fn is_of_cell(one: &Recorded, other: &Recorded) -> bool {
    let options = |result: &Recorded| result.cell.as_ref().map(|cell| cell.options.clone());
    is_round(other) && one.name == other.name && options(one) == options(other)
}

/// Runs of one job as one result; none when they are too few, or did not run one after the other.
fn one_of(runs: &[&Recorded]) -> Option<Recorded> {
    if runs.len() < ROUNDS_MIN {
        return None;
    }
    let mut runs = runs.to_vec();
    let ended = |run: &Recorded| run.cell.as_ref().map_or(0, |cell| cell.ended_s);
    runs.sort_by_key(|run| ended(run));
    let is_after = |pair: &[&Recorded]| {
        let elapsed = pair[1].cell.as_ref().map_or(0, |cell| cell.elapsed_s);
        pair[0].files != pair[1].files
            // Both times are whole seconds.
            && ended(pair[1]).saturating_add(1) >= ended(pair[0]).saturating_add(elapsed.max(1))
    };
    if !runs.windows(2).all(is_after) {
        return None;
    }
    // IOPS of a round in total, as the PTS tracks it: the mix of a cell is the same in each.
    let value = |run: &&Recorded| {
        run.measured
            .iter()
            .try_fold(0.0, |sum, one| Some(sum + one.iops?))
            .filter(|iops| *iops > 0.0)
    };
    let values: Vec<f64> = runs.iter().map(value).collect::<Option<_>>()?;
    let did = |way: Way| {
        runs.iter().any(|run| run.measured.iter().any(|one| one.way == way && one.ios > Some(0)))
    };
    let word = match (did(Way::Read), did(Way::Write)) {
        (true, true) => "reads and writes",
        (true, false) => "reads",
        _ => "writes",
    };
    let first = runs.first()?;
    let mut one = Recorded::of(&first.name, first.format, "");
    one.tool_version.clone_from(&first.tool_version);
    one.load = first.load.clone();
    one.range_bytes = first.range_bytes;
    one.before = first.before;
    one.asked = first.asked.clone();
    one.files = runs.iter().flat_map(|run| run.files.iter().cloned()).collect();
    let bytes: Option<Vec<u64>> = runs.iter().map(|run| run.written_bytes).collect();
    one.written_bytes =
        bytes.as_ref().map(|all| all.iter().fold(0_u64, |sum, x| sum.saturating_add(*x)));
    for caveat in runs.iter().flat_map(|run| &run.caveats) {
        if one.caveats.iter().all(|known| known.code != caveat.code) {
            one.caveats.push(caveat.clone());
        }
    }
    if let (true, Some(seed)) = (did(Way::Write), first.asked.seed) {
        one.doubt(
            "each_round_the_same",
            format!(
                "fio began each round with the same seed (allrandrepeat or randrepeat, randseed={seed}): all rounds write the \
                 same addresses in the same order"
            ),
            stats::remedy::Command::OtherAddressesEachRound,
        );
    }
    let last = values.get(values.len().saturating_sub(snia::WINDOW_ROUNDS)..)?;
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    one.figures = vec![Figure {
        name: format!("{word}, mean of the last {} of {} rounds", last.len(), values.len()),
        value: mean,
        unit: "IOPS",
    }];
    one.rounds = Some(Rounds { tracked: format!("{word}, IOPS"), values, written_bytes: bytes });
    Some(one)
}
