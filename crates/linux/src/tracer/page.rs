//! Pages of the kernel's ring buffer, as `trace_pipe_raw` delivers them.
//!
//! A page begins with an instant and the length of what is valid (`events/header_page`); then events follow, each
//! with 5 bits of type and 27 bits of time since the one before (`events/header_event`, `kernel/trace/ring_buffer.c`):
//!
//! | type | what it is | length |
//! |---|---|---|
//! | 0 | data, its length and 4 in the first word behind the header | as given there, and 4 |
//! | 1 to 28 | data of 4 bytes times the type | 4 more |
//! | 29 | padding: to the page's end when its time is 0, otherwise a discarded event | as of type 0 |
//! | 30 | more time: the word behind the header is its upper part | 8 |
//! | 31 | an instant: lower 27 bits in the header, 32 more behind | 8 |

use super::format::Format;

/// Bits of an event's header that are its type, in the order of this machine.
const TYPE_BITS: u32 = 5;
const TIME_BITS: u32 = 27;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// In the page's length: events were lost before this page.
const MISSED: u64 = 1 << 31;
/// In the page's length: the count of lost events follows what is valid.
const MISSED_STORED: u64 = 1 << 30;
/// Time that an instant (type 31) does not contain: its upper bits, which are the page's.
const STAMP_UPPER: u64 = !((1 << 59) - 1);

/// Layout of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLayout {
    commit: usize,
    commit_bytes: usize,
    data: usize,
    /// Length of a page.
    pub(crate) page_bytes: usize,
}

impl PageLayout {
    /// Largest page that is believed: the kernel's sub-buffers are 2^7 pages of memory at most.
    const PAGE_BYTES_MAX: usize = 128 << 16;

    /// From what `events/header_page` says; `None` when it does not say enough.
    pub(crate) fn of(format: &Format) -> Option<PageLayout> {
        let commit = format.field("commit")?;
        let data = format.field("data")?;
        let page_bytes = data.offset.checked_add(data.size)?;
        let fits = matches!(commit.size, 4 | 8) && commit.offset + commit.size <= data.offset;
        let first = format.field("timestamp")?;
        (fits && first.offset == 0 && first.size == 8 && page_bytes <= Self::PAGE_BYTES_MAX)
            .then_some(PageLayout {
                commit: commit.offset,
                commit_bytes: commit.size,
                data: data.offset,
                page_bytes,
            })
    }
}

/// Reader of a page, event by event.
#[derive(Clone, Debug)]
pub(crate) struct Page<'a> {
    data: &'a [u8],
    at: usize,
    time: u64,
    /// Events lost before it: `Some(0)` for none, `None` when some were and the page does not say how many.
    pub(crate) missed: Option<u64>,
}

/// An event of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// When, on the ring buffer's clock, in nanoseconds.
    pub time: u64,
    /// Data of the event, padded to 4 bytes.
    pub data: &'a [u8],
}

/// A page that is not one: it ends within a header or an event, or says to be longer than it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl<'a> Page<'a> {
    /// Opens the page at the beginning of `bytes`.
    pub(crate) fn open(layout: &PageLayout, bytes: &'a [u8]) -> Result<Page<'a>, Broken> {
        let time = u64::from_ne_bytes(*bytes.first_chunk().ok_or(Broken)?);
        let commit = bytes.get(layout.commit..).ok_or(Broken)?;
        let commit = match layout.commit_bytes {
            4 => u64::from(u32::from_ne_bytes(*commit.first_chunk().ok_or(Broken)?)),
            _ => u64::from_ne_bytes(*commit.first_chunk().ok_or(Broken)?),
        };
        let length = usize::try_from(commit & (MISSED_STORED - 1)).map_err(|_| Broken)?;
        let all = bytes.get(layout.data..).ok_or(Broken)?;
        let data = all.get(..length).ok_or(Broken)?;
        let missed = match (commit & MISSED, commit & MISSED_STORED) {
            (0, _) => Some(0),
            (_, 0) => None,
            // `unsigned long`, as wide as the length.
            _ if layout.commit_bytes == 4 => {
                all[length..].first_chunk().map(|b| u64::from(u32::from_ne_bytes(*b)))
            }
            _ => all[length..].first_chunk().map(|b| u64::from_ne_bytes(*b)),
        };
        Ok(Page { data, at: 0, time, missed })
    }

    fn word(&self, at: usize) -> Result<u32, Broken> {
        let bytes = self.data.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| u32::from_ne_bytes(*bytes)).ok_or(Broken)
    }

    /// The next event; `None` at the page's end.
    pub(crate) fn next(&mut self) -> Option<Result<Entry<'a>, Broken>> {
        while self.at < self.data.len() {
            match self.step() {
                Ok(Some(entry)) => return Some(Ok(entry)),
                Ok(None) => {}
                Err(broken) => {
                    self.at = self.data.len();
                    return Some(Err(broken));
                }
            }
        }
        None
    }

    fn step(&mut self) -> Result<Option<Entry<'a>>, Broken> {
        let header = self.word(self.at)?;
        // A bit field: the type is where the compiler puts a first field.
        let (kind, delta) = if cfg!(target_endian = "big") {
            (header >> TIME_BITS, u64::from(header & ((1 << TIME_BITS) - 1)))
        } else {
            (header & ((1 << TYPE_BITS) - 1), u64::from(header >> TYPE_BITS))
        };
        let upper = |page: &Self| Ok((u64::from(page.word(page.at + 4)?) << TIME_BITS) + delta);
        match kind {
            TIME_EXTEND => {
                self.time = self.time.wrapping_add(upper(self)?);
                self.at += 8;
            }
            TIME_STAMP => {
                self.time = (self.time & STAMP_UPPER) | upper(self)?;
                self.at += 8;
            }
            PADDING if delta == 0 => self.at = self.data.len(),
            PADDING => {
                self.time = self.time.wrapping_add(delta);
                self.at = self.behind(self.word(self.at + 4)?)?;
            }
            0 => {
                self.time = self.time.wrapping_add(delta);
                let end = self.behind(self.word(self.at + 4)?)?;
                let data = self.data.get(self.at + 8..end).ok_or(Broken)?;
                self.at = end;
                return Ok(Some(Entry { time: self.time, data }));
            }
            words => {
                self.time = self.time.wrapping_add(delta);
                let end = self.at + 4 + 4 * words as usize;
                let data = self.data.get(self.at + 4..end).ok_or(Broken)?;
                self.at = end;
                return Ok(Some(Entry { time: self.time, data }));
            }
        }
        Ok(None)
    }

    /// Returns the end offset of an event with `length` in the word behind its header.
    fn behind(&self, length: u32) -> Result<usize, Broken> {
        let end = self.at + 4 + (length as usize).next_multiple_of(4);
        if length < 4 || end > self.data.len() { Err(Broken) } else { Ok(end) }
    }
}

#[cfg(test)]
pub(crate) mod tests;
