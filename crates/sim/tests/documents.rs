//! Examples of the page about virtual drives, tried out.

use std::path::PathBuf;

use block::{Bytes, Target};
use drivescope_sim::{Aftermath, Faults, Heat, Neighbour, Storm, open, show};

const PAGE: &str = include_str!("../../../docs/method/virtual-drives.md");

/// The page's model, as a reader would copy it.
fn own() -> String {
    let (_, rest) = PAGE.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("documented.toml");
    std::fs::write(&path, text).unwrap();
    format!("sim:{}", path.display())
}

// Breaks when a reader's copy of the page's example does not open.
#[test]
fn the_model_on_the_page_is_one() {
    let spec = own();
    let shown = show(&spec).unwrap();
    assert_eq!((shown.name.as_str(), shown.kind.as_str()), ("my-disk", "hdd"));
    assert_eq!(shown.truth.host.unwrap().queue_depth, Some(1));
    let target = open(&spec).unwrap();
    assert_eq!(target.info().capacity_bytes, Bytes(80_000_000_000 / 512 * 512));
    assert_eq!(target.info().link_bytes_per_s, Some(32_000_000), "the host's, which is less");
    let wider = open(&format!("{spec}?host.link_bytes_per_s=200000000")).unwrap();
    assert_eq!(wider.info().link_bytes_per_s, Some(130_000_000));
}

// Breaks when a field or a default of a wrapper changes and the page does not.
#[test]
fn the_page_names_every_field_and_has_the_defaults() {
    let storm = Faults { storm: Some(Storm::default()), ..Faults::default() };
    let tables = [
        ("host", serde_json::to_value(drivescope_sim::HostLimits::default()).unwrap()),
        ("faults", serde_json::to_value(&storm).unwrap()),
        ("heat", serde_json::to_value(Heat::default()).unwrap()),
        ("neighbour", serde_json::to_value(Neighbour::default()).unwrap()),
        ("aftermath", serde_json::to_value(Aftermath::default()).unwrap()),
    ];
    for (table, fields) in &tables {
        let (_, section) = PAGE.split_once(&format!("### `[{table}]`")).unwrap();
        let section = section.split("\n##").next().unwrap();
        fields.as_object().unwrap().iter().for_each(|(field, value)| told(section, field, value));
    }
}

fn told(section: &str, field: &str, value: &serde_json::Value) {
    let name = if field == "storm" { "`storm.period_ns`" } else { &format!("`{field}`") };
    let row = section.lines().find(|line| line.starts_with('|') && line.contains(name));
    let row = row.unwrap_or_else(|| panic!("{field} is not on the page"));
    // The page has counts as they are; times and sizes are in words, which are not checked.
    let in_words = field.ends_with("_ns") || field.contains("bytes");
    if let Some(number) = value.as_u64().filter(|_| !in_words) {
        assert!(row.contains(&number.to_string()), "{field} is {number}: {row}");
    }
}
