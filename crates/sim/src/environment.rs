//! What stands around a virtual drive.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{
    Bytes, DeviceCounters, DriveInfo, Environment, Extents, Layer, Leaf, Medium, Nanos, Op,
    PageCache, Snapshot, Stack, TaskIo,
};

use crate::around::Gauges;
use crate::device::MediaCounters;

/// Counters that a target writes and its environments read. Relaxed atomics rather than a lock: the
/// two sides live on one thread or hand over through something that already orders them, and a lock
/// could be poisoned.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    task_read_bytes: AtomicU64,
    task_write_bytes: AtomicU64,
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    write_bytes: AtomicU64,
    flushes: AtomicU64,
    busy_ns: AtomicU64,
    media: [AtomicU64; 9],
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Counters {
    /// The task handed in an I/O that the device takes.
    pub(crate) fn requested(&self, op: Op, len: Bytes) {
        match op {
            Op::Read => add(&self.task_read_bytes, len.0),
            Op::Write => add(&self.task_write_bytes, len.0),
            Op::Flush | Op::Discard => {}
        }
    }

    /// The device completed an I/O; `bytes` crossed the link.
    pub(crate) fn completed(&self, op: Op, bytes: Bytes) {
        match op {
            Op::Read => {
                add(&self.reads, 1);
                add(&self.read_bytes, bytes.0);
            }
            Op::Write => {
                add(&self.writes, 1);
                add(&self.write_bytes, bytes.0);
            }
            Op::Flush => add(&self.flushes, 1),
            Op::Discard => {}
        }
    }

    /// At least one I/O was under way for `span`.
    pub(crate) fn busy(&self, span: Nanos) {
        add(&self.busy_ns, span.0);
    }

    /// Takes over the device's own counters.
    pub(crate) fn set_media(&self, media: &MediaCounters) {
        let values = [
            media.medium_read_bytes.0,
            media.medium_write_bytes.0,
            media.cache_served_read_bytes.0,
            media.medium_served_read_bytes.0,
            media.cache_taken_write_bytes.0,
            media.medium_served_write_bytes.0,
            media.seeks,
            media.lost_turns,
            media.erases,
        ];
        for (counter, value) in self.media.iter().zip(values) {
            counter.store(value, Ordering::Relaxed);
        }
    }

    pub(crate) fn media(&self) -> MediaCounters {
        let [a, b, c, d, e, f, seeks, lost_turns, erases] = self.media.each_ref().map(get);
        MediaCounters {
            medium_read_bytes: Bytes(a),
            medium_write_bytes: Bytes(b),
            cache_served_read_bytes: Bytes(c),
            medium_served_read_bytes: Bytes(d),
            cache_taken_write_bytes: Bytes(e),
            medium_served_write_bytes: Bytes(f),
            seeks,
            lost_turns,
            erases,
        }
    }
}

/// What stands around a drive, for its environment.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// What others do on it, and how warm it is if it has a heat model.
    pub(crate) gauges: Arc<Gauges>,
    /// What tells its temperature.
    pub(crate) thermometer: Thermometer,
}

/// What tells a virtual drive's temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Thermometer {
    /// Nothing.
    None,
    /// The model's word, in degrees Celsius.
    Constant(f64),
    /// The gauges.
    Gauge,
}

/// The environment of a virtual drive: counters that are exact, a machine without a load, and no
/// page cache.
#[derive(Clone, Debug)]
pub struct VirtualEnvironment {
    counters: Arc<Counters>,
    stack: Stack,
    leaf: String,
    around: Surroundings,
    missing: BTreeMap<String, String>,
}

impl VirtualEnvironment {
    pub(crate) fn new(
        counters: Arc<Counters>,
        info: &DriveInfo,
        model: &str,
        around: Surroundings,
    ) -> VirtualEnvironment {
        let layer = Layer { kind: "virtual".into(), name: info.name.clone(), ..Layer::default() };
        let leaf = Leaf { name: model.into(), medium: Medium::Virtual, model: info.model.clone() };
        let mut missing = BTreeMap::from([(
            "process_cpu".to_owned(),
            "a virtual drive runs in virtual time, in which the tester's own CPU time is nothing"
                .to_owned(),
        )]);
        if around.thermometer == Thermometer::None {
            missing.insert("temperature_c".into(), "the model states no temperature".into());
        }
        VirtualEnvironment {
            counters,
            stack: Stack { layers: vec![layer], leaves: vec![leaf] },
            leaf: model.into(),
            around,
            missing,
        }
    }

    /// In degrees Celsius.
    fn temperature_c(&self) -> Option<f64> {
        match self.around.thermometer {
            Thermometer::None => None,
            Thermometer::Constant(degrees) => Some(degrees),
            Thermometer::Gauge => Some(self.around.gauges.temperature_c()),
        }
    }

    /// What moved inside the drive, as the model knows it; for scoring inferences, never for making them.
    pub fn media(&self) -> MediaCounters {
        self.counters.media()
    }
}

impl Environment for VirtualEnvironment {
    fn snapshot(&mut self) -> Snapshot {
        let c = &self.counters;
        let mut snapshot = Snapshot {
            task: Some(TaskIo {
                read_bytes: Bytes(get(&c.task_read_bytes)),
                write_bytes: Bytes(get(&c.task_write_bytes)),
            }),
            devices: vec![DeviceCounters {
                name: self.leaf.clone(),
                reads: get(&c.reads),
                read_bytes: Bytes(get(&c.read_bytes)),
                writes: get(&c.writes),
                write_bytes: Bytes(get(&c.write_bytes)),
                flushes: get(&c.flushes),
                busy_ns: Nanos(get(&c.busy_ns)),
            }],
            process_cpu: None,
            run_delay_ns: None,
            steal_ns: Some(Nanos::ZERO),
            page_cache: Some(PageCache {
                cached_bytes: Bytes::ZERO,
                dirty_bytes: Some(Bytes::ZERO),
            }),
            temperature_c: self.temperature_c(),
            throttle_events: Some(self.around.gauges.throttle_events()),
            missing: self.missing.clone(),
        };
        snapshot.devices.iter_mut().for_each(|device| self.around.gauges.add_to(device));
        snapshot
    }

    fn stack(&self) -> &Stack {
        &self.stack
    }

    fn extents(&mut self) -> Option<Extents> {
        None
    }
}
