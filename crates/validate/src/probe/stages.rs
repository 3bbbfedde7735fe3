//! The probes, one after the other, each given what the earlier ones found.

use ::probe::{Desk, Finding, Halt, Known, Name, Verdict};

/// One probe at its defaults.
pub struct Stage {
    /// What it is called on stderr and in the page.
    pub name: &'static str,
    /// What it answers. It is left out when none of this, and nothing that follows from it, was asked for.
    pub answers: &'static [Name],
    /// What it takes from those before it.
    pub needs: &'static [Name],
    /// True for another way to an answer, which is taken only when the first one did not decide.
    pub fallback: bool,
    /// Asks the drive.
    pub ask: fn(&mut Desk<'_>, &Known) -> Result<Vec<Finding>, Halt>,
}

/// All of them, in their order.
pub const STAGES: [Stage; 0] = [];

/// Why a drive was not asked to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halted {
    /// The stage.
    pub stage: &'static str,
    /// What it said.
    pub why: String,
}

/// Asks a drive everything that `wanted` takes, and lets `known` learn the answers. Gives what went wrong; the other
/// stages are asked all the same.
pub fn ask(desk: &mut Desk<'_>, known: &mut Known, wanted: &[Name]) -> Vec<Halted> {
    let mut halted = Vec::new();
    for stage in needed(&STAGES, wanted) {
        let decided = |name: &Name| {
            known.given(*name).is_some()
                || known.finding(*name).is_some_and(|f| f.verdict != Verdict::Unknown)
        };
        if stage.fallback && stage.answers.iter().all(decided) {
            continue;
        }
        match (stage.ask)(desk, known) {
            Ok(findings) => known.learn(&findings),
            Err(halt) => halted.push(Halted { stage: stage.name, why: halt.to_string() }),
        }
    }
    halted
}

/// The stages that answer what is wanted, and those that these take something from.
fn needed<'a>(stages: &'a [Stage], wanted: &[Name]) -> Vec<&'a Stage> {
    let mut wanted = wanted.to_vec();
    let mut kept = Vec::new();
    for stage in stages.iter().rev() {
        if stage.answers.iter().any(|name| wanted.contains(name)) {
            wanted.extend(stage.needs);
            kept.push(stage);
        }
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &'static str, answers: &'static [Name], needs: &'static [Name]) -> Stage {
        Stage { name, answers, needs, fallback: false, ask: |_, _| Ok(Vec::new()) }
    }

    // Breaks when a probe is asked without what it builds on, or all are asked where one was wanted.
    #[test]
    fn what_is_wanted_brings_what_it_needs() {
        let stages = [
            stage("a", &[Name::EraseBlock, Name::Page], &[]),
            stage("b", &[Name::OpenAuLinear], &[Name::EraseBlock]),
            stage("c", &[Name::FatZone], &[Name::OpenAuLinear]),
        ];
        let names = |wanted: &[Name]| -> Vec<&str> {
            needed(&stages, wanted).iter().map(|stage| stage.name).collect()
        };
        assert_eq!(names(&[Name::Page]), ["a"]);
        assert_eq!(names(&[Name::OpenAuLinear]), ["a", "b"]);
        assert_eq!(names(&[Name::FatZone]), ["a", "b", "c"]);
        assert!(names(&[Name::Chunk]).is_empty());
    }
}
