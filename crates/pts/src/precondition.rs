//! Bringing a drive to its state, whatever is measured afterwards.

use block::Bytes;

use crate::ask::Ask;
use crate::body::{Body, Preconditioning, StageKind};
use crate::desk::{Desk, Halt, Made};
use crate::fill::{PARTS, part_of_fill};
use crate::tests::{Samples, sequential};
use crate::tracker::{Figure, Tracker};
use crate::window::{Role, Window};

/// Requests outstanding while the range is filled.
const FILL_DEPTH: u16 = 32;

/// Workload-independent preconditioning (WIPC): writes of `block` one after the other over the whole range, as often
/// as the options say.
///
/// # Errors
/// [`Halt`].
pub fn wipc(desk: &mut Desk<'_>, body: &mut Body, block: Bytes) -> Result<(), Halt> {
    fill(desk, body, block, desk.options.wipc_fills)
}

/// Writes the whole range `fills` times, one block of `block` after the other.
///
/// # Errors
/// [`Halt`].
pub fn fill(desk: &mut Desk<'_>, body: &mut Body, block: Bytes, fills: u32) -> Result<(), Halt> {
    let range = desk.region().length;
    let blocks = range.0 / block.0;
    let mut whole: Option<Preconditioning> = None;
    for part in 0..u64::from(fills) * PARTS {
        let cut = |part: u64| part / PARTS * blocks + part % PARTS * blocks / PARTS;
        let (from, to) = (cut(part), cut(part + 1));
        if to == from {
            continue;
        }
        let stop = workload::plan::Stop { ios: Some(to - from), ..Default::default() };
        let ask = Ask {
            role: Role::Precondition,
            threads: 1,
            depth: FILL_DEPTH,
            ..sequential(desk.options, block, 0, from % blocks, stop)
        };
        let made = desk.stretch(&ask)?;
        let stage = whole.get_or_insert_with(|| stage_of(StageKind::Wipc, &made.window));
        add(stage, &made, range);
        stage.coverage = stage.fills.min(1.0);
        stage.overwrite_distance_bytes = Some(range.0);
        desk.whole(&part_of_fill(part + 1, body.test))?;
    }
    if let Some(mut stage) = whole {
        stage.reason = format!(
            "{:.2} fills one block after the other: the state of a drive that was filled, not of one that is written at random",
            stage.fills
        );
        stage.is_accepted = stage.fills >= 1.99;
        body.preconditioning.push(stage);
    }
    Ok(())
}

/// Minutes from one sample of a minute to the next, in the preconditioning that is the workload itself.
const SAMPLE_EVERY: f64 = 30.0;

/// Workload-dependent preconditioning (WDPC): the writes of a test until samples of a minute in each half hour are
/// steady. `load` names them; `stretch` issues them for the given minutes, as a part of the sample of the given number.
///
/// # Errors
/// [`Halt`].
pub fn half_hours(
    desk: &mut Desk<'_>,
    body: &mut Body,
    load: &str,
    stretch: &mut dyn FnMut(&mut Desk<'_>, f64, u32) -> Result<Made, Halt>,
) -> Result<(), Halt> {
    let mut tracker = Tracker::new(desk, body, (Figure::Iops, load));
    let range = desk.region().length;
    let mut samples = Samples::new("Preconditioning", range);
    let mut stage = None;
    let mut ended = Ok(());
    for sample in 1..=tracker.rounds_max() {
        ended = (|| {
            // The first stretch of a test may be the one that determines the length of a minute.
            for (part, minutes) in [1.0, SAMPLE_EVERY - 2.0, 1.0].into_iter().enumerate() {
                let made = stretch(desk, minutes, sample)?;
                add(
                    stage.get_or_insert_with(|| stage_of(StageKind::Wdpc, &made.window)),
                    &made,
                    range,
                );
                samples.push(format!("{sample}, {minutes} min"), &made.window);
                tracker.see(&made, true);
                if part == 2 {
                    tracker.round(desk, sample, made.window);
                }
            }
            desk.whole(&format!(
                "half hour {sample} of the preconditioning of {}",
                body.test.word()
            ))
        })();
        tracker.tell(body);
        if ended.is_err() || tracker.is_over() {
            break;
        }
    }
    if let Some(stage) = stage {
        push_random(body, stage, tracker.is_steady());
    }
    body.tables.insert("preconditioning".to_owned(), samples.table());
    ended
}

/// Adds a stage of random writes that brought the drive to where it is.
pub fn push_random(body: &mut Body, stage: Preconditioning, is_steady: bool) {
    // Of independent draws a share of e^-fills is never reached.
    body.preconditioning.push(Preconditioning {
        coverage: 1.0 - (-stage.fills).exp(),
        is_accepted: is_steady,
        reason: until_steady(stage.fills, is_steady),
        ..stage
    });
}

/// How random writes ended.
pub fn until_steady(fills: f64, is_steady: bool) -> String {
    match is_steady {
        true => format!("{fills:.2} fills, until the drive was steady"),
        false => format!("{fills:.2} fills, and the drive was not steady yet"),
    }
}

/// A stage without bytes yet, with the load of `window`.
pub fn stage_of(kind: StageKind, window: &Window) -> Preconditioning {
    Preconditioning {
        kind: kind.into(),
        load: window.load.clone(),
        threads: window.threads,
        depth: window.depth,
        bytes_written: 0,
        bytes_again: 0,
        fills: 0.0,
        coverage: 0.0,
        overwrite_distance_bytes: None,
        duration_ns: 0,
        is_accepted: false,
        reason: String::new(),
    }
}

/// Adds what a stretch wrote.
pub fn add(stage: &mut Preconditioning, made: &Made, range: Bytes) {
    let again: u64 = made.disturbed.iter().map(|window| window.bytes_written).sum();
    stage.bytes_again += again;
    stage.bytes_written += again + made.window.bytes_written;
    let disturbed_ns: u64 = made.disturbed.iter().map(|window| window.duration_ns).sum();
    stage.duration_ns += disturbed_ns + made.window.duration_ns;
    let counted = stage.bytes_written - stage.bytes_again;
    stage.fills = counted as f64 / range.0.max(1) as f64;
}
