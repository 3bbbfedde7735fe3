//! Numbers in fio's JSON.

use serde_json::Value;

/// The count at `pointer`; 0 where there is none.
pub(super) fn count(value: &Value, pointer: &str) -> u64 {
    let number = value.pointer(pointer);
    number.and_then(Value::as_u64).or_else(|| number.and_then(float_to_count)).unwrap_or(0)
}

fn float_to_count(value: &Value) -> Option<u64> {
    value.as_f64().filter(|x| x.is_finite() && *x >= 0.0).map(|x| x as u64)
}

/// The finite number at `pointer`.
pub(super) fn float(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer).and_then(Value::as_f64).filter(|x| x.is_finite())
}
