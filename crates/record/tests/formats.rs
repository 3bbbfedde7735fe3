//! Other programs' readers take what is written for them.

use std::fs::{self, File};

use crate::common::{document, head, id, rows, step, summary};
use drivescope_record::{PhaseHistogram, Runs, SamplesFormat, State};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use parquet::basic::{Compression, LogicalType};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

/// Standard base64, as the logs have it; written here so that no library is needed for one test.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(DIGITS[(word >> (18 - 6 * digit) & 63) as usize]));
        }
        text.extend(std::iter::repeat_n('=', 3 - chunk.len()));
    }
    text
}

fn unbase64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let mut bytes = Vec::new();
    for chunk in digits.chunks(4) {
        let word = chunk.iter().fold(0_u32, |word, d| word << 6 | u32::from(*d))
            << (6 * (4 - chunk.len()));
        bytes.extend(&word.to_be_bytes()[1..chunk.len()]);
    }
    bytes
}

#[test]
fn a_reader_of_histogram_logs_reads_ours() {
    let dir = tempfile::tempdir().unwrap();
    let runs = Runs::at(dir.path());
    let mut writer = runs.create(&head(1, None)).unwrap();
    let mut truth = Vec::new();
    for position in 0..3 {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        (1..1000 * (u64::from(position) + 1)).for_each(|n| histogram.record(n * 1000).unwrap());
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
        let mut step = step(position);
        step.histograms[0] = PhaseHistogram {
            phase: "timed".into(),
            op: "read".into(),
            began_ns: u64::from(position) * 1_500_000_000,
            window_ns: 1_250_000_000,
            max_ns: histogram.max(),
            encoded: base64(&bytes),
        };
        assert!(
            step.histograms[0].encoded.starts_with("HISTFAAA"),
            "the form that the log asks for"
        );
        writer.step(&step).unwrap();
        truth.push(histogram);
    }
    let saved = writer.finish(&document(1), State::Finished, &summary()).unwrap();
    let log = fs::read(saved.dir.join("histograms.hlog")).unwrap();
    let mut seen = 0;
    for entry in IntervalLogIterator::new(&log) {
        match entry.unwrap() {
            LogEntry::StartTime(since) => assert_eq!(since.as_secs(), 1_700_000_001),
            LogEntry::BaseTime(_) => panic!("none is written: starts count from the start time"),
            LogEntry::Interval(line) => {
                let n = seen as u64;
                let tag = format!("{seen:04}/SEQ1M__\"Q8\"T{seen}/{}/timed/read", n / 2);
                assert_eq!(line.tag().unwrap().as_str(), tag);
                assert_eq!(line.start_timestamp().as_nanos(), u128::from(n) * 1_500_000_000);
                assert_eq!(line.duration().as_millis(), 1250);
                // The log has milliseconds, and the payload nanoseconds.
                assert!((line.max() * 1e6 - truth[seen].max() as f64).abs() < 1.0);
                let bytes = unbase64(line.encoded_histogram());
                let read: Histogram<u64> =
                    Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                assert_eq!(read, truth[seen]);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 3);
}

#[test]
fn the_interval_series_says_when_each_slice_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Runs::at(dir.path()).create(&head(1, None)).unwrap();
    writer.step(&step(1)).unwrap();
    let saved = writer.finish(&document(1), State::Finished, &summary()).unwrap();
    let name = "\"SEQ1M, \"\"Q8\"\"T1\"";
    assert_eq!(
        fs::read_to_string(saved.dir.join("series.csv")).unwrap(),
        format!(
            "position,step,run,phase,measured,at_ns,length_ns,ios,bytes\n\
             1,{name},0,timed,true,1100000000,100000000,1,1048576\n\
             1,{name},0,timed,true,1200000000,100000000,2,2\n\
             1,{name},0,timed,true,1300000000,100000000,3,18446744073709551615\n"
        )
    );
}

#[test]
fn a_reader_of_parquet_reads_our_samples() {
    // More rows than a group holds, so that groups, too, are right.
    const ROWS: u64 = 300_000;
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Runs::at(dir.path()).create(&head(1, Some(SamplesFormat::Parquet))).unwrap();
    writer.samples(3, &mut rows(3, ROWS)).unwrap();
    writer.samples(4, &mut rows(4, 0)).unwrap();
    (3..5).for_each(|position| writer.step(&step(position)).unwrap());
    let saved = writer.finish(&document(1), State::Finished, &summary()).unwrap();
    let run = Runs::at(dir.path()).load(&id(1)).unwrap();
    let names: Vec<_> = run.samples.iter().map(|p| p.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["0003.parquet", "0004.parquet"]);
    let open = |name: &str| {
        SerializedFileReader::new(File::open(saved.dir.join("samples").join(name)).unwrap())
            .unwrap()
    };
    assert_eq!(open("0004.parquet").metadata().file_metadata().num_rows(), 0);
    let reader = open("0003.parquet");
    let meta = reader.metadata();
    assert_eq!((meta.file_metadata().num_rows(), meta.num_row_groups()), (ROWS as i64, 3));
    assert_eq!(meta.row_group(0).column(5).compression(), Compression::SNAPPY);
    let string = meta.file_metadata().schema_descr().column(1).logical_type_ref().cloned();
    assert_eq!(string, Some(LogicalType::String), "or readers show bytes");
    let expected = rows(3, ROWS);
    let mut read = 0;
    for (row, expected) in reader.get_row_iter(None).unwrap().zip(expected) {
        let row = row.unwrap();
        let fields: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
        let op = format!("{:?}", expected.op).to_lowercase();
        assert_eq!(
            fields,
            [
                &Field::UInt(3),
                &Field::Str(expected.step),
                &Field::UInt(expected.run),
                &Field::UShort(expected.submitter),
                &Field::Str(op),
                &Field::ULong(expected.offset.0),
                &Field::ULong(expected.len.0),
                &Field::ULong(expected.intended_ns),
                &Field::ULong(expected.issued_ns),
                &Field::ULong(expected.completed_ns),
            ]
        );
        read += 1;
    }
    assert_eq!(read, ROWS);
    let names = meta.file_metadata().schema_descr().columns().iter().map(|c| c.name().to_owned());
    assert_eq!(
        names.collect::<Vec<_>>().join(","),
        "position,step,run,submitter,op,offset_bytes,length_bytes,intended_ns,issued_ns,completed_ns",
        "the columns of the CSV"
    );
}
