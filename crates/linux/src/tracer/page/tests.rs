//! Pages that are made here, byte by byte, and what is read from them.

use proptest::prelude::*;

use super::*;

/// Contents of `events/header_page` on a 64-bit machine.
pub(crate) const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

/// The same on a machine of 32 bits.
const HEADER_PAGE_32: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n";

pub(crate) fn layout(text: &str) -> PageLayout {
    PageLayout::of(&Format::parse(text)).unwrap()
}

/// Writes a page as the kernel does.
pub(crate) struct Made {
    time: u64,
    data: Vec<u8>,
}

impl Made {
    pub(crate) fn at(time: u64) -> Made {
        Made { time, data: Vec::new() }
    }

    fn word(&mut self, kind: u32, delta: u64) -> &mut Made {
        assert!(delta < 1 << TIME_BITS);
        let word = if cfg!(target_endian = "big") {
            kind << TIME_BITS | delta as u32
        } else {
            kind | (delta as u32) << TYPE_BITS
        };
        self.data.extend(word.to_ne_bytes());
        self
    }

    fn number(&mut self, number: u32) -> &mut Made {
        self.data.extend(number.to_ne_bytes());
        self
    }

    /// An event `delta` after the one before, behind a header of its length's kind.
    pub(crate) fn event(&mut self, delta: u64, data: &[u8]) -> &mut Made {
        if delta >= 1 << TIME_BITS {
            self.word(TIME_EXTEND, delta & ((1 << TIME_BITS) - 1));
            self.number((delta >> TIME_BITS) as u32);
            return self.event(0, data);
        }
        let length = data.len().next_multiple_of(4);
        if (4..=112).contains(&length) {
            self.word(length as u32 / 4, delta);
        } else {
            self.word(0, delta).number(length as u32 + 4);
        }
        self.data.extend(data);
        self.data.resize(self.data.len() + length - data.len(), 0);
        self
    }

    /// An instant instead of a time that has passed.
    fn stamp(&mut self, time: u64) -> &mut Made {
        self.word(TIME_STAMP, time & ((1 << TIME_BITS) - 1));
        self.number((time >> TIME_BITS) as u32)
    }

    /// An event that was taken back.
    fn discarded(&mut self, delta: u64, length: usize) -> &mut Made {
        self.word(PADDING, delta).number(length as u32 + 4);
        self.data.resize(self.data.len() + length, 0xee);
        self
    }

    /// The page, with `missed` as its record of events lost before it.
    pub(crate) fn page(&self, layout: &PageLayout, missed: Option<Option<u64>>) -> Vec<u8> {
        let mut commit = self.data.len() as u64;
        commit |= missed.map_or(0, |count| MISSED | count.map_or(0, |_| MISSED_STORED));
        let mut page = self.time.to_ne_bytes().to_vec();
        match layout.commit_bytes {
            4 => page.extend((commit as u32).to_ne_bytes()),
            _ => page.extend(commit.to_ne_bytes()),
        }
        page.extend(&self.data);
        match (missed.flatten(), layout.commit_bytes) {
            (Some(count), 4) => page.extend((count as u32).to_ne_bytes()),
            (Some(count), _) => page.extend(count.to_ne_bytes()),
            (None, _) => {}
        }
        assert!(page.len() <= layout.page_bytes);
        page.resize(layout.page_bytes, 0);
        page
    }
}

fn all(layout: &PageLayout, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut page = Page::open(layout, bytes).unwrap();
    let mut found = Vec::new();
    while let Some(entry) = page.next() {
        let entry = entry.unwrap();
        found.push((entry.time, entry.data.to_vec()));
    }
    found
}

// Breaks when an event is taken for another's rest, or when time does not advance over records that are not
// events: all later events of the page would have wrong times.
#[test]
fn events_of_every_kind_have_their_times() {
    for header in [HEADER_PAGE, HEADER_PAGE_32] {
        let layout = layout(header);
        let mut made = Made::at(1_000_000);
        made.event(5, b"12345678").event(0, b"abcd").event(3 << 27 | 17, b"after a while");
        made.discarded(100, 8).event(1, &[7; 500]).stamp((1 << 40) + 3).event(2, b"wxyz");
        // Nothing is read behind padding without a time.
        made.word(PADDING, 0).number(0x1234_5678).number(0xffff_ffff);
        let after = 1_000_005 + (3 << 27) + 17;
        let expected = vec![
            (1_000_005, b"12345678".to_vec()),
            (1_000_005, b"abcd".to_vec()),
            (after, b"after a while\0\0\0".to_vec()),
            (after + 101, vec![7; 500]),
            ((1 << 40) + 5, b"wxyz".to_vec()),
        ];
        assert_eq!(all(&layout, &made.page(&layout, None)), expected);
    }
}

// An instant has 59 bits; a clock that has gone further keeps its upper ones.
#[test]
fn an_instant_keeps_the_upper_bits_of_the_clock() {
    let layout = layout(HEADER_PAGE);
    let mut made = Made::at((3 << 59) + 77);
    made.stamp(1_234_567_890_123).event(1, b"abcd");
    let found = all(&layout, &made.page(&layout, None));
    assert_eq!(found[0].0, (3 << 59) + 1_234_567_890_124);
}

// Breaks when losses are overlooked, or read from a place that reports none.
#[test]
fn a_page_tells_what_was_lost_before_it() {
    for header in [HEADER_PAGE, HEADER_PAGE_32] {
        let layout = layout(header);
        let mut made = Made::at(1);
        made.event(1, b"abcd");
        let missed = |told| {
            let bytes = made.page(&layout, told);
            assert_eq!(all(&layout, &bytes).len(), 1, "what is lost is not an event");
            Page::open(&layout, &bytes).unwrap().missed
        };
        assert_eq!(missed(None), Some(0));
        assert_eq!(missed(Some(Some(70_000))), Some(70_000));
        assert_eq!(missed(Some(None)), None);
    }
}

#[test]
fn pages_that_end_within_an_event_are_refused_there() {
    let layout = layout(HEADER_PAGE);
    let mut made = Made::at(1);
    made.event(1, b"abcd");
    for rest in [
        vec![(4u32 | 1 << TYPE_BITS).to_ne_bytes()],
        vec![0u32.to_ne_bytes()],
        vec![0u32.to_ne_bytes(), 3u32.to_ne_bytes()],
        vec![0u32.to_ne_bytes(), u32::MAX.to_ne_bytes()],
        vec![(PADDING | 1 << TYPE_BITS).to_ne_bytes(), 4000u32.to_ne_bytes()],
        vec![TIME_EXTEND.to_ne_bytes()],
    ] {
        let broken = Made { time: 1, data: [made.data.clone(), rest.concat()].concat() };
        let bytes = broken.page(&layout, None);
        let mut page = Page::open(&layout, &bytes).unwrap();
        assert!(page.next().unwrap().is_ok(), "{rest:?}");
        assert_eq!(page.next(), Some(Err(Broken)), "{rest:?}");
        assert_eq!(page.next(), None);
    }
    assert!(Page::open(&layout, &[0; 15]).is_err());
    let mut long = made.page(&layout, None);
    long[8..16].copy_from_slice(&4081u64.to_ne_bytes());
    assert!(Page::open(&layout, &long).is_err(), "longer than it is");
}

#[test]
fn a_header_that_makes_no_sense_is_refused() {
    let told =
        |from: &str, to: &str| PageLayout::of(&Format::parse(&HEADER_PAGE.replace(from, to)));
    assert!(told("x", "y").is_some());
    assert_eq!(told("timestamp", "moment"), None);
    assert_eq!(told("size:4080", "size:18446744073709551600"), None);
    assert_eq!(told("offset:16", "offset:12"), None);
    assert_eq!(told("offset:8;\tsize:8", "offset:8;\tsize:2"), None);
}

proptest! {
    // The kernel may write what it likes: nothing of it may end the recording.
    #[test]
    fn no_page_panics_and_each_ends(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
        for header in [HEADER_PAGE, HEADER_PAGE_32] {
            if let Ok(mut page) = Page::open(&layout(header), &bytes) {
                let count = std::iter::from_fn(|| page.next()).count();
                prop_assert!(count <= bytes.len() / 4 + 1);
            }
        }
    }

    // The same with a length that is believed, so that more than the header is looked at.
    #[test]
    fn no_events_panic(mut bytes in proptest::collection::vec(any::<u8>(), 4096), length in 0u64..4081) {
        bytes[8..16].copy_from_slice(&length.to_ne_bytes());
        let mut page = Page::open(&layout(HEADER_PAGE), &bytes).unwrap();
        prop_assert!(std::iter::from_fn(|| page.next()).count() <= 1021);
    }

    #[test]
    fn what_was_written_is_read(
        start in 0u64..1 << 58,
        events in proptest::collection::vec((0u64..1 << 40, 1usize..200, any::<u8>()), 0..15),
    ) {
        let layout = layout(HEADER_PAGE);
        let mut made = Made::at(start);
        let (mut time, mut expected) = (start, Vec::new());
        for (delta, length, byte) in events {
            let delta = delta >> (byte % 40);
            made.event(delta, &vec![byte; length]);
            time += delta;
            let mut data = vec![byte; length];
            data.resize(length.next_multiple_of(4), 0);
            expected.push((time, data));
        }
        prop_assert_eq!(all(&layout, &made.page(&layout, None)), expected);
    }
}
