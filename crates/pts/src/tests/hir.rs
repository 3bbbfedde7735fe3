//! Host idle recovery: does a drive that writes with pauses recover in them, and how fast is what it gained gone?

use block::{Bytes, Nanos};
use workload::plan::Stop;

use crate::ask::Ask;
use crate::body::Body;
use crate::desk::{Desk, Halt};
use crate::options::Test;
use crate::precondition::half_hours;
use crate::table::Table;
use crate::tests::{Samples, addresses, random};

/// Pauses, in seconds of a minute of sixty.
const PAUSES_S: [f64; 5] = [5.0, 10.0, 15.0, 25.0, 50.0];
/// Cycles of a pause, and stretches of the return to the baseline after them.
const CYCLES: u32 = 360;
/// Seconds of each stretch of writes.
const WRITES_S: f64 = 5.0;
/// Cycles after which the run can be gone on with.
const WHOLE_EVERY: u32 = 60;

/// Runs it.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    body.purge = desk.begin(Test::Hir)?;
    let mut taken = 0;
    half_hours(desk, body, "RND 4KiB 0/100", &mut |desk, minutes, sample| {
        let ask = writes(desk, taken, desk.minutes(minutes));
        let made = desk.stretch(&Ask { round: Some(sample), ..ask })?;
        taken += made.window.ios_issued;
        Ok(made)
    })?;
    let mut series = Samples::new("IOPS over time, all pauses", desk.region().length);
    let mut summary = Table::new(
        "What a pause gains",
        "pause, s",
        &[
            "first 10 writes after pauses, IOPS",
            "last 10 writes after pauses, IOPS",
            "last 10 without pauses, IOPS",
            "gain, %",
        ],
    );
    for pause in PAUSES_S {
        let (mut paused, mut unpaused) = (Vec::new(), Vec::new());
        for cycle in 1..=2 * CYCLES {
            let ask = writes(desk, taken, desk.minutes(WRITES_S / 60.0));
            let made = match desk.stretch(&ask) {
                Ok(made) => made,
                Err(halt) => {
                    body.tables.insert("series".to_owned(), series.table());
                    return Err(halt);
                }
            };
            taken += made.window.ios_issued;
            let phase = if cycle <= CYCLES { "A" } else { "C" };
            series.push(format!("{phase} {pause} s, {cycle}"), &made.window);
            if cycle <= CYCLES {
                paused.push(made.window.iops);
                let span: Nanos = desk.span(pause / 60.0);
                desk.rest(span)?;
            } else {
                unpaused.push(made.window.iops);
            }
            if cycle % WHOLE_EVERY == 0 {
                desk.whole(&format!("cycle {cycle} of pauses of {pause} s"))?;
            }
        }
        let ends = |values: &[f64], last: bool| {
            let n = values.len().min(10);
            let part = if last { &values[values.len() - n..] } else { &values[..n] };
            (n > 0).then(|| part.iter().sum::<f64>() / n as f64)
        };
        let (with, without) = (ends(&paused, true), ends(&unpaused, true));
        let gain = with.zip(without).map(|(with, without)| (with / without - 1.0) * 100.0);
        summary.push(format!("{pause}"), vec![ends(&paused, false), with, without, gain]);
        body.tables.insert("recovery".to_owned(), summary.clone());
    }
    body.tables.insert("series".to_owned(), series.table());
    Ok(())
}

fn writes(desk: &Desk<'_>, taken: u64, stop: Stop) -> Ask {
    let ask = random(desk.options, Bytes::kib(4), 0, stop);
    Ask { address: addresses(desk.options, taken), ..ask }
}
