//! The counters around a real target.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use block::{
    ArrayState, Bytes, DeviceCounters, Endurance, Environment, Extents, Layer, LinkState, Medium,
    Nanos, Snapshot, Stack, TaskIo,
};

use crate::devices::link;
use crate::health::{Reading, Watch};
use crate::leaf_events::Watched;
use crate::page_cache::page_cache;
use crate::sysfs::{BlockNode, Roots, SYSFS_SECTOR_BYTES, names_in, read_text};
use crate::thermometers::thermometers;
use crate::{extents, stack, stored, syscalls};

/// Longest text of a `stat` file: 17 numbers of at most 20 digits.
const STAT_BYTES_MAX: usize = 512;
/// How often, and how far apart, it is looked once more whether a device has gone.
const GONE_LOOKS: u32 = 10;
const GONE_PAUSE: Duration = Duration::from_millis(100);

/// The environment of a file or a block device on this machine.
#[derive(Debug)]
pub struct RealEnvironment {
    roots: Roots,
    stack: Stack,
    target: Option<File>,
    leaves: Vec<LeafProbe>,
    /// Counters that were unavailable when the environment was made, each with the reason.
    absent: BTreeMap<String, String>,
    throttle_files: Vec<PathBuf>,
    /// Arrays that keep redundancy, and their directories `md`.
    arrays: Vec<(String, PathBuf)>,
    /// How often it may still be waited for a device to go.
    gone_looks_left: u32,
    /// True when the layers were surveyed before.
    is_surveyed: bool,
    /// Events at the leaves; `None` until then, and where there is nothing to gain from them.
    watched: Option<Watched>,
}

/// Sources read for one leaf at each snapshot.
#[derive(Debug)]
struct LeafProbe {
    /// Held open: after hot removal a path may lead to another device of the same name, and this
    /// descriptor answers with an error instead. More than one for a namespace with several paths,
    /// where each counts its part.
    stats: Vec<File>,
    last: DeviceCounters,
    thermometers: Vec<PathBuf>,
    /// Directories in which the kernel describes its links, nearest first.
    links: Vec<PathBuf>,
    /// The drive itself, where it can be asked between two runs.
    watch: Option<Watch>,
    /// Last reading from it.
    reading: Reading,
}

impl RealEnvironment {
    /// Makes ready to count around `stack`. `target` is the measured file or device, open for
    /// reading at least; without it nothing is known of the page cache and of extents.
    ///
    /// Never fails: what cannot be counted is named in [`Snapshot::missing`].
    pub fn new(roots: Roots, stack: Stack, target: Option<File>) -> RealEnvironment {
        let mut absent = BTreeMap::new();
        let mut leaves = Vec::new();
        for leaf in &stack.leaves {
            match LeafProbe::open(&roots, &stack, &leaf.name) {
                Ok(probe) => leaves.push(probe),
                Err(why) => {
                    absent.insert(format!("device {}", leaf.name), why);
                }
            }
        }
        for leaf in &mut leaves {
            match Watch::open(&roots, &leaf.last.name) {
                Ok(watch) => leaf.watch = Some(watch),
                Err(why) => {
                    let what = format!("its throttling and its wear are not counted: {why}");
                    absent.insert(format!("drive {}", leaf.last.name), what);
                }
            }
        }
        if leaves.iter().all(|leaf| leaf.thermometers.is_empty() && leaf.watch.is_none()) {
            absent.insert(
                "temperature".to_owned(),
                "no leaf device has a sensor in sysfs, or can be asked".to_owned(),
            );
        }
        let throttle_files = throttle_files(&roots);
        if throttle_files.is_empty() {
            let why = "the CPUs have no thermal_throttle counters in sysfs".to_owned();
            absent.insert("throttle".to_owned(), why);
        }
        let arrays = arrays(&roots, &stack);
        let gone_looks_left = GONE_LOOKS;
        RealEnvironment {
            roots,
            stack,
            target,
            leaves,
            absent,
            throttle_files,
            arrays,
            gone_looks_left,
            is_surveyed: false,
            watched: None,
        }
    }

    fn extents_where(&self, find: impl FnOnce(&File) -> Extents) -> Option<Extents> {
        let file =
            self.target.as_ref().filter(|file| file.metadata().is_ok_and(|m| m.is_file()))?;
        let mut extents = find(file);
        // The filesystem speaks of its own device; the leaf is where an outer zone is an outer zone.
        extents.physical_range = extents.physical_range.and_then(|(low, high)| {
            let start = stack::filesystem_start_on_leaf(&self.stack)?;
            Some((low + start, high + start))
        });
        Some(extents)
    }

    /// A leaf whose directory in sysfs is not that of the beginning.
    fn gone_now(&self) -> Option<String> {
        let mut real = self.stack.leaves.iter().filter(|leaf| leaf.medium == Medium::Device);
        let gone = real.find(|leaf| {
            let probe = self.leaves.iter().find(|probe| probe.last.name == leaf.name);
            // Of a device that was taken out an open attribute is no longer read, also when another has its name.
            let answers = probe.is_none_or(LeafProbe::answers);
            !answers || BlockNode::by_name(&self.roots, &leaf.name).is_none()
        });
        gone.map(|leaf| leaf.name.clone())
    }

    fn devices(&mut self, missing: &mut BTreeMap<String, String>) -> Vec<DeviceCounters> {
        for leaf in &mut self.leaves {
            // A device that went away keeps the last counts that it showed: its place in the list
            // must not be taken by the next one.
            if let Err(why) = leaf.read() {
                missing.insert(format!("device {}", leaf.last.name), why);
            }
        }
        self.leaves.iter().map(|leaf| leaf.last.clone()).collect()
    }

    /// Asks the drives that can be asked. One that has gone keeps its last counts, which only grow, and loses its
    /// temperature, which does not.
    fn ask_drives(&mut self, missing: &mut BTreeMap<String, String>) {
        for leaf in &mut self.leaves {
            let Some(watch) = &mut leaf.watch else { continue };
            match watch.read() {
                Ok(reading) => leaf.reading = reading,
                Err(error) => {
                    leaf.reading.temperature_c = None;
                    missing.insert(format!("drive {}", leaf.last.name), error.to_string());
                }
            }
        }
    }

    /// The hottest leaf: as the drive itself said just now, or as sysfs shows it.
    fn temperature(&self) -> Option<f64> {
        // hwmon counts in thousandths of a degree Celsius.
        let read = |path: &PathBuf| read_text(path)?.parse::<f64>().ok().map(|milli| milli / 1e3);
        let of_leaf = |leaf: &LeafProbe| {
            let said = leaf.reading.temperature_c.map(f64::from);
            said.or_else(|| leaf.thermometers.iter().filter_map(read).reduce(f64::max))
        };
        self.leaves.iter().filter_map(of_leaf).reduce(f64::max)
    }

    /// Throttling of CPUs and drives together; `None` when nothing counts any of it.
    fn throttle_events(&self) -> Option<u64> {
        let of_cpus = self.throttle_files.iter().filter_map(|path| read_text(path)?.parse().ok());
        let watched = self.leaves.iter().filter(|leaf| leaf.watch.is_some());
        let of_drives = watched.map(|leaf| leaf.reading.throttle_events);
        of_cpus.chain(of_drives).reduce(u64::saturating_add)
    }

    /// Of all leaves that count them.
    fn media_errors(&self) -> Option<u64> {
        let counted = self.leaves.iter().filter_map(|leaf| leaf.reading.media_errors);
        counted.reduce(u64::saturating_add)
    }

    /// Writes to all leaves and to their media; `None` unless every leaf counts both: the ratio is of the whole.
    fn endurance(&self) -> Option<Endurance> {
        let of_leaves = self.leaves.iter().map(|leaf| leaf.reading.endurance);
        let all = of_leaves.collect::<Option<Vec<Endurance>>>()?;
        all.into_iter().reduce(|a, b| Endurance {
            host_write_bytes: Bytes(a.host_write_bytes.0.saturating_add(b.host_write_bytes.0)),
            media_write_bytes: Bytes(a.media_write_bytes.0.saturating_add(b.media_write_bytes.0)),
        })
    }
}

impl Environment for RealEnvironment {
    fn snapshot(&mut self) -> Snapshot {
        let mut missing = self.absent.clone();
        let mut keep = |name: &str, why: String| {
            missing.insert(name.to_owned(), why);
        };
        let task = task_io(&self.roots).map_err(|why| keep("task", why)).ok();
        let process_cpu =
            syscalls::process_cpu().map_err(|error| keep("process_cpu", error.to_string())).ok();
        let run_delay_ns = crate::drive::run_delay();
        if run_delay_ns.is_none() {
            let why = "the kernel does not report it in /proc/thread-self/schedstat (it does with \
                       CONFIG_SCHEDSTATS, or with CONFIG_TASK_DELAY_ACCT and booted with delayacct)";
            keep("run_delay", why.to_owned());
        }
        let steal_ns = steal(&self.roots).map_err(|why| keep("steal", why)).ok();
        let page_cache = match &self.target {
            Some(file) => page_cache(file).map_err(|why| keep("page_cache", why)).ok(),
            None => {
                keep("page_cache", "the target is not open".to_owned());
                None
            }
        };
        let arc = match self.stack.layers.iter().any(|layer| layer.kind == "zfs") {
            true => crate::zfs::arc(&self.roots).map_err(|why| keep("arc", why)).ok(),
            false => None,
        };
        self.ask_drives(&mut missing);
        let devices = self.devices(&mut missing);
        let watched = self.watched.as_ref();
        let leaf_events =
            watched.and_then(|w| w.read(&self.roots, &self.stack, self.target.as_ref()));
        Snapshot {
            task,
            devices,
            leaf_events,
            process_cpu,
            run_delay_ns,
            steal_ns,
            page_cache,
            arc,
            temperature_c: self.temperature(),
            throttle_events: self.throttle_events(),
            media_errors: self.media_errors(),
            links: self.leaves.iter().flat_map(LeafProbe::link_states).collect(),
            endurance: self.endurance(),
            arrays: self.arrays.iter().map(|(name, dir)| array_state(name, dir)).collect(),
            missing,
        }
    }

    fn stack(&self) -> &Stack {
        &self.stack
    }

    fn extents(&mut self) -> Option<Extents> {
        self.extents_where(extents::of)
    }

    fn extents_within(&mut self, offset: Bytes, length: Bytes) -> Option<Extents> {
        self.extents_where(|file| extents::within(file, offset, length))
    }

    fn survey_layers(&mut self, offset: Bytes, length: Bytes) {
        let part = offset.0..offset.0.saturating_add(length.0);
        let (target, roots) = (self.target.as_ref(), &self.roots);
        let on_leaves = stored::note(roots, &mut self.stack, target, part.clone());
        if !std::mem::replace(&mut self.is_surveyed, true) {
            let are_counted = self.leaves.len() >= self.stack.leaves.len();
            self.watched = Watched::start(roots, &self.stack, &on_leaves, part, are_counted);
        }
    }

    /// I/O fails first, and the device leaves sysfs when all of it has failed; so this waits, in all for a second at
    /// most, since some probes live with many failed accesses.
    fn gone(&mut self) -> Option<String> {
        let mut gone = self.gone_now();
        while gone.is_none() && self.gone_looks_left > 0 {
            self.gone_looks_left -= 1;
            std::thread::sleep(GONE_PAUSE);
            gone = self.gone_now();
        }
        gone
    }
}

impl LeafProbe {
    fn open(roots: &Roots, stack: &Stack, name: &str) -> Result<LeafProbe, String> {
        let node = BlockNode::by_name(roots, name).ok_or("not a block device of this machine")?;
        if node.attr("queue/dax").as_deref() == Some("1") && stack.layers.iter().any(is_dax) {
            return Err("not counted: I/O of a filesystem mounted with dax goes past it".to_owned());
        }
        let mut counting = node.hidden_paths(roots);
        if counting.is_empty() {
            counting.push(node);
        }
        let mut stats = Vec::new();
        for node in &counting {
            // zram counts by itself, whatever this says, and says 0 from the start.
            let obeys = stack::kind_of(node) != "zram";
            if obeys && node.attr("queue/iostats").as_deref() == Some("0") {
                return Err("its counters are switched off (queue/iostats)".to_owned());
            }
            let path = node.dir().join("stat");
            stats.push(File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?);
        }
        let last = DeviceCounters { name: name.to_owned(), ..DeviceCounters::default() };
        let thermometers = counting.iter().flat_map(|node| thermometers(node.dir())).collect();
        let links = counting.iter().flat_map(link::places).collect();
        let reading = Reading::default();
        let mut probe = LeafProbe { stats, last, thermometers, links, watch: None, reading };
        probe.read()?;
        Ok(probe)
    }

    /// How fast its links run now.
    fn link_states(&self) -> Vec<LinkState> {
        let states = self.links.iter().filter_map(|dir| link::at(dir));
        states.map(|link| LinkState { leaf: self.last.name.clone(), speed: link.speed }).collect()
    }

    /// True while the device is there.
    fn answers(&self) -> bool {
        let gone = |error: io::Error| error.raw_os_error() == Some(libc::ENODEV);
        !self.stats.iter().any(|stat| stat.read_at(&mut [0; 1], 0).is_err_and(gone))
    }

    /// Reads all or, on an error, changes nothing.
    fn read(&mut self) -> Result<(), String> {
        let name = self.last.name.clone();
        let mut sum = DeviceCounters { name, ..DeviceCounters::default() };
        for stat in &self.stats {
            add_counts(stat, &mut sum)?;
        }
        self.last = sum;
        Ok(())
    }
}

/// Adds what one `stat` file says. The busy time of several paths may add up to more than the time
/// that passed, when more than one is used at once.
fn add_counts(stat: &File, sum: &mut DeviceCounters) -> Result<(), String> {
    let mut buffer = [0; STAT_BYTES_MAX];
    let count =
        stat.read_at(&mut buffer, 0).map_err(|error| format!("its counters are gone: {error}"))?;
    let text = String::from_utf8_lossy(&buffer[..count]);
    let fields: Vec<u64> = text.split_whitespace().map_while(|f| f.parse().ok()).collect();
    // Kernel: Documentation/block/stat.rst. Discards (4.18) and flushes (5.5) were added at the end.
    let field = |at: usize| fields.get(at).copied();
    let sectors = |at: usize| field(at).map(|n| Bytes(n.saturating_mul(SYSFS_SECTOR_BYTES)));
    let parsed = (|| {
        sum.reads += field(0)?;
        sum.read_bytes += sectors(2)?;
        sum.writes += field(4)?;
        sum.write_bytes += sectors(6)?;
        sum.busy_ns += Nanos(field(9)?.saturating_mul(1_000_000));
        sum.flushes += field(15).unwrap_or(0);
        Some(())
    })();
    parsed.ok_or_else(|| format!("its counters are not understood: {text}"))
}

/// The md arrays of a stack that can lack a member; those without redundancy have no such count.
fn arrays(roots: &Roots, stack: &Stack) -> Vec<(String, PathBuf)> {
    let layers = stack.layers.iter().filter(|layer| layer.kind == "md");
    let with_dir = layers.filter_map(|layer| {
        let node = BlockNode::by_name(roots, &layer.name)?;
        Some((layer.name.clone(), node.dir().join("md")))
    });
    with_dir.filter(|(_, dir)| dir.join("degraded").exists()).collect()
}

/// An array that was stopped lacks nothing that could be counted any more.
fn array_state(name: &str, dir: &Path) -> ArrayState {
    let degraded = read_text(&dir.join("degraded")).and_then(|text| text.parse().ok());
    let action = read_text(&dir.join("sync_action"));
    ArrayState {
        name: name.to_owned(),
        degraded: degraded.unwrap_or(0),
        sync_action: action.filter(|action| !["idle", "frozen"].contains(&action.as_str())),
    }
}

/// True for a filesystem that maps its files' data into memory instead of sending I/O. Files with an
/// attribute of their own for it (`dax=inode`, the default) are not looked at.
fn is_dax(layer: &Layer) -> bool {
    let options = layer.attributes.get("options");
    options.is_some_and(|all| all.split(',').any(|one| one == "dax" || one == "dax=always"))
}

/// One file for each core and one for each package: every CPU shows the count of both, and added up
/// over the CPUs, one event would be as many as there are threads.
fn throttle_files(roots: &Roots) -> Vec<PathBuf> {
    let cpus = roots.sys.join("devices/system/cpu");
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    for cpu in names_in(&cpus) {
        let dir = cpus.join(&cpu);
        let id = |name: &str| read_text(&dir.join("topology").join(name));
        let package = id("physical_package_id");
        // Cores are numbered within a package (and a die, on some). A CPU whose place is not reported counts as a
        // place of its own.
        let core = package.as_ref().zip(id("core_id")).map(|(package, core)| {
            format!("{package}/{}/{core}", id("die_id").unwrap_or_default())
        });
        for (file, place) in [("core_throttle_count", core), ("package_throttle_count", package)] {
            let path = dir.join("thermal_throttle").join(file);
            if path.exists() && seen.insert((file, place.unwrap_or_else(|| cpu.clone()))) {
                files.push(path);
            }
        }
    }
    files
}

fn task_io(roots: &Roots) -> Result<TaskIo, String> {
    let path = roots.proc.join("self/io");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let value = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found
            .and_then(|value| value.trim().parse().ok())
            .map(Bytes)
            .ok_or(format!("no {name} in {}", path.display()))
    };
    Ok(TaskIo { read_bytes: value("read_bytes")?, write_bytes: value("write_bytes")? })
}

/// proc_stat(5): the eighth count of the line `cpu` is stolen time, in ticks.
fn steal(roots: &Roots) -> Result<Nanos, String> {
    let path = roots.proc.join("stat");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut fields = text.lines().next().unwrap_or_default().split_whitespace();
    let ticks = fields
        .next()
        .filter(|name| *name == "cpu")
        .and_then(|_| fields.nth(7)?.parse::<u64>().ok());
    let ticks = ticks.ok_or_else(|| format!("no stolen time in {}", path.display()))?;
    Ok(Nanos(ticks.saturating_mul(syscalls::tick().0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_cache::by_mincore;

    /// If the fallback disagreed with cachestat, a warm cache would go unseen on older kernels.
    #[test]
    fn mincore_and_cachestat_agree() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 << 20).unwrap();
        file.write_all_at(&vec![7; 3 << 20], 1 << 20).unwrap();
        let (new, old) = (page_cache(&file).unwrap(), by_mincore(&file).unwrap());
        assert_eq!(new.cached_bytes, old.cached_bytes);
        assert_eq!(new.cached_bytes, Bytes::mib(3));
        assert_eq!(old.dirty_bytes, None);
    }

    /// A leaf whose drive answers from a recording: who it is, then its log with these minutes of heat and units of
    /// 512,000 bytes written, one after the other.
    fn watched(name: &str, logs: &[(u32, u64)]) -> LeafProbe {
        let zeros = "00000000 00000000 00000000 00000000 00000000";
        let mut text = format!(
            "drivescope-commands 1\ndevice {name}\nprotocol nvme\n\
             > nvme 06 nsid 00000000 cdw 00000001 {zeros} in 4096\n< nvme 0000 result 00000000\n"
        );
        for (minutes, units) in logs {
            let bytes = |number: &[u8]| {
                number.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
            };
            text += &format!(
                "> nvme 02 nsid ffffffff cdw 007f0002 {zeros} in 512\n< nvme 0000 result 00000000\n\
                 . 0001 3b 01\n. 0030 {}\n. 00c0 {}\n",
                bytes(&units.to_le_bytes()),
                bytes(&minutes.to_le_bytes())
            );
        }
        let playback = crate::passthrough::Playback::from_text(Path::new("played"), &text).unwrap();
        LeafProbe {
            stats: Vec::new(),
            last: DeviceCounters { name: name.to_owned(), ..DeviceCounters::default() },
            thermometers: Vec::new(),
            links: Vec::new(),
            watch: Some(Watch::of(Box::new(playback), None).unwrap()),
            reading: Reading::default(),
        }
    }

    /// Were a drive's throttling not counted, what a hot drive did would be sold as what it can do; and were the count
    /// of a drive that has gone to fall back to zero, it would be seen as a wrap.
    #[test]
    fn drives_are_asked_at_each_snapshot() {
        let mut environment = RealEnvironment::new(Roots::default(), Stack::default(), None);
        environment.throttle_files.clear();
        assert_eq!(environment.snapshot().throttle_events, None, "nothing counts");
        environment.leaves.push(watched("nvme0n1", &[(0, 0), (2, 5), (3, 9)]));
        environment.leaves.push(watched("nvme1n1", &[(0, 0), (10, 1)]));
        let first = environment.snapshot();
        assert_eq!(first.media_errors, Some(0));
        assert_eq!((first.throttle_events, first.temperature_c), (Some(12), Some(42.0)));
        assert_eq!(first.endurance, None, "neither counts the writes to its medium");
        let second = environment.snapshot();
        assert_eq!(second.throttle_events, Some(13), "the second drive has no answer any more");
        assert!(second.missing["drive nvme1n1"].contains("recording has ended"));
        let third = environment.snapshot();
        assert_eq!((third.throttle_events, third.temperature_c), (Some(13), None));

        let wear = |host, media| {
            let (host_write_bytes, media_write_bytes) = (Bytes(host), Bytes(media));
            Some(Endurance { host_write_bytes, media_write_bytes })
        };
        environment.leaves[0].reading.endurance = wear(1, 2);
        assert_eq!(environment.endurance(), None, "a part is not the whole");
        environment.leaves[1].reading.endurance = wear(10, 20);
        assert_eq!(environment.endurance(), wear(11, 22));
    }
}
