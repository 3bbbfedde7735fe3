//! Enterprise tests as charts: what `--plot` draws, a terminal shows, and the report's pages hold.

pub mod demand;
pub mod latency;
pub mod rounds;
pub mod time;

use pts::body::Body;
use pts::options::Test;
use pts::table::Table;
use report::chart::{Axis, Chart, Hue};
use stats::Unit;

/// The chart that tells most of a test.
pub fn main(body: &Body) -> Option<Chart> {
    let table = |key: &str| body.tables.get(key);
    match body.test {
        Test::Iops => demand::by_block(body, table("iops")?),
        Test::Throughput => {
            let key = body.tables.keys().find(|key| key.starts_with("convergence"))?;
            rounds::convergence(body, table(key)?, Axis::new("Throughput", Unit::MbPerS), None)
        }
        Test::Latency => latency::confidence(body, &latency::LOOPS),
        Test::Wsat => time::saturation(body),
        Test::Hir => time::recovery(body),
        Test::Xsr => time::stimuli(body, None),
        Test::Cbw | Test::Dirth => demand::variation(body),
        Test::QdSweep => demand::by_depth(body, table("qd_sweep")?).or_else(|| time::curve(body)),
        Test::Ezfio => demand::by_threads(body).or_else(|| time::curve(body)),
    }
}

/// A chart without layers, which says what it is of.
fn bare(body: &Body, title: &str, x: Axis, y: Axis) -> Chart {
    let mut chart = Chart::new(format!("{}: {title}", body.test.title()), x, y);
    let setup = &body.setup;
    chart.subtitle =
        format!("{} addresses, {} profile, {}", setup.addresses, setup.profile, setup.engine);
    let device = &body.device;
    let name = device.model.as_deref().unwrap_or(&device.name);
    chart.note = format!("{name}; seed {}", setup.seed);
    chart
}

/// Values of two columns that both have one.
fn pairs(table: &Table, x: &str, y: &str) -> Vec<(f64, f64)> {
    let (Some(xs), Some(ys)) = (table.column(x), table.column(y)) else { return Vec::new() };
    xs.into_iter().zip(ys).filter_map(|(x, y)| Some((x?, y?))).collect()
}

/// Values of a column beside the number that each row is labelled with; a unit after it is left out.
fn labelled(table: &Table, column: usize) -> Vec<(f64, f64)> {
    let number = |label: &str| label.split_whitespace().next()?.parse::<f64>().ok();
    let row = |row: &pts::table::Row| Some((number(&row.label)?, (*row.values.get(column)?)?));
    table.rows.iter().filter_map(row).collect()
}

/// A name before its unit, as columns have both.
fn stem(column: &str) -> &str {
    column.rsplit_once(", ").map_or(column, |(name, _)| name)
}

/// Hue of the layer `index` of `of`, which are the same thing at rising counts where there are many.
fn hue(index: usize, of: usize) -> Hue {
    if of <= 3 {
        return Hue::nth(index);
    }
    Hue::Step { index: index.min(255) as u8, of: of.min(255) as u8 }
}
