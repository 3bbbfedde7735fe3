//! A histogram as text: HdrHistogram's own form (version 2, DEFLATE, base64), which its tools in every
//! language read, and beside it what that form rounds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{
    Deserializer as Reader, Serializer as Writer, V2DeflateSerializer,
};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{HIGHEST_NS, LatencyHistogram};

/// The text form, with the exact figures.
#[derive(Serialize, Deserialize)]
struct Encoded {
    hdr: String,
    /// Decimal digits: readers of JSON keep 53 bits, and this needs more.
    sum_ns: String,
    min_ns: u64,
    max_ns: u64,
    saturated: u64,
}

impl LatencyHistogram {
    /// The bins in HdrHistogram's compressed form (`HISTFAAAA…`), as its log files hold them.
    ///
    /// # Errors
    /// When the encoder fails, which no histogram with the bounds of this type makes it do.
    pub fn to_hdr_text(&self) -> Result<String, String> {
        let mut bytes = Vec::new();
        Writer::serialize(&mut V2DeflateSerializer::new(), &self.bins, &mut bytes)
            .map_err(|error| error.to_string())?;
        Ok(STANDARD.encode(bytes))
    }

    /// The histogram of what [`LatencyHistogram::to_hdr_text`] wrote; sum, least and greatest are exact to a bin's
    /// width, since that form holds bins alone.
    ///
    /// # Errors
    /// When the text is not a histogram, or has other bounds.
    pub fn from_hdr_text(text: &str) -> Result<LatencyHistogram, String> {
        let bins = bins_of(text)?;
        let mut histogram = LatencyHistogram::new();
        for bin in bins.iter_recorded() {
            histogram.record_n(bin.value_iterated_to(), bin.count_at_value());
        }
        Ok(histogram)
    }
}

fn bins_of(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    let read: Result<Histogram<u64>, _> = Reader::new().deserialize(&mut bytes.as_slice());
    let read = read.map_err(|error| error.to_string())?;
    // Bins of other bounds could not be merged with ours.
    let ours = LatencyHistogram::new();
    if (read.low(), read.high(), read.sigfig()) != (1, HIGHEST_NS, ours.bins.sigfig()) {
        return Err("a histogram of other bounds".to_owned());
    }
    Ok(read)
}

impl Serialize for LatencyHistogram {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let encoded = Encoded {
            hdr: self.to_hdr_text().map_err(S::Error::custom)?,
            sum_ns: self.sum_ns.to_string(),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            saturated: self.saturated,
        };
        encoded.serialize(to)
    }
}

impl<'de> Deserialize<'de> for LatencyHistogram {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LatencyHistogram, D::Error> {
        let encoded = Encoded::deserialize(from)?;
        let read = bins_of(&encoded.hdr).map_err(D::Error::custom)?;
        Ok(LatencyHistogram {
            bins: read,
            sum_ns: encoded.sum_ns.parse().map_err(D::Error::custom)?,
            min_ns: encoded.min_ns,
            max_ns: encoded.max_ns,
            saturated: encoded.saturated,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_back_is_what_was_written() {
        let mut histogram = LatencyHistogram::new();
        for i in 1..2_000u64 {
            histogram.record_n(i * i * 37, i % 5);
        }
        histogram.record(HIGHEST_NS + 17);
        for histogram in [histogram, LatencyHistogram::new()] {
            let text = serde_json::to_string(&histogram).unwrap();
            assert!(text.contains("\"hdr\":\"HISTF"), "{text}");
            let back: LatencyHistogram = serde_json::from_str(&text).unwrap();
            assert!(back == histogram);
            let bins = LatencyHistogram::from_hdr_text(&histogram.to_hdr_text().unwrap()).unwrap();
            assert!(bins.iter().eq(histogram.iter()) && bins.count() == histogram.count());
            // It can be counted and merged like the one that it was made from.
            let mut sum = back;
            sum.record(5);
            sum.merge(&histogram);
            assert_eq!(sum.count(), 2 * histogram.count() + 1);
        }
    }

    #[test]
    fn what_is_no_histogram_of_ours_is_refused() {
        let other = Histogram::<u64>::new_with_bounds(1, 1_000, 2).unwrap();
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&other, &mut bytes).unwrap();
        for hdr in [STANDARD.encode(bytes), "HISTFAAAAB".to_owned(), "?".to_owned()] {
            let text =
                format!(r#"{{"hdr":"{hdr}","sum_ns":"0","min_ns":0,"max_ns":0,"saturated":0}}"#);
            assert!(serde_json::from_str::<LatencyHistogram>(&text).is_err(), "{text}");
        }
    }
}
