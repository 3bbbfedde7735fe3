//! How many events a second are decoded and paired.
//!
//! `cargo bench -p drivescope-trace --bench events`: a recording in memory, written by our own exporter, of random
//! I/Os with 32 or so outstanding and five events each. `decode and pair` is what reading a file does, on its two
//! threads; `pair` is one thread's part. Figures are for people, who compare them with those of the commit before;
//! `scripts/validate trace-speed` compares with blkparse and btt.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![allow(missing_docs, reason = "criterion's macro makes a function")]

use std::io::Cursor;

use block::trace::record::Record;
use block::trace::{TraceEvent, TraceSink as _};
use block::{Bytes, Nanos};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use drivescope_trace::export::blktrace::{Files, write};
use drivescope_trace::import::blktrace;
use drivescope_trace::import::compressed::Input;
use drivescope_trace::pair::{Limits, Pairer};
use drivescope_trace::{Existing, Flags, InMemory, Io, Kind, Source as _, Stamp, TraceInfo};

/// I/Os of the recording.
const IOS: u64 = 100_000;

fn recording() -> Vec<u8> {
    let mut at = 0;
    let mut draw = 1u64;
    let ios = (0..IOS).map(|_| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at += 1_000 + (draw >> 40) % 4_000;
        let mut io = Io::arriving(
            Nanos(at),
            Kind::Write,
            Bytes((draw >> 20) % (1 << 24) * 4096),
            Bytes(4096),
        );
        io.allocated = Stamp::at(Nanos(at + 300));
        io.inserted = Stamp::at(Nanos(at + 500));
        io.issued = Stamp::at(Nanos(at + 900));
        io.completed = Stamp::at(Nanos(at + 20_000 + (draw >> 33) % 150_000));
        io.flags = Flags::HEAD;
        io
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recording");
    let mut source = InMemory::new(TraceInfo::default(), ios.collect());
    write(&mut source, &path, Existing::Keep, Files::One).unwrap();
    std::fs::read(path).unwrap()
}

fn events(bytes: &[u8]) -> Vec<TraceEvent> {
    let mut rest = bytes;
    let mut events = Vec::new();
    while let Some(record) = Record::read(rest) {
        let (whole, behind) = rest.split_at(record.len());
        events.extend(record.event(&whole[record.form.header_bytes()..]));
        rest = behind;
    }
    events
}

fn read(bytes: Vec<u8>) -> u64 {
    let input = Input::new(Box::new(Cursor::new(bytes)), "recording").unwrap();
    let mut source = blktrace::open(vec![input], false).unwrap();
    let mut batch = Vec::new();
    let mut count = 0;
    loop {
        batch.clear();
        source.next(&mut batch).unwrap();
        if batch.is_empty() {
            return count;
        }
        count += batch.len() as u64;
    }
}

fn pair(events: &[TraceEvent]) -> u64 {
    let mut pairer = Pairer::new("bench", Limits::default());
    let mut ios = Vec::new();
    let mut count = 0;
    for batch in events.chunks(2 << 10) {
        pairer.events(batch);
        pairer.drain(&mut ios);
        count += ios.len() as u64;
        ios.clear();
    }
    pairer.finish(&mut ios);
    count + ios.len() as u64
}

fn speed(c: &mut Criterion) {
    let bytes = recording();
    let told = events(&bytes);
    let mut group = c.benchmark_group("events");
    group.throughput(Throughput::Elements(told.len() as u64));
    group.bench_function("decode and pair", |b| {
        b.iter_batched(
            || bytes.clone(),
            |bytes| assert_eq!(read(bytes), IOS),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("decode", |b| b.iter(|| events(&bytes)));
    group.bench_function("pair", |b| b.iter(|| assert_eq!(pair(&told), IOS)));
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
