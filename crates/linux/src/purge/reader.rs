//! Reading a device past the page cache, through the descriptor that holds it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use block::Bytes;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Memory that direct I/O takes begins at a multiple of this; no drive wants more.
const ALIGNMENT: usize = 4096;

/// Reads with direct I/O: what the page cache remembers is what was there before.
#[derive(Debug)]
pub struct Reader<'a> {
    file: &'a File,
    before: OFlags,
    buffer: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// Takes over a device that is open. The descriptor's flags are put back at the end.
    ///
    /// # Errors
    /// When the kernel does no direct I/O on it.
    pub fn new(file: &'a File) -> io::Result<Reader<'a>> {
        let before = fcntl_getfl(file)?;
        fcntl_setfl(file, before | OFlags::DIRECT)?;
        Ok(Reader { file, before, buffer: Vec::new() })
    }

    /// Fills `into` from `offset` on; both are multiples of the logical block.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn read(&mut self, offset: Bytes, into: &mut [u8]) -> io::Result<()> {
        self.buffer.resize(into.len() + ALIGNMENT, 0);
        let start = self.buffer.as_ptr().align_offset(ALIGNMENT);
        let aligned = &mut self.buffer[start..start + into.len()];
        self.file.read_exact_at(aligned, offset.0)?;
        into.copy_from_slice(aligned);
        Ok(())
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let _ = fcntl_setfl(self.file, self.before);
    }
}
