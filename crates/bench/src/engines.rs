//! The engine that a verb uses: the one that was asked for, or the first that the kernel allows.

use std::sync::{Mutex, PoisonError};

use block::{EngineChoice, EngineKind};
use drives::TargetSpec;
use linux::engines::{Chosen, choose};
use rustix::io::Errno;
use serde_json::{Value, json};

use runner::messages;

/// Answers of the kernel so far, by the engine that was tried first: they hold for the whole process, and are said once.
static CHOSEN: Mutex<Vec<(EngineKind, Chosen)>> = Mutex::new(Vec::new());

/// The engine for I/O to `target`. Virtual drives have none, and the kernel is not asked.
pub fn chosen(target: &TargetSpec, choice: EngineChoice) -> EngineKind {
    let first = match choice {
        EngineChoice::From(first) if target.is_real() => first,
        _ => return choice.first(),
    };
    let mut known = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, chosen)) = known.iter().find(|(of, _)| *of == first) {
        return chosen.kind;
    }
    let chosen = choose(first);
    if let [(_, error), ..] = &chosen.refused[..] {
        let names: Vec<&str> = chosen.refused.iter().map(|(kind, _)| kind.word()).collect();
        let are = if names.len() > 1 { "are" } else { "is" };
        let names = names.join(" and ");
        messages::note(&format!(
            "{names} {are} blocked here ({}); using {}",
            why(error),
            chosen.kind
        ));
    }
    let kind = chosen.kind;
    known.push((first, chosen));
    kind
}

/// Engines that the kernel refused, for a record; `None` where it refused none.
pub fn refused() -> Option<Value> {
    let known = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    let refused: Vec<Value> = known
        .iter()
        .flat_map(|(_, chosen)| &chosen.refused)
        .map(|(kind, error)| json!({ "engine": kind, "error": error.to_string() }))
        .collect();
    (!refused.is_empty()).then(|| refused.into())
}

/// The kernel's answer, and what may be behind it.
fn why(error: &std::io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::PERM | Errno::ACCESS) => {
            "EPERM: a seccomp profile, or sysctl kernel.io_uring_disabled".to_owned()
        }
        Some(Errno::NOSYS) => "ENOSYS: a seccomp profile, or a kernel without it".to_owned(),
        _ => error.to_string(),
    }
}
