//! Figures in fio's JSON that cannot be, such as a rate below zero: read as none, they would be another result.

use serde_json::Value;

use super::error::JudgeError;

/// Names of the fields that must be numbers, in a direction or in a table of latencies.
const NUMBERS: [&str; 11] = [
    "io_bytes",
    "io_kbytes",
    "bw_bytes",
    "bw",
    "iops",
    "runtime",
    "total_ios",
    "min",
    "max",
    "mean",
    "stddev",
];
/// Tables of a direction, and those in them, whose entries are named by numbers.
const LATENCIES: [&str; 6] = ["slat_ns", "clat_ns", "lat_ns", "slat", "clat", "lat"];
const TABLES: [&str; 2] = ["percentile", "bins"];
/// fio counts in 64 bits, and its least latency of no I/O is the greatest that they hold.
const MOST: f64 = 18_446_744_073_709_551_616.0;

/// Looks at the figures of all directions of `jobs`.
///
/// # Errors
/// The first that cannot be, with its place.
pub(super) fn check<'a>(
    file: &str,
    jobs: impl Iterator<Item = &'a Value>,
) -> Result<(), JudgeError> {
    for (index, job) in jobs.enumerate() {
        for direction in ["read", "write", "trim"] {
            let Some(side) = job.get(direction) else { continue };
            let place = format!("jobs[{index}].{direction}");
            let Err((place, found)) = figures(side, &place) else { continue };
            let mut shown = found.to_string();
            if shown.chars().count() > SHOWN {
                shown = shown.chars().take(SHOWN).chain(['…']).collect();
            }
            let what = format!("{place} is {shown}, and a number from 0 on belongs there");
            return Err(JudgeError::whole(file, what, "give the file as fio wrote it"));
        }
    }
    Ok(())
}

/// Most characters of a value that an error shows.
const SHOWN: usize = 40;

/// The place and value of the first figure that cannot be. Fields of other names are not checked.
fn figures<'a>(value: &'a Value, place: &str) -> Result<(), (String, &'a Value)> {
    let Some(table) = value.as_object() else { return Ok(()) };
    let are_all = TABLES.iter().any(|name| place.ends_with(name));
    for (name, value) in table {
        let place = format!("{place}.{name}");
        let is_figure = match are_all {
            true => name.parse::<f64>().is_ok(),
            false => NUMBERS.contains(&name.as_str()),
        };
        if is_figure && !can_be(value) {
            return Err((place, value));
        }
        if !are_all && (LATENCIES.contains(&name.as_str()) || TABLES.contains(&name.as_str())) {
            figures(value, &place)?;
        }
    }
    Ok(())
}

fn can_be(value: &Value) -> bool {
    value.is_null() || value.as_f64().is_some_and(|number| (0.0..=MOST).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // "x" read as a missing figure, and -1e300 as a rate, are results that were never measured.
    #[test]
    fn a_figure_that_cannot_be_is_named_with_its_place() {
        let good = json!({ "read": { "iops": 1.5, "runtime": 0, "clat_ns": { "min": u64::MAX,
            "percentile": { "99.0": 7 }, "bins": { "90": 1, "more": "x" } }, "prios": [{ "prioclass": "RT", "iops": 1 }], "own": -1 } });
        let of =
            |job: &Value| check("a.json", [job].into_iter()).map_err(|error| error.to_string());
        assert_eq!(of(&good), Ok(()));
        for (pointer, bad, place) in [
            ("/read/iops", json!("x"), "jobs[0].read.iops is \"x\""),
            ("/read/iops", json!(-1e300), "jobs[0].read.iops is -1e+300"),
            ("/read/iops", json!(1e300), "jobs[0].read.iops"),
            ("/read/iops", json!({}), "jobs[0].read.iops"),
            ("/read/runtime", json!(-5), "jobs[0].read.runtime is -5"),
            ("/read/clat_ns/min", json!(true), "jobs[0].read.clat_ns.min"),
            ("/read/clat_ns/percentile/99.0", json!("y"), "jobs[0].read.clat_ns.percentile.99.0"),
            ("/read/clat_ns/bins/90", json!(-1), "jobs[0].read.clat_ns.bins.90"),
        ] {
            let mut job = good.clone();
            *job.pointer_mut(pointer).unwrap() = bad;
            let error = of(&job).unwrap_err();
            assert!(error.starts_with("a.json: ") && error.contains(place), "{error}");
        }
    }
}
