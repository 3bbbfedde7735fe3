//! Tables that the specification asks for, as data.

use serde::{Deserialize, Serialize};

/// A table of numbers: a row a label, a column a name with its unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Title of the table.
    pub title: String,
    /// Meaning of the row labels, such as `block size`.
    pub rows_are: String,
    /// Names of the columns; of each, its unit follows a comma where it has one.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its label.
    pub label: String,
    /// A value a column; null where there is none.
    pub values: Vec<Option<f64>>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: &str, rows_are: &str, columns: &[&str]) -> Table {
        Table {
            title: title.to_owned(),
            rows_are: rows_are.to_owned(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, label: impl Into<String>, values: Vec<Option<f64>>) {
        self.rows.push(Row { label: label.into(), values });
    }

    /// The values of a column, in the rows' order.
    pub fn column(&self, name: &str) -> Option<Vec<Option<f64>>> {
        let at = self.columns.iter().position(|column| column == name)?;
        Some(self.rows.iter().map(|row| row.values.get(at).copied().flatten()).collect())
    }
}
