//! Environment of a virtual drive.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{
    Bytes, DeviceCounters, DriveInfo, Endurance, Environment, Extents, Layer, Leaf, Medium, Nanos,
    Op, PageCache, Snapshot, Stack, TaskIo,
};

use crate::around::Gauges;
use crate::device::MediaCounters;

/// Counters of one target alone.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    task_read_bytes: u64,
    task_write_bytes: u64,
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    flushes: u64,
    busy_ns: u64,
}

impl Counters {
    /// The task handed in an I/O that the device takes.
    #[inline]
    pub(crate) fn requested(&mut self, op: Op, len: Bytes) {
        match op {
            Op::Read => self.task_read_bytes += len.0,
            Op::Write => self.task_write_bytes += len.0,
            Op::Flush | Op::Discard => {}
        }
    }

    /// The device completed an I/O; `bytes` crossed the link.
    #[inline]
    pub(crate) fn completed(&mut self, op: Op, bytes: Bytes) {
        match op {
            Op::Read => {
                self.reads += 1;
                self.read_bytes += bytes.0;
            }
            Op::Write => {
                self.writes += 1;
                self.write_bytes += bytes.0;
            }
            Op::Flush => self.flushes += 1,
            Op::Discard => {}
        }
    }

    /// At least one I/O was under way for `span`.
    #[inline]
    pub(crate) fn busy(&mut self, span: Nanos) {
        self.busy_ns += span.0;
    }
}

/// Counters as a target left them when it last returned to its host: its environments read them. Relaxed atomics
/// rather than a lock: the two sides live on one thread or hand over through something that already orders them, and
/// a lock could be poisoned. Plain stores, once for each return and not for each event, cost next to nothing.
#[derive(Debug, Default)]
pub(crate) struct Published {
    host: [AtomicU64; 8],
    media: [AtomicU64; 12],
}

fn set(counters: &[AtomicU64], values: &[u64]) {
    for (counter, value) in counters.iter().zip(values) {
        counter.store(*value, Ordering::Relaxed);
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Published {
    #[inline]
    pub(crate) fn set(&self, host: &Counters, media: &MediaCounters) {
        let &Counters { task_read_bytes, task_write_bytes, reads, read_bytes, .. } = host;
        let &Counters { writes, write_bytes, flushes, busy_ns, .. } = host;
        let device = [reads, read_bytes, writes, write_bytes, flushes, busy_ns];
        set(&self.host[..2], &[task_read_bytes, task_write_bytes]);
        set(&self.host[2..], &device);
        set(
            &self.media,
            &[
                media.medium_read_bytes.0,
                media.medium_write_bytes.0,
                media.cache_served_read_bytes.0,
                media.medium_served_read_bytes.0,
                media.cache_taken_write_bytes.0,
                media.medium_served_write_bytes.0,
                media.seeks,
                media.lost_turns,
                media.host_write_bytes.0,
                media.copied_bytes.0,
                media.folded_bytes.0,
                media.erases,
            ],
        );
    }

    fn host(&self) -> Counters {
        let [task_read_bytes, task_write_bytes, reads, read_bytes, rest @ ..] =
            self.host.each_ref().map(get);
        let [writes, write_bytes, flushes, busy_ns] = rest;
        Counters {
            task_read_bytes,
            task_write_bytes,
            reads,
            read_bytes,
            writes,
            write_bytes,
            flushes,
            busy_ns,
        }
    }

    fn media(&self) -> MediaCounters {
        let [a, b, c, d, e, f, seeks, lost_turns, g, h, i, erases] = self.media.each_ref().map(get);
        MediaCounters {
            medium_read_bytes: Bytes(a),
            medium_write_bytes: Bytes(b),
            cache_served_read_bytes: Bytes(c),
            medium_served_read_bytes: Bytes(d),
            cache_taken_write_bytes: Bytes(e),
            medium_served_write_bytes: Bytes(f),
            seeks,
            lost_turns,
            host_write_bytes: Bytes(g),
            copied_bytes: Bytes(h),
            folded_bytes: Bytes(i),
            erases,
        }
    }
}

/// Surroundings of a drive, for its environment.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// Load of others on it, and its temperature if it has a heat model.
    pub(crate) gauges: Arc<Gauges>,
    /// Source of its temperature.
    pub(crate) thermometer: Thermometer,
}

/// Source of a virtual drive's temperature.
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
    counters: Arc<Published>,
    tells_endurance: bool,
    stack: Stack,
    leaf: String,
    around: Surroundings,
    missing: BTreeMap<String, String>,
}

impl VirtualEnvironment {
    pub(crate) fn new(
        counters: Arc<Published>,
        info: &DriveInfo,
        model: &str,
        around: Surroundings,
        tells_endurance: bool,
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
            tells_endurance,
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

    /// Returns the traffic inside the drive, as the model knows it; for scoring inferences, never for making them.
    pub fn media(&self) -> MediaCounters {
        self.counters.media()
    }
}

impl Environment for VirtualEnvironment {
    fn snapshot(&mut self) -> Snapshot {
        let (host, media) = (self.counters.host(), self.counters.media());
        let mut snapshot = Snapshot {
            task: Some(TaskIo {
                read_bytes: Bytes(host.task_read_bytes),
                write_bytes: Bytes(host.task_write_bytes),
            }),
            leaf_events: None,
            devices: vec![DeviceCounters {
                name: self.leaf.clone(),
                reads: host.reads,
                read_bytes: Bytes(host.read_bytes),
                writes: host.writes,
                write_bytes: Bytes(host.write_bytes),
                flushes: host.flushes,
                busy_ns: Nanos(host.busy_ns),
            }],
            process_cpu: None,
            run_delay_ns: None,
            steal_ns: Some(Nanos::ZERO),
            arc: None,
            page_cache: Some(PageCache {
                cached_bytes: Bytes::ZERO,
                dirty_bytes: Some(Bytes::ZERO),
            }),
            temperature_c: self.temperature_c(),
            throttle_events: Some(self.around.gauges.throttle_events()),
            media_errors: None,
            links: Vec::new(),
            endurance: self.tells_endurance.then_some(Endurance {
                host_write_bytes: media.host_write_bytes,
                media_write_bytes: media.medium_write_bytes,
            }),
            arrays: Vec::new(),
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

    fn gone(&mut self) -> Option<String> {
        self.around.gauges.is_gone().then(|| self.leaf.clone())
    }
}
