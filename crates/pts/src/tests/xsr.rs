//! Cross stimulus recovery: sequential writes, then random ones, then sequential ones again. How long does the drive
//! take to be as fast as before?

use block::Bytes;

use crate::ask::Ask;
use crate::body::Body;
use crate::desk::{Desk, Halt};
use crate::options::Test;
use crate::table::Table;
use crate::tests::{Samples, random, sequential};
use crate::window::Window;

/// Hours of the groups.
const HOURS: [u32; 3] = [8, 6, 8];
/// Samples after which the run can be gone on with.
const WHOLE_EVERY: u32 = 30;
/// Queue depth, which the specification leaves to the operator.
const DEPTH: u16 = 32;

/// Runs it.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    body.purge = desk.begin(Test::Xsr)?;
    let mut series = Samples::new("Samples of a minute", desk.region().length);
    let mut groups: [Vec<Window>; 3] = Default::default();
    let large = Bytes::mib(1);
    let mut next = 0;
    for (group, hours) in HOURS.into_iter().enumerate() {
        for minute in 1..=hours * 60 {
            let ask = match group {
                1 => random(desk.options, Bytes::kib(8), 0, desk.minutes(1.0)),
                _ => sequential(desk.options, large, 0, next, desk.minutes(1.0)),
            };
            let made = desk.stretch(&Ask { threads: 1, depth: DEPTH, ..ask });
            let made = match made {
                Ok(made) => made,
                Err(halt) => {
                    body.tables.insert("series".to_owned(), series.table());
                    return Err(halt);
                }
            };
            if group != 1 {
                let blocks = (desk.region().length.0 / large.0).max(1);
                next = (next + made.window.bytes_written / large.0) % blocks;
            }
            series.push(format!("G{}, {minute}", group + 1), &made.window);
            groups[group].push(made.window);
            if minute % WHOLE_EVERY == 0 {
                desk.whole(&format!("minute {minute} of group {} of xsr", group + 1))?;
            }
        }
        body.tables.insert("groups".to_owned(), table(&groups));
    }
    body.tables.insert("series".to_owned(), series.table());
    Ok(())
}

/// The end of each group, its greatest response times, and how long the last took to be as fast as the first.
fn table(groups: &[Vec<Window>; 3]) -> Table {
    let mut table = Table::new(
        "Groups",
        "group",
        &["throughput at its end, MB/s", "greatest ART, us", "greatest MRT, us", "recovery, min"],
    );
    let mean = |windows: &[Window]| {
        windows.iter().map(|w| w.mb_s).sum::<f64>() / windows.len().max(1) as f64
    };
    for (at, windows) in groups.iter().enumerate().filter(|(_, windows)| !windows.is_empty()) {
        let last = &windows[windows.len().saturating_sub(5)..];
        let most =
            |figure: &dyn Fn(&Window) -> f64| windows.iter().map(figure).fold(0.0_f64, f64::max);
        let recovered = (at == 2).then(|| {
            let wanted = mean(&groups[0]);
            windows.iter().position(|window| window.mb_s >= wanted).map(|at| (at + 1) as f64)
        });
        let name = ["G1, SEQ 1024 KiB", "G2, RND 8 KiB", "G3, SEQ 1024 KiB"][at];
        table.push(
            name,
            vec![
                Some(mean(last)),
                Some(most(&|w| w.latency_ns.mean / 1e3)),
                Some(most(&|w| w.latency_ns.max as f64 / 1e3)),
                recovered.flatten(),
            ],
        );
    }
    table
}
