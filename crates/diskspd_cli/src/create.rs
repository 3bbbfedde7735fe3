//! Makes the file that `-c` asks for, or makes one larger.

use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use block::{Bytes, Event, Payload as _, RunSink as _};
use linux::gate::Permit;
use linux::scratch::{self, ScratchFile};
use live::Progress;
use runner::envelope::run_id;
use runner::messages;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use workload::content::SectorContent;
use workload::plan::Content;

/// Finds out whether [`make`] can make the file, and changes nothing.
///
/// # Errors
/// When the name leads nowhere, or its directory takes no such file.
pub fn check_new(name: &str, size: Bytes) -> Result<()> {
    if Path::new(name).symlink_metadata().is_ok() {
        bail!("-c: {name} is a link that leads nowhere; remove it, or name another file");
    }
    let dir = dir_of(name);
    scratch::may_create(dir)
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(scratch::check_space(dir, size)?))
        .with_context(|| format!("-c: {name} cannot be created"))
}

/// Finds out whether a file can be made larger by these bytes, and changes nothing.
///
/// # Errors
/// When they do not fit.
pub fn check_larger(path: &Path, missing: &Range<u64>) -> Result<()> {
    let real = std::fs::canonicalize(path)?;
    let dir = real.parent().unwrap_or(Path::new("/"));
    Ok(scratch::check_space(dir, Bytes(missing.end - missing.start))?)
}

fn dir_of(name: &str) -> &Path {
    let parent = Path::new(name).parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Makes the file `name` of this size. It is written in full, with content that does not compress, under another name first:
/// a kill leaves no file that looks complete.
///
/// # Errors
/// When it cannot be made, or another program made one of that name meanwhile.
pub fn make(name: &str, size: Bytes, cancel: &AtomicBool) -> Result<()> {
    let seed = content_seed()?;
    let mut payload = SectorContent::new(Content::default(), seed, u16::MAX);
    let id = run_id(seed).to_string();
    let mut show = shown_as_writing(name);
    let made = ScratchFile::create(dir_of(name), size, &id, &mut payload, &mut show, cancel);
    let made = made.with_context(|| format!("-c: {name} cannot be created"))?;
    let named = match renameat_with(CWD, made.path(), CWD, name, RenameFlags::NOREPLACE) {
        // The filesystem does not know how. A second name replaces nothing either; the first one goes with `made`.
        Err(Errno::INVAL | Errno::NOSYS) => std::fs::hard_link(made.path(), name),
        renamed => renamed.map_err(Into::into),
    };
    match named {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("-c: {name} exists now; another program made it; run the command again")
        }
        named => named.with_context(|| format!("-c: {name} cannot be given its name")),
    }
}

fn content_seed() -> Result<u64> {
    linux::host::fresh_seed().context("cannot draw a seed for the file's content")
}

/// Shows the progress of writing the file `name`.
fn shown_as_writing(name: &str) -> impl FnMut(Bytes, Bytes) {
    let mut progress = Progress::new(true);
    let what = format!("writing {name}");
    move |done_bytes, total_bytes| {
        progress.event(&Event::Preparing { what: what.clone(), done_bytes, total_bytes });
    }
}

/// Bytes that are written at a time.
const CHUNK: u64 = 1 << 20;

/// Adds the `missing` bytes to the file `name`, to whose end they belong. When that fails or is cancelled, the file is
/// as long as it was.
///
/// # Errors
/// When they cannot be written.
pub fn grow(name: &str, permit: &Permit, missing: Range<u64>, cancel: &AtomicBool) -> Result<()> {
    let mut payload = SectorContent::new(Content::default(), content_seed()?, u16::MAX);
    let (file, had) = (permit.file(), missing.start);
    let mut show = shown_as_writing(name);
    let mut write = || -> Result<()> {
        let mut chunk = vec![0; CHUNK as usize];
        let mut at = missing.start;
        while at < missing.end {
            if cancel.load(Ordering::Relaxed) {
                bail!("stopped while it was written; it is as it was");
            }
            let length = CHUNK.min(missing.end - at);
            let part = &mut chunk[..length as usize];
            payload.fill(Bytes(at), part);
            file.write_all_at(part, at)?;
            at += length;
            show(Bytes(at - missing.start), Bytes(missing.end - missing.start));
        }
        file.sync_all()?;
        scratch::forget(file)?;
        Ok(())
    };
    let written = write();
    if written.is_err() {
        file.set_len(had).context("cannot be made as it was")?;
    }
    written.with_context(|| format!("-c: {name} cannot be made larger"))?;
    if had > 0 {
        messages::note(&format!(
            "-c: {name} was there, of {}; what is missing to {} was added to it",
            Bytes(had).human(),
            Bytes(missing.end).human()
        ));
    }
    Ok(())
}
