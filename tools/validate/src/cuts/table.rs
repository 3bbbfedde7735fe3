//! From the cuts to the page.

use cuts::{Cached, Outcome};
use stats::proportion_interval;

use super::Series;
use crate::sheet;

/// Of the bound on the share of cuts that lose something: one-sided, so asked for with 90%.
const TWO_SIDED: f64 = 0.90;

/// The whole page; `head` states how it was made, `most` how many cuts of each filesystem were drawn, if not all.
pub(super) fn text(head: &str, all: &[Series], most: Option<usize>) -> String {
    let outcomes: Vec<&Outcome> = all.iter().flat_map(|series| &series.outcomes).collect();
    let mut text = format!("# Power cuts\n\n{}\n\n{head}", verdict(&outcomes));
    text += "A filesystem lies on a disk that logs every write and every flush. On it drivescope records runs, \
             is interrupted, killed, and goes on, measures a directory, exports, removes and imports runs, \
             writes samples and traces; and what it reports as saved is put into the log as a mark, at once. \
             A step counts as reported when the next one has begun. Then the power is cut: at flush marks, \
             right before them, and at random places. What was flushed before the cut is on the disk; of what was \
             only written, all of it is lost, all of it kept, or each sector of 4 KiB by a coin. What \
             is left is mounted, and every promise before the cut is held against it: runs and their journals, \
             to the byte; runs that were removed; files, by their checksum. Then all runs are shown, those that \
             were under way go on (to the very body of a run without a cut), a new run is recorded, \
             the index is made anew, and a test file that was left has to be offered for removal, and to go. Last, a file that nobody \
             synced is promised: a series in which that is not seen to be lost is no series.\n\n";
    text += &match most {
        Some(most) => format!(
            "Of these places at most {most} of each filesystem were drawn, half of them at flush marks.\n\n"
        ),
        None => "Every flush mark of the log has its cuts.\n\n".to_owned(),
    };
    text += &sheet::table(
        1,
        &[
            "filesystem",
            "cuts",
            "with something in the cache",
            "promises held against",
            "lost",
            "other faults",
            "runs shown as unfinished",
            "gone on with",
            "test files offered",
            "seconds",
        ],
        &all.iter().map(row).collect::<Vec<_>>(),
    );
    text += "\n## By the fate of what was cached\n\n";
    let fates = Cached::ALL.map(|cached| {
        let of: Vec<_> = outcomes.iter().filter(|o| o.cut.cached == cached).copied().collect();
        let (lost, faults) = (sum(&of, losses), sum(&of, |o| o.verdict.faults.len() as u64));
        let counts = [of.len() as u64, sum(&of, |o| o.verdict.promises), lost, faults];
        let counts = counts.map(|count| count.to_string());
        [vec![cached.word().to_owned()], counts.to_vec()].concat()
    });
    let head = ["what was cached", "cuts", "promises", "lost", "other faults"];
    text + &sheet::table(1, &head, &fates)
}

fn losses(outcome: &Outcome) -> u64 {
    outcome.verdict.losses.len() as u64
}

fn sum(outcomes: &[&Outcome], of: fn(&Outcome) -> u64) -> u64 {
    outcomes.iter().map(|outcome| of(outcome)).sum()
}

fn row(series: &Series) -> Vec<String> {
    let outcomes: Vec<&Outcome> = series.outcomes.iter().collect();
    let counts = [
        outcomes.len() as u64,
        sum(&outcomes, |o| u64::from(o.cached_bytes > 0)),
        sum(&outcomes, |o| o.verdict.promises),
        sum(&outcomes, losses),
        sum(&outcomes, |o| o.verdict.faults.len() as u64),
        sum(&outcomes, |o| u64::from(o.verdict.unfinished)),
        sum(&outcomes, |o| u64::from(o.verdict.resumed)),
        sum(&outcomes, |o| u64::from(o.verdict.offered)),
        series.took.as_secs(),
    ];
    let counts = counts.map(|count| count.to_string());
    [vec![series.name.clone()], counts.to_vec()].concat()
}

fn verdict(outcomes: &[&Outcome]) -> String {
    let (cuts, promises) = (outcomes.len(), sum(outcomes, |o| o.verdict.promises));
    let lost = sum(outcomes, losses);
    let losing = outcomes.iter().filter(|o| losses(o) > 0).count();
    let bound = proportion_interval(losing, cuts, TWO_SIDED).map_or(1.0, |share| share.high);
    let faults = sum(outcomes, |o| o.verdict.faults.len() as u64);
    format!(
        "{cuts} cuts, {promises} promises held against what was left, {lost} lost, {faults} other faults: with \
         95% confidence, fewer than {:.2}% of cuts like these lose anything (Clopper and Pearson).",
        100.0 * bound
    )
}

#[cfg(test)]
mod tests {
    use cuts::{Cut, Verdict};

    use super::*;

    // Readers would miss a loss that the first sentence does not report.
    #[test]
    fn a_loss_is_in_the_first_sentence_and_in_its_row() {
        let outcome = |losses: &[&str]| Outcome {
            cut: Cut { entries: 1, cached: Cached::Lost },
            cached_bytes: 4096,
            verdict: Verdict {
                promises: 5,
                losses: losses.iter().map(|l| (*l).to_owned()).collect(),
                ..Verdict::default()
            },
        };
        let mut outcomes = vec![outcome(&[]); 299];
        let series = |outcomes: &[Outcome]| Series {
            name: "ext4".to_owned(),
            outcomes: outcomes.to_vec(),
            took: std::time::Duration::from_secs(9),
        };
        let good = text("", &[series(&outcomes)], None);
        assert!(
            good.contains("299 cuts, 1495 promises held against what was left, 0 lost"),
            "{good}"
        );
        assert!(good.contains("fewer than 1.00%"), "{good}");
        assert!(good.contains("| ext4 | 299 | 299 | 1495 | 0 | 0 | 0 | 0 | 0 | 9 |"), "{good}");
        outcomes.push(outcome(&["a", "b"]));
        let bad = text("", &[series(&outcomes)], None);
        assert!(bad.contains("300 cuts") && bad.contains(" 2 lost"), "{bad}");
        assert!(bad.contains("| lost | 300 | 1500 | 2 | 0 |"), "{bad}");
    }
}
