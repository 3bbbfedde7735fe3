//! Device or file that is probed for signatures.

use std::io;

/// Read at once from the beginning: the region of most signatures, with the first label of ZFS.
const HEAD: u64 = 512 << 10;
/// Read at once from the end: backup tables, RAID superblocks, the last labels of ZFS.
const TAIL: u64 = 1 << 20;

/// Device or file that is probed, with its two ends in memory.
pub(super) struct Image<'a> {
    pub size: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    read: &'a mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
}

impl<'a> Image<'a> {
    pub fn new(
        size: u64,
        read: &'a mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<Image<'a>> {
        let mut head = vec![0; size.min(HEAD) as usize];
        let mut tail = vec![0; size.min(TAIL) as usize];
        read(0, &mut head)?;
        read(size - tail.len() as u64, &mut tail)?;
        Ok(Image { size, head, tail, read })
    }

    /// `len` bytes at `offset`; `None` when they reach beyond the end.
    pub fn get(&mut self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(end) = offset.checked_add(len as u64).filter(|&end| end <= self.size) else {
            return Ok(None);
        };
        let tail_at = self.size - self.tail.len() as u64;
        if end <= self.head.len() as u64 {
            return Ok(Some(self.head[offset as usize..end as usize].to_vec()));
        }
        if offset >= tail_at {
            let at = (offset - tail_at) as usize;
            return Ok(Some(self.tail[at..at + len].to_vec()));
        }
        let mut buffer = vec![0; len];
        (self.read)(offset, &mut buffer)?;
        Ok(Some(buffer))
    }

    pub fn is(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        Ok(self.get(offset, bytes.len())?.as_deref() == Some(bytes))
    }

    pub fn u32_le(&mut self, offset: u64) -> io::Result<u32> {
        let bytes = self.get(offset, 4)?.unwrap_or_default();
        Ok(bytes.try_into().map_or(0, u32::from_le_bytes))
    }
}
