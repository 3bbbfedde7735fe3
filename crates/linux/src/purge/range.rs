//! Methods that name a range of bytes to the kernel, in slices: a call for all of a large drive could neither be
//! followed nor ended.

use std::fs::File;
use std::io;

use block::{Bytes, Nanos};

use super::{Ended, Method, Patience, Status};
use crate::syscalls::{self, RangeCall};

/// Slices become longer while they take less than this, so that calls cost nothing beside their work.
const SHORT: Nanos = Nanos(250_000_000);

/// And shorter when they take more than this, so that Ctrl-C is heard.
const LONG: Nanos = Nanos(2_000_000_000);

/// The first slice.
const FIRST_BYTES: u64 = 64 << 20;

/// The longest slice. Drives take discards of 4 GiB and less at a time; the kernel splits what is longer.
const SLICE_BYTES_MAX: u64 = 64 << 30;

/// Range to be swept.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// Its length.
    pub size: Bytes,
    /// Slices are multiples of this, but for the last: the unit of discarding, or a logical block.
    pub unit: Bytes,
}

/// Why a slice failed.
#[derive(Debug)]
pub struct RangeFailure {
    /// Offset of the slice.
    pub at: Bytes,
    /// The kernel's answer.
    pub source: io::Error,
}

/// Processes a range slice by slice. `slice` does one, and `now` returns the time; the length of slices follows how
/// long they take. Returns the bytes that were done.
///
/// # Errors
/// The first failure of a slice.
pub fn sweep(
    sweep: Sweep,
    patience: &mut Patience<'_>,
    now: &mut dyn FnMut() -> Nanos,
    slice: &mut dyn FnMut(Bytes, Bytes) -> io::Result<()>,
) -> Result<Bytes, RangeFailure> {
    let Sweep { size, unit } = sweep;
    let unit = unit.0.max(1);
    let whole = |bytes: u64| (bytes / unit).max(1).saturating_mul(unit);
    let (mut done, mut length) = (0, whole(FIRST_BYTES));
    while done < size.0 && patience.is_over().is_none() {
        let this = length.min(size.0 - done);
        let before = now();
        slice(Bytes(done), Bytes(this))
            .map_err(|source| RangeFailure { at: Bytes(done), source })?;
        let took = now().0.saturating_sub(before.0);
        done += this;
        patience.tell(done as f64 / size.0 as f64);
        length = match took {
            _ if took < SHORT.0 => whole(length.saturating_mul(2).min(SLICE_BYTES_MAX)),
            _ if took > LONG.0 => whole(length / 2),
            _ => length,
        };
    }
    Ok(Bytes(done))
}

/// Does to all of a block device, which is open for writing, what `method` is; those that name no range fail.
pub fn whole_device(file: &File, method: Method, of: Sweep, patience: &mut Patience<'_>) -> Ended {
    let call = match method {
        Method::Discard => RangeCall::Discard,
        Method::SecureDiscard => RangeCall::SecureDiscard,
        Method::Zero => RangeCall::ZeroOut,
        Method::NvmeSanitize | Method::AtaErase | Method::NvmeFormat => {
            return Ended::failed(format!("{method} names no range of bytes"), "");
        }
    };
    let begun = std::time::Instant::now();
    let mut now = || Nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let swept = sweep(of, patience, &mut now, &mut |offset, len| {
        syscalls::block_range(file, call, offset, len)
    });
    // Zeros that were written may still be in a cache. A drive that fails here has not stored them.
    let swept = swept.and_then(|done| {
        file.sync_all().map(|()| done).map_err(|source| RangeFailure { at: done, source })
    });
    ended(method, of.size, swept, patience.is_over())
}

/// Result of a sweep over `size` bytes; `why` is the reason for not waiting until its end, if any.
fn ended(
    method: Method,
    size: Bytes,
    swept: Result<Bytes, RangeFailure>,
    why: Option<&'static str>,
) -> Ended {
    let share = |done: Bytes| Some(done.0 as f64 / size.0.max(1) as f64);
    match swept {
        Ok(done) if done >= size => {
            Ended::done(format!("the whole {} went through {method}", size.human()))
        }
        Ok(done) => Ended {
            status: Status::Stopped,
            words: format!(
                "ended {} after {} of {}; what lies behind was not touched",
                why.unwrap_or("early"),
                done.human(),
                size.human()
            ),
            next: format!("purge it again: {method} can be started again at any time"),
            done_share: share(done),
        },
        Err(RangeFailure { at, source }) => Ended {
            status: Status::Failed,
            words: format!("{method} failed in the slice that begins at {}: {source}", at.human()),
            next: remedy(&source).to_owned(),
            done_share: share(at),
        },
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => {
            "the drive, or its driver, does not do this; choose another method"
        }
        Some(libc::EIO) => {
            "look at the drive's health and at the kernel's log; its content is now mixed"
        }
        Some(libc::ENODEV | libc::ENXIO) => {
            "the drive has gone; connect it again and purge it again"
        }
        _ => "purge it again, or choose another method",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use proptest::prelude::*;

    use super::*;

    /// Sweeps with slices that take `ns_per_mib`, and returns them.
    fn slices(of: Sweep, ns_per_mib: u64) -> Vec<(u64, u64)> {
        let (never, mut seen) = (AtomicBool::new(false), Vec::new());
        let mut told = |_: f64| {};
        let mut patience = Patience::new(&never, None, &mut told);
        let clock = std::cell::Cell::new(0);
        let done = sweep(of, &mut patience, &mut || Nanos(clock.get()), &mut |offset, len| {
            clock.set(clock.get() + (len.0 >> 20) * ns_per_mib);
            seen.push((offset.0, len.0));
            Ok(())
        });
        assert_eq!(done.unwrap(), of.size);
        seen
    }

    proptest! {
        // A gap between slices would be reported as purged, and a slice beyond the end fails the whole.
        #[test]
        fn slices_cover_all_without_gaps(
            size in 1_u64..1 << 42, shift in 9_u32..24, ns_per_mib in 0_u64..100_000_000,
        ) {
            let unit = 1_u64 << shift;
            let size = size.div_ceil(512) * 512;
            // A slow sweep of a large range has many slices, and shows nothing more.
            let ns_per_mib = if size >> 20 < 1 << 16 { ns_per_mib } else { ns_per_mib % 10_000 };
            let mut end = 0;
            for (offset, len) in slices(Sweep { size: Bytes(size), unit: Bytes(unit) }, ns_per_mib) {
                prop_assert_eq!(offset, end);
                prop_assert!(len > 0 && (len % unit == 0 || offset + len == size));
                end = offset + len;
            }
            prop_assert_eq!(end, size);
        }
    }

    // A terabyte in one call cannot be interrupted; a terabyte in calls of a megabyte takes a million of them.
    #[test]
    fn slices_follow_the_time_that_they_take() {
        let of = |gib: u64| Sweep { size: Bytes(gib << 30), unit: Bytes(4096) };
        let quick = slices(of(1024), 100);
        assert!(quick.len() < 40, "{}", quick.len());
        let slow = slices(of(16), 100_000_000);
        let longest = slow.iter().map(|(_, len)| len >> 20).max();
        assert_eq!(longest, Some(64), "6.4 s for the first slice, and none after it is longer");
        assert_eq!(slow[4].1 >> 20, 16, "1.6 s");
    }

    #[test]
    fn a_sweep_that_is_stopped_says_where() {
        let (cancel, mut told) = (AtomicBool::new(false), |_: f64| {});
        let mut patience = Patience::new(&cancel, None, &mut told);
        let of = Sweep { size: Bytes(1 << 30), unit: Bytes(512) };
        let mut count = 0;
        let swept = sweep(of, &mut patience, &mut || Nanos::ZERO, &mut |_, _| {
            count += 1;
            cancel.store(count == 2, Ordering::Relaxed);
            Ok(())
        });
        assert_eq!(swept.as_ref().unwrap(), &Bytes(192 << 20));
        let end = ended(Method::Discard, of.size, swept, patience.is_over());
        assert_eq!(end.status, Status::Stopped);
        assert_eq!(end.done_share, Some(0.1875));
        assert!(end.words.contains("on request"), "{}", end.words);

        let failed = sweep(
            of,
            &mut Patience::new(&AtomicBool::new(false), None, &mut |_| {}),
            &mut || Nanos::ZERO,
            &mut |offset, _| match offset {
                Bytes(0) => Ok(()),
                _ => Err(io::Error::from_raw_os_error(libc::EIO)),
            },
        );
        let end = ended(Method::Zero, of.size, failed, None);
        assert_eq!((end.status, end.done_share), (Status::Failed, Some(0.0625)));
        assert!(end.next.contains("kernel's log"), "{}", end.next);
    }
}
