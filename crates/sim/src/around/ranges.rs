//! Ranges of addresses, as faults name them.

use serde::{Deserialize, Deserializer, Serialize};

use crate::spec;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// First byte.
    pub offset_bytes: u64,
    /// Count of bytes; above zero.
    pub length_bytes: u64,
}

impl Range {
    /// One beyond its last byte.
    fn end(&self) -> u64 {
        self.offset_bytes.saturating_add(self.length_bytes)
    }
}

/// Ranges of addresses, in any order, possibly overlapping.
///
/// A file has a list of tables or the short text `OFFSET+LENGTH,OFFSET+LENGTH` with sizes such as `64KiB`;
/// an override after the `?` has the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Ranges(pub Vec<Range>);

impl Ranges {
    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when a byte of `from..to` is in one.
    pub(crate) fn touch(&self, from: u64, to: u64) -> bool {
        self.0.iter().any(|range| range.offset_bytes < to && from < range.end())
    }

    /// Returns the next offset after `at` at which a range begins or ends; the largest number for none.
    pub(crate) fn edge_after(&self, at: u64) -> u64 {
        let edges = self.0.iter().flat_map(|range| [range.offset_bytes, range.end()]);
        edges.filter(|edge| *edge > at).min().unwrap_or(u64::MAX)
    }

    /// Describes the first range that is empty or exceeds a drive of `capacity`; `None` when all fit.
    pub(crate) fn fault(&self, capacity: u64) -> Option<String> {
        let odd = self.0.iter().find(|range| range.length_bytes == 0 || range.end() > capacity)?;
        let Range { offset_bytes, length_bytes } = odd;
        Some(format!(
            "{length_bytes} bytes from {offset_bytes} on are none of the {capacity} that there are"
        ))
    }

    fn parse(text: &str) -> Result<Ranges, String> {
        let range = |part: &str| {
            let (offset, length) = part
                .split_once('+')
                .ok_or_else(|| format!("`{part}` is not OFFSET+LENGTH, such as 1GiB+64KiB"))?;
            let (offset, length) = (spec::size(offset)?, spec::size(length)?);
            Ok(Range { offset_bytes: offset.0, length_bytes: length.0 })
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Ranges)
    }
}

impl<'de> Deserialize<'de> for Ranges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ranges, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "not ranges; write \"OFFSET+LENGTH,OFFSET+LENGTH\"")]
        enum Written {
            Text(String),
            List(Vec<Range>),
        }
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ranges::parse(&text).map_err(serde::de::Error::custom),
            Written::List(list) => Ok(Ranges(list)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_and_its_text_are_the_same_ranges() {
        #[derive(Deserialize, Serialize)]
        struct File {
            at: Ranges,
        }
        let text: File = toml::from_str("at = \"1MiB+4KiB,0+512\"").unwrap();
        let list: File = toml::from_str(&toml::to_string(&text).unwrap()).unwrap();
        assert_eq!(text.at, list.at);
        assert_eq!(text.at.0[0], Range { offset_bytes: 1 << 20, length_bytes: 4096 });
        for wrong in ["at = \"1MiB\"", "at = \"x+1\"", "at = 5", "at = [{offset_bytes = 1}]"] {
            assert!(toml::from_str::<File>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn edges_and_touching_are_exact_to_the_byte() {
        let ranges = Ranges::parse("4096+512,8192+1").unwrap();
        assert!(ranges.touch(4607, 4608) && !ranges.touch(4608, 8192) && !ranges.touch(0, 4096));
        let edges = [0, 4096, 4608, 8192, 8193].map(|at| ranges.edge_after(at));
        assert_eq!(edges, [4096, 4608, 8192, 8193, u64::MAX]);
        assert!(ranges.fault(8193).is_none() && ranges.fault(8192).is_some());
        assert!(Ranges::parse("5+0").unwrap().fault(100).is_some());
        let far = Range { offset_bytes: u64::MAX, length_bytes: u64::MAX };
        assert!(Ranges(vec![far]).fault(u64::MAX - 1).is_some());
    }
}
