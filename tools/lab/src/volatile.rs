//! A drive whose cache loses what was not flushed when the power goes: an NBD server between the emulator and an image.
//!
//! A write is answered when the cache has it. A flush, and a write with FUA, bring it to the image. At a power cut each
//! sector is what the image has or any of the versions that the cache was given since, whichever chance takes: a drive
//! may write back in any order, and promises no more than a sector at a time.
//!
//! NBD protocol, `doc/proto.md` of the NetworkBlockDevice project: fixed newstyle negotiation, simple replies.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Unit that a drive writes whole or not at all: the physical sector of today's drives. Filesystems rely on it, ext4
/// for its superblock.
const SECTOR: usize = 4096;
/// Longest request that is taken; the emulator asks for less.
const REQUEST_BYTES_MAX: u32 = 64 << 20;

const OPTION_MAGIC: &[u8; 8] = b"IHAVEOPT";
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const FIXED_NEWSTYLE: u16 = 1;
const OPTION_ABORT: u32 = 2;
const OPTION_GO: u32 = 7;
const REPLY_ACK: u32 = 1;
const REPLY_INFO: u32 = 3;
const REPLY_UNSUPPORTED: u32 = 0x8000_0001;
const INFO_EXPORT: u16 = 0;
/// Flags are present; it can flush; it supports FUA.
const EXPORT_FLAGS: u16 = 1 | 1 << 2 | 1 << 3;
const REQUEST: u32 = 0x2560_9513;
const REPLY: u32 = 0x6744_6698;
const COMMAND_FUA: u16 = 1;
const INVALID: u32 = 22;

/// A drive that is served, for as long as the emulator is there.
#[derive(Clone, Debug)]
pub struct Volatile(Arc<Mutex<Disk>>);

/// An image and what the cache holds above it.
#[derive(Debug)]
struct Disk {
    image: File,
    bytes: u64,
    /// Versions of a sector since the last flush, the newest last.
    cache: BTreeMap<u64, Vec<[u8; SECTOR]>>,
    /// The power is gone: what still lies in the socket must not reach an image that is in the next boot's hands.
    is_cut: bool,
}

impl Volatile {
    /// Serves `image` at `socket` to the first client that connects.
    ///
    /// # Errors
    /// When the image cannot be opened, or the socket not be made.
    pub fn serve(image: &Path, socket: &Path) -> Result<Volatile> {
        let shown = || image.display().to_string();
        let file = File::options().read(true).write(true).open(image).with_context(shown)?;
        let bytes = file.metadata().with_context(shown)?.len();
        ensure!(bytes % SECTOR as u64 == 0, "{}: no whole number of sectors", shown());
        let disk = Volatile(Arc::new(Mutex::new(Disk::new(file, bytes))));
        let listener = UnixListener::bind(socket).with_context(|| socket.display().to_string())?;
        let served = disk.clone();
        std::thread::spawn(move || {
            let connected = listener.accept().context("nobody connects");
            // The emulator is killed in the middle of a request, so an end is expected.
            let _ = connected.and_then(|(stream, _)| served.answer(stream));
        });
        Ok(disk)
    }

    /// The power goes: how many sectors are older than they were, of how many that the cache held.
    ///
    /// # Errors
    /// When the image cannot be written.
    pub fn cut(&self, seed: u64) -> Result<(usize, usize)> {
        self.disk().cut(seed).context("an image behind a volatile cache")
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, mut stream: UnixStream) -> Result<()> {
        let bytes = self.disk().bytes;
        if negotiate(&mut stream, bytes)? {
            while self.request(&mut stream)? {}
        }
        Ok(())
    }

    /// One request; false when it was the last.
    fn request(&self, stream: &mut UnixStream) -> Result<bool> {
        let mut head = [0; 28];
        stream.read_exact(&mut head)?;
        ensure!(u32_at(&head, 0) == REQUEST, "no request");
        let (flags, command) = (u16_at(&head, 4), u16_at(&head, 6));
        let (offset, length) = (u64_at(&head, 16), u32_at(&head, 24));
        ensure!(length <= REQUEST_BYTES_MAX, "a request of {length} bytes");
        let mut data = vec![0; length as usize];
        let whole = (offset | u64::from(length)).is_multiple_of(SECTOR as u64);
        if command == 1 {
            stream.read_exact(&mut data)?;
        }
        let mut disk = self.disk();
        let error = match command {
            _ if disk.is_cut => return Ok(false),
            0 if whole => error_of(disk.read(offset, &mut data)),
            1 if whole => error_of(disk.write(offset, &data, flags & COMMAND_FUA != 0)),
            2 => return Ok(false),
            3 => error_of(disk.flush()),
            _ => INVALID,
        };
        drop(disk);
        let mut reply = Vec::with_capacity(16 + data.len());
        reply.extend_from_slice(&REPLY.to_be_bytes());
        reply.extend_from_slice(&error.to_be_bytes());
        reply.extend_from_slice(&head[8..16]);
        if command == 0 && error == 0 {
            reply.append(&mut data);
        }
        stream.write_all(&reply)?;
        Ok(true)
    }
}

impl Disk {
    fn new(image: File, bytes: u64) -> Disk {
        Disk { image, bytes, cache: BTreeMap::new(), is_cut: false }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> std::io::Result<()> {
        self.image.read_exact_at(data, offset)?;
        let first = offset / SECTOR as u64;
        let sectors = first..first + (data.len() / SECTOR) as u64;
        for (sector, versions) in self.cache.range(sectors) {
            let at = (sector - first) as usize * SECTOR;
            if let Some(newest) = versions.last() {
                data[at..at + SECTOR].copy_from_slice(newest);
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8], through: bool) -> std::io::Result<()> {
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > self.bytes) {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        let first = offset / SECTOR as u64;
        if through {
            self.image.write_all_at(data, offset)?;
            for sector in first..first + (data.len() / SECTOR) as u64 {
                self.cache.remove(&sector);
            }
            return Ok(());
        }
        for (sector, bytes) in (first..).zip(data.chunks_exact(SECTOR)) {
            let mut version = [0; SECTOR];
            version.copy_from_slice(bytes);
            self.cache.entry(sector).or_default().push(version);
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        for (sector, versions) in &self.cache {
            if let Some(newest) = versions.last() {
                self.image.write_all_at(newest, sector * SECTOR as u64)?;
            }
        }
        self.cache.clear();
        Ok(())
    }

    fn cut(&mut self, seed: u64) -> std::io::Result<(usize, usize)> {
        let (mut chance, mut older) = (Xoshiro256PlusPlus::seed_from_u64(seed), 0);
        for (sector, versions) in &self.cache {
            // Version that survives: the image's, or one of those after it.
            let taken = (chance.next_u64() % (versions.len() as u64 + 1)) as usize;
            older += usize::from(taken < versions.len());
            if let Some(version) = taken.checked_sub(1).map(|index| &versions[index]) {
                self.image.write_all_at(version, sector * SECTOR as u64)?;
            }
        }
        let held = self.cache.len();
        self.cache.clear();
        self.is_cut = true;
        Ok((older, held))
    }
}

/// Finds out what the other end wants; true when it is the drive.
fn negotiate(stream: &mut UnixStream, bytes: u64) -> Result<bool> {
    stream.write_all(b"NBDMAGIC")?;
    stream.write_all(OPTION_MAGIC)?;
    stream.write_all(&FIXED_NEWSTYLE.to_be_bytes())?;
    stream.read_exact(&mut [0; 4])?;
    loop {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        ensure!(head.starts_with(OPTION_MAGIC), "no option");
        let (option, length) = (u32_at(&head, 8), u32_at(&head, 12));
        ensure!(length <= REQUEST_BYTES_MAX, "an option of {length} bytes");
        stream.read_exact(&mut vec![0; length as usize])?;
        let mut reply = |kind: u32, data: &[u8]| -> Result<()> {
            let mut bytes = OPTION_REPLY.to_be_bytes().to_vec();
            bytes.extend_from_slice(&option.to_be_bytes());
            bytes.extend_from_slice(&kind.to_be_bytes());
            bytes.extend_from_slice(&u32::try_from(data.len())?.to_be_bytes());
            bytes.extend_from_slice(data);
            Ok(stream.write_all(&bytes)?)
        };
        match option {
            OPTION_GO => {
                let mut export = INFO_EXPORT.to_be_bytes().to_vec();
                export.extend_from_slice(&bytes.to_be_bytes());
                export.extend_from_slice(&EXPORT_FLAGS.to_be_bytes());
                reply(REPLY_INFO, &export)?;
                reply(REPLY_ACK, &[])?;
                return Ok(true);
            }
            OPTION_ABORT => return Ok(false),
            1 => bail!("the other end speaks an older protocol"),
            _ => reply(REPLY_UNSUPPORTED, &[])?,
        }
    }
}

fn error_of(done: std::io::Result<()>) -> u32 {
    const IO: u32 = 5;
    match done {
        Ok(()) => 0,
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => INVALID,
        Err(_) => IO,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) << 16 | u32::from(u16_at(bytes, at + 2))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 512 << 10;

    fn disk() -> Disk {
        let image = tempfile::tempfile().unwrap();
        image.set_len(BYTES).unwrap();
        Disk::new(image, BYTES)
    }

    fn sector(disk: &Disk, at: u64) -> u8 {
        let mut data = [0; SECTOR];
        disk.read(at * SECTOR as u64, &mut data).unwrap();
        assert!(data.iter().all(|byte| *byte == data[0]), "a torn sector");
        data[0]
    }

    // A cache that lost what was flushed would put the blame on a program that did all it could; one that lost nothing
    // would let every program through.
    #[test]
    fn what_was_flushed_stays_and_of_the_rest_chance_takes_some() {
        let mut disk = disk();
        let sectors = BYTES / SECTOR as u64;
        let all = |byte: u8| vec![byte; BYTES as usize];
        disk.write(0, &all(1), false).unwrap();
        disk.flush().unwrap();
        disk.write(0, &all(2), false).unwrap();
        disk.write(0, &all(3), false).unwrap();
        disk.write(SECTOR as u64, &[4; SECTOR], true).unwrap();
        assert_eq!((sector(&disk, 0), sector(&disk, 1)), (3, 4), "reads see what was written");
        let (older, held) = disk.cut(7).unwrap();
        assert_eq!(held as u64, sectors - 1);
        assert_eq!(sector(&disk, 1), 4, "FUA reached the image");
        let mut found = [0; 5];
        (0..sectors).for_each(|at| found[usize::from(sector(&disk, at))] += 1);
        assert_eq!((found[0], found[4]), (0, 1));
        assert!(found[1..4].iter().all(|n| *n > sectors / 5), "{found:?}");
        assert_eq!(older as u64, found[1] + found[2]);
        assert_eq!(disk.cut(7).unwrap(), (0, 0), "nothing is left to lose");
    }

    #[test]
    fn a_client_negotiates_writes_flushes_and_reads() {
        let dir = tempfile::tempdir().unwrap();
        let (image, socket) = (dir.path().join("image"), dir.path().join("socket"));
        std::fs::write(&image, vec![0; BYTES as usize]).unwrap();
        let served = Volatile::serve(&image, &socket).unwrap();
        let mut stream = UnixStream::connect(&socket).unwrap();
        let take = |stream: &mut UnixStream, n: usize| {
            let mut bytes = vec![0; n];
            stream.read_exact(&mut bytes).unwrap();
            bytes
        };
        assert!(take(&mut stream, 18).starts_with(b"NBDMAGICIHAVEOPT"));
        stream.write_all(&[0, 0, 0, 1]).unwrap();
        let option = |number: u32| {
            [&OPTION_MAGIC[..], &number.to_be_bytes(), &6_u32.to_be_bytes(), &[0; 6]].concat()
        };
        stream.write_all(&option(8)).unwrap();
        assert_eq!(u32_at(&take(&mut stream, 20), 12), REPLY_UNSUPPORTED);
        stream.write_all(&option(OPTION_GO)).unwrap();
        let told = take(&mut stream, 20 + 12 + 20);
        assert_eq!((u32_at(&told, 12), u64_at(&told, 22)), (REPLY_INFO, BYTES));
        let mut ask = |command: u16, flags: u16, offset: u64, length: u32, data: &[u8]| {
            let mut bytes = REQUEST.to_be_bytes().to_vec();
            bytes.extend_from_slice(&flags.to_be_bytes());
            bytes.extend_from_slice(&command.to_be_bytes());
            bytes.extend_from_slice(b"a cookie");
            bytes.extend_from_slice(&offset.to_be_bytes());
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(data);
            stream.write_all(&bytes).unwrap();
            let reply = take(&mut stream, 16);
            assert_eq!((u32_at(&reply, 0), &reply[8..]), (REPLY, &b"a cookie"[..]));
            let error = u32_at(&reply, 4);
            let more = if command == 0 && error == 0 { length as usize } else { 0 };
            (error, take(&mut stream, more))
        };
        assert_eq!(ask(1, 0, 4096, 4096, &[9; SECTOR]).0, 0);
        assert_eq!(ask(0, 0, 0, 8192, &[]).1[4095..4097], [0, 9]);
        assert!(std::fs::read(&image).unwrap().iter().all(|b| *b == 0), "not yet on the image");
        assert_eq!(ask(3, 0, 0, 0, &[]).0, 0);
        assert_eq!(std::fs::read(&image).unwrap()[4096], 9);
        assert_eq!(ask(1, COMMAND_FUA, 8192, 4096, &[8; SECTOR]).0, 0);
        assert_eq!(std::fs::read(&image).unwrap()[8192], 8);
        assert_eq!(ask(1, 0, BYTES, 4096, &[1; SECTOR]).0, INVALID);
        assert_eq!(ask(0, 0, 512, 512, &[]).0, INVALID, "a part of a sector");
        assert_eq!(served.cut(1).unwrap(), (0, 0));
        // A write that the emulator had sent and the server had not received.
        let late = [
            &REQUEST.to_be_bytes()[..],
            &COMMAND_FUA.to_be_bytes(),
            &1_u16.to_be_bytes(),
            b"a cookie",
            &0_u64.to_be_bytes(),
            &4096_u32.to_be_bytes(),
            &[7; SECTOR],
        ];
        stream.write_all(&late.concat()).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "nobody answers");
        assert_eq!(std::fs::read(&image).unwrap()[0], 0);
    }
}
