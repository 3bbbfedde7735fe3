//! Facts about results of another program, for the page of a mark.

use mark::imported::Imported;
use report::number;

/// How many files are named.
const NAMED: usize = 3;

/// Source files, and how the program measured as far as it reports that.
pub fn facts(imported: &Imported) -> Vec<String> {
    let mut files: Vec<&str> = imported.files.iter().map(String::as_str).collect();
    let more = files.len().saturating_sub(NAMED);
    files.truncate(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let version =
        imported.version.as_deref().map_or(String::new(), |version| format!(", {version}"));
    let told = &imported.told;
    let runs = imported.tests.iter().map(|test| test.runs.len()).max().unwrap_or(0);
    let mut facts = vec![number::counted(runs, "run")];
    facts.extend(told.duration_ns.map(|time| format!("of {time}")));
    let mut how = vec![facts.join(" ")];
    how.extend(told.engine.clone());
    how.extend(
        told.region_bytes.map(|bytes| format!("a range of {}", number::bytes(bytes.0 as f64))),
    );
    how.extend(
        told.direct
            .map(|is_so| if is_so { "direct I/O" } else { "through the page cache" }.to_owned()),
    );
    how.extend(told.durable.filter(|is_so| *is_so).map(|_| "durable writes".to_owned()));
    vec![format!("from {}{more} ({}{version})", files.join(", "), imported.format), how.join("; ")]
}

/// Closing sentence: the numbers are the program's own, and unproven.
pub fn closing(imported: &Imported, tests: usize) -> String {
    let numbers =
        if tests == 1 { "The number is".to_owned() } else { format!("The {tests} numbers are") };
    format!("{numbers} as {} reports; nothing proves what it did.", imported.tool)
}
