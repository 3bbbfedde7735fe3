//! Threads of one job, put together.

use super::recorded::Recorded;

/// Threads of one job as one result each: fio without `group_reporting` lists each by itself, and they ran at the same
/// time.
pub fn joined(results: Vec<Recorded>) -> Vec<Recorded> {
    let mut joined: Vec<Recorded> = Vec::new();
    for result in results {
        let is_of = |first: &Recorded| {
            first.asked.is_one_of_threads
                && result.asked.is_one_of_threads
                && (&first.name, &first.files.first()) == (&result.name, &result.files.first())
        };
        match joined.last_mut().filter(|first| is_of(first)) {
            Some(first) => join(first, &result),
            None => joined.push(result),
        }
    }
    joined
}

fn join(first: &mut Recorded, thread: &Recorded) {
    for measured in &thread.measured {
        match first.measured.iter_mut().find(|sum| sum.way == measured.way) {
            Some(sum) => *sum = sum.and(measured),
            None => first.measured.push(measured.clone()),
        }
    }
    for caveat in &thread.caveats {
        if !first.caveats.contains(caveat) {
            first.caveats.push(caveat.clone());
        }
    }
}
