//! Packing runs.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use crate::derived::Derived;
use crate::files::Files;
use crate::load::{self, Found, Run};
use crate::store;
use crate::{RecordError, RunId, Runs, run_id};

/// Counts of exported runs, files and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Runs.
    pub runs: usize,
    /// Files of them.
    pub files: usize,
    /// Bytes of these files, before compression.
    pub bytes: u64,
}

impl<F: Files> Runs<F> {
    /// Packs runs into a `.tar.gz` of their directories, the same bytes each time.
    ///
    /// # Errors
    /// [`RecordError::Busy`] for a run that is being written, [`RecordError::Altered`] for one that is not
    /// what it was, and why one cannot be read or the archive not be written.
    pub fn export(&self, ids: &[RunId], out: &mut dyn Write) -> Result<Exported, RecordError> {
        let mut archive = Builder::new(GzEncoder::new(out, Compression::default()));
        let mut exported = Exported::default();
        for id in ids {
            // Locked until it is packed, so that no other process resumes or removes it meanwhile.
            let _lock = self.lock(id)?;
            let Found { run, sums, .. } = load::look_over(&self.files, &self.path(id), id)?;
            self.check(&run, sums.as_ref())?;
            self.pack(&run, &mut archive, &mut exported)?;
            exported.runs += 1;
        }
        let gzip = archive.into_inner().map_err(RecordError::Output)?;
        gzip.finish().and_then(|out| out.flush()).map_err(RecordError::Output)?;
        Ok(exported)
    }

    fn pack<W: Write>(
        &self,
        run: &Run,
        archive: &mut Builder<W>,
        exported: &mut Exported,
    ) -> Result<(), RecordError> {
        let seconds = run_id::seconds_of(&run.envelope.date).unwrap_or(0);
        let date = u64::try_from(seconds).unwrap_or(0);
        let mut add = |name: &str, bytes: u64, from: &mut dyn Read| {
            exported.files += 1;
            exported.bytes += bytes;
            append(archive, &format!("{}/{name}", run.id), date, bytes, from)
        };
        let names = store::inventory(&self.files, &run.dir)?;
        for name in &names {
            let path = run.dir.join(name);
            let stat = self.files.stat(&path).map_err(RecordError::io("look at it", &path))?;
            let mut from = self.files.open(&path).map_err(RecordError::io("open it", &path))?;
            add(name, stat.len, &mut from).map_err(RecordError::Output)?;
        }
        // A run that was killed did not write its derived files; the archive has them all the same.
        let missing = |derived: &Derived| !names.iter().any(|name| name == derived.name());
        for derived in Derived::ALL.into_iter().filter(missing) {
            let mut made = Vec::new();
            derived.make(&self.files, &run.dir, &run.envelope, &mut |piece| {
                made.extend_from_slice(piece);
                Ok(())
            })?;
            add(derived.name(), made.len() as u64, &mut &made[..]).map_err(RecordError::Output)?;
        }
        Ok(())
    }
}

fn append<W: Write>(
    archive: &mut Builder<W>,
    name: &str,
    date: u64,
    bytes: u64,
    from: &mut dyn Read,
) -> io::Result<()> {
    // Plain ustar: its names are long enough for ours, and every unpacker knows it.
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_mtime(date);
    header.set_size(bytes);
    header.set_cksum();
    let mut exact = Exact { from, left: bytes };
    archive.append(&header, &mut exact)
}

/// As many bytes as the header promises, or an error: fewer would shift all that follows.
struct Exact<'a> {
    from: &'a mut dyn Read,
    left: u64,
}

impl Read for Exact<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if most == 0 {
            return Ok(0);
        }
        let n = self.from.read(&mut buffer[..most])?;
        if n == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a file got shorter"));
        }
        self.left -= n as u64;
        Ok(n)
    }
}
