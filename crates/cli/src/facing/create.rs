//! Makes the file that `-c` asks for.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use block::{Bytes, DriveKind, Event, Payload as _, RunSink as _};
use linux::scratch::ScratchFile;
use workload::content::SectorContent;
use workload::plan::Content;

use crate::progress::Progress;
use crate::talk;
use crate::verbs::mark::run_id;

/// Makes the file `name` of this size, unless it is as large already. It is written in full, with what does not
/// compress, under another name first: what is cut off leaves no file that passes for the whole. To a smaller one that is
/// there, what is missing is added: it may be somebody's.
///
/// # Errors
/// When it cannot be made.
pub fn create(name: &str, kind: DriveKind, bytes: u64, cancel: &AtomicBool) -> Result<()> {
    if kind != DriveKind::File {
        talk::note(&format!("-c: {name} is there already"));
        return Ok(());
    }
    let path = std::fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name));
    let seed = linux::host::fresh_seed().context("cannot draw a seed for the file's content")?;
    let mut payload = SectorContent::new(Content::default(), seed, u16::MAX);
    let mut progress = Progress::new(true);
    let mut tell = |done_bytes, total_bytes| {
        let what = format!("writing {name}");
        progress.event(&Event::Preparing { what, done_bytes, total_bytes });
    };
    match std::fs::metadata(&path) {
        Ok(meta) if !meta.is_file() => bail!("-c: {name} is no file, and is not created"),
        Ok(meta) if meta.len() >= bytes => return Ok(()),
        Ok(meta) => {
            let had = meta.len();
            let dir = path.parent().unwrap_or(Path::new("."));
            let grown = linux::scratch::check_space(dir, Bytes(bytes - had))
                .map_err(Into::into)
                .and_then(|()| grow(&path, had..bytes, &mut payload, &mut tell, cancel));
            grown.with_context(|| format!("-c: {name} cannot be made larger"))?;
            if had > 0 {
                talk::note(&format!(
                    "-c: {name} was there, of {}; what is missing to {} was added to it",
                    Bytes(had),
                    Bytes(bytes)
                ));
            }
            return Ok(());
        }
        Err(_) => {}
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let dir = parent.unwrap_or(Path::new("."));
    let id = run_id(seed).to_string();
    let made = ScratchFile::create(dir, Bytes(bytes), &id, &mut payload, &mut tell, cancel);
    let made = made.with_context(|| format!("-c: {name} cannot be created"))?;
    std::fs::rename(made.path(), &path)
        .with_context(|| format!("-c: {name} cannot be given its name"))?;
    Ok(())
}

/// Writes so much at a time.
const CHUNK: u64 = 1 << 20;

/// Writes `range`, which begins at the end of the file at `path`. When that fails or is cancelled, the file is as it was.
fn grow(
    path: &Path,
    range: Range<u64>,
    payload: &mut SectorContent,
    tell: &mut dyn FnMut(Bytes, Bytes),
    cancel: &AtomicBool,
) -> Result<()> {
    let file = File::options().write(true).open(path)?;
    let mut write = || -> Result<()> {
        let mut chunk = vec![0; CHUNK as usize];
        let mut at = range.start;
        while at < range.end {
            if cancel.load(Ordering::Relaxed) {
                bail!("stopped while it was written; it is as it was");
            }
            let length = CHUNK.min(range.end - at);
            let part = &mut chunk[..length as usize];
            payload.fill(Bytes(at), part);
            file.write_all_at(part, at)?;
            at += length;
            tell(Bytes(at - range.start), Bytes(range.end - range.start));
        }
        file.sync_all()?;
        linux::scratch::forget(&file)?;
        Ok(())
    };
    let written = write();
    if written.is_err() {
        file.set_len(range.start).context("cannot be made as it was")?;
    }
    written
}
