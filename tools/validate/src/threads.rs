//! Jobs on several threads: for virtual time, which does not care who else runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Result, anyhow};

/// Does `count` jobs on `threads` threads, until one fails or `stop` is set; results in the order of jobs.
///
/// # Errors
/// That of the job that failed, or that it was stopped.
pub fn on_threads<R: Send>(
    threads: usize,
    count: usize,
    stop: &AtomicBool,
    job: impl Fn(usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(());
            }
            if stop.load(Ordering::Relaxed) {
                return Err(anyhow!("stopped"));
            }
            // A job that fails ends the others too.
            let result = job(at).inspect_err(|_| next.store(count, Ordering::Relaxed))?;
            done.lock().map_err(|_| anyhow!("another thread failed"))?.push((at, result));
        }
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .try_for_each(|handle| handle.join().map_err(|_| anyhow!("a thread panicked"))?)
    })?;
    let mut done = done.into_inner().map_err(|_| anyhow!("a thread panicked"))?;
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when threads mix up whose result is whose.
    #[test]
    fn results_come_in_the_order_of_jobs() {
        let going = AtomicBool::new(false);
        let squares = on_threads(3, 50, &going, |at| Ok(at * at)).unwrap();
        assert_eq!(squares, (0..50).map(|at| at * at).collect::<Vec<_>>());
        let failed =
            on_threads(2, 50, &going, |at| if at == 7 { Err(anyhow!("no")) } else { Ok(()) });
        assert!(failed.is_err());
        assert!(on_threads(1, 1, &AtomicBool::new(true), |_| Ok(())).is_err());
    }
}
