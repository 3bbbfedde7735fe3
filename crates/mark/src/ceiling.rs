//! The rate that the tester itself could reach.

use block::{Bytes, Environment, Nanos, NullSink};
use engine::{Control, EngineError, IoPath, Samples};
use workload::plan::{Arrival, Phase, Plan, Region, Step, Stop};

/// The tester's own limit for one step: the same plan on a drive that completes at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// I/Os per second that this tester can issue and reap at most; above zero.
    pub iops: f64,
    /// True when each I/O went through the kernel as the measured drive's do; false when it completed in
    /// this program, which shows a limit that no drive could reach.
    pub through_kernel: bool,
}

/// Measures the tester's own limit for `step` on `null`, a target that costs nothing: its measured phases,
/// one by one, in a closed loop of their depth, for arrivals at intended times would only show their own
/// rate. `None` for a step of which nothing is measured, and where no I/O completed.
///
/// `null` should go through the kernel as the measured drive does (`through_kernel` records whether it does), and
/// be of the same size: what completes without a system call shows a limit that no drive could reach, and a
/// larger region makes the audit of addresses more expensive than it is.
///
/// It is the rate of the best slice of time, where a slice holds enough I/Os to be one: what else the machine
/// does for a moment lowers what is reached, not what can be reached, and a limit that is too low would
/// refute a drive that is far from it. Where an I/O takes long by itself, as one of which much content
/// is made, it is that of a whole run.
///
/// # Errors
/// [`EngineError`] when the step cannot be run there.
pub fn ceiling(
    step: &Step,
    plan: &Plan,
    (null, through_kernel): (&mut dyn IoPath, bool),
    environment: &mut dyn Environment,
    control: Control<'_>,
) -> Result<Option<Ceiling>, EngineError> {
    let length = null.info().capacity_bytes;
    let whole = Region { offset: Bytes::ZERO, length };
    let region = plan.region.unwrap_or(whole);
    let seeded = (region, plan.content, plan.seed);
    let control = Control { trace_cap: 0, ..control };
    let some = ENOUGH.max(u64::from(step.submitters));
    let stops = [
        Stop { after: Some(CEILING_WINDOW), ..Stop::default() },
        Stop { after: Some(CEILING_WINDOW_MAX), ios: Some(some), ..Stop::default() },
    ];
    let mut rates = Vec::new();
    for phase in step.phases.iter().filter(|p| p.measured) {
        let mut rate = None;
        for stop in stops {
            let arrival = Arrival::ClosedLoop { depth: phase.arrival.depth() };
            let phases = vec![Phase { stop, arrival, ..phase.clone() }];
            let alone = Step { phases, ..step.clone() };
            let samples = null.run_step(environment, &alone, seeded, control, &mut NullSink)?;
            rate = best_rate(&samples);
            if samples.totals.ios >= ENOUGH {
                break;
            }
        }
        let Some(rate) = rate else { return Ok(None) };
        rates.push(rate);
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    Ok((!rates.is_empty()).then_some(Ceiling { iops: mean, through_kernel }))
}

/// I/Os per second in the best slice of a run of one phase, if it holds enough of them; or else from the
/// first request to the last completion, where no I/O is cut off. `None` when none completed.
fn best_rate(samples: &Samples) -> Option<f64> {
    let per_s = |ios: u64, span: Nanos| {
        (ios > 0 && span > Nanos::ZERO).then(|| ios as f64 * 1e9 / span.0 as f64)
    };
    let slices = samples.phases.first().map(|phase| &phase.series);
    let fullest = slices.and_then(|s| Some((*s.ios.iter().max()?, s.slice)));
    match fullest {
        Some((ios, slice)) if ios >= ENOUGH => per_s(ios, slice),
        _ => per_s(samples.totals.ios, samples.elapsed),
    }
}

/// I/Os from which on one more or less at the edge of a slice does not matter.
const ENOUGH: u64 = 64;
/// Long enough for tens of thousands of I/Os, short enough to add nothing that a user notices.
const CEILING_WINDOW: Nanos = Nanos::millis(60);
/// For a step whose I/Os take milliseconds by themselves, until there are [`ENOUGH`].
const CEILING_WINDOW_MAX: Nanos = Nanos::millis(300);
