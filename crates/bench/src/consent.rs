//! The safety gate's talk: what writing would cost, and the word that consents to it.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::Path;

use anyhow::Result;
use block::{Bytes, quoted};
use linux::gate::{self, GateError, Hazard, Permit, Reason, Refusal, Request};
use linux::sysfs::Roots;
use workload::plan::{Plan, Step};

use runner::messages;

/// The user's answer to writing.
#[derive(Clone, Copy, Debug)]
pub struct Consent<'a> {
    /// The word of consent, when it was typed with the command.
    pub consent: Option<&'a String>,
    /// Hazards that the user allowed, by name.
    pub allow: &'a [String],
}

/// Asks the safety gate for the right to write `bytes_to_write` (`None`: no bound but time) to an existing file or
/// device. A person at a terminal who has not said the word yet is shown the cost and may type it now.
///
/// # Errors
/// The gate's refusal, with every reason.
pub fn ask(said: Consent<'_>, path: &Path, bytes_to_write: Option<Bytes>) -> Result<Permit> {
    let roots = Roots::default();
    let allow = said.allow.iter().map(|word| word.parse()).collect::<Result<BTreeSet<_>, _>>()?;
    let mut request = Request { bytes_to_write, allow, consent: said.consent.cloned() };
    let permit = match gate::check(&roots, path, &request) {
        Err(GateError::Refused(refusal)) if can_be_asked(&refusal) && at_terminal() => {
            messages::note(&refusal.to_string());
            for hazard in unknowns(&refusal) {
                let question = format!(
                    "Type {hazard} to write although that is not known, or nothing to stop: "
                );
                if messages::read_line(&question)?.trim() == hazard.to_string() {
                    request.allow.insert(hazard.clone());
                }
            }
            if unknowns(&refusal).all(|hazard| request.allow.contains(hazard))
                && request.consent.is_none()
            {
                let word = messages::read_line("Type it to consent, or nothing to stop: ")?;
                request.consent = Some(word.trim().to_owned());
            }
            gate::check(&roots, path, &request)?
        }
        answer => answer?,
    };
    messages::note(&format!("{}: {}", path.display(), permit.cost()));
    Ok(permit)
}

/// Finds out whether [`ask`] will be refused, without opening anything for writing: for what writes to one drive before it comes
/// to another. A word that a person may still type is not missed yet.
///
/// # Errors
/// The gate's refusal, with every reason.
pub fn foresee(said: Consent<'_>, path: &Path, bytes_to_write: Option<Bytes>) -> Result<()> {
    let allow = said.allow.iter().map(|word| word.parse()).collect::<Result<BTreeSet<_>, _>>()?;
    let request = Request { bytes_to_write, allow, consent: said.consent.cloned() };
    match gate::look(&Roots::default(), path, &request) {
        Err(GateError::Refused(refusal)) if can_be_asked(&refusal) && at_terminal() => Ok(()),
        answer => Ok(answer?),
    }
}

/// The flags that consent to writing to the file or device of this name, to be typed, with what the gate would have to be
/// allowed as far as it can be looked at.
pub fn flags_for(name: &str) -> String {
    known_flags(name).unwrap_or_else(|| {
        "--write --consent WORD, and `drivescope devices` shows the word".to_owned()
    })
}

/// The same, where the word is known.
pub fn known_flags(name: &str) -> Option<String> {
    let (roots, path) = (Roots::default(), Path::new(name));
    let word = gate::word(&roots, path)?;
    let mut flags = format!("--write --consent {}", quoted(&word));
    if let Err(GateError::Refused(refusal)) = gate::look(&roots, path, &Request::default()) {
        let hazards: BTreeSet<String> = refusal
            .reasons
            .iter()
            .filter_map(|reason| match reason {
                Reason::NotAllowed { hazard, .. } => Some(hazard.to_string()),
                _ => None,
            })
            .collect();
        for hazard in hazards {
            flags += &format!(" --allow {hazard}");
        }
    }
    Some(flags)
}

/// True when a person can resolve all reasons of a refusal: the word is missing, or facts are unknown.
fn can_be_asked(refusal: &Refusal) -> bool {
    let is_word = |reason: &Reason| matches!(reason, Reason::NoConsent { given: None, .. });
    let count = unknowns(refusal).count() + refusal.reasons.iter().filter(|r| is_word(r)).count();
    count == refusal.reasons.len()
}

/// Unknown facts about the target that the user can allow.
fn unknowns(refusal: &Refusal) -> impl Iterator<Item = &Hazard> {
    refusal.reasons.iter().filter_map(|reason| match reason {
        Reason::NotAllowed { hazard, .. } => {
            matches!(hazard, Hazard::UnknownUsers | Hazard::UnknownContent).then_some(hazard)
        }
        _ => None,
    })
}

/// True where a person can be asked.
pub fn at_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Most bytes that `plan` writes, where it bounds them by bytes, by counts of I/Os, or by a budget.
pub fn bytes_to_write(plan: &Plan) -> Option<Bytes> {
    let budget = plan.schedule.write_budget;
    if plan.schedule.until.is_some() {
        return budget;
    }
    let runs = u64::from(plan.schedule.runs) + u64::from(plan.schedule.discard_first);
    let once = plan.steps.iter().map(of_step).sum::<Option<Bytes>>();
    let all = once.map(|bytes| Bytes(bytes.0.saturating_mul(runs)));
    all.map_or(budget, |all| Some(budget.map_or(all, |budget| budget.min(all))))
}

fn of_step(step: &Step) -> Option<Bytes> {
    step.phases
        .iter()
        .filter(|phase| phase.alters())
        .map(|phase| {
            let by_ios = phase.stop.ios.map(|ios| ios.saturating_mul(phase.block.0));
            let limits = [phase.stop.bytes.map(|b| b.0), by_ios];
            limits.into_iter().flatten().min().map(Bytes)
        })
        .sum()
}
