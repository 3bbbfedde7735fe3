//! Holds one conclusion against the truth.

use anyhow::Result;
use serde_json::Value;

use crate::binary::text;

/// Assessment of a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It decides, and it is so.
    Right,
    /// It decides, and it is not so.
    Wrong,
    /// It leaves it open.
    Unknown,
    /// No model has a word for it.
    NotScored,
}

impl Mark {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Mark; 4] = [Mark::Right, Mark::Wrong, Mark::Unknown, Mark::NotScored];

    /// As in the table.
    pub fn word(self) -> &'static str {
        match self {
            Mark::Right => "right",
            Mark::Wrong => "wrong",
            Mark::Unknown => "unknown",
            Mark::NotScored => "not scored",
        }
    }
}

/// A conclusion beside the truth.
pub struct Scored {
    /// About what.
    pub topic: String,
    /// `found`, `none`, `unknown`.
    pub verdict: String,
    /// The value, or the statement where there is none.
    pub said: String,
    /// The truth.
    pub truth: String,
    /// Its assessment.
    pub mark: Mark,
    /// The confidence that it states.
    pub confidence: Option<f64>,
}

impl Scored {
    /// Holds `said`, a conclusion, against `shown`, the body of `sim show`.
    ///
    /// # Errors
    /// When a field of the contract is missing.
    pub fn of(said: &Value, shown: &Value) -> Result<Scored> {
        let (topic, verdict) = (super::topic(said)?, text(said, "/verdict")?);
        let truth = truth(topic, shown);
        let mark = match (&truth, verdict) {
            (None, _) => Mark::NotScored,
            (Some(_), "unknown") => Mark::Unknown,
            (Some(truth), _) => match is_right(topic, said, verdict, truth, shown) {
                true => Mark::Right,
                false => Mark::Wrong,
            },
        };
        let value = &said["value"];
        let told = value["value"].as_f64().map(|number| number.to_string());
        let told = told.or_else(|| value.as_str().map(str::to_owned));
        let statement = || text(said, "/statement").map(str::to_owned);
        Ok(Scored {
            topic: topic.to_owned(),
            verdict: verdict.to_owned(),
            said: told.map_or_else(statement, Ok)?,
            truth: truth.map_or("–".to_owned(), |truth| truth.to_string()),
            mark,
            confidence: said["confidence"].as_f64(),
        })
    }

    /// In a line.
    pub fn words(&self) -> String {
        format!("{} {}: {}, and it is {}", self.topic, self.verdict, self.said, self.truth)
    }
}

/// The truth about `topic`: `Value::Null` if there is no such thing, `None` if no model has a word for it.
fn truth(topic: &str, shown: &Value) -> Option<Value> {
    let truth = &shown["truth"];
    let kind = shown["kind"].as_str().unwrap_or_default();
    Some(match topic {
        "drive_kind" => match kind {
            "hdd" => "turning disk".into(),
            "card" => "memory card or stick".into(),
            "ssd" => "solid-state drive".into(),
            _ => return None,
        },
        "rotation" => truth["hdd"]["rpm"].clone(),
        "erase_block" => truth["erase_block_bytes"].clone(),
        "page" => match truth["page_bytes"].as_u64().zip(truth["planes"].as_u64()) {
            Some((page, planes)) if !truth["erase_block_bytes"].is_null() => (page * planes).into(),
            _ => Value::Null,
        },
        "open_units" => truth["open_au_linear"].clone(),
        "open_units_random" => truth["open_au_random"].clone(),
        "fat_zone" => truth["fat_zone_bytes"].clone(),
        "real_capacity" => truth["real_capacity_bytes"].clone(),
        "cell_type" => match truth["cell_levels"].as_u64() {
            Some(2) => "SLC".into(),
            Some(4) => "MLC".into(),
            Some(8) => "TLC".into(),
            Some(16) => "QLC".into(),
            _ => Value::Null,
        },
        "slc_cache" => truth["slc_cache_bytes"].clone(),
        // Memory that writes must leave before they are complete takes none off the medium.
        "write_buffer" if writes_through(shown) => Value::Null,
        "write_buffer" => truth["write_buffer_bytes"].clone(),
        // Dies behind a controller that serves one request at a time cannot be used at once.
        "parallelism" if kind == "card" => Value::Null,
        "parallelism" => truth["dies"].clone(),
        "over_provisioning" => truth["over_provisioning"].clone(),
        // Of rates, models know the link's, which none can be above.
        "sequential_read" => shown["info"]["link_bytes_per_s"].clone(),
        "outer_to_inner" => {
            let zones = truth["hdd"]["zones"].as_array()?;
            let rate = |zone: Option<&Value>| zone?["streaming_bytes_per_s"].as_f64();
            (rate(zones.last())? / rate(zones.first())?).into()
        }
        _ => return None,
    })
}

/// True where a write is complete when the medium has it.
fn writes_through(shown: &Value) -> bool {
    let memory = &shown["parameters"]["memory"];
    memory["write_cache"] == "write_through" && memory["power_loss_protection"] == false
}

fn is_right(topic: &str, said: &Value, verdict: &str, truth: &Value, shown: &Value) -> bool {
    let value = &said["value"];
    let number = |name: &str| value[name].as_f64();
    let holds = |truth: f64| match (number("low"), number("high")) {
        (Some(low), Some(high)) => (low..=high).contains(&truth),
        _ => false,
    };
    match (verdict, topic, truth) {
        ("none", "parallelism", truth) => truth.is_null() || truth.as_u64() == Some(1),
        ("none", _, truth) => truth.is_null(),
        (_, _, Value::Null) => false,
        (_, "sequential_read", _) => {
            let link = shown["info"]["link_bytes_per_s"].as_f64().unwrap_or(f64::INFINITY);
            number("low").is_some_and(|mb_s| mb_s * 1e6 <= link)
        }
        // The ends of a line through many zones are not the zones at the ends.
        (_, "outer_to_inner", truth) => {
            truth.as_f64().zip(number("value")).is_some_and(|(t, v)| (v / t - 1.0).abs() < 0.2)
        }
        (
            _,
            "rotation" | "slc_cache" | "write_buffer" | "over_provisioning" | "real_capacity",
            truth,
        ) => truth.as_f64().is_some_and(holds),
        (_, _, Value::String(word)) => value.as_str() == Some(word),
        (_, _, truth) => truth.as_f64().is_some() && number("value") == truth.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Breaks when a value of what is not there, a denial of what is, or an interval beside the truth counts as right:
    // the table would promise what surveys do not keep.
    #[test]
    fn conclusions_are_marked_against_the_truth() {
        let shown = json!({ "kind": "card", "truth": { "erase_block_bytes": 4096, "fat_zone_bytes": null, "slc_cache_bytes": 100 } });
        let mark = |topic: &str, verdict: &str, value: Value| {
            let said = json!({ "topic": topic, "verdict": verdict, "statement": "so", "value": value, "confidence": 0.9 });
            Scored::of(&said, &shown).unwrap().mark
        };
        let number =
            |value: f64, low: f64, high: f64| json!({ "value": value, "low": low, "high": high });
        assert_eq!(mark("erase_block", "found", number(4096.0, 4096.0, 4096.0)), Mark::Right);
        assert_eq!(mark("erase_block", "found", number(8192.0, 4096.0, 8192.0)), Mark::Wrong);
        assert_eq!(mark("erase_block", "none", Value::Null), Mark::Wrong);
        assert_eq!(mark("erase_block", "unknown", Value::Null), Mark::Unknown);
        assert_eq!(mark("fat_zone", "none", Value::Null), Mark::Right);
        assert_eq!(mark("fat_zone", "found", number(1.0, 1.0, 1.0)), Mark::Wrong);
        assert_eq!(mark("slc_cache", "found", number(90.0, 80.0, 110.0)), Mark::Right);
        assert_eq!(mark("slc_cache", "found", number(90.0, 80.0, 99.0)), Mark::Wrong);
        assert_eq!(mark("drive_kind", "found", json!("solid-state drive")), Mark::Wrong);
        assert_eq!(mark("latency_tail", "found", number(1.0, 1.0, 1.0)), Mark::NotScored);
    }
}
