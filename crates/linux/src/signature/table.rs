//! Partitions of a table, as the table itself says: the kernel may not have read it, or read another one before.
//!
//! Errs towards finding, as signatures do: checksums are not looked at, and both copies of a GPT count.

use std::io;

use block::Bytes;

/// Most entries that are followed; the kernel makes at most 256 partitions.
const SLICES_MAX: usize = 256;
/// Most entries of a GPT; usual are 128.
const GPT_ENTRIES_MAX: u32 = 1024;
/// Longest chain of logical partitions.
const CHAIN_MAX: usize = 128;

/// A partition of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub number: usize,
    pub start: Bytes,
    pub length: Bytes,
}

/// Partitions of all tables of a device.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    pub all: Vec<Slice>,
    /// Why there may be more.
    pub unread: Option<String>,
}

/// Fills a buffer from an offset in bytes.
pub(crate) type Read<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

/// Partitions of tables of these `kinds` on something of `size`, with logical blocks of `block` bytes.
///
/// # Errors
/// The first error of `read`.
pub(crate) fn slices(
    size: Bytes,
    block: u64,
    kinds: &[&str],
    read: &mut Read<'_>,
) -> io::Result<Slices> {
    let mut table = Table { size: size.0, read, found: Slices::default() };
    for kind in kinds {
        match *kind {
            "gpt" => table.gpt()?,
            "mbr" => {
                table.mbr(512)?;
                if block != 512 {
                    table.mbr(block)?;
                }
            }
            "apple" => table.apple()?,
            "bsd" => table.bsd()?,
            other => table.unread(format!("its form, {other}, is not known")),
        }
    }
    Ok(table.found)
}

struct Table<'a, 'b> {
    size: u64,
    read: &'a mut Read<'b>,
    found: Slices,
}

fn u16_le(bytes: &[u8], at: usize) -> u64 {
    u64::from(bytes[at]) | u64::from(bytes[at + 1]) << 8
}

fn u32_le(bytes: &[u8], at: usize) -> u64 {
    u16_le(bytes, at) | u16_le(bytes, at + 2) << 16
}

fn u64_le(bytes: &[u8], at: usize) -> u64 {
    u32_le(bytes, at) | u32_le(bytes, at + 4) << 32
}

fn u32_be(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Table<'_, '_> {
    /// `None` when it reaches beyond the end.
    fn get(&mut self, offset: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        if offset.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        (self.read)(offset, &mut bytes)?;
        Ok(Some(bytes))
    }

    fn unread(&mut self, why: String) {
        self.found.unread.get_or_insert(why);
    }

    /// Adds a partition from `start` on, cut at the end of the device. One outside the device, or as long as the
    /// device, is left out.
    fn add(&mut self, start: u64, length: u64) {
        let length = length.min(self.size.saturating_sub(start));
        let is_known = |slice: &Slice| (slice.start.0, slice.length.0) == (start, length);
        if length == 0 || length == self.size || self.found.all.iter().any(is_known) {
            return;
        }
        let number = self.found.all.len() + 1;
        if number > SLICES_MAX {
            return self.unread(format!("it has more than {SLICES_MAX} partitions"));
        }
        self.found.all.push(Slice { number, start: Bytes(start), length: Bytes(length) });
    }

    /// Sectors of `unit` bytes.
    fn add_sectors(&mut self, start: u64, count: u64, unit: u64) {
        self.add(start.saturating_mul(unit), count.saturating_mul(unit));
    }

    /// UEFI specification, chapter 5: a header in the second and in the last block.
    fn gpt(&mut self) -> io::Result<()> {
        for block in [512, 4096] {
            for at in [Some(block), self.size.checked_sub(block)].into_iter().flatten() {
                let header = self.get(at, 92)?.filter(|header| header.starts_with(b"EFI PART"));
                if let Some(header) = header {
                    self.gpt_entries(&header, block)?;
                }
            }
        }
        Ok(())
    }

    fn gpt_entries(&mut self, header: &[u8], block: u64) -> io::Result<()> {
        let (count, length) = (u32_le(header, 80) as u32, u32_le(header, 84) as usize);
        if count == 0 {
            return Ok(());
        }
        if count > GPT_ENTRIES_MAX {
            self.unread(format!("gpt, {count} entries"));
        }
        let whole = length * count.min(GPT_ENTRIES_MAX) as usize;
        let at = u64_le(header, 72).saturating_mul(block);
        let entries = match (128..=4096).contains(&length) {
            true => self.get(at, whole)?,
            false => None,
        };
        let Some(entries) = entries else {
            self.unread("gpt, its entries are out of place".to_owned());
            return Ok(());
        };
        for entry in entries.chunks_exact(length).filter(|entry| entry[..16] != [0; 16]) {
            let (first, last) = (u64_le(entry, 32), u64_le(entry, 40));
            match last.checked_sub(first) {
                Some(more) => self.add_sectors(first, more.saturating_add(1), block),
                None => self.unread("gpt, a partition ends before it begins".to_owned()),
            }
        }
        Ok(())
    }

    /// Four entries, of which one may lead to a chain of tables for logical partitions.
    fn mbr(&mut self, unit: u64) -> io::Result<()> {
        let Some(sector) = self.get(0, 512)? else { return Ok(()) };
        for entry in sector[446..510].chunks_exact(16) {
            let (kind, start, count) = (entry[4], u32_le(entry, 8), u32_le(entry, 12));
            match kind {
                // Unused, and the entry that guards a GPT.
                0 | 0xEE => {}
                0x05 | 0x0F | 0x85 => self.chain(start, unit)?,
                _ => self.add_sectors(start, count, unit),
            }
        }
        Ok(())
    }

    fn chain(&mut self, begin: u64, unit: u64) -> io::Result<()> {
        let mut at = begin;
        for _ in 0..CHAIN_MAX {
            let sector = self.get(at.saturating_mul(unit), 512)?;
            let Some(sector) = sector.filter(|sector| sector[510..] == [0x55, 0xAA]) else {
                self.unread("mbr, its logical partitions are out of place".to_owned());
                return Ok(());
            };
            let (partition, next) = (&sector[446..462], &sector[462..478]);
            if partition[4] != 0 {
                self.add_sectors(at + u32_le(partition, 8), u32_le(partition, 12), unit);
            }
            if next[4] == 0 {
                return Ok(());
            }
            let further = begin + u32_le(next, 8);
            if further <= at {
                self.unread("mbr, its logical partitions lead back".to_owned());
                return Ok(());
            }
            at = further;
        }
        self.unread("mbr, it has too many logical partitions".to_owned());
        Ok(())
    }

    /// Apple's map: a driver descriptor with the block size, then one block for each partition.
    fn apple(&mut self) -> io::Result<()> {
        let descriptor = self.get(0, 4)?.unwrap_or_default();
        let told = match descriptor.starts_with(b"ER") {
            true => u64::from(descriptor[2]) << 8 | u64::from(descriptor[3]),
            false => 512,
        };
        let block = if (512..=4096).contains(&told) { told } else { 512 };
        let mut number = 1;
        while let Some(entry) = self.get(number * block, 16)? {
            if !entry.starts_with(b"PM") {
                break;
            }
            self.add_sectors(u32_be(&entry, 8), u32_be(&entry, 12), block);
            if number == u32_be(&entry, 4) {
                break;
            }
            number += 1;
            if number > SLICES_MAX as u64 {
                self.unread("apple, its map is too long".to_owned());
                break;
            }
        }
        Ok(())
    }

    /// A disklabel, whose offsets count from the disk or from the partition that holds it: both are taken.
    fn bsd(&mut self) -> io::Result<()> {
        for at in [0, 64, 512] {
            let label = self.get(at, 148 + 22 * 16)?;
            let Some(label) = label.filter(|l| l.starts_with(&[0x57, 0x45, 0x56, 0x82])) else {
                continue;
            };
            let count = u16_le(&label, 138) as usize;
            if count > 22 {
                self.unread(format!("bsd, {count} partitions"));
            }
            let entries: Vec<_> = label[148..].chunks_exact(16).take(count).collect();
            let first = entries.iter().filter(|e| u32_le(e, 0) > 0).map(|e| u32_le(e, 4)).min();
            for entry in &entries {
                let (count, start) = (u32_le(entry, 0), u32_le(entry, 4));
                self.add_sectors(start, count, 512);
                self.add_sectors(start - first.unwrap_or(0).min(start), count, 512);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: usize = 4 << 20;

    fn of(image: &[u8], block: u64, kinds: &[&str]) -> (Vec<(u64, u64)>, Option<String>) {
        let found = slices(Bytes(image.len() as u64), block, kinds, &mut |offset, buffer| {
            let at = offset as usize;
            buffer.copy_from_slice(&image[at..at + buffer.len()]);
            Ok(())
        });
        let Slices { all, unread } = found.unwrap();
        let kib = |slice: Slice| (slice.start.0 >> 10, slice.length.0 >> 10);
        (all.into_iter().map(kib).collect(), unread)
    }

    fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
        image[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A GPT whose header lies at `at`, its entries at block 2.
    fn gpt(at: usize, block: usize, count: u32, partitions: &[(u64, u64)]) -> Vec<u8> {
        let mut image = vec![0; SIZE];
        put(&mut image, at, b"EFI PART");
        put(&mut image, at + 72, &2_u64.to_le_bytes());
        put(&mut image, at + 80, &count.to_le_bytes());
        put(&mut image, at + 84, &128_u32.to_le_bytes());
        for (number, (first, last)) in partitions.iter().enumerate() {
            let entry = 2 * block + 128 * number;
            image[entry] = 1;
            put(&mut image, entry + 32, &first.to_le_bytes());
            put(&mut image, entry + 40, &last.to_le_bytes());
        }
        image
    }

    fn mbr_entry(image: &mut [u8], at: usize, kind: u8, start: u32, count: u32) {
        image[at + 4] = kind;
        put(image, at + 8, &start.to_le_bytes());
        put(image, at + 12, &count.to_le_bytes());
    }

    /// A missed partition means an overwritten filesystem that the user did not name.
    #[test]
    fn partitions_of_each_form_are_where_its_description_puts_them() {
        let two = [(2048, 4095), (4096, 6143)];
        let found = (vec![(1024, 1024), (2048, 1024)], None);
        assert_eq!(of(&gpt(512, 512, 128, &two), 512, &["gpt"]), found);
        assert_eq!(of(&gpt(SIZE - 512, 512, 128, &two), 512, &["gpt"]), found, "the backup alone");
        let large = [(256, 511), (512, 767)];
        assert_eq!(of(&gpt(4096, 4096, 128, &large), 512, &["gpt"]), found);
        let (slices, unread) = of(&gpt(512, 512, 4096, &two), 512, &["gpt"]);
        assert_eq!((slices, unread.unwrap().as_str()), (found.0.clone(), "gpt, 4096 entries"));
        let beyond = gpt(512, 512, 128, &[(2048, 1 << 40), (1 << 50, 1 << 51), (9, 3)]);
        let (slices, unread) = of(&beyond, 512, &["gpt"]);
        assert_eq!(slices, [(1024, 3072)]);
        assert!(unread.unwrap().contains("before it begins"));

        let mut image = vec![0; SIZE];
        mbr_entry(&mut image, 446, 0x83, 2048, 2048);
        mbr_entry(&mut image, 462, 0x0F, 4096, 4096);
        mbr_entry(&mut image, 478, 0xEE, 1, u32::MAX);
        for (at, next) in [(4096, Some(1024)), (5120, None)] {
            let sector = at * 512;
            put(&mut image, sector + 510, &[0x55, 0xAA]);
            mbr_entry(&mut image, sector + 446, 0x83, 64, 512);
            if let Some(next) = next {
                mbr_entry(&mut image, sector + 462, 0x05, next, 1024);
            }
        }
        let logical = (vec![(1024, 1024), (2080, 256), (2592, 256)], None);
        assert_eq!(of(&image, 512, &["mbr"]), logical);
        // A chain that leads back ends.
        mbr_entry(&mut image, 5120 * 512 + 462, 0x05, 0, 1024);
        assert!(of(&image, 512, &["mbr"]).1.unwrap().contains("lead back"));
        let mut image = vec![0; SIZE];
        mbr_entry(&mut image, 446, 0x83, 256, 256);
        assert_eq!(of(&image, 4096, &["mbr"]).0, [(128, 128), (1024, 1024)]);

        let mut image = vec![0; SIZE];
        put(&mut image, 0, b"ER\x02\x00");
        for (at, start, count) in [(512, 1, 63), (1024, 2048, 1024)] {
            put(&mut image, at, b"PM\0\0");
            put(&mut image, at + 4, &2_u32.to_be_bytes());
            put(&mut image, at + 8, &u32::to_be_bytes(start));
            put(&mut image, at + 12, &u32::to_be_bytes(count));
        }
        assert_eq!(of(&image, 512, &["apple"]), (vec![(0, 31), (1024, 512)], None));

        let mut image = vec![0; SIZE];
        put(&mut image, 512, &[0x57, 0x45, 0x56, 0x82]);
        put(&mut image, 512 + 138, &2_u16.to_le_bytes());
        for (number, (count, start)) in [(1024_u32, 2048_u32), (512, 4096)].iter().enumerate() {
            put(&mut image, 512 + 148 + 16 * number, &count.to_le_bytes());
            put(&mut image, 512 + 152 + 16 * number, &start.to_le_bytes());
        }
        let both = vec![(1024, 512), (0, 512), (2048, 256), (1024, 256)];
        assert_eq!(of(&image, 512, &["bsd"]), (both, None));
        assert!(of(&image, 512, &["dasd"]).1.unwrap().contains("dasd"));
    }

    proptest! {
        /// A table is whatever bytes somebody wrote there.
        #[test]
        fn no_bytes_lead_beyond_the_end_or_for_ever(
            mut image in proptest::collection::vec(any::<u8>(), 0..9000),
            magic in prop_oneof![Just(&b"EFI PART"[..]), Just(&b"ER\x02\x00"[..]), Just(&b"\x57\x45\x56\x82"[..])],
            at in prop_oneof![Just(0_usize), Just(64), Just(512), Just(4096)],
        ) {
            if image.len() > at + 512 {
                put(&mut image, at, magic);
            }
            let size = image.len() as u64;
            let kinds = ["gpt", "mbr", "apple", "bsd"];
            let found = slices(Bytes(size), 4096, &kinds, &mut |offset, buffer| {
                let at = offset as usize;
                buffer.copy_from_slice(&image[at..at + buffer.len()]);
                Ok(())
            });
            for slice in found.unwrap().all {
                prop_assert!(slice.length.0 > 0 && slice.start.0 + slice.length.0 <= size);
            }
        }
    }
}
