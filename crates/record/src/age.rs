//! Which of two runs is the newer one.
//!
//! A run's name sorts by the second in which it began; within a second, chance decides how names sort, so
//! there its record has to tell. Only those are read: of thousands of runs, the newest one takes the
//! reading of as many as began in its second. Names with nanoseconds in them were rejected: they are typed
//! and read out, and those that were given stay as they are.

use std::cmp::Ordering;
use std::path::Path;

use serde::Deserialize;

use crate::RunId;
use crate::files::Files;
use crate::store::{self, RECORD};

/// What of `record.json` tells when a run began.
#[derive(Deserialize)]
struct Begun {
    #[serde(default)]
    begun_ns: Option<i64>,
}

/// When the run of this name began, in nanoseconds since 1970, as far as its record tells.
pub(crate) fn begun_ns<F: Files>(files: &F, dir: &Path, id: &RunId) -> Option<i64> {
    let bytes = store::read(files, &dir.join(id.as_str()).join(RECORD)).ok()?;
    serde_json::from_slice::<Begun>(&bytes).ok()?.begun_ns
}

/// Older before newer. Records of one second that do not tell their time are of the time before records
/// did, and sort by name.
pub(crate) fn compare(a: (&RunId, Option<i64>), b: (&RunId, Option<i64>)) -> Ordering {
    let key = |(id, begun_ns)| (RunId::second(id), begun_ns, id);
    key(a).cmp(&key(b))
}

/// The names, newest first; `ids` are sorted. Reads what it has to when it is asked for the next one.
pub(crate) fn newest<'a, F: Files>(
    files: &'a F,
    dir: &'a Path,
    ids: &'a [RunId],
) -> impl Iterator<Item = RunId> + 'a {
    let seconds = ids.chunk_by(|a, b| a.second() == b.second()).rev();
    seconds.flat_map(move |second| {
        if let [only] = second {
            return vec![only.clone()];
        }
        let mut told: Vec<_> = second.iter().map(|id| (id, begun_ns(files, dir, id))).collect();
        told.sort_by(|a, b| compare(*b, *a));
        told.into_iter().map(|(id, _)| id.clone()).collect()
    })
}
