//! How many rows of a published CSV format are read a second, beside the `csv` crate on the same bytes.
//!
//! The `csv` crate represents a reader built from existing parts: byte records, numbers parsed by hand, and nothing
//! kept. Our reader makes whole I/Os, finds their spaces and checks their order.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Cursor;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use drivescope_trace::import::{Options, read};

const ROWS: u64 = 500_000;

/// Numbers that look random and are the same each time.
fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

fn msr() -> String {
    (0..ROWS).fold(String::new(), |mut text, n| {
        let draw = mixed(n);
        let (time, disk) = (128_166_372_003_061_629 + n * 900 + draw % 700, draw >> 60 & 3);
        let kind = if draw >> 50 & 1 == 0 { "Read" } else { "Write" };
        let (offset, size) = ((draw >> 8 & 0xff_ffff) * 4096, 512 * (1 + (draw >> 40 & 63)));
        writeln!(text, "{time},web,{disk},{kind},{offset},{size},{}", draw >> 20 & 0xffff).unwrap();
        text
    })
}

fn spc() -> String {
    (0..ROWS).fold(String::new(), |mut text, n| {
        let draw = mixed(n);
        let (asu, lba, kind) =
            (draw % 3, draw >> 8 & 0xff_ffff, if draw >> 50 & 1 == 0 { 'R' } else { 'w' });
        let us = n * 90 + draw % 70;
        writeln!(text, "{asu},{lba},8192,{kind},{}.{:06}", us / 1_000_000, us % 1_000_000).unwrap();
        text
    })
}

fn ours(text: &[u8]) -> u64 {
    let mut source =
        read(Box::new(Cursor::new(text.to_vec())), "bench", &Options::default()).unwrap();
    let mut batch = Vec::new();
    let mut ios = 0;
    loop {
        batch.clear();
        source.next(&mut batch).unwrap();
        if batch.is_empty() {
            return ios;
        }
        ios += black_box(&batch).len() as u64;
    }
}

/// The sum of all columns that are whole numbers.
fn theirs(text: &[u8]) -> u64 {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(Cursor::new(text));
    let mut record = csv::ByteRecord::new();
    let mut sum = 0u64;
    while reader.read_byte_record(&mut record).unwrap() {
        for field in &record {
            let number = field.iter().try_fold(0u64, |n, byte| {
                byte.is_ascii_digit()
                    .then(|| n.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')))
            });
            sum = sum.wrapping_add(number.unwrap_or(0));
        }
    }
    sum
}

fn rows(criterion: &mut Criterion) {
    for (name, text) in [("MSR Cambridge", msr()), ("SPC", spc())] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(ROWS)).sample_size(20);
        group.bench_function("ours", |bench| bench.iter(|| ours(black_box(text.as_bytes()))));
        group
            .bench_function("csv crate", |bench| bench.iter(|| theirs(black_box(text.as_bytes()))));
        group.finish();
    }
}

criterion_group!(benches, rows);
criterion_main!(benches);
