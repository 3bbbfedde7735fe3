//! Every sample window as CSV: a row a table's row.

use std::path::Path;

use anyhow::Result;
use pts::body::Body;

use crate::outputs;

/// Writes all tables of all tests: a row a cell's row, with the test, the table and the column's name beside each value.
///
/// # Errors
/// When the file cannot be written.
pub fn write(bodies: &[Body], path: &Path, force: bool) -> Result<()> {
    let mut text = String::from("test,table,row,column,value\n");
    for body in bodies {
        for (key, table) in &body.tables {
            for row in &table.rows {
                for (column, value) in table.columns.iter().zip(&row.values) {
                    let value = value.map_or(String::new(), |value| value.to_string());
                    let fields = [body.test.word(), key, &row.label, column, &value];
                    text += &fields.map(block::text::csv_field).join(",");
                    text.push('\n');
                }
            }
        }
    }
    outputs::write(path, text.as_bytes(), force)
}
