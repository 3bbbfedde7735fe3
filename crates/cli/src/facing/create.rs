//! Makes the file that `-c` asks for.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use block::{Bytes, DriveKind, Event, RunSink as _};
use linux::scratch::ScratchFile;
use workload::content::SectorContent;
use workload::plan::Content;

use crate::progress::Progress;
use crate::talk;
use crate::verbs::mark::run_id;

/// Makes the file `name` of this size, unless it is as large already. It is written in full, with what does not
/// compress, under another name first: what is cut off leaves no file that passes for the whole, and a smaller one that
/// was there before stays until then.
///
/// # Errors
/// When it cannot be made.
pub fn create(name: &str, kind: DriveKind, bytes: u64, cancel: &AtomicBool) -> Result<()> {
    if kind != DriveKind::File {
        talk::note(&format!("-c: {name} is there already"));
        return Ok(());
    }
    let path = std::fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name));
    match std::fs::metadata(&path) {
        Ok(meta) if !meta.is_file() => bail!("-c: {name} is no file, and is not created"),
        Ok(meta) if meta.len() >= bytes => return Ok(()),
        _ => {}
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let dir = parent.unwrap_or(Path::new("."));
    let seed = linux::host::fresh_seed().context("cannot draw a seed for the file's content")?;
    let mut payload = SectorContent::new(Content::default(), seed, u16::MAX);
    let mut progress = Progress::new(true);
    let mut tell = |done_bytes, total_bytes| {
        let what = format!("writing {name}");
        progress.event(&Event::Preparing { what, done_bytes, total_bytes });
    };
    let id = run_id(seed).to_string();
    let made = ScratchFile::create(dir, Bytes(bytes), &id, &mut payload, &mut tell, cancel);
    let made = made.with_context(|| format!("-c: {name} cannot be created"))?;
    std::fs::rename(made.path(), &path)
        .with_context(|| format!("-c: {name} cannot be given its name"))?;
    Ok(())
}
