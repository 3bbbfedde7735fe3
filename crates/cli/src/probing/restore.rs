//! `probe --restore`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use bench::{consent, originals};
use block::Bytes;
use drives::TargetSpec;
use instruments::probe::restore;
use probe::capacity::Restored;
use record::Vault;

use crate::args::ChainArgs;
use crate::exit::{Exit, Refused};
use crate::messages;
use crate::verbs::print_json;

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
    if !place.writing.write {
        return Err(Refused(format!(
            "{target}: putting original data back writes to it; add {}",
            consent::flags_for(target.as_str())
        ))
        .into());
    }
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly(&cancel);
    let restored = restore(place.place(), &originals, args.restore_all, &cancel)?;
    let Some(restored) = restored else {
        messages::note("stopped; the same command puts back what is left");
        return Ok(Exit::Interrupted);
    };
    if restored.is_whole() {
        originals::discard(&originals, runs_dir)
            .context("the original data was put back, and its copy stays")?;
    }
    if args.output.result.json {
        print_json("drivescope.probe.restored/1", restored)?;
    } else {
        messages::plain(&format!("{target}: {}\n", in_words(&restored)))?;
    }
    Ok(if restored.is_whole() { Exit::Done } else { Exit::No })
}

fn in_words(restored: &Restored) -> String {
    let Restored { put_back_bytes, there_bytes, changed_bytes, failed_bytes } = restored;
    let mut words = format!(
        "put back {} of original data; {} were there already",
        put_back_bytes.human(),
        there_bytes.human()
    );
    if *changed_bytes > Bytes::ZERO {
        words += &format!(
            "; {} hold something else now and were left alone (--restore-all overwrites them too)",
            changed_bytes.human()
        );
    }
    if *failed_bytes > Bytes::ZERO {
        words +=
            &format!("; {} could not be read or written, and stay saved", failed_bytes.human());
    }
    words
}
