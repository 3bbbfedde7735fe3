//! Tables of tests for reading: in parts that fit a page, with shared units shown once.

use pts::table::Table;

/// A table an engine, where its columns are of several: side by side they are wider than a page.
pub fn by_engine(table: &Table) -> Vec<Table> {
    let mut engines: Vec<&str> = Vec::new();
    for (engine, _) in table.columns.iter().filter_map(|column| column.split_once(": ")) {
        if !engines.contains(&engine) {
            engines.push(engine);
        }
    }
    if engines.is_empty() {
        return vec![table.clone()];
    }
    engines.into_iter().map(|engine| of_engine(table, engine)).collect()
}

fn of_engine(table: &Table, engine: &str) -> Table {
    let prefix = format!("{engine}: ");
    let is_of = |column: &&String| column.starts_with(&prefix);
    let columns: Vec<&str> =
        table.columns.iter().filter(is_of).map(|column| &column[prefix.len()..]).collect();
    let title = format!("{}, {engine}", table.title);
    let mut one = Table::new(&title, &table.rows_are, &columns);
    for row in &table.rows {
        let cells = table.columns.iter().zip(&row.values);
        let values = cells.filter(|(column, _)| is_of(column)).map(|(_, value)| *value);
        one.push(row.label.clone(), values.collect());
    }
    one
}

/// Whether any cell has a value: a table of figures that a drive does not report is left out.
pub fn has_values(table: &Table) -> bool {
    table.rows.iter().any(|row| row.values.iter().any(Option::is_some))
}

/// Names of the columns as people write them; the unit apart, where all have the same.
pub fn without_shared_unit(table: &Table) -> (Vec<String>, Option<String>) {
    let unit = |column: &str| column.rsplit_once(", ").map(|(_, unit)| unit.to_owned());
    let shared = table.columns.first().and_then(|first| unit(first));
    let is_shared = table.columns.len() > 1 && table.columns.iter().all(|c| unit(c) == shared);
    match shared.filter(|_| is_shared) {
        Some(shared) => {
            let stem = |column: &String| column[..column.len() - shared.len() - 2].to_owned();
            (table.columns.iter().map(stem).collect(), Some(micro(&shared)))
        }
        None => (table.columns.iter().map(|column| micro(column)).collect(), None),
    }
}

/// Caption of a table, with the unit that its columns share unless the title has it already.
pub fn caption(table: &Table, unit: Option<&str>) -> String {
    let title = micro(&table.title);
    match unit {
        Some(unit) if !title.contains(unit) => format!("{title}, {unit}"),
        _ => title,
    }
}

/// A number of a table in a terminal: as it is where it is whole and short.
pub fn short(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 99_999.5 {
        return format!("{value:.0}");
    }
    report::number::compact(value)
}

/// A number of a table on a page: whole from a thousand on, its digits by threes.
pub fn long(value: f64) -> String {
    if value.abs() >= 999.95 || value.fract() == 0.0 {
        return report::number::grouped(value);
    }
    report::number::digits(value)
}

/// `us`, which tables have so that names of columns are plain ASCII, as people write it.
pub fn micro(name: &str) -> String {
    match name.strip_suffix("us") {
        Some(before) if before.is_empty() || before.ends_with(' ') => format!("{before}µs"),
        _ => name.replace(" in us ", " in µs "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a sweep of three engines runs over the edge of a terminal or of a page, or loses a number on the way.
    #[test]
    fn engines_are_told_apart_and_units_once() {
        let mut sweep =
            Table::new("Sweep", "depth", &["psync: IOPS", "psync: ART, us", "io_uring: IOPS"]);
        sweep.push("1", vec![Some(1.0), None, Some(3.0)]);
        let parts = by_engine(&sweep);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].columns, ["IOPS", "ART, us"]);
        assert_eq!(parts[1].rows[0].values, [Some(3.0)]);
        assert_eq!(without_shared_unit(&parts[0]).0, ["IOPS", "ART, µs"]);
        let times = Table::new("Times", "block size", &["100/0, us", "0/100, us"]);
        let (columns, unit) = without_shared_unit(&times);
        assert_eq!(
            (columns, unit.as_deref()),
            (vec!["100/0".to_owned(), "0/100".to_owned()], Some("µs"))
        );
        assert_eq!(by_engine(&times), vec![times.clone()]);
        assert!(!has_values(&times) && has_values(&sweep));
        assert_eq!(micro("status"), "status");
        assert_eq!(caption(&times, Some("µs")), "Times, µs");
        assert_eq!(caption(&Table::new("IOPS, mean", "", &[]), Some("IOPS")), "IOPS, mean");
        assert_eq!([5.0, 99.5, 13_107_200.0].map(short), ["5", "99.50", "13.11M"]);
        assert_eq!(long(29_956.0), "29\u{202f}956");
    }
}
