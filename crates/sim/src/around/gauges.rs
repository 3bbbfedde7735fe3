//! Gauges of a drive's surroundings, which its environment reads.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use block::{Bytes, DeviceCounters, Nanos, Op};

/// Counters that the wrappers around a drive update and the drive's environments read. Relaxed atomics rather
/// than a lock: the two sides live on one thread or hand over through something that already orders them.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    write_bytes: AtomicU64,
    busy_ns: AtomicU64,
    temperature_mc: AtomicI64,
    throttle_events: AtomicU64,
    gone: AtomicBool,
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Gauges {
    /// The drive completed an I/O that was not the task's; `bytes` crossed the link.
    pub(super) fn foreign(&self, op: Op, bytes: Bytes) {
        match op {
            Op::Read => {
                add(&self.reads, 1);
                add(&self.read_bytes, bytes.0);
            }
            Op::Write => {
                add(&self.writes, 1);
                add(&self.write_bytes, bytes.0);
            }
            Op::Flush | Op::Discard => {}
        }
    }

    /// The drive had I/O of others alone for `span`.
    pub(super) fn busy(&self, span: Nanos) {
        add(&self.busy_ns, span.0);
    }

    /// The drive has this temperature now, in thousandths of a degree Celsius.
    pub(super) fn set_temperature(&self, milli_c: i64) {
        self.temperature_mc.store(milli_c, Ordering::Relaxed);
    }

    /// The drive became too hot `times` more.
    pub(super) fn throttled(&self, times: u64) {
        add(&self.throttle_events, times);
    }

    /// The drive is no longer there.
    pub(super) fn vanished(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// True when the drive is no longer there.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Adds the I/O of others to what the task had the drive do.
    pub(crate) fn add_to(&self, counters: &mut DeviceCounters) {
        counters.reads += get(&self.reads);
        counters.read_bytes += Bytes(get(&self.read_bytes));
        counters.writes += get(&self.writes);
        counters.write_bytes += Bytes(get(&self.write_bytes));
        counters.busy_ns += Nanos(get(&self.busy_ns));
    }

    /// In degrees Celsius; of a drive with a heat model.
    pub(crate) fn temperature_c(&self) -> f64 {
        self.temperature_mc.load(Ordering::Relaxed) as f64 / 1000.0
    }

    /// How often the drive became too hot.
    pub(crate) fn throttle_events(&self) -> u64 {
        get(&self.throttle_events)
    }
}
