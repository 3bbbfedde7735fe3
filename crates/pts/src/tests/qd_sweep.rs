//! Random writes by queue depth, at true steady state: the sweep that source reviews show, begun when the drive is
//! steady by our rule and not before, in one run with the preconditioning.

use block::Bytes;
use stats::Caveat;
use stats::remedy::Run;

use crate::ask::Ask;
use crate::body::{Body, StageKind};
use crate::desk::{Desk, Halt};
use crate::options::{Rule, Test};
use crate::precondition::{add, push_random, stage_of, wipc};
use crate::table::Table;
use crate::tests::{Curve, Samples, addresses, random};
use crate::tracker::{Figure, Tracker};
use crate::window::Window;

/// Depths of one submitter.
const DEPTHS: [u16; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Most fills before the sweep; a drive that is not steady then is swept all the same, and said not to be.
const FILLS_MAX: f64 = 60.0;
/// Rate at the end of the sweep beside that at its beginning, above which the drive did not stay what it was.
const DRIFT_MAX: f64 = 0.05;

/// Runs it.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    body.purge = desk.begin(Test::QdSweep)?;
    wipc(desk, body, Bytes::kib(128))?;
    let mut taken = to_steady(desk, body)?;
    let engines = desk.engines();
    let mut columns = Vec::new();
    for engine in &engines {
        for figure in ["IOPS", "MB/s", "ART, us", "p99.9, us", "CPU, %"] {
            columns.push(format!("{engine}: {figure}"));
        }
    }
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("RND 4 KiB writes by queue depth, one thread", "depth", &names);
    let first = one(desk, &mut taken, 32)?;
    for depth in DEPTHS {
        let mut values = Vec::new();
        for engine in &engines {
            desk.choose(engine);
            let window = one(desk, &mut taken, depth)?;
            let us = |ns: u64| ns as f64 / 1e3;
            values.extend([
                Some(window.iops),
                Some(window.mb_s),
                Some(window.latency_ns.mean / 1e3),
                window.latency_ns.p999.map(us),
                window.cpu_percent,
            ]);
        }
        table.push(depth.to_string(), values);
        body.tables.insert("qd_sweep".to_owned(), table.clone());
        desk.whole(&format!("depth {depth} of qd-sweep"))?;
    }
    if let Some(engine) = engines.first() {
        desk.choose(engine);
    }
    let last = one(desk, &mut taken, 32)?;
    desk.whole("the end of qd-sweep")?;
    let drift = last.iops / first.iops - 1.0;
    let mut table = Table::new("Depth 32 before and after the sweep", "when", &["IOPS"]);
    table.push("before", vec![Some(first.iops)]);
    table.push("after", vec![Some(last.iops)]);
    body.tables.insert("drift".to_owned(), table);
    if drift.abs() > DRIFT_MAX {
        body.caveats.push(Caveat::new(
            "drift_over_sweep",
            &body.device.name,
            format!(
                "at depth 32 the drive wrote {:+.1}% at the end of the sweep beside its beginning",
                drift * 100.0
            ),
            Run::PreconditionLonger,
        ));
    }
    Ok(())
}

fn one(desk: &mut Desk<'_>, taken: &mut u64, depth: u16) -> Result<Window, Halt> {
    let ask = random(desk.options, Bytes::kib(4), 0, desk.minutes(1.0));
    let address = addresses(desk.options, *taken);
    let made = desk.stretch(&Ask { threads: 1, depth, address, ..ask })?;
    *taken += made.window.ios_issued;
    Ok(made.window)
}

/// Random writes, minute by minute, until our rule has an answer, or as often as the options say; returns how many were issued.
///
/// # Errors
/// [`Halt`].
pub(crate) fn to_steady(desk: &mut Desk<'_>, body: &mut Body) -> Result<u64, Halt> {
    let range = desk.region().length;
    let mut tracker = Tracker::new(desk, body, (Figure::Iops, "RND 4KiB 0/100"));
    let (mut samples, mut curve) = (Samples::new("Preconditioning", range), Curve::default());
    let (mut stage, mut taken) = (None, 0);
    for minute in 1.. {
        let ask = random(desk.options, Bytes::kib(4), 0, desk.minutes(1.0));
        let address = addresses(desk.options, taken);
        let made = desk.stretch(&Ask { round: Some(minute), address, ..ask })?;
        taken += made.window.ios_issued;
        samples.push(minute.to_string(), &made.window);
        curve.push(&made.window);
        let stage = stage.get_or_insert_with(|| stage_of(StageKind::Wdpc, &made.window));
        add(stage, &made, range);
        tracker.see(&made, true);
        tracker.round(desk, minute, made.window);
        desk.whole(&format!("minute {minute} of the preconditioning of {}", body.test.word()))?;
        let is_over = match desk.options.until {
            Rule::Fills(wanted) => stage.fills >= wanted,
            Rule::Pts | Rule::Bytes => tracker.is_over_by(Rule::Bytes) || stage.fills >= FILLS_MAX,
        };
        if is_over {
            break;
        }
    }
    tracker.tell(body);
    if let Some(stage) = stage {
        push_random(body, stage, tracker.is_steady());
    }
    body.tables.insert("preconditioning".to_owned(), samples.table());
    body.tables.insert("curve".to_owned(), curve.table("IOPS over time"));
    Ok(taken)
}
