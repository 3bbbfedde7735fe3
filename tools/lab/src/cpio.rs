//! The archive that a kernel unpacks into its first root directory: cpio in the "newc" format, see
//! `Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_777;

/// Writes an archive, entry by entry. Directories come into being with what is put in them.
#[derive(Debug)]
pub struct Archive<W: Write> {
    out: W,
    written: u64,
    inode: u32,
    names: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    /// An archive without entries.
    pub fn new(out: W) -> Archive<W> {
        Archive { out, written: 0, inode: 0, names: BTreeSet::new() }
    }

    /// A directory at the absolute `path`, with those above it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        let name = path.trim_matches('/');
        if name.is_empty() || self.names.contains(name) {
            return Ok(());
        }
        self.above(name)?;
        self.entry(name, DIRECTORY, &[])
    }

    /// A file; `mode` has its permission bits. What is there already stays.
    ///
    /// # Errors
    /// When it cannot be written, or is larger than the format can represent (4 GiB).
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let name = path.trim_matches('/');
        if self.names.contains(name) {
            return Ok(());
        }
        self.above(name)?;
        self.entry(name, REGULAR | mode, content)
    }

    /// A symbolic link.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn symlink(&mut self, path: &str, target: &str) -> io::Result<()> {
        let name = path.trim_matches('/');
        if self.names.contains(name) {
            return Ok(());
        }
        self.above(name)?;
        self.entry(name, SYMLINK, target.as_bytes())
    }

    /// The end of the archive.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn above(&mut self, name: &str) -> io::Result<()> {
        match Path::new(name).parent().and_then(Path::to_str) {
            Some(parent) => self.directory(parent),
            None => Ok(()),
        }
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let size = u32::try_from(content.len())
            .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, name.to_owned()))?;
        self.inode += 1;
        self.names.insert(name.to_owned());
        // Magic, inode, mode, uid, gid, links, mtime, size, device (two), device of a node (two), length of the
        // name with its zero, checksum.
        let fields = [self.inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        let mut header = String::from("070701");
        fields.iter().for_each(|field| header += &format!("{field:08X}"));
        self.put(header.as_bytes())?;
        self.put(name.as_bytes())?;
        self.put(&[0])?;
        self.pad()?;
        self.put(content)?;
        self.pad()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// To the next multiple of four.
    fn pad(&mut self) -> io::Result<()> {
        let missing = (4 - self.written % 4) % 4;
        self.put(&[0; 3][..missing as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and sizes of an archive, read by the format's own rules.
    fn entries(archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut entries = Vec::new();
        let mut at = 0;
        let hex = |at: usize| {
            u32::from_str_radix(std::str::from_utf8(&archive[at..at + 8]).unwrap(), 16).unwrap()
        };
        loop {
            assert_eq!(&archive[at..at + 6], b"070701");
            let (mode, size, named) = (hex(at + 14), hex(at + 54) as usize, hex(at + 94) as usize);
            let name = String::from_utf8(archive[at + 110..at + 110 + named - 1].to_vec()).unwrap();
            let begin = (at + 110 + named).next_multiple_of(4);
            if name == "TRAILER!!!" {
                return entries;
            }
            entries.push((name, mode, archive[begin..begin + size].to_vec()));
            at = (begin + size).next_multiple_of(4);
        }
    }

    // A kernel that cannot unpack what it is given says nothing but that it found no init.
    #[test]
    fn directories_stand_before_what_is_in_them_and_once() {
        let mut archive = Archive::new(Vec::new());
        archive.file("/a/b/c", 0o755, b"12345").unwrap();
        archive.file("/a/b/d", 0o644, b"").unwrap();
        archive.file("/a/b/d", 0o644, b"again").unwrap();
        archive.symlink("/a/e", "b/c").unwrap();
        let entries = entries(&archive.finish().unwrap());
        let names: Vec<_> = entries.iter().map(|(name, mode, _)| (name.as_str(), *mode)).collect();
        assert_eq!(
            names,
            [
                ("a", 0o040_755),
                ("a/b", 0o040_755),
                ("a/b/c", 0o100_755),
                ("a/b/d", 0o100_644),
                ("a/e", 0o120_777)
            ]
        );
        assert_eq!(entries[2].2, b"12345");
        assert_eq!(entries[3].2, b"");
        assert_eq!(entries[4].2, b"b/c");
    }
}
