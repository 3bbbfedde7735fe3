//! Tables and charts as CSV, and names for files of them.

use block::text::csv_field;
use report::chart::{Axis, Chart, Side, rows, unit};
use report::html::Table;

/// Most letters of a name.
const NAME_MAX: usize = 60;

/// A title as a part of a file's name: small letters and digits, with hyphens between.
pub fn slug(title: &str) -> String {
    let mut name = String::new();
    for letter in title.chars().flat_map(char::to_lowercase) {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            'µ' | 'μ' => name.push('u'),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(NAME_MAX);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "untitled".to_owned() } else { name.to_owned() }
}

fn line(fields: impl IntoIterator<Item = String>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|f| csv_field(&f)).collect();
    fields.join(",") + "\n"
}

/// A table as it is shown, with the units that numbers are written in. Its caption, which may name the unit that all share,
/// is in the head of the first column.
pub fn csv_of_table(table: &Table) -> String {
    let head = |(at, name): (usize, &String)| match (at, name.is_empty()) {
        (0, true) => table.caption.clone(),
        (0, false) => format!("{name} ({})", table.caption),
        _ => name.clone(),
    };
    let mut text = line(table.columns.iter().enumerate().map(head));
    for row in &table.rows {
        let cells = row.cells.iter().map(|cell| cell.text.clone());
        text += &line(std::iter::once(row.name.clone()).chain(cells));
    }
    text
}

/// All values of a chart as bare numbers, in the units that are in the heads of the columns.
pub fn csv_of_chart(chart: &Chart) -> String {
    let head = |axis: &Axis| match unit(axis.unit) {
        _ if !axis.classes.is_empty() => axis.label.clone(),
        "" => axis.label.clone(),
        unit => format!("{}, {unit}", axis.label),
    };
    let mut columns = vec!["series".to_owned(), head(&chart.x), head(&chart.y)];
    columns.extend(chart.y2.as_ref().map(head));
    columns.extend(["low", "high", "amount"].map(str::to_owned));
    let mut text = line(columns);
    let class = |axis: &Axis, value: f64| {
        let at = (value + 0.5).floor().max(0.0) as usize;
        axis.classes.get(at).cloned().unwrap_or_else(|| value.to_string())
    };
    let told = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for value in rows(chart) {
        let y = class(&chart.y, value.y);
        let mut fields = vec![value.series.to_owned(), class(&chart.x, value.x)];
        fields.extend(match (&chart.y2, value.side) {
            (None, _) => vec![y],
            (Some(_), Side::Left) => vec![y, String::new()],
            (Some(_), Side::Right) => vec![String::new(), value.y.to_string()],
        });
        let (low, high) = value.interval.unzip();
        fields.extend([told(low), told(high), told(value.amount)]);
        text += &line(fields);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a chart's title makes a name that leaves its directory, or none at all.
    #[test]
    fn a_title_makes_a_harmless_name() {
        assert_eq!(slug("Read: latency by share of I/Os"), "read-latency-by-share-of-i-os");
        assert_eq!(slug("../../etc/passwd\n"), "etc-passwd");
        assert_eq!(slug("…"), "untitled");
        assert!(slug(&"very long ".repeat(30)).len() <= NAME_MAX);
    }
}
