//! Whether the numbers can be trusted: the proofs of all rates, and the doubts of all parts.

use stats::{Assessment, Verdict};

use crate::conclusion::{Conclusion, Topic, Value};
use crate::seen::Seen;

pub fn conclude(seen: &Seen<'_>) -> Option<Conclusion> {
    let mark = seen.mark?;
    let topic = Topic::Trust;
    let refuted = |test: &&mark::body::Test| {
        test.proofs.named().iter().any(|(_, proof)| proof.verdict == Verdict::Refuted)
    };
    let (all, doubtful) = (mark.tests.len(), mark.tests.iter().filter(refuted).count());
    if all == 0 {
        return Some(Conclusion::unknown(topic, "nothing was measured"));
    }
    let named: Vec<&str> = mark
        .tests
        .iter()
        .flat_map(|test| test.proofs.named())
        .filter(|(_, proof)| proof.verdict == Verdict::Refuted)
        .map(|(name, _)| name)
        .fold(Vec::new(), |mut names, name| {
            if !names.contains(&name) {
                names.push(name);
            }
            names
        });
    let caveats: usize =
        mark.caveats.len() + seen.probes.iter().map(|body| body.caveats.len()).sum::<usize>();
    let told = format!("{all} rates with six proofs each; {caveats} doubts of all parts");
    let (word, assessment, statement) = match doubtful {
        0 => ("yes", Assessment::Good, format!("no proof of the {all} results is refuted")),
        some if some == all => (
            "no",
            Assessment::Bad,
            format!("each of {all} results failed a check: {}", named.join(", ")),
        ),
        some => (
            "in part",
            Assessment::Neutral,
            format!("{some} of {all} results failed a check: {}", named.join(", ")),
        ),
    };
    let said = Conclusion::found(topic, statement, Value::Word(word.to_owned()), None);
    Some(said.assessed(assessment).seen("mark", told))
}
