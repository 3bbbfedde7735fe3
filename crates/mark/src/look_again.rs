//! The tester's own limit, measured once more where it decides.

use workload::plan::{Plan, Step};

use crate::ceiling::Ceiling;
use crate::execute::Executed;
use crate::proofs::unhindered;

/// Measures the tester's own limit once more, with `look` ([`crate::ceiling`]), for the tests that came near to the one that
/// was measured before the runs, and keeps the better: a limit that was measured in a moment in which the machine had other
/// things to do would refute a drive that is far from the real one.
///
/// # Errors
/// What `look` returns.
pub fn look_again<E>(
    plan: &Plan,
    executed: &mut Executed,
    mut look: impl FnMut(&Step) -> Result<Option<Ceiling>, E>,
) -> Result<(), E> {
    for (step, test) in plan.steps.iter().zip(&mut executed.tests) {
        let Some(before) = test.ceiling.filter(|_| unhindered::is_near(test)) else { continue };
        let again = look(step)?.filter(|again| again.iops > before.iops);
        test.ceiling = Some(again.unwrap_or(before));
    }
    Ok(())
}
