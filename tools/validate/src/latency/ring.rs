//! The kernel's trace ring buffer, as `trace_pipe_raw` gives it: pages of compressed events.
//!
//! The text of `trace` would be easier to read, but stamps events to the microsecond only, which is
//! as much as what is looked for here. The layout is what `events/header_page` and
//! `events/header_event` in tracefs describe, and `<linux/ring_buffer.h>`. Of 64-bit kernels, in
//! this machine's byte order.

use anyhow::{Context as _, Result, bail};

/// Page header: stamp of the page, and how much of it is filled, with flags above.
const HEADER: usize = 16;
/// Events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// The page's end contains their count.
const MISSED_STORED: u64 = 1 << 30;
/// Bits of a time difference in an event's own header.
const DELTA_BITS: u32 = 27;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// One page's events.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// Stamp in the buffer's clock, and the event's fields from the common ones on.
    pub(super) events: Vec<(u64, &'a [u8])>,
    /// The kernel lost events before this page.
    pub(super) missed: bool,
}

/// Reads one page.
///
/// # Errors
/// When it is cut short or states lengths that it does not have.
pub(super) fn read(page: &[u8]) -> Result<Page<'_>> {
    let mut stamp = word64(page, 0).context("a page without a stamp")?;
    let commit = word64(page, 8).context("a page without a length")?;
    let length = (commit & (MISSED_STORED - 1)) as usize;
    let data = page.get(HEADER..HEADER + length).context("a page that is cut short")?;
    let (mut at, mut events) = (0, Vec::new());
    while at < length {
        let head = word32(data, at).context("an event without a header")?;
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let more = || word32(data, at + 4).map(u64::from).context("an event without its length");
        let payload = match kind {
            // The rest of the page was never used.
            PADDING if delta == 0 => break,
            PADDING => {
                // An event that was taken back; the next one's difference counts from it.
                stamp += delta;
                at += 4 + more()? as usize;
                continue;
            }
            TIME_EXTEND => {
                stamp += delta + (more()? << DELTA_BITS);
                at += 8;
                continue;
            }
            TIME_STAMP => {
                // 59 bits; those above are as they were.
                stamp = stamp & !((1 << 59) - 1) | delta | more()? << DELTA_BITS;
                at += 8;
                continue;
            }
            0 => {
                let length = (more()? as usize).checked_sub(4).context("an event of no length")?;
                at + 8..at + 8 + length
            }
            words => at + 4..at + 4 + 4 * words as usize,
        };
        stamp += delta;
        at = payload.end.next_multiple_of(4);
        events.push((stamp, data.get(payload).context("an event that is cut short")?));
    }
    Ok(Page { events, missed: commit & MISSED_EVENTS != 0 })
}

/// Layout of an event's fields, from its `format` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Number that events of this kind begin with.
    pub(super) id: u16,
    /// Name, offset and size.
    fields: Vec<(String, usize, usize)>,
}

impl Format {
    /// Reads a `format` file.
    ///
    /// # Errors
    /// When it has no number.
    pub(super) fn read(text: &str) -> Result<Format> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: ")?.trim().parse().ok());
        let fields = text.lines().filter_map(field).collect();
        Ok(Format { id: id.context("an event's format has no ID")?, fields })
    }

    /// The unsigned number in the field `name` of `event`.
    ///
    /// # Errors
    /// When there is no such field, or it is not a number.
    pub(super) fn number(&self, event: &[u8], name: &str) -> Result<u64> {
        let found = self.fields.iter().find(|(field, ..)| field == name);
        let (_, offset, size) = found.with_context(|| format!("events have no field {name}"))?;
        let bytes = event.get(*offset..offset + size).context("an event that is too short")?;
        match bytes {
            [_, _, _, _] => Ok(u64::from(word32(bytes, 0).unwrap_or_default())),
            [_, _, _, _, _, _, _, _] => Ok(word64(bytes, 0).unwrap_or_default()),
            _ => bail!("field {name} has {size} bytes"),
        }
    }
}

/// `field:sector_t sector; offset:16; size:8; signed:0;`, with tabs between.
fn field(line: &str) -> Option<(String, usize, usize)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let name = parts.next()?.rsplit(' ').next()?.to_owned();
    let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
    let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
    Some((name, offset, size))
}

/// The number that an event begins with: which kind it is.
pub(super) fn kind(event: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(event.get(..2)?.try_into().ok()?))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 11_306_007_914_000;

    fn page(flags: u64, words: &[u32]) -> Vec<u8> {
        let mut page = START.to_ne_bytes().to_vec();
        page.extend(((words.len() as u64 * 4) | flags).to_ne_bytes());
        page.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        page.resize(4096, 0xff);
        page
    }

    fn head(kind: u32, delta: u32) -> u32 {
        kind | delta << 5
    }

    fn stamps(page: &Page<'_>) -> Vec<u64> {
        page.events.iter().map(|(stamp, _)| stamp - START).collect()
    }

    // Each form of header moves time on or does not; one read wrongly shifts all stamps after it.
    #[test]
    fn time_goes_on_through_every_kind_of_event() {
        let words = [
            head(2, 100),
            7,
            8, // two words
            head(TIME_EXTEND, 5),
            1, // 5 + 2^27 later
            head(0, 10),
            8,
            9, // one word, its length told apart
            head(PADDING, 1),
            8,
            0, // taken back
            head(1, 2),
            7,
            head(PADDING, 0),
            0,
            0, // nothing from here on
        ]; // rustfmt would put each word on a line of its own
        let page = page(0, &words);
        let read = read(&page).unwrap();
        let extended = 105 + (1 << 27);
        assert_eq!(stamps(&read), [100, extended + 10, extended + 13]);
        let lengths: Vec<usize> = read.events.iter().map(|(_, event)| event.len()).collect();
        assert_eq!(lengths, [8, 4, 4]);
        assert_eq!(
            read.events.iter().map(|(_, e)| kind(e)).collect::<Vec<_>>(),
            [Some(7), Some(9), Some(7)]
        );
        assert!(!read.missed);
    }

    #[test]
    fn an_absolute_stamp_replaces_the_time_before() {
        let at = START + 1_000_000_000;
        let words = [
            head(1, 100),
            7,
            head(TIME_STAMP, (at & ((1 << 27) - 1)) as u32),
            (at >> 27) as u32,
            head(1, 3),
            7,
        ];
        let page = page(MISSED_EVENTS | MISSED_STORED, &words);
        let read = read(&page).unwrap();
        assert_eq!(stamps(&read), [100, 1_000_000_003]);
        assert!(read.missed, "a loss must not go unnoticed");
    }

    // Input from outside may be cut anywhere: an error, never a panic or a made-up event.
    #[test]
    fn a_page_cut_anywhere_is_refused() {
        let words = [head(2, 100), 7, 8, head(0, 10), 8, 9, head(TIME_EXTEND, 5), 1, head(1, 2), 7];
        let whole = page(0, &words);
        for length in 0..HEADER + 4 * words.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        let mut wrong = whole.clone();
        for byte in HEADER..HEADER + 4 * words.len() {
            for value in [0u8, 29, 30, 31, 255] {
                wrong[byte] = value;
                let _ = read(&wrong);
            }
            wrong[byte] = whole[byte];
        }
    }

    #[test]
    fn fields_are_found_where_the_kernel_says() {
        let text = "name: block_bio_queue\nID: 2097\nformat:\n\
             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
             \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
             \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
             \tfield:char rwbs[10];\toffset:28;\tsize:10;\tsigned:0;\n\nprint fmt: \"%d\"\n";
        let format = Format::read(text).unwrap();
        let mut event = vec![0u8; 40];
        event[..2].copy_from_slice(&2097u16.to_ne_bytes());
        event[8..12].copy_from_slice(&(7u32 << 20).to_ne_bytes());
        event[16..24].copy_from_slice(&7904u64.to_ne_bytes());
        assert_eq!(kind(&event), Some(format.id));
        assert_eq!(format.number(&event, "dev").unwrap(), 7 << 20);
        assert_eq!(format.number(&event, "sector").unwrap(), 7904);
        assert!(format.number(&event, "rwbs[10]").is_err());
        assert!(format.number(&event, "nr_sector").is_err());
        assert!(format.number(&event[..20], "sector").is_err());
        assert!(Format::read("name: x\n").is_err());
    }
}
