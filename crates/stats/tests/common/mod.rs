//! Helpers shared by the tests of this crate.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use std::f64::consts::TAU;

/// Reference values that `tests/fixtures/make.py` wrote.
pub fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub fn cases<'a>(fixture: &'a Value, name: &str) -> &'a [Value] {
    let cases = fixture[name].as_array().expect(name);
    assert!(!cases.is_empty(), "{name} is empty: nothing would be tested");
    cases
}

pub fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name} of {value}"))
}

pub fn count(value: &Value, name: &str) -> usize {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} of {value}")) as usize
}

pub fn numbers(value: &Value, name: &str) -> Vec<f64> {
    let list = value[name].as_array().unwrap_or_else(|| panic!("{name} of {value}"));
    list.iter().map(|x| x.as_f64().expect(name)).collect()
}

#[track_caller]
pub fn close(ours: f64, reference: f64, relative: f64, what: &str) {
    let scale = reference.abs().max(1e-12);
    assert!((ours - reference).abs() <= relative * scale, "{what}: {ours}, reference {reference}");
}

/// Random numbers for simulations, apart from those of the crate.
pub struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) * 2.0_f64.powi(-52)
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    pub fn sample(&mut self, n: usize, mut draw: impl FnMut(&mut Draw) -> f64) -> Vec<f64> {
        (0..n).map(|_| draw(self)).collect()
    }
}

/// Sequential write rates as published for one drive that was measured 105 times: most between 160 and
/// 175 MB/s, a share at or below 150, in no order. The source has a histogram only; the ends are ours.
pub fn two_speed_drive(draw: &mut Draw, n: usize, share_low: f64) -> Vec<f64> {
    draw.sample(n, |draw| {
        if draw.uniform() < share_low {
            draw.between(130.0, 150.0)
        } else {
            draw.between(160.0, 175.0)
        }
    })
}
