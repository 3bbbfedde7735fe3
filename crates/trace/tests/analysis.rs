//! The analysis as a whole: what must hold whatever the trace.

use block::{Bytes, Nanos};
use drivescope_trace as trace;
use proptest::prelude::*;
use trace::analyze::body::Body;
use trace::analyze::{Analysis, Lens, Options, run};
use trace::{Flags, InMemory, Io, Kind, Space, Stamp, TraceInfo};

/// The lenses of this file: those on load have tests of their own.
fn options() -> Options {
    Options { only: vec![Lens::Seeks, Lens::Depth, Lens::Rates], ..Options::default() }
}

fn info() -> TraceInfo {
    let space = |name: &str| Space { name: name.to_owned(), ..Space::default() };
    TraceInfo { spaces: vec![space("a"), space("b"), space("c")], ..TraceInfo::default() }
}

fn at(ns: u64) -> Stamp {
    Stamp::at(Nanos(ns))
}

/// An I/O at `now` with some of its stamps, in the order of life.
fn io_at(now: u64, draw: &[u64; 8]) -> Io {
    let [what, space, offset, length, to_request, to_issue, to_end, pid] = *draw;
    let (allocated, issued) = (now + to_request, now + to_request + to_issue);
    let io = Io::arriving(
        Nanos(now),
        if what % 3 == 0 { Kind::Write } else { Kind::Read },
        Bytes(offset * 512),
        Bytes(length * 512),
    );
    let io = Io { space: (space % 3) as u32, pid: pid as u32 % 5, ..io };
    match what % 7 {
        0 => io,
        1 => Io { completed: at(issued + to_end), ..io },
        2 => Io { merged: at(allocated), issued: at(issued), completed: at(issued + to_end), ..io },
        3 => Io { allocated: at(allocated), flags: Flags::HEAD, issued: at(issued), ..io },
        4 => Io { kind: Kind::Flush, length: Bytes::ZERO, completed: at(issued), ..io },
        _ => Io {
            allocated: at(allocated),
            inserted: at(allocated + to_issue / 2),
            issued: at(issued),
            completed: at(issued + to_end),
            flags: Flags::HEAD,
            request_bytes: Bytes(length * 512),
            ..io
        },
    }
}

fn ios() -> impl Strategy<Value = Vec<Io>> {
    let draw = (
        any::<[u8; 2]>(),
        0u64..1 << 20,
        1u64..64,
        0u64..5_000,
        0u64..5_000,
        0u64..1 << 20,
        0u64..9,
    );
    proptest::collection::vec((0u64..50_000, draw), 0..200).prop_map(|all| {
        let mut now = 0;
        let made = all.into_iter().map(|(gap, ([what, space], offset, length, g, d, c, pid))| {
            now += gap;
            io_at(now, &[what.into(), space.into(), offset, length, g, d, c, pid])
        });
        made.collect()
    })
}

fn analysed(ios: &[Io], batch: usize) -> Body {
    let mut analysis = Analysis::new(&options());
    ios.chunks(batch).for_each(|batch| analysis.see(batch));
    analysis.finish(&info())
}

proptest! {
    // Breaks when something is kept from one batch to the next that is not there within one, or the threads see
    // another trace than a single one does.
    #[test]
    fn batches_of_any_size_say_the_same(ios in ios(), batch in 1usize..50) {
        let whole = analysed(&ios, 1 << 20);
        prop_assert_eq!(&analysed(&ios, batch), &whole);
        let mut source = InMemory::new(info(), ios);
        prop_assert_eq!(&run(&options(), &mut source).unwrap(), &whole);
    }

    // Breaks when an I/O enters the depth and not the sum, leaves it at another time, or is counted on no device or
    // on two.
    #[test]
    fn sums_agree(ios in ios()) {
        let body = analysed(&ios, 64);
        let counts = &body.counts;
        prop_assert_eq!(counts.requests, ios.len() as u64);
        let kinds = counts.reads + counts.writes + counts.flushes + counts.discards + counts.others;
        prop_assert_eq!(kinds, counts.requests);
        prop_assert_eq!(counts.requests, body.devices.iter().map(|d| d.counts.requests).sum::<u64>());
        if let (Some(depth), Some(sum), Some(span)) = (&body.queue_depth, body.q2c_sum_s, body.completion_s) {
            prop_assert!((depth.mean * span - sum).abs() <= 1e-9 * sum.max(1e-9), "{} {sum} {span}", depth.mean);
            prop_assert!(depth.max as f64 >= depth.mean - 1e-9);
            let shares: f64 = depth.shares.iter().map(|share| share.share).sum();
            prop_assert!(span == 0.0 || (shares - 1.0).abs() < 1e-9);
        }
        let q2c: u64 = body.devices.iter().map(|d| d.q2c_sum_ns).sum();
        prop_assert!((body.q2c_sum_s.unwrap_or(0.0) - q2c as f64 / 1e9).abs() < 1e-12 * q2c.max(1) as f64);
        let completed = ios.iter().filter(|io| io.completed.known()).count() as u64;
        prop_assert_eq!(counts.completed, completed);
        let missing = if completed == 0 { 0 } else { counts.requests - completed };
        prop_assert_eq!(counts.never_completed, missing);
    }

    // Breaks when a body cannot be read back by those who compare analyses.
    #[test]
    fn a_body_is_read_back(ios in ios()) {
        let body = analysed(&ios, 64);
        let text = serde_json::to_string(&body).unwrap();
        prop_assert_eq!(serde_json::from_str::<Body>(&text).unwrap(), body);
    }
}

// Breaks when an I/O that is handed on is counted twice, or cannot be looked at by itself.
#[test]
fn what_is_handed_on_counts_where_it_goes() {
    let upper = |now: u64| Io {
        remapped: at(now + 10),
        completed: at(now + 500),
        space: 1,
        ..io_at(now, &[1, 1, 0, 8, 0, 0, 0, 0])
    };
    let lower = |now: u64| Io {
        completed: at(now + 450),
        space: 0,
        ..io_at(now, &[1, 0, 0, 8, 0, 0, 0, 0])
    };
    let ios = vec![upper(0), lower(10), upper(1000), lower(1010)];
    let body = analysed(&ios, 10);
    assert_eq!((body.counts.requests, body.phases.q2c.unwrap().max_ns), (2, 450));
    assert_eq!(body.queue_depth.as_ref().unwrap().max, 1);
    let stacked = body.stacked.as_ref().unwrap();
    assert_eq!((stacked.counts.requests, stacked.phases.q2a.unwrap().mean_ns), (2, 10.0));
    assert_eq!(body.devices.iter().map(|d| d.stacked).collect::<Vec<_>>(), [false, true]);
    assert!(body.caveats.iter().any(|caveat| caveat.code == "stacked"));
    let only = Options { devices: vec!["b".to_owned()], ..options() };
    let body = run(&only, &mut InMemory::new(info(), ios)).unwrap();
    assert_eq!((body.counts.requests, body.phases.q2c.unwrap().max_ns), (2, 500));
    assert_eq!(body.stacked, None);
}

// Breaks when a trace of arrivals pretends to a latency, or an empty one to anything.
#[test]
fn what_is_not_known_is_not_told() {
    let ios: Vec<Io> = (0..100).map(|n| io_at(n * 1000, &[0, 0, n, 8, 0, 0, 0, 0])).collect();
    let body = analysed(&ios, 10);
    assert_eq!((body.completion_s, body.q2c_sum_s, body.d2c_sum_s), (None, None, None));
    assert!(body.queue_depth.is_none() && body.activity.is_none() && body.phases.q2c.is_none());
    assert_eq!((body.counts.never_completed, body.arrivals_s), (0, 99e-6));
    assert!(body.caveats.iter().any(|caveat| caveat.code == "arrivals_only"));
    let empty = analysed(&[], 10);
    assert_eq!((empty.counts.requests, empty.devices.len(), empty.caveats.len()), (0, 0, 0));
}

// Breaks when a part of a trace is read beyond its end, or I/Os at its edges fall to the wrong side.
#[test]
fn a_window_is_half_open() {
    let ios: Vec<Io> = (0..50_000).map(|n| io_at(n * 10, &[1, n, n, 8, 0, 0, 5, 0])).collect();
    let window = Options { from: Some(Nanos(1000)), until: Some(Nanos(2000)), ..options() };
    let body = run(&window, &mut InMemory::new(info(), ios)).unwrap();
    assert_eq!((body.counts.requests, body.completion_s), (100, Some(995e-9)));
    assert!(body.devices.iter().all(|device| device.plugs.is_none()));
}

// Breaks when a name that no device has gives an empty answer.
#[test]
fn a_device_that_is_not_there_is_refused() {
    let options = Options { devices: vec!["z".to_owned()], ..options() };
    let error = run(&options, &mut InMemory::new(info(), vec![io_at(0, &[0; 8])])).unwrap_err();
    assert_eq!(error.to_string(), "no device of the trace is called z: it has a, b, c");
}
