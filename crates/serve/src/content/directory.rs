//! Content in a file of a directory that the user chose.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use block::{Bytes, Errno};
use rustix::fs::{FallocateFlags, fallocate};

use super::Content;

/// Unit of `st_blocks` (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

/// Content in a sparse file without a name, which goes with the process however that ends.
#[derive(Debug)]
pub(crate) struct Directory {
    file: File,
}

impl Directory {
    /// Makes the file in `directory`, as long as the drive.
    ///
    /// # Errors
    /// The system's answer: no such directory, no room for files of this length, no permission.
    pub(crate) fn new(directory: &Path, capacity: Bytes) -> io::Result<Directory> {
        let file = tempfile::tempfile_in(directory)?;
        file.set_len(capacity.0)?;
        Ok(Directory { file })
    }
}

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno)
}

impl Content for Directory {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.file.read_exact_at(into, offset).map_err(|e| errno(&e))
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.file.write_all_at(data, offset).map_err(|e| errno(&e))
    }

    fn discard(&mut self, offset: u64, len: u64) -> Result<(), Errno> {
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, punch, offset, len) {
            // A filesystem without holes: zeros instead.
            Err(rustix::io::Errno::OPNOTSUPP) => self.blank(offset, len),
            punched => punched.map_err(|e| Errno(e.raw_os_error())),
        }
    }

    fn held(&self) -> Bytes {
        Bytes(self.file.metadata().map_or(0, |m| m.blocks() * STAT_BLOCK_BYTES))
    }
}

impl Directory {
    fn blank(&mut self, mut offset: u64, mut len: u64) -> Result<(), Errno> {
        let zeros = vec![0; 1 << 20];
        while len > 0 {
            let count = len.min(zeros.len() as u64);
            self.write(offset, &zeros[..count as usize])?;
            offset += count;
            len -= count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when the file has a name that outlives the process, or a discarded range keeps its bytes.
    #[test]
    fn it_has_no_name_and_forgets_what_is_discarded() {
        let dir = tempfile::tempdir().unwrap();
        let mut content = Directory::new(dir.path(), Bytes::gib(4)).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        content.write((4 << 30) - 8192, &[7; 8192]).unwrap();
        content.discard((4 << 30) - 8192, 4096).unwrap();
        let mut seen = [1; 8192];
        content.read((4 << 30) - 8192, &mut seen).unwrap();
        assert!(seen[..4096].iter().all(|b| *b == 0) && seen[4096..].iter().all(|b| *b == 7));
        content.blank((4 << 30) - 4096, 4096).unwrap();
        content.read((4 << 30) - 8192, &mut seen).unwrap();
        assert_eq!(seen, [0; 8192]);
    }

    // Breaks when an unusable directory is found out only at the first write.
    #[test]
    fn a_directory_that_is_none_is_told_at_once() {
        assert!(Directory::new(Path::new("/nonexistent"), Bytes(1)).is_err());
    }
}
