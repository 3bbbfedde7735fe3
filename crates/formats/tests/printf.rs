//! Numbers as C prints them, beside `printf` itself.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::process::Command;

use drivescope_formats::flashbench::general;

/// Exactly, as a hexadecimal number: `printf` computes in longer numbers, and would round a decimal one otherwise.
fn hex(value: f64) -> String {
    let bits = value.to_bits();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let fraction = bits & ((1 << 52) - 1);
    assert!(value == 0.0 || exponent > -1023, "{value} is subnormal");
    if value == 0.0 { format!("{sign}0") } else { format!("{sign}0x1.{fraction:013x}p{exponent}") }
}

/// All of them as `printf` prints them; `None` without a `printf`.
fn printed(format: &str, values: &[f64]) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    for some in values.chunks(1000) {
        let mut command = Command::new("printf");
        command.env("LC_ALL", "C").arg(format!("{format}\n")).args(some.iter().map(|v| hex(*v)));
        let Ok(output) = command.output() else {
            println!("skipped: printf is not installed");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        lines.extend(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned));
    }
    assert_eq!(lines.len(), values.len());
    Some(lines)
}

/// All that flashbench prints with three digits between 1 and 1,000, in steps that hit every rounding; halves that
/// lie exactly between two; and numbers of every size from a fixed seed.
fn values() -> Vec<f64> {
    let thousandths = (1000..1_000_000u32).step_by(37).map(|ns| f64::from(ns) / 1e3);
    let near_tens = (0..400u32).map(|at| 99.8 + f64::from(at) / 1e3);
    let near_thousand = (0..2000u32).map(|at| 999.0 + f64::from(at) / 1e3);
    let halves = (0..2000u32).map(|at| f64::from(at) / 8.0 + 0.0625);
    let mut state = 7u64;
    let sizes = (0..6000).map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let fraction = (state >> 12) as f64 / (1u64 << 52) as f64 + 1.0;
        let power = ((state >> 3) % 80) as i32 - 40;
        fraction * 10f64.powi(power) * if state & 1 == 0 { 1.0 } else { -1.0 }
    });
    let all = thousandths.chain(near_tens).chain(near_thousand).chain(halves).chain(sizes);
    all.chain([0.0, -0.0, 1.0, 10.0, 100.0, 1000.0, 1e-4, 1e-5, 9.995e-5, 999.5, 99.95]).collect()
}

// Breaks when a number is rounded or written otherwise than C does, on whose digits readers of tables rely.
#[test]
fn general_is_that_of_c() {
    let values = values();
    for digits in [1, 3, 4, 6, 10] {
        let Some(lines) = printed(&format!("%.{digits}g"), &values) else { return };
        for (value, line) in values.iter().zip(lines) {
            assert_eq!(general(*value, digits), line, "%.{digits}g of {value}");
        }
    }
}

// Breaks when six places of `%f` are rounded otherwise.
#[test]
fn six_places_are_those_of_c() {
    let values: Vec<f64> = values().into_iter().filter(|value| value.abs() < 1e12).collect();
    let Some(lines) = printed("%f", &values) else { return };
    for (value, line) in values.iter().zip(lines) {
        assert_eq!(format!("{value:.6}"), line, "%f of {value}");
    }
}
