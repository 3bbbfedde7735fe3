//! Huge pages for fio's buffers.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::read_trimmed;

const POOL: &str = "/proc/sys/vm/nr_hugepages";

/// Pages kept for whoever asks for them; given back when dropped.
#[derive(Debug)]
pub(super) struct HugePages {
    /// Pages there were before, when some were added.
    before: Option<u64>,
}

impl HugePages {
    /// Keeps `pages` more than there are.
    ///
    /// # Errors
    /// Without root, or when memory is too scattered.
    pub(super) fn reserve(pages: u64) -> Result<HugePages> {
        if pages == 0 {
            return Ok(HugePages { before: None });
        }
        let pool = || -> Result<u64> { Ok(read_trimmed(Path::new(POOL))?.parse()?) };
        let before = pool()?;
        let reserve = HugePages { before: Some(before) };
        fs::write(POOL, (before + pages).to_string()).context("cannot reserve huge pages")?;
        let now = pool()?;
        if now < before + pages {
            bail!(
                "the kernel reserved {} of {pages} huge pages: memory is too scattered; \
                 free some, or `echo 1 > /proc/sys/vm/compact_memory`",
                now.saturating_sub(before)
            );
        }
        Ok(reserve)
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        let Some(before) = self.before else { return };
        if let Err(error) = fs::write(POOL, before.to_string()) {
            eprintln!("warning: cannot set {POOL} back to {before}: {error}");
        }
    }
}
