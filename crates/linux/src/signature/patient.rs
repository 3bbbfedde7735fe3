//! Reads of a device that has bad blocks.

use std::io;

use super::table::Read;

/// Length to which a read that fails is cut: a page, which is what the kernel reads at least.
const PIECE: usize = 4096;
/// Reads that may fail before what fails is no longer cut: each may take a card and the kernel seconds.
const FAILURES_MAX: u32 = 16;

/// Reads around bad blocks: replaces what cannot be read with zeros, and notes its place.
pub(crate) struct Patient<'a> {
    read: &'a mut Read<'a>,
    failures: u32,
    /// Beginnings and ends of what could not be read.
    unread: Vec<(u64, u64)>,
    answer: Option<io::Error>,
}

impl<'a> Patient<'a> {
    pub fn new(read: &'a mut Read<'a>) -> Patient<'a> {
        Patient { read, failures: 0, unread: Vec::new(), answer: None }
    }

    /// Fills a buffer, with zeros where the medium gives nothing.
    ///
    /// # Errors
    /// Those of the reads that are not of bad blocks, such as of a device that is gone.
    pub fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        if self.unread.iter().any(|&(from, to)| from <= offset && end <= to) {
            buffer.fill(0);
            return Ok(());
        }
        match (self.read)(offset, buffer) {
            Err(error) if is_bad_block(&error) => {
                self.failures += 1;
                self.answer.get_or_insert(error);
                if buffer.len() <= PIECE || self.failures >= FAILURES_MAX {
                    buffer.fill(0);
                    self.note(offset, end);
                    return Ok(());
                }
                let middle = (buffer.len() / 2).next_multiple_of(PIECE);
                let (first, second) = buffer.split_at_mut(middle);
                self.read(offset, first)?;
                // The rest of what fails, once too much has failed, is left alone.
                if self.failures >= FAILURES_MAX {
                    second.fill(0);
                    self.note(offset + middle as u64, end);
                    return Ok(());
                }
                self.read(offset + middle as u64, second)
            }
            done => done,
        }
    }

    fn note(&mut self, from: u64, to: u64) {
        match self.unread.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => self.unread.push((from, to)),
        }
    }

    /// Places that could not be read, with the kernel's answer; `None` when all could.
    pub fn unread(&self) -> Option<String> {
        const NAMED: usize = 3;
        let answer = self.answer.as_ref()?;
        let mut places = self.unread.clone();
        places.sort_unstable();
        let named = places.iter().take(NAMED).map(|(from, to)| format!("{from} to {}", to - 1));
        let named: Vec<String> = named.collect();
        let more = match places.len().saturating_sub(NAMED) {
            0 => String::new(),
            count => format!(", and {count} more ranges"),
        };
        Some(format!("bytes {}{more}: {answer}", named.join(", ")))
    }
}

/// True of the answers of a medium that does not give its data back (Linux: `blk_errors` in `block/blk-core.c`).
fn is_bad_block(error: &io::Error) -> bool {
    let answers = [libc::EIO, libc::ENODATA, libc::EREMOTEIO, libc::EILSEQ, libc::ETIMEDOUT];
    error.raw_os_error().is_some_and(|answer| answers.contains(&answer))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use super::*;

    /// Reads ones from where no bad range lies.
    fn medium(bad: &[(u64, u64)], count: &mut u32, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        *count += 1;
        let end = at + buffer.len() as u64;
        if bad.iter().any(|&(from, to)| from < end && at < to) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        buffer.fill(1);
        Ok(())
    }

    // Breaks when a bad block hides what lies beside it, so that a filesystem there is not named; or when it passes
    // for zeros that were read.
    #[test]
    fn one_bad_block_hides_nothing_but_itself() {
        let (mut count, bad) = (0, [(300 << 10, (300 << 10) + 512)]);
        let mut read = |at: u64, buffer: &mut [u8]| medium(&bad, &mut count, at, buffer);
        let mut patient = Patient::new(&mut read);
        let mut buffer = vec![7; 512 << 10];
        patient.read(0, &mut buffer).unwrap();
        let zeros = buffer.iter().filter(|byte| **byte == 0).count();
        assert_eq!((zeros, buffer.iter().filter(|byte| **byte == 1).count()), (4096, 508 << 10));
        assert_eq!(buffer[300 << 10], 0);
        let unread = patient.unread().unwrap();
        assert!(unread.starts_with("bytes 307200 to 311295: Input/output error"), "{unread}");
    }

    // Breaks when a card whose end fails is asked for each of its pages, which takes it hours, or when what was left
    // alone is not reported.
    #[test]
    fn a_bad_end_is_left_alone_after_a_few_failures() {
        let (mut count, bad) = (0, [(0, u64::MAX)]);
        let mut read = |at: u64, buffer: &mut [u8]| medium(&bad, &mut count, at, buffer);
        let mut patient = Patient::new(&mut read);
        let mut buffer = vec![7; 1 << 20];
        patient.read(1 << 30, &mut buffer).unwrap();
        patient.read(1 << 30, &mut buffer[..512]).unwrap();
        assert!(buffer.iter().all(|byte| *byte == 0));
        let unread = patient.unread().unwrap();
        assert!(unread.starts_with("bytes 1073741824 to 1074790399: "), "{unread}");
        assert_eq!(count, FAILURES_MAX);
    }

    // Breaks when a device that is gone passes for one with bad blocks.
    #[test]
    fn other_errors_end_the_look() {
        let mut read = |_: u64, _: &mut [u8]| Err(io::Error::from_raw_os_error(libc::ENXIO));
        let mut patient = Patient::new(&mut read);
        let error = patient.read(0, &mut [0; 512]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENXIO));
        assert_eq!(patient.unread(), None);
    }
}
