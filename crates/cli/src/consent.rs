//! The safety gate's talk: what writing would cost, and the word that consents to it.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::Path;

use anyhow::Result;
use block::{Bytes, quoted};
use linux::gate::{self, GateError, Permit, Reason, Refusal, Request};
use linux::sysfs::Roots;
use workload::plan::{Plan, Step};

use crate::talk;

/// What the user said to writing.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The word of consent, when it was typed with the command.
    pub consent: Option<&'a String>,
    /// What may be lost, by name.
    pub allow: &'a [String],
}

/// Asks the safety gate for the right to write `bytes_to_write` (`None`: no bound but time) to an existing file or
/// device. A person at a terminal who has not said the word yet is shown the cost and may type it now.
///
/// # Errors
/// The gate's refusal, with every reason.
pub fn ask(said: Said<'_>, path: &Path, bytes_to_write: Option<Bytes>) -> Result<Permit> {
    let roots = Roots::default();
    let allow = said.allow.iter().map(|word| word.parse()).collect::<Result<BTreeSet<_>, _>>()?;
    let mut request = Request { bytes_to_write, allow, consent: said.consent.cloned() };
    let permit = match gate::check(&roots, path, &request) {
        Err(GateError::Refused(refusal)) if consent_is_all(&refusal) && at_terminal() => {
            talk::note(&refusal.to_string());
            let word = talk::read_line("Type it to consent, or nothing to stop: ")?;
            request.consent = Some(word.trim().to_owned());
            gate::check(&roots, path, &request)?
        }
        answer => answer?,
    };
    talk::note(&format!("{}: {}", path.display(), permit.cost()));
    Ok(permit)
}

/// Asks the safety gate what [`ask`] will ask it, and gives the right back: for what writes to one drive before it comes
/// to another. A word that a person may still type is not missed yet.
///
/// # Errors
/// The gate's refusal, with every reason.
pub fn foresee(said: Said<'_>, path: &Path, bytes_to_write: Option<Bytes>) -> Result<()> {
    let allow = said.allow.iter().map(|word| word.parse()).collect::<Result<BTreeSet<_>, _>>()?;
    let request = Request { bytes_to_write, allow, consent: said.consent.cloned() };
    match gate::check(&Roots::default(), path, &request) {
        Err(GateError::Refused(refusal)) if consent_is_all(&refusal) && at_terminal() => Ok(()),
        answer => Ok(answer.map(drop)?),
    }
}

/// The flags that consent to writing to the file or device of this name, to be typed.
pub fn flags_for(name: &str) -> String {
    match gate::word(&Roots::default(), Path::new(name)) {
        Some(word) => format!("--write --consent {}", quoted(&word)),
        None => "--write --consent WORD, and `drivescope devices` tells the word".to_owned(),
    }
}

fn consent_is_all(refusal: &Refusal) -> bool {
    refusal.reasons.iter().all(|reason| matches!(reason, Reason::NoConsent { given: None, .. }))
}

fn at_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Most bytes that `plan` writes, where it bounds them by bytes or by counts of I/Os.
pub fn bytes_to_write(plan: &Plan) -> Option<Bytes> {
    if plan.schedule.until.is_some() {
        return None;
    }
    let runs = u64::from(plan.schedule.runs) + u64::from(plan.schedule.discard_first);
    let once = plan.steps.iter().map(of_step).sum::<Option<Bytes>>();
    once.map(|bytes| Bytes(bytes.0.saturating_mul(runs)))
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
