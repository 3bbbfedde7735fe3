//! `probe --restore`: puts original data back that `probe capacity` had overwritten when it was killed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};
use bench::{consent, originals};
use block::{Bytes, DriveIdentity, Nanos};
use documents::Decode as _;
use drives::TargetSpec;
use engine::Bench;
use probe::capacity::{Restored, Restorer};
use probe::{Desk, Halt, NoKeeper, Terms};
use record::{Originals, Vault};
use workload::plan::Region;

use super::open::{Opened, with_bench};
use crate::args::ChainArgs;
use crate::exit::{Exit, Refused};
use crate::messages;
use crate::verbs::print_json;

/// Time is no limit of what has to be done anyway.
const DAYS: Nanos = Nanos::secs(1_000_000);

/// Puts the original data of the run `name` back.
///
/// # Errors
/// When there is none, the drive is another one, or the safety gate refuses.
pub fn main(name: &str, args: &ChainArgs) -> Result<Exit> {
    let runs_dir = args.record.keep.place.runs_dir.as_deref();
    let originals = originals::find(name, runs_dir)?;
    let id = &originals.run_id;
    if Vault::at(".").is_live(&originals) {
        bail!("{id}: its probe still runs, and puts the original data back itself");
    }
    originals::hush(id);
    let mut place = args.place.clone();
    let target = place.target.get_or_insert_with(|| TargetSpec::of(&originals.target)).clone();
    if !place.write {
        return Err(Refused(format!(
            "{target}: putting original data back writes to it; add {}",
            consent::flags_for(target.as_str())
        ))
        .into());
    }
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly(&cancel);
    let bytes = Bytes(originals.bytes());
    let restored = with_bench(&place, Some(bytes), &cancel, &mut |bench, opened| {
        on(bench, opened, &originals, args.restore_all)
    })?;
    let Some(restored) = restored else {
        messages::note("stopped; the same command puts back what is left");
        return Ok(Exit::Interrupted);
    };
    if restored.is_whole() {
        originals::discard(&originals, runs_dir)
            .context("the original data was put back, and its copy stays")?;
    }
    if args.output.json {
        print_json("drivescope.probe.restored/1", restored)?;
    } else {
        messages::plain(&format!("{target}: {}\n", in_words(&restored)))?;
    }
    Ok(if restored.is_whole() { Exit::Done } else { Exit::No })
}

/// `None` when the user stopped it.
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
    let info = bench.info();
    let length = info.capacity_bytes.round_down(info.logical_block_bytes);
    let terms = Terms {
        region: Region { offset: Bytes::ZERO, length },
        may_write: opened.may_write,
        time_budget: DAYS,
        write_budget: Bytes(u64::MAX),
        seed: 0,
    };
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

fn in_words(restored: &Restored) -> String {
    let Restored { put_back_bytes, there_bytes, changed_bytes, failed_bytes } = restored;
    let mut words =
        format!("put back {put_back_bytes} of original data; {there_bytes} were there already");
    if *changed_bytes > Bytes::ZERO {
        words += &format!(
            "; {changed_bytes} hold something else now and were left alone (--restore-all overwrites them too)"
        );
    }
    if *failed_bytes > Bytes::ZERO {
        words += &format!("; {failed_bytes} could not be read or written, and stay saved");
    }
    words
}
