//! Every sample window as CSV: a row a table's row.

use pts::body::Body;

/// All tables of all tests: a row a cell's row, with the test, the table and the column's name beside each value.
pub fn csv(bodies: &[Body]) -> String {
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
    text
}
