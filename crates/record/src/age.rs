//! Order of runs by age.
//!
//! The order of creation decides, which the runs directory keeps ([`store::ORDER`]): a clock that was years ahead once must not
//! leave its run the newest for years. Runs that the order does not know were imported, or made before it was kept.
//! Those are put in by their time: a run's name sorts by the second in which it began; within a second, chance decides
//! how names sort, so there the time in its record decides. Only those are read. Names with nanoseconds in them were rejected:
//! they are typed and read out, and those that were given stay as they are.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter;
use std::path::Path;

use serde::Deserialize;

use crate::files::Files;
use crate::store::{self, ORDER, RECORD};
use crate::{RecordError, RunId};

/// The field of `record.json` with the time at which a run began.
#[derive(Deserialize)]
struct Begun {
    #[serde(default)]
    begun_ns: Option<i64>,
}

/// Time at which the run of this name began, in nanoseconds since 1970; `None` when its record does not have it.
pub(crate) fn begun_ns<F: Files>(files: &F, dir: &Path, id: &RunId) -> Option<i64> {
    let bytes = store::read(files, &dir.join(id.as_str()).join(RECORD)).ok()?;
    serde_json::from_slice::<Begun>(&bytes).ok()?.begun_ns
}

/// Older before newer. Within one second, records without a time were written by versions that did not keep it, and come first,
/// by name.
fn compare(a: (&RunId, Option<i64>), b: (&RunId, Option<i64>)) -> Ordering {
    let key = |(id, begun_ns)| (RunId::second(id), begun_ns, id);
    key(a).cmp(&key(b))
}

/// The names, newest first; `ids` are sorted. Reads what it has to when it is asked for the next one.
pub(crate) fn newest<'a, F: Files>(
    files: &'a F,
    dir: &'a Path,
    ids: &[RunId],
) -> impl Iterator<Item = RunId> + use<'a, F> {
    newest_by(files, dir, ids, |id| begun_ns(files, dir, id))
}

/// [`newest`] where `begun_ns` gives the time at which a run began.
pub(crate) fn newest_by<F: Files, B: Fn(&RunId) -> Option<i64>>(
    files: &F,
    dir: &Path,
    ids: &[RunId],
    begun_ns: B,
) -> impl Iterator<Item = RunId> + use<F, B> {
    let known = known(files, dir);
    let (mut listed, by_time): (Vec<RunId>, Vec<RunId>) =
        ids.iter().cloned().partition(|id| known.contains_key(id));
    listed.sort_by_key(|id| known.get(id).copied());
    let mut by_time = ByTime { begun_ns, rest: by_time, second: Vec::new() };
    iter::from_fn(move || match (listed.last(), by_time.last()) {
        (Some(listed), Some(other)) if by_time.compare(listed, &other).is_lt() => {
            by_time.second.pop()
        }
        (Some(_), _) => listed.pop(),
        (None, _) => by_time.second.pop(),
    })
}

/// Notes, before it is made, that a run of this name is the newest of all that are there. The caller holds the directory's
/// lock.
pub(crate) fn note<F: Files>(files: &F, dir: &Path, id: &RunId) -> Result<(), RecordError> {
    let mut names: Vec<RunId> = newest(files, dir, &store::ids(files, dir)?).collect();
    names.reverse();
    names.retain(|name| name != id);
    names.push(id.clone());
    let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
    store::replace(files, dir, ORDER, lines.as_bytes())
}

/// Runs of the order that is kept, each with its place; none where it cannot be read: then time decides.
fn known<F: Files>(files: &F, dir: &Path) -> BTreeMap<RunId, usize> {
    let bytes = store::read(files, &dir.join(ORDER)).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    text.lines().enumerate().filter_map(|(at, name)| Some((name.parse().ok()?, at))).collect()
}

/// Runs by the time at which they began, the newest at the end.
struct ByTime<B> {
    begun_ns: B,
    /// Those that were not looked at yet, sorted.
    rest: Vec<RunId>,
    /// Those of the newest second, in order.
    second: Vec<RunId>,
}

impl<B: Fn(&RunId) -> Option<i64>> ByTime<B> {
    fn last(&mut self) -> Option<RunId> {
        if self.second.is_empty() {
            let last = self.rest.last()?.second().to_owned();
            let from = self.rest.partition_point(|id| id.second() < &*last);
            self.second = self.rest.split_off(from);
            if self.second.len() > 1 {
                let timed = |id| ((self.begun_ns)(&id), id);
                let mut all: Vec<_> =
                    std::mem::take(&mut self.second).into_iter().map(timed).collect();
                all.sort_by(|a, b| compare((&a.1, a.0), (&b.1, b.0)));
                self.second = all.into_iter().map(|(_, id)| id).collect();
            }
        }
        self.second.last().cloned()
    }

    /// Reads only where the names do not decide.
    fn compare(&self, a: &RunId, b: &RunId) -> Ordering {
        let time = |id| (a.second() == b.second()).then(|| (self.begun_ns)(id)).flatten();
        compare((a, time(a)), (b, time(b)))
    }
}
