//! The enterprise composite (CBW), and any other load in its place (DIRTH): what a drive gives at each number of
//! threads and depth, and how long the requests take at three of them.

use workload::address::BlockShare;

use crate::ask::Ask;
use crate::body::Body;
use crate::desk::{Desk, Halt};
use crate::options::{Load, Test};
use crate::precondition::half_hours;
use crate::table::Table;
use crate::tests::enterprise::{SIZES, composite_blocks};
use crate::tests::{Samples, histogram, percentiles, wsat};
use crate::tracker::{Figure, Tracker};
use crate::window::Window;

/// Threads, and depths, from the greatest to the least.
const LEVELS: [u16; 7] = [32, 16, 8, 6, 4, 2, 1];
/// Minutes of writes between two rounds, before a point is measured, and of the point itself.
const BETWEEN_MINUTES: f64 = 5.0;
const BEFORE_MINUTES: f64 = 60.0;
const LOGGED_MINUTES: f64 = 10.0;
/// The best point is the one with the highest rate whose mean response time is below that.
const ART_MAX_NS: f64 = 5e6;

/// Runs CBW or DIRTH.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body, test: Test) -> Result<(), Halt> {
    let load = match test {
        Test::Dirth => desk.options.dirth,
        _ => Load { read_percent: 40, is_composite: true, ..Load::RANDOM_WRITES },
    };
    let composite = composite_blocks(desk.block_min());
    if load.is_composite && composite.len() < SIZES.len() {
        body.deviations.push(format!(
            "sizes of the composite that are no multiple of the drive's block of {} are 4 KiB",
            desk.block_min().human()
        ));
    }
    body.purge = desk.begin(test)?;
    let mut work = Work { load, composite, taken: 0 };
    work.precondition(desk, body)?;
    let cells = work.rounds(desk, body, test)?;
    for (name, (threads, depth)) in points(&cells) {
        work.point(desk, body, name, (threads, depth))?;
    }
    Ok(())
}

/// The workload being measured.
struct Work {
    load: Load,
    composite: Vec<BlockShare>,
    /// I/Os issued so far.
    taken: u64,
}

impl Work {
    fn stretch(
        &mut self,
        desk: &mut Desk<'_>,
        read_percent: u8,
        (threads, depth): (u16, u16),
        (minutes, round): (f64, Option<u32>),
    ) -> Result<crate::desk::Made, Halt> {
        let load = Load { read_percent, ..self.load };
        let ask = wsat::ask(desk, load, self.taken, desk.minutes(minutes), &self.composite);
        let made = desk.stretch(&Ask { threads, depth, round, ..ask })?;
        self.taken += made.window.ios_issued;
        Ok(made)
    }

    /// Writes alone at full depth, until samples of a minute in each half hour are steady.
    fn precondition(&mut self, desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
        let load = wsat::words(Load { read_percent: 0, ..self.load });
        half_hours(desk, body, &load, &mut |desk, minutes, sample| {
            self.stretch(desk, 0, (32, 32), (minutes, Some(sample)))
        })
    }

    /// All threads by all depths, in rounds; returns the last five rounds' cells.
    fn rounds(
        &mut self,
        desk: &mut Desk<'_>,
        body: &mut Body,
        test: Test,
    ) -> Result<Vec<Vec<Window>>, Halt> {
        let tracked = format!("{} at 32 threads and depth 32", wsat::words(self.load));
        let mut tracker = Tracker::new(desk, body, (Figure::Iops, &tracked));
        let mut between = Samples::new("Writes between rounds", desk.region().length);
        let mut rounds: Vec<Vec<Window>> = Vec::new();
        for round in 1..=tracker.rounds_max() {
            let made = self.stretch(desk, 0, (32, 32), (BETWEEN_MINUTES, Some(round)))?;
            between.push(round.to_string(), &made.window);
            tracker.see(&made, false);
            let mut cells = Vec::new();
            for threads in LEVELS {
                for depth in LEVELS {
                    let reads = self.load.read_percent;
                    let made = self.stretch(desk, reads, (threads, depth), (1.0, Some(round)))?;
                    tracker.see(&made, (threads, depth) == (32, 32));
                    cells.push(made.window);
                }
            }
            if let Some(tracked) = cells.first() {
                tracker.round(desk, round, tracked.clone());
            }
            rounds.push(cells);
            desk.whole(&format!("round {round} of {}", test.word()))?;
            tabulate(body, &rounds);
            tracker.tell(body);
            if tracker.is_over() {
                break;
            }
        }
        body.tables.insert("between_rounds".to_owned(), between.table());
        Ok(rounds.split_off(rounds.len().saturating_sub(5)))
    }

    /// An hour of writes, then the load with every response time.
    fn point(
        &mut self,
        desk: &mut Desk<'_>,
        body: &mut Body,
        name: &str,
        (threads, depth): (u16, u16),
    ) -> Result<(), Halt> {
        let before = self.stretch(desk, 0, (32, 32), (BEFORE_MINUTES, None))?;
        let reads = self.load.read_percent;
        let made = self.stretch(desk, reads, (threads, depth), (LOGGED_MINUTES, None))?;
        let key = name.to_lowercase();
        let title = format!("Response times at {name}: {threads} threads, depth {depth}");
        let mut samples =
            Samples::new(&format!("{name}: writes before, and the load"), desk.region().length);
        samples.push("writes", &before.window);
        samples.push("the load", &made.window);
        body.tables.insert(format!("{key}_samples"), samples.table());
        body.tables.insert(format!("{key}_histogram"), histogram(&title, &made.latencies));
        body.tables.insert(format!("{key}_percentiles"), percentiles(&title, &made.latencies));
        desk.whole(&format!("the response times at {name}"))
    }
}

/// Mean of a figure over rounds, by cell.
fn mean(rounds: &[Vec<Window>], figure: &dyn Fn(&Window) -> Option<f64>) -> Vec<Option<f64>> {
    (0..LEVELS.len() * LEVELS.len())
        .map(|cell| {
            let values: Vec<f64> =
                rounds.iter().filter_map(|round| round.get(cell)).filter_map(figure).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        })
        .collect()
}

fn tabulate(body: &mut Body, rounds: &[Vec<Window>]) {
    let last = &rounds[rounds.len().saturating_sub(5)..];
    let iops = mean(last, &|w| Some(w.iops));
    let art = mean(last, &|w| Some(w.latency_ns.mean / 1e3));
    let cpu = mean(last, &|w| w.cpu_percent);
    let columns: Vec<String> = LEVELS.iter().map(|depth| format!("depth {depth}")).collect();
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    for (key, title, values) in [
        ("demand_iops", "Demand variation: IOPS by threads and depth", &iops),
        ("demand_art", "Demand intensity: mean response time in us by threads and depth", &art),
        ("demand_cpu", "CPU of this program in percent of one, by threads and depth", &cpu),
    ] {
        let mut table = Table::new(title, "threads", &names);
        for (at, threads) in LEVELS.iter().enumerate() {
            let n = LEVELS.len();
            table.push(threads.to_string(), values[at * n..(at + 1) * n].to_vec());
        }
        body.tables.insert(key.to_owned(), table);
    }
    let mut total: Vec<(u32, f64, f64)> = Vec::new();
    for (cell, (iops, art)) in iops.iter().zip(&art).enumerate() {
        let outstanding =
            u32::from(LEVELS[cell / LEVELS.len()]) * u32::from(LEVELS[cell % LEVELS.len()]);
        if let (Some(iops), Some(art)) = (iops, art) {
            total.push((outstanding, *iops, *art));
        }
    }
    total.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut table = Table::new("By requests outstanding", "outstanding", &["IOPS", "ART, us"]);
    for (outstanding, iops, art) in total {
        table.push(outstanding.to_string(), vec![Some(iops), Some(art)]);
    }
    body.tables.insert("outstanding".to_owned(), table);
    let mut table = Table::new("Rounds", "round", &["IOPS at 32 threads, depth 32"]);
    for (at, round) in rounds.iter().enumerate() {
        table.push((at + 1).to_string(), vec![round.first().map(|w| w.iops)]);
    }
    body.tables.insert("convergence".to_owned(), table);
}

/// Threads and depth of the three points whose response times are shown.
fn points(rounds: &[Vec<Window>]) -> Vec<(&'static str, (u16, u16))> {
    let iops = mean(rounds, &|w| Some(w.iops));
    let art = mean(rounds, &|w| Some(w.latency_ns.mean));
    let level = |cell: usize| (LEVELS[cell / LEVELS.len()], LEVELS[cell % LEVELS.len()]);
    let known: Vec<(usize, f64, f64)> = iops
        .iter()
        .zip(&art)
        .enumerate()
        .filter_map(|(cell, (iops, art))| Some((cell, (*iops)?, (*art)?)))
        .collect();
    let quick = known.iter().filter(|(_, _, art)| *art < ART_MAX_NS);
    let most = quick.max_by(|a, b| a.1.total_cmp(&b.1)).or_else(|| known.first());
    let (Some(most), Some(least)) = (most, known.last()) else { return Vec::new() };
    let wanted = (most.1 + least.1) / 2.0;
    let middle = known.iter().min_by(|a, b| (a.1 - wanted).abs().total_cmp(&(b.1 - wanted).abs()));
    let mut points = vec![("MAX", level(most.0))];
    points.extend(middle.map(|middle| ("MID", level(middle.0))));
    points.push(("MIN", level(least.0)));
    points
}
