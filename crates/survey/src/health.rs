//! Health that the drives at the bottom of the stack report.

use block::health::{Finding, Health, Severity, Standing};
use probe::advice::Advice;
use stats::{Assessment, Lenient};

use crate::conclusion::{Conclusion, Topic, Value};
use crate::seen::Seen;

pub fn conclude(seen: &Seen<'_>) -> Vec<Conclusion> {
    seen.health.iter().map(of_drive).collect()
}

fn of_drive(health: &Health) -> Conclusion {
    let topic = Topic::Health;
    let grave = |finding: &&Finding| finding.severity != Severity::Note;
    let told = facts(health);
    let name = &health.device;
    let said = match health.standing {
        Standing::NotTold => {
            let why = health.missing.get("says_good").cloned();
            let why = why.unwrap_or_else(|| "it does not judge itself".to_owned());
            Conclusion::unknown(topic, format!("{name} does not report it: {why}"))
        }
        standing => {
            let is_bad = |finding: &&Finding| finding.is_bad();
            let worst = health.findings.iter().find(is_bad).or(health.findings.iter().find(grave));
            let worst = worst.map(|finding| finding.cause.clone());
            let (word, statement) = match (standing, worst) {
                (Standing::Bad, worst) => {
                    ("bad", worst.unwrap_or_else(|| "it says that it fails".to_owned()))
                }
                (Standing::Attention, worst) => {
                    ("attention", worst.unwrap_or_else(|| "something speaks against it".to_owned()))
                }
                _ => (
                    "good",
                    "it judges itself good, and nothing that it reports contradicts that"
                        .to_owned(),
                ),
            };
            // The drive's own report is quoted as it is, so there is no confidence to give.
            Conclusion::found(
                topic,
                format!("{name}: {statement}"),
                Value::Word(word.to_owned()),
                None,
            )
        }
    };
    let advice = health.findings.iter().filter(grave).map(|finding| Advice {
        topic: Lenient::Other(topic.word().to_owned()),
        erases: None,
        command: None,
        why: format!("{}: {}", finding.cause, finding.remedy),
    });
    let assessment = match health.standing {
        Standing::Good => Assessment::Good,
        _ if health.is_bad() => Assessment::Bad,
        _ => Assessment::Neutral,
    };
    let said = Conclusion { advice: advice.collect(), ..said }.assessed(assessment);
    if told.is_empty() { said } else { said.seen("health", told) }
}

/// Wear, temperature and errors, as far as the drive reports them.
fn facts(health: &Health) -> String {
    let facts = [
        health.life_used_percent.map(|percent| format!("{percent}% of its rated life used")),
        health.spare_percent.map(|percent| format!("{percent}% of its spare capacity left")),
        health.temperature_c.map(|degrees| format!("{degrees} °C")),
        health.media_errors.map(|errors| match errors {
            1 => "1 error of its medium".to_owned(),
            errors => format!("{errors} errors of its medium"),
        }),
        health.power_on_hours.map(|hours| format!("{hours} hours with power")),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
