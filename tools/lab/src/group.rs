//! Grouping of scenarios that share a boot.

use std::collections::BTreeMap;

use crate::machine::DRIVES_MAX;
use crate::scenario::Scenario;

/// Scenarios of one boot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Parameters of its kernel.
    pub kernel: String,
    /// In the order in which they run.
    pub scenarios: Vec<Scenario>,
}

impl Batch {
    fn drives(&self) -> usize {
        self.scenarios.iter().map(|s| s.drives.len()).sum()
    }

    /// Longest that it may take, in seconds: what batches are balanced by.
    fn cost_s(&self) -> u64 {
        self.scenarios.iter().map(|s| s.timeout_s).sum()
    }
}

/// Batches of `scenarios`, of which `jobs` run at a time: as many boots as keep all jobs busy, and more where
/// parameters of the kernel or the number of drives demand it. What takes longest comes first.
pub fn batches(scenarios: &[Scenario], jobs: usize) -> Vec<Batch> {
    let mut alike: BTreeMap<&str, Vec<&Scenario>> = BTreeMap::new();
    let mut batches: Vec<Batch> = Vec::new();
    for scenario in scenarios {
        if scenario.alone {
            batches
                .push(Batch { kernel: scenario.kernel.clone(), scenarios: vec![scenario.clone()] });
        } else {
            alike.entry(&scenario.kernel).or_default().push(scenario);
        }
    }
    for (kernel, mut scenarios) in alike {
        scenarios.sort_by_key(|s| std::cmp::Reverse(s.timeout_s));
        let mut shared = vec![Batch { kernel: kernel.to_owned(), ..Batch::default() }; jobs.max(1)];
        for scenario in scenarios {
            let fits = |b: &&mut Batch| b.drives() + scenario.drives.len() <= DRIVES_MAX;
            match shared.iter_mut().filter(fits).min_by_key(|b| b.cost_s()) {
                Some(batch) => batch.scenarios.push(scenario.clone()),
                None => shared
                    .push(Batch { kernel: kernel.to_owned(), scenarios: vec![scenario.clone()] }),
            }
        }
        batches.extend(shared.into_iter().filter(|b| !b.scenarios.is_empty()));
    }
    batches.sort_by_key(|b| std::cmp::Reverse(b.cost_s()));
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    fn scenario(name: &str, drives: usize, timeout_s: u64, more: &str) -> Scenario {
        let mut text = format!(
            "summary = 's'\ntimeout_s = {timeout_s}\n{more}\n[[step]]\nname = 'n'\nrun = 'true'\n"
        );
        for i in 0..drives {
            let name = char::from(b'a' + i as u8);
            text += &format!("[[drive]]\nname = '{name}'\nkind = 'virtio'\nsize = '1MiB'\n");
        }
        parse(name, &text).unwrap()
    }

    fn names(batches: &[Batch]) -> Vec<Vec<&str>> {
        batches.iter().map(|b| b.scenarios.iter().map(|s| s.name.as_str()).collect()).collect()
    }

    // A scenario that is in no batch would not run, and its absence would not be noticed.
    #[test]
    fn every_scenario_is_in_one_batch_and_no_batch_has_too_many_drives() {
        let scenarios: Vec<_> =
            (0..40).map(|i| scenario(&format!("s{i}"), i % 5, 10, "")).collect();
        let batches = batches(&scenarios, 2);
        let mut all: Vec<_> = names(&batches).concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 40);
        assert!(batches.iter().all(|b| b.drives() <= DRIVES_MAX), "{batches:?}");
    }

    #[test]
    fn unlike_kernels_boot_apart_and_so_does_who_wants_to_be_alone() {
        let scenarios = [
            scenario("a", 1, 10, ""),
            scenario("b", 1, 10, "kernel = 'x=1'"),
            scenario("c", 1, 10, "alone = true"),
            scenario("d", 1, 10, ""),
        ];
        let batches = batches(&scenarios, 1);
        let mut names = names(&batches);
        names.sort();
        assert_eq!(names, [vec!["a", "d"], vec!["b"], vec!["c"]]);
    }

    #[test]
    fn jobs_are_kept_busy_alike() {
        let scenarios = [30, 10, 10, 10].map(|t| scenario(&format!("t{t}"), 0, t, ""));
        let batches = batches(&scenarios, 2);
        assert_eq!(batches.iter().map(Batch::cost_s).collect::<Vec<_>>(), [30, 30]);
    }
}
