//! Ctrl-C and its like.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Raised by Ctrl-C and its like, so that the code that set something up also takes it down. The
/// program under way ends by itself: it gets the terminal's signal as well.
///
/// # Errors
/// When the signals cannot be watched.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, flag.clone()).context("cannot watch for Ctrl-C")?;
    }
    Ok(flag)
}
