//! Log of the operations on a disk, in the order in which they took effect.

use std::io::{Read, Seek, SeekFrom};

use anyhow::{Context as _, Result, bail, ensure};

/// One thing that was done to a disk, or said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Data was written, to the disk's cache or, with `fua`, to its medium.
    Write {
        /// Offset from the disk's beginning, in bytes.
        offset_bytes: u64,
        /// The data written.
        data: Vec<u8>,
        /// True when the write was not reported as done before it was on the medium.
        fua: bool,
    },
    /// A range became zeros, as cached as a write is.
    Discard {
        /// Its offset, in bytes.
        offset_bytes: u64,
        /// Its length, in bytes.
        len_bytes: u64,
    },
    /// Everything before this is on the medium.
    Flush,
    /// Somebody said something at this moment.
    Mark(String),
}

/// The log of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Operations and marks, in order.
    pub entries: Vec<Entry>,
}

/// `WRITE_LOG_MAGIC` of the kernel's drivers/md/dm-log-writes.c.
const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
/// Flags of an entry, from the same file.
const FLUSH: u64 = 1;
const FUA: u64 = 1 << 1;
const DISCARD: u64 = 1 << 2;
const MARK: u64 = 1 << 3;
/// Magic, version, count of entries, all of 64 bits, and the sector's size of 32.
const SUPER_BYTES: usize = 28;
/// Sector, count of sectors, flags, length of a mark: 64 bits each.
const ENTRY_BYTES: usize = 32;
/// Of logs that are read into memory.
const LOG_BYTES_MAX: u64 = 4 << 30;

impl Log {
    /// Reads the log device of the kernel's dm-log-writes target (Documentation/admin-guide/
    /// device-mapper/log-writes.rst). It logs a write when it has ended and a flush has made it durable, or at
    /// once when the write was forced to the medium; what was never flushed does not get there.
    ///
    /// # Errors
    /// When it is none, is cut short, or does not fit into memory.
    pub fn read(from: &mut (impl Read + Seek)) -> Result<Log> {
        from.seek(SeekFrom::Start(0))?;
        let head: [u8; SUPER_BYTES] = exactly(from).context("the log has no superblock")?;
        let (magic, version, count) = (word(&head, 0), word(&head, 1), word(&head, 2));
        ensure!(magic == MAGIC, "is no log of dm-log-writes: its magic is {magic:#x}");
        ensure!(version == VERSION, "is a log of version {version}, and this reads {VERSION}");
        let sector = u64::from(u32::from_le_bytes([head[24], head[25], head[26], head[27]]));
        ensure!(
            sector.is_power_of_two() && (512..=65_536).contains(&sector),
            "sectors of {sector}"
        );
        let (mut entries, mut place, mut bytes) = (Vec::new(), sector, 0);
        for number in 0..count {
            let read = Self::read_entry(from, &mut place, sector, &mut entries);
            bytes += read.with_context(|| format!("entry {number} of {count}"))?;
            ensure!(bytes <= LOG_BYTES_MAX, "the log holds more than {LOG_BYTES_MAX} bytes");
        }
        Ok(Log { entries })
    }

    /// Reads the entry at `place` and puts it there where the next one is; returns its bytes of data.
    fn read_entry(
        from: &mut (impl Read + Seek),
        place: &mut u64,
        sector: u64,
        entries: &mut Vec<Entry>,
    ) -> Result<u64> {
        from.seek(SeekFrom::Start(*place))?;
        let head: [u8; ENTRY_BYTES] = exactly(from)?;
        let [at, sectors, flags, mark] = [0, 1, 2, 3].map(|n| word(&head, n));
        let bytes = |sectors: u64| sectors.checked_mul(sector).context("lies beyond any disk");
        let (offset_bytes, len_bytes) = (bytes(at)?, bytes(sectors)?);
        *place += sector;
        // A flush that came with data was done before the data was written.
        if flags & FLUSH != 0 {
            entries.push(Entry::Flush);
        }
        if flags & MARK != 0 {
            ensure!(mark <= sector - ENTRY_BYTES as u64, "a mark of {mark} bytes");
            let mut text = vec![0; usize::try_from(mark)?];
            from.read_exact(&mut text)?;
            entries.push(Entry::Mark(String::from_utf8_lossy(&text).into_owned()));
        } else if flags & DISCARD != 0 {
            entries.push(Entry::Discard { offset_bytes, len_bytes });
        } else if len_bytes > 0 {
            ensure!(len_bytes <= LOG_BYTES_MAX, "{len_bytes} bytes in one write");
            from.seek(SeekFrom::Start(*place))?;
            let mut data = Vec::new();
            from.take(len_bytes).read_to_end(&mut data)?;
            ensure!(data.len() as u64 == len_bytes, "its data is cut short");
            *place += len_bytes;
            entries.push(Entry::Write { offset_bytes, data, fua: flags & FUA != 0 });
            return Ok(len_bytes);
        } else if flags & FLUSH == 0 {
            bail!("is neither write, flush, discard nor mark: flags {flags:#x}");
        }
        Ok(0)
    }

    /// Positions of all marks, with what they say.
    pub fn marks(&self) -> impl Iterator<Item = (usize, &str)> {
        self.entries.iter().enumerate().filter_map(|(at, entry)| match entry {
            Entry::Mark(text) => Some((at, text.as_str())),
            _ => None,
        })
    }
}

fn exactly<const N: usize>(from: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The nth little-endian number of 64 bits.
fn word(bytes: &[u8], n: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[8 * n..8 * n + 8]);
    u64::from_le_bytes(eight)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::io::Cursor;

    use super::*;

    /// A log device as the kernel writes it: sectors, flags, data or mark.
    fn device(sector: usize, entries: &[(u64, u64, u64, &[u8])]) -> Vec<u8> {
        let padded = |mut bytes: Vec<u8>| {
            bytes.resize(bytes.len().next_multiple_of(sector), 0);
            bytes
        };
        let words = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let mut head = words(&[MAGIC, VERSION, entries.len() as u64]);
        head.extend((sector as u32).to_le_bytes());
        let mut device = padded(head);
        for (at, sectors, flags, data) in entries {
            let is_mark = flags & MARK != 0;
            let mark = if is_mark { data.len() as u64 } else { 0 };
            let mut entry = words(&[*at, *sectors, *flags, mark]);
            if is_mark {
                entry.extend(*data);
                device.extend(padded(entry));
            } else {
                device.extend(padded(entry));
                device.extend(*data);
            }
        }
        device
    }

    #[test]
    fn a_log_of_the_kernel_is_read_in_its_order() {
        for sector in [512, 4096] {
            let data = vec![7; 2 * sector];
            let device = device(
                sector,
                &[
                    (3, 2, 0, &data),
                    (0, 0, FLUSH, &[]),
                    (0, 0, MARK, b"said"),
                    (9, 4, DISCARD, &[]),
                    (1, 2, FLUSH | FUA, &data),
                ],
            );
            let at = |sectors: u64| sectors * sector as u64;
            let write =
                |place, fua| Entry::Write { offset_bytes: at(place), data: data.clone(), fua };
            let expected = [
                write(3, false),
                Entry::Flush,
                Entry::Mark("said".to_owned()),
                Entry::Discard { offset_bytes: at(9), len_bytes: at(4) },
                Entry::Flush,
                write(1, true),
            ];
            let log = Log::read(&mut Cursor::new(device)).unwrap();
            assert_eq!(log.entries, expected);
            assert_eq!(log.marks().collect::<Vec<_>>(), [(2, "said")]);
        }
    }

    #[test]
    fn what_is_no_log_or_half_a_one_is_said_to_be() {
        let data = [7; 512];
        let whole = device(512, &[(3, 1, 0, &data), (0, 0, FLUSH, &[])]);
        let error = |bytes: &[u8]| {
            format!("{:#}", Log::read(&mut Cursor::new(bytes.to_vec())).unwrap_err())
        };
        assert!(error(&[0; 4096]).contains("is no log of dm-log-writes"));
        assert!(error(&whole[..20]).contains("no superblock"));
        // In the middle of the data, and before the last entry.
        assert!(error(&whole[..1200]).contains("entry 0 of 2: its data is cut short"));
        assert!(error(&whole[..1536]).contains("entry 1 of 2"));
        assert!(error(&device(512, &[(0, 0, 0, &[])])).contains("neither write, flush"));
        let mut newer = whole;
        newer[8] = 2;
        assert!(error(&newer).contains("version 2"));
    }
}
