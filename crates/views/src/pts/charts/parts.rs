//! Parts of charts that several tests have.

use pts::body::Body;
use pts::options::Profile;
use pts::table::Table;
use report::chart::{Axis, Chart, Hue};

/// A chart without layers, which says what it is of.
pub(super) fn bare(body: &Body, title: &str, x: Axis, y: Axis) -> Chart {
    let mut chart = Chart::new(format!("{}: {title}", body.test.title()), x, y);
    let setup = &body.setup;
    let profile = setup.profile.text(Profile::as_str);
    chart.subtitle = format!("{} addresses, {profile} profile, {}", setup.addresses, setup.engine);
    let device = &body.device;
    let name = device.model.as_deref().unwrap_or(&device.name);
    chart.note = format!("{name}; seed {}", setup.seed);
    chart
}

/// Values of two columns that both have one.
pub(super) fn pairs(table: &Table, x: &str, y: &str) -> Vec<(f64, f64)> {
    let (Some(xs), Some(ys)) = (table.column(x), table.column(y)) else { return Vec::new() };
    xs.into_iter().zip(ys).filter_map(|(x, y)| Some((x?, y?))).collect()
}

/// Values of a column beside the number that each row is labelled with; a unit after it is left out.
pub(super) fn labelled(table: &Table, column: usize) -> Vec<(f64, f64)> {
    let number = |label: &str| label.split_whitespace().next()?.parse::<f64>().ok();
    let row = |row: &pts::table::Row| Some((number(&row.label)?, (*row.values.get(column)?)?));
    table.rows.iter().filter_map(row).collect()
}

/// A name before its unit, as columns have both.
pub(super) fn stem(column: &str) -> &str {
    column.rsplit_once(", ").map_or(column, |(name, _)| name)
}

/// Hue of the layer `index` of `of`, which are the same thing at rising counts where there are many.
pub(super) fn hue(index: usize, of: usize) -> Hue {
    if of <= 3 {
        return Hue::nth(index);
    }
    Hue::Step { index: index.min(255) as u8, of: of.min(255) as u8 }
}
