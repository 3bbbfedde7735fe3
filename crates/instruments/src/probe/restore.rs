//! Puts original data back that `probe capacity` had overwritten when it was killed.

use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};
use bench::opening::Place;
use block::{Bytes, DriveIdentity};
use documents::Decode as _;
use engine::Bench;
use probe::capacity::{Restored, Restorer};
use probe::{Desk, Halt, NoKeeper, Terms};
use record::{Originals, Vault};

use super::open::{Opened, with_bench};

/// Puts `originals` back on the drive at `place`; `all` also where it holds something else by now. `None` when the user
/// stopped it.
///
/// # Errors
/// When the drive is another one, or the safety gate refuses.
pub fn restore(
    place: Place<'_>,
    originals: &Originals,
    all: bool,
    cancel: &AtomicBool,
) -> Result<Option<Restored>> {
    let bytes = Bytes(originals.bytes());
    with_bench(place, Some(bytes), cancel, &mut |bench, opened| on(bench, opened, originals, all))
}

fn on(
    bench: &mut dyn Bench,
    opened: &Opened,
    originals: &Originals,
    all: bool,
) -> Result<Option<Restored>> {
    let (id, now) = (&originals.run_id, &opened.identity);
    let then = DriveIdentity::decode(originals.drive.clone())
        .with_context(|| format!("{id}: does not say of which drive its original data is"))?;
    if let Some(difference) = then.difference(now) {
        bail!("{}: is not the drive that the original data of {id} is of: {difference}", now.name);
    }
    let terms = Terms::unlimited(bench.info(), opened.may_write);
    let mut keeper = NoKeeper;
    let mut desk = Desk::new(bench, terms, &mut keeper);
    let mut restorer = Restorer::new(originals.salt, all);
    let failed = |halt: Halt| anyhow!(halt).context(now.name.clone());
    let done = Vault::at(".").data(originals, &mut |offset, data| {
        restorer.place(&mut desk, offset, data).map_err(failed)
    });
    match done {
        Err(error) if matches!(error.downcast_ref(), Some(Halt::Interrupted)) => return Ok(None),
        done => done?,
    }
    restorer.finish(&mut desk).map(Some).map_err(failed)
}
