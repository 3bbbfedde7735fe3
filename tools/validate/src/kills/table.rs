//! From the kills to the page.

use stats::proportion_interval;

use super::STEPS;
use super::life::Class;
use super::trial::{Outcome, Trial};
use crate::sheet;

/// Of the bound on the share of runs that are lost: one-sided, so asked for with 90%.
const TWO_SIDED: f64 = 0.90;

/// The whole page; `head` states how it was made.
pub(super) fn text(head: &str, trials: &[Trial]) -> String {
    let faults = trials.iter().filter(|trial| trial.fault.is_some()).count();
    let mut text = format!("# Runs that are killed\n\n{}\n\n{head}", verdict(faults, trials.len()));
    text += &format!(
        "A mark of {STEPS} steps gets SIGKILL: two in five anywhere from exec to exit, two in five \
         within 4 ms after a step was finished, the rest while the run comes into being and after its \
         last step; one that had ended by itself before its moment came \
         is not counted. One in four of those that are resumed is killed once more. Then `--resume last` \
         has to go on to the end, or to say that there is no run yet, or that it is finished. Every \
         step that was in the journal must still be there, unchanged, and every other be added once; \
         on the virtual drive the body must be, to the bit, that of a run that was not killed. The \
         checksums of every finished run are checked by sha256sum.\n"
    );
    for target in [super::Target::Virtual, super::Target::Directory] {
        let of: Vec<&Trial> = trials.iter().filter(|t| t.target == target).collect();
        text += &format!("\n## On a {}: {} kills\n\n", target.word(), of.len());
        text += &outcomes(&of);
    }
    text
}

fn verdict(faults: usize, kills: usize) -> String {
    let bound = proportion_interval(faults, kills, TWO_SIDED).map_or(1.0, |share| share.high);
    let bound = format!(
        "with 95% confidence, fewer than {:.1}% of runs killed like this are lost (Clopper and \
         Pearson)",
        100.0 * bound
    );
    match faults {
        0 => format!("{kills} kills, no run lost: {bound}."),
        1 => format!("{kills} kills, 1 run lost: {bound}."),
        _ => format!("{kills} kills, {faults} runs lost: {bound}."),
    }
}

/// Kills by moment and outcome.
fn outcomes(trials: &[&Trial]) -> String {
    let count = |class: Class, is: &dyn Fn(&Trial) -> bool| {
        trials.iter().filter(|t| t.class == class && is(t)).count()
    };
    let mut head = vec!["killed"];
    head.extend(Outcome::ALL.map(Outcome::word));
    head.extend(["steps finished at the kill", "lost"]);
    let rows: Vec<Vec<String>> = Class::ALL
        .iter()
        .map(|class| {
            let mut row = vec![class.word().to_owned()];
            let good = |outcome| {
                count(*class, &|t: &Trial| t.outcome == outcome && t.fault.is_none()).to_string()
            };
            row.extend(Outcome::ALL.map(good));
            let of = trials.iter().filter(|t| t.class == *class).map(|t| t.steps.0);
            row.push(match (of.clone().min(), of.max()) {
                (Some(least), Some(most)) if least == most => least.to_string(),
                (Some(least), Some(most)) => format!("{least}–{most}"),
                _ => "–".to_owned(),
            });
            row.push(count(*class, &|t: &Trial| t.fault.is_some()).to_string());
            row
        })
        .collect();
    sheet::table(1, &head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The rule of three: a claim that is too bold would be believed.
    #[test]
    fn no_loss_in_two_hundred_bounds_the_share_at_one_and_a_half_percent() {
        assert!(
            verdict(0, 200)
                .starts_with("200 kills, no run lost: with 95% confidence, fewer than 1.5%")
        );
        assert!(verdict(2, 200).contains("2 runs lost") && verdict(2, 200).contains("3.1%"));
    }
}
