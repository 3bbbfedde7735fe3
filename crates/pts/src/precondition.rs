//! Bringing a drive to its state, whatever is measured afterwards.

use block::Bytes;

use crate::ask::Ask;
use crate::body::{Body, Preconditioning};
use crate::desk::{Desk, Halt};
use crate::tests::sequential;
use crate::window::{Role, Window};

/// Parts of a fill: a run that is broken off goes on after the last whole one.
const PARTS: u64 = 8;
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

/// Writes the whole range, one block of `block` after the other, so many times.
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
        let stage = whole.get_or_insert_with(|| stage_of("wipc", &made.window));
        add(stage, &made.window, range);
        stage.coverage = (stage.bytes_written as f64 / range.0 as f64).min(1.0);
        stage.overwrite_distance_bytes = Some(range.0);
        desk.whole(&format!("part {} of the fill of {}", part + 1, body.test.word()))?;
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

/// A stage without bytes yet, with the load of `window`.
pub fn stage_of(kind: &str, window: &Window) -> Preconditioning {
    Preconditioning {
        kind: kind.to_owned(),
        load: window.load.clone(),
        threads: window.threads,
        depth: window.depth,
        bytes_written: 0,
        fills: 0.0,
        coverage: 0.0,
        overwrite_distance_bytes: None,
        duration_ns: 0,
        is_accepted: false,
        reason: String::new(),
    }
}

/// Adds what a window wrote.
pub fn add(stage: &mut Preconditioning, window: &Window, range: Bytes) {
    stage.bytes_written += window.bytes_written;
    stage.duration_ns += window.duration_ns;
    stage.fills = stage.bytes_written as f64 / range.0.max(1) as f64;
}
