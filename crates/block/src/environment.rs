//! Surroundings of a drive, as far as they can be counted from outside it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// Drive's sibling: the counters, caches and layers around a target.
///
/// A virtual drive brings a virtual one, so that proofs run on it, deterministically.
pub trait Environment {
    /// Reads every counter now. What cannot be read is absent, with the reason in
    /// [`Snapshot::missing`].
    fn snapshot(&mut self) -> Snapshot;

    /// The layers from the target down to its leaf devices.
    fn stack(&self) -> &Stack;

    /// How the target's file is laid out; `None` for a target that is not a file.
    fn extents(&mut self) -> Option<Extents>;

    /// As [`Environment::extents`], of this part of the target, without what lies beyond the file's end; of all of it
    /// where parts cannot be distinguished.
    fn extents_within(&mut self, _offset: Bytes, _length: Bytes) -> Option<Extents> {
        self.extents()
    }

    /// Notes in [`Layer::stored`] how the files below the target store this part of it; of two looks the one that
    /// proves less is kept.
    fn survey_layers(&mut self, _offset: Bytes, _length: Bytes) {}

    /// Name of a leaf device that was there at the beginning and is no longer: taken out, or lost by its bus. Asked
    /// after an I/O failed, since the kernel answers then with the same error as for a bad block.
    fn gone(&mut self) -> Option<String> {
        None
    }
}

/// Counters at one instant. All of them only grow, but for temperature and page cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Block I/O charged to this process.
    pub task: Option<TaskIo>,
    /// Leaf devices, in the order of [`Stack::leaves`]; empty when none can be counted.
    pub devices: Vec<DeviceCounters>,
    /// Traffic that the kernel's block events showed at the leaf devices in the places of the measured part; left out where
    /// they are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_events: Option<LeafEvents>,
    /// CPU time of this process.
    pub process_cpu: Option<CpuTimes>,
    /// Time that submitters which have ended were ready to run and had no CPU, summed over them.
    #[serde(default)]
    pub run_delay_ns: Option<Nanos>,
    /// Time that a hypervisor took from this machine's CPUs, summed over CPUs.
    pub steal_ns: Option<Nanos>,
    /// Pages of the target's file in the page cache.
    pub page_cache: Option<PageCache>,
    /// Counters of ZFS's own cache, for all files of this machine; left out where no layer is ZFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arc: Option<ArcCounters>,
    /// Drive temperature in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Count of thermal throttling events of drive or CPU. Of an NVMe drive: its transitions into thermal management,
    /// and each minute at or above its warning temperature or its critical one.
    pub throttle_events: Option<u64>,
    /// Errors of the media that the leaf devices counted in their lives: what could not be read, or was damaged; left
    /// out when no device reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// Links between the leaf devices and the host, nearest first, with the speed that the kernel reports; left out when
    /// it reports none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkState>,
    /// Wear that the drive itself counted; left out when it does not report any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<Endurance>,
    /// The arrays among the layers that keep redundancy; left out when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<ArrayState>,
    /// Names of values that could not be read, with the reasons.
    pub missing: BTreeMap<String, String>,
}

impl Snapshot {
    /// Links whose speed differs from that of an `earlier` snapshot, each as it was and as it is. None where one of
    /// the two has more links than the other, because it is then not known which is which.
    pub fn changed_links<'a>(
        &'a self,
        earlier: &'a Snapshot,
    ) -> impl Iterator<Item = (&'a LinkState, &'a LinkState)> {
        let are_all_told = earlier.links.len() == self.links.len();
        let pairs = earlier.links.iter().zip(&self.links).filter(move |_| are_all_told);
        pairs.filter(|(then, now)| then.leaf == now.leaf && then.speed != now.speed)
    }
}

/// How fast a link runs at an instant. Drives and ports slow their links down to save power, and after errors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkState {
    /// The leaf device, as in [`Leaf::name`].
    pub leaf: String,
    /// Its speed, such as `8.0 GT/s PCIe x4` or `6.0 Gbps`.
    pub speed: String,
}

/// Whether an array of drives is whole, and what it does besides serving us (kernel: `Documentation/admin-guide/md.rst`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayState {
    /// Kernel name, as in [`Layer::name`].
    pub name: String,
    /// Members that it lacks.
    pub degraded: u64,
    /// `resync`, `recover`, `check`, `repair`, `reshape`; absent while it does nothing of the kind.
    pub sync_action: Option<String>,
}

/// Lookups of data in ZFS's own cache, the ARC, since the module was loaded (`/proc/spl/kstat/zfs/arcstats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArcCounters {
    /// Asked for by a program, and there.
    pub demand_data_hits: u64,
    /// Asked for by a program, and fetched.
    pub demand_data_misses: u64,
    /// Fetched because ZFS foresaw that it would be asked for.
    pub prefetch_data_misses: u64,
}

/// Block I/O that the kernel charged to this process (`/proc/self/io`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskIo {
    /// Bytes fetched from the storage layer.
    pub read_bytes: Bytes,
    /// Bytes sent to the storage layer.
    pub write_bytes: Bytes,
}

/// Counters of one leaf device (`/sys/block/*/stat`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Kernel name, as in [`Leaf::name`].
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Flushes completed.
    pub flushes: u64,
    /// Time during which the device had at least one I/O.
    pub busy_ns: Nanos,
}

/// Traffic at the leaf devices in the places where the measured part lies, by the kernel's event of each request that
/// completed (`block_rq_complete`), since recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafEvents {
    /// Bytes read there, by anybody.
    pub read_bytes: Bytes,
    /// Bytes written there, by anybody.
    pub write_bytes: Bytes,
    /// Events that the kernel lost or that could not be read; then the sums above are too low.
    pub lost: u64,
    /// True when every layer gives addresses, so that these are the places of the measured part alone. Otherwise it lies
    /// somewhere among them.
    pub is_mapped: bool,
    /// Times that the places were found to have changed: bytes may have gone to places that were not known.
    pub moves: u64,
}

/// Lifetime counters of writes to a drive and to its medium (NVMe base specification, Endurance Group Information log; OCP
/// datacenter NVMe SSD, SMART log). Their ratio over a span is its write amplification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endurance {
    /// Bytes that the host wrote.
    pub host_write_bytes: Bytes,
    /// Bytes that the medium was programmed with.
    pub media_write_bytes: Bytes,
}

/// CPU time spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// In user mode.
    pub user_ns: Nanos,
    /// In the kernel.
    pub system_ns: Nanos,
}

/// Part of a file that is in the page cache (`cachestat(2)`, or `mincore(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCache {
    /// Bytes resident.
    pub cached_bytes: Bytes,
    /// Bytes dirty or under writeback; absent when only residency is known.
    pub dirty_bytes: Option<Bytes>,
}

/// Layers that I/O to a target passes through, top down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Target first, then every layer below it.
    pub layers: Vec<Layer>,
    /// The devices at the bottom, where *reached* is judged.
    pub leaves: Vec<Leaf>,
}

impl Stack {
    /// True where all data lies in this machine's memory: there is no drive at the bottom.
    pub fn is_memory(&self) -> bool {
        !self.leaves.is_empty() && self.leaves.iter().all(|leaf| leaf.medium == Medium::Ram)
    }

    /// The I/O schedulers that requests pass, by layer: `loop0: none`.
    pub fn schedulers(&self) -> Vec<String> {
        let scheduler =
            |layer: &Layer| Some(format!("{}: {}", layer.name, layer.attributes.get("scheduler")?));
        self.layers.iter().filter_map(scheduler).collect()
    }
}

/// One layer of a [`Stack`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// `file`, a filesystem's name, `partition`, `loop`, `dm`, `md`, `disk`, `virtual`, …
    pub kind: String,
    /// Path, mount point or kernel name.
    pub name: String,
    /// A page cache that this layer puts between the target and what lies under it, in words
    /// (`loop without direct I/O: /srv/image`); `None` when it passes I/O through.
    pub page_cache: Option<String>,
    /// Facts worth showing: scheduler, block sizes, mount options.
    pub attributes: BTreeMap<String, String>,
    /// The layers right under this one, as places in [`Stack::layers`]: none under a leaf, several under an array.
    /// Two layers may name the same one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<usize>,
    /// Layout of a file below the target, such as the image under a loop device; left out of all other layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Stored>,
}

/// How a file below the target stores the measured part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// True when every layer above gives addresses, so that [`Stored::extents`] are those of the measured part alone.
    /// Otherwise that part lies somewhere among them.
    pub is_mapped: bool,
    /// The layout.
    pub extents: Extents,
    /// Bytes of the whole file in the page cache before the first run.
    pub cached_bytes: Option<Bytes>,
}

/// A device with nothing known under it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    /// Kernel name (`nvme0n1`), or the virtual drive's.
    pub name: String,
    /// Medium that holds the data.
    pub medium: Medium,
    /// Model, for people.
    pub model: Option<String>,
}

/// Medium in which a leaf keeps data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// A storage device.
    Device,
    /// A modelled storage device.
    Virtual,
    /// This machine's memory (zram, brd, tmpfs): whatever crosses the block layer, no device is reached.
    Ram,
    /// Another machine.
    Network,
    /// Not known.
    Unknown,
}

/// How much of a file is really on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extents {
    /// Length of the file.
    pub file_bytes: Bytes,
    /// Bytes in extents that hold written data.
    pub written_bytes: Bytes,
    /// Bytes in extents that are allocated and never written (fallocate): reads return zeros unread.
    pub unwritten_bytes: Bytes,
    /// Bytes without any extent: reads return zeros unread.
    pub hole_bytes: Bytes,
    /// Bytes in compressed or encrypted extents: the device transfers another count of bytes.
    pub encoded_bytes: Bytes,
    /// Bytes stored inside metadata.
    pub inline_bytes: Bytes,
    /// Count of extents: the file's fragmentation.
    pub extents: u64,
    /// Lowest and highest physical byte on the leaf, where the filesystem reports them.
    pub physical_range: Option<(Bytes, Bytes)>,
    /// Why the layout is not known; then the sizes above are zero.
    pub unknown: Option<String>,
}
