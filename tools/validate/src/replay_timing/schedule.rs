//! Schedule of the reads, the same for all.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use block::Bytes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::order;

/// One read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    /// Since the schedule's first instant.
    pub at_ns: u64,
    /// On the device.
    pub offset: u64,
}

/// Reads of one size in the order of their times, each of a place of its own, by which it is known in the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    pub reads: Vec<Read>,
    pub block: u64,
}

impl Schedule {
    /// `count` reads at random (exponential) distances of `per_s` a second in the mean, at random places of a device of
    /// `size`.
    ///
    /// # Errors
    /// When the device has fewer blocks than are to be read.
    pub fn poisson(
        count: u32,
        per_s: f64,
        (size, block): (Bytes, Bytes),
        seed: u64,
    ) -> Result<Schedule> {
        let mut places: Vec<u64> = (0..size.0 / block.0).collect();
        if places.len() < count as usize {
            bail!("a device of {size} has not {count} blocks of {block}");
        }
        order::shuffle(&mut places, &[seed]);
        let mut noise = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut at = 0.0;
        let reads = places.into_iter().take(count as usize).map(|place| {
            // In (0, 1], so that the logarithm is finite.
            let share = ((noise.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            let read = Read { at_ns: at as u64, offset: place * block.0 };
            at -= share.ln() / per_s * 1e9;
            read
        });
        Ok(Schedule { reads: reads.collect(), block: block.0 })
    }

    /// Time and place, a read a line.
    pub fn plain(&self) -> String {
        self.reads.iter().fold(String::new(), |mut text, read| {
            let _ = writeln!(text, "{} {}", read.at_ns, read.offset);
            text
        })
    }

    /// fio's log of I/O, version 3: each line begins with its time in whole microseconds.
    pub fn fio_log(&self, device: &str) -> String {
        let mut text = format!("fio version 3 iolog\n0 {device} add\n0 {device} open\n");
        for read in &self.reads {
            let at_us = read.at_ns / 1000;
            let _ = writeln!(text, "{at_us} {device} read {} {}", read.offset, self.block);
        }
        let last_us = self.reads.last().map_or(0, |read| read.at_ns / 1000);
        let _ = writeln!(text, "{last_us} {device} close");
        text
    }

    /// Input of btreplay, as one CPU's share, with each read in a bunch of its own: by default btrecord puts up to
    /// eight that follow within 10 ms into one, which are then all issued at the time of the first.
    ///
    /// A header of version, first instant, count of bunches and count of packets; a bunch is its count of packets and its
    /// time, a packet its sector, its bytes and 1 for a read; all of 64 bits but the last, which fills as many (btreplay's
    /// btrecord.h).
    pub fn btreplay_file(&self) -> Vec<u8> {
        let count = self.reads.len() as u64;
        let mut words = vec![0x01_00_00, 0, count, count];
        for read in &self.reads {
            words.extend([1, read.at_ns, read.offset / 512, self.block, 1]);
        }
        words.into_iter().flat_map(u64::to_ne_bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(count: u32) -> Schedule {
        Schedule::poisson(count, 5_000.0, (Bytes::mib(128), Bytes::kib(4)), 7).unwrap()
    }

    // Two reads of one place could not be distinguished in the trace, and at a wrong rate the peers' figures would be
    // those of another load.
    #[test]
    fn reads_have_places_of_their_own_and_random_distances() {
        let Schedule { reads, .. } = schedule(20_000);
        let mut places: Vec<u64> = reads.iter().map(|r| r.offset).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 20_000);
        assert!(reads.is_sorted_by_key(|r| r.at_ns) && reads[0].at_ns == 0);
        let gaps: Vec<f64> =
            reads.windows(2).map(|w| (w[1].at_ns - w[0].at_ns) as f64 / 2e5).collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / count;
        // Five deviations of mean and variance of an exponential distribution.
        assert!((mean - 1.0).abs() < 5.0 / count.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 5.0 * (8.0 / count).sqrt(), "{variance}");
        let over_two = gaps.iter().filter(|&&g| g > 2.0).count() as f64 / count;
        assert!((over_two - (-2.0f64).exp()).abs() < 0.012, "{over_two}");
    }

    // A time in another unit would be another load, and fio's figures our doing.
    #[test]
    fn fios_log_has_each_read_at_its_microsecond() {
        let schedule = schedule(5_000);
        let log = schedule.fio_log("/dev/loop9");
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines[..3], ["fio version 3 iolog", "0 /dev/loop9 add", "0 /dev/loop9 open"]);
        assert_eq!(lines.len(), 5_000 + 4);
        let Read { at_ns, offset } = schedule.reads[4_999];
        let last_us = at_ns / 1000;
        assert_eq!(lines[5_002], format!("{last_us} /dev/loop9 read {offset} 4096"));
        assert_eq!(lines[5_003], format!("{last_us} /dev/loop9 close"));
    }

    #[test]
    fn btreplays_file_has_a_bunch_for_each_read() {
        let schedule = schedule(3);
        let bytes = schedule.btreplay_file();
        let words: Vec<u64> =
            bytes.chunks(8).map(|c| u64::from_ne_bytes(c.try_into().unwrap())).collect();
        assert_eq!(words[..4], [65_536, 0, 3, 3]);
        let last = &schedule.reads[2];
        assert_eq!(words[14..], [1, last.at_ns, last.offset / 512, 4096, 1]);
    }

    #[test]
    fn a_device_that_is_too_small_is_refused() {
        assert!(Schedule::poisson(9, 1.0, (Bytes::kib(32), Bytes::kib(4)), 1).is_err());
    }
}
