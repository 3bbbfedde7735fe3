//! Results laid out for reading: an instrument's body becomes the report's sheets, tables, listings and charts.
//!
//! This crate chooses the numbers, their order and their words; `report` draws them, and the program prints or writes
//! them.
//!
//! There is one module for each body, such as `mark`, `probe` or `replay`. [`reporting`] makes one document of any recorded run,
//! for page, pictures, tables and plots; `plots` and its siblings are the charts.

pub mod analyze;
pub mod btt;
pub mod compare;
pub mod compare_plots;
pub mod devices;
pub mod explain;
pub mod fio;
pub mod health;
pub mod import;
pub mod import_trace;
pub mod imported;
pub mod judge;
pub mod load;
pub mod mark;
pub mod mark_plots;
pub mod plots;
pub mod probe;
pub mod pts;
pub mod purge;
pub mod record;
pub mod remedies;
pub mod replay;
pub mod replay_plots;
pub mod reporting;
pub mod rerun;
pub mod row;
pub mod runs;
pub mod survey;
pub mod sweep;
mod tidy;
pub mod trace_plots;
pub mod trend;

use block::{DriveInfo, Leaf, Stack};
use report::number::nanoseconds;

/// A drive in a few words, for a list of runs: its model, or what the devices at the bottom are called.
pub fn drive(target: &DriveInfo, stack: &Stack) -> String {
    let leaf = |leaf: &Leaf| leaf.model.clone().unwrap_or_else(|| leaf.name.clone());
    match &target.model {
        Some(model) => model.trim().to_owned(),
        None => stack.leaves.iter().map(leaf).collect::<Vec<_>>().join(", "),
    }
}

/// The heads of a table's columns.
fn heads(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|column| (*column).to_owned()).collect()
}

/// Text of a table cell; a dash for `None`.
fn maybe<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

/// Capitalises `name` for the beginning of a line. Abbreviations and units stay as they are.
fn capital(name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) if letters.clone().next().is_some_and(char::is_lowercase) => {
            first.to_uppercase().collect::<String>() + letters.as_str()
        }
        _ => name.to_owned(),
    }
}

fn seconds(s: f64) -> String {
    nanoseconds(s * 1e9)
}

/// `. on ext4 on vda (Samsung SSD 970 PRO)`.
fn subject(target: &DriveInfo, stack: &Stack) -> String {
    let mut text = target.name.clone();
    for layer in &stack.layers {
        let name = match layer.kind.as_str() {
            "file" | "directory" | "virtual" | "null" => continue,
            "disk" | "partition" | "loop" | "zram" | "dm" | "md" => {
                layer.name.rsplit('/').next().unwrap_or(&layer.name)
            }
            kind => kind,
        };
        if !text.ends_with(name) {
            text.push_str(&format!(" on {name}"));
        }
    }
    if let Some(model) = &target.model {
        text.push_str(&format!(" ({})", model.trim()));
    }
    text
}
