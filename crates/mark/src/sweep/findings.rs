//! From a mark of all settings to what it means as a sweep.

use std::collections::{HashMap, HashSet};

use stats::Caveat;
use stats::remedy::Run;
use workload::plan::{Order, Plan};
use workload::schedule::{Slot, schedule};

use super::body::{Body, Limits, SettingFigures, SettingRun};
use super::design::Sweep;
use super::vary::Factor;
use super::{effects, order, stability};
use crate::body::{self, Test};

/// Subject of doubts about all settings.
const WHOLE: &str = "the sweep";

/// Planned times of the runs.
struct Times {
    slots: HashMap<u32, (Slot, u64)>,
}

impl Times {
    fn new(plan: &Plan) -> Times {
        let mut now = 0_u64;
        let slots = schedule(plan).map(|slot| {
            now += plan.schedule.pause.0;
            let at = now;
            now += plan.steps[slot.step].planned_at_least().0;
            (slot.position, (slot, at))
        });
        Times { slots: slots.collect() }
    }
}

/// Draws the findings of `mark`, which was made of `plan`, the plan of `sweep`.
pub fn findings(sweep: &Sweep, plan: &Plan, mark: &body::Body, limits: Limits) -> Body {
    let times = Times::new(plan);
    let settings: Vec<SettingFigures> = sweep
        .settings()
        .into_iter()
        .zip(mark.tests.iter().zip(&mark.setup.order))
        .map(|(setting, (test, positions))| {
            let rates: Vec<f64> = test.runs.iter().map(|run| run.mb_s).collect();
            SettingFigures {
                name: setting.name,
                test: setting.load.test().to_string(),
                stability: stability::judge(&rates, test.headline, &limits),
                load: setting.load,
                levels: setting.levels,
                headline: test.headline,
                mb_s: test.mb_s,
                iops: test.iops,
                latency_ns: test.latency_ns,
                proofs: test.proofs.clone(),
                runs: runs(test, positions, &times),
            }
        })
        .collect();
    let mut caveats = mark.caveats.clone();
    let turns = |order: Order| settings.iter().filter(move |s| s.load.order == order);
    let interleaved: Vec<&SettingFigures> = turns(Order::Interleaved).collect();
    let is_in_turns = interleaved.len() > 1;
    let compared: Vec<&SettingFigures> =
        if is_in_turns { interleaved } else { turns(Order::Blocked).collect() };
    let is_more_than_order = sweep.vary.iter().any(|vary| vary.factor != Factor::Order);
    let effects = effects::find(sweep, &compared, &limits);
    if let (Err(why), true) = (&effects, is_more_than_order) {
        let cause = format!("nothing is said of effects: {why}");
        caveats.push(Caveat::new("no_effects", WHOLE, cause, Run::ConfirmedLevels));
    }
    if effects.is_ok() && !is_in_turns {
        let cause = "all runs of a setting followed each other: what changed with time counts as an effect of settings";
        caveats.push(Caveat::new("blocked", WHOLE, cause, Run::InterleaveSettings));
    }
    if let Some(left_out) = effects.as_ref().ok().map(|found| &found.left_out)
        && !left_out.is_empty()
    {
        let cause = format!(
            "effects are estimated without {}: numbers of these levels were withdrawn",
            left_out.join(", ")
        );
        caveats.push(Caveat::new("left_out", WHOLE, cause, Run::LookAtProofs));
    }
    Body {
        target: mark.target.clone(),
        stack: mark.stack.clone(),
        sweep: sweep.clone(),
        setup: mark.setup.clone(),
        limits,
        order: order::find(sweep, &settings),
        effects: effects.ok(),
        caveats: fewer(caveats, &settings),
        interrupted: mark.interrupted,
        settings,
    }
}

fn runs(test: &Test, positions: &[u32], times: &Times) -> Vec<SettingRun> {
    let made = test.runs.iter().zip(positions);
    let told = made.map(|(run, position)| {
        let known = times.slots.get(position);
        SettingRun {
            position: *position,
            block: known.map_or(0, |(slot, _)| slot.run),
            seed: known.map_or(0, |(slot, _)| slot.seed),
            planned_at_ns: known.map_or(0, |(_, at)| *at),
            run: run.clone(),
        }
    });
    told.collect()
}

/// Merges the doubts of single settings, of which a sweep has hundreds, so that each is reported once for all settings that
/// share it, with the words of the first.
fn fewer(caveats: Vec<Caveat>, settings: &[SettingFigures]) -> Vec<Caveat> {
    let name = |setting: &SettingFigures| format!("{} {}", setting.name, setting.load.op.word());
    let names: HashSet<String> = settings.iter().map(name).collect();
    // With how many more settings each is shared.
    let mut kept: Vec<(Caveat, usize)> = Vec::new();
    for mut caveat in caveats {
        let subjects: Vec<&str> = caveat.subject.split(", ").collect();
        if !subjects.iter().all(|subject| names.contains(*subject)) {
            kept.push((caveat, 0));
            continue;
        }
        let (first, count) = (subjects[0].to_owned(), subjects.len());
        let is_shared = |(other, _): &&mut (Caveat, usize)| {
            other.code == caveat.code && names.contains(&other.subject)
        };
        match kept.iter_mut().find(is_shared) {
            Some((_, more)) => *more += count,
            None => {
                caveat.subject = first;
                kept.push((caveat, count - 1));
            }
        }
    }
    let told = kept.into_iter().map(|(mut caveat, more)| {
        if more > 0 {
            let word = if more == 1 { "setting" } else { "settings" };
            caveat.subject.push_str(&format!(" and {more} more {word}"));
        }
        caveat
    });
    told.collect()
}
