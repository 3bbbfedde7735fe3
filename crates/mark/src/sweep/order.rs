//! Effect of the order of the runs: interleaved settings compared with the same settings with all runs in a row.

use stats::{RatioEstimate, median, paired_ratio};
use workload::plan::Order;

use super::body::{OrderEffect, SettingFigures};
use super::design::Sweep;
use super::vary::Factor;
use crate::body::CONFIDENCE;

/// Of settings that were made in both orders; `None` where order was not varied or no setting counts in both.
pub(super) fn find(sweep: &Sweep, settings: &[SettingFigures]) -> Option<OrderEffect> {
    let order = sweep.vary.iter().position(|vary| vary.factor == Factor::Order)?;
    let is_twin = |a: &SettingFigures, b: &SettingFigures| {
        let pairs = a.levels.iter().zip(&b.levels).enumerate();
        pairs.into_iter().all(|(factor, (a, b))| (factor == order) != (a == b))
    };
    let stands = |order: Order| {
        settings.iter().filter(move |s| s.headline && s.load.order == order && s.runs.len() > 1)
    };
    let both: Vec<(&SettingFigures, &SettingFigures)> = stands(Order::Interleaved)
        .filter_map(|turns| Some((turns, stands(Order::Blocked).find(|row| is_twin(turns, row))?)))
        .collect();
    if both.is_empty() {
        return None;
    }
    let ratio = |of: &dyn Fn(&SettingFigures) -> f64| {
        let turns: Vec<f64> = both.iter().map(|(turns, _)| of(turns)).collect();
        let row: Vec<f64> = both.iter().map(|(_, row)| of(row)).collect();
        let found = paired_ratio(&turns, &row, CONFIDENCE)?;
        Some(RatioEstimate { ratio: found.ratio, low: found.low, high: found.high })
    };
    let cv = |s: &SettingFigures| s.mb_s.cv;
    let typical = |values: Vec<f64>| median(&values).unwrap_or(0.0);
    Some(OrderEffect {
        settings: both.len(),
        spread: ratio(&cv),
        throughput: ratio(&|s| s.mb_s.median.unwrap_or(0.0)),
        cv_interleaved: typical(both.iter().map(|(turns, _)| cv(turns)).collect()),
        cv_blocked: typical(both.iter().map(|(_, row)| cv(row)).collect()),
    })
}
