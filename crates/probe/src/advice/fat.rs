//! FAT and exFAT whose clusters begin with an erase block, and whose tables lie in the zone for them where it reaches that far.

use block::Bytes;

use super::{Advice, FS_BLOCK, Subject, new, size};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Sectors in front of the tables, at least and at most (fatgen103, `BPB_RsvdSecCnt`; mkfs.fat(8) keeps 32).
const RESERVED: std::ops::RangeInclusive<u64> = 32..=65_535;
/// FAT32 has at least 65,525 clusters (fatgen103, "FAT Type Determination"). Some more keep away from that line.
const FAT32_CLUSTERS: u64 = 80_000;
/// mkfs.fat leaves out what is not a whole track, of 63 sectors at most.
const TRACK: u64 = 63;
/// Sectors of the boot region of exFAT, in front of its table (exFAT specification, 3).
const BOOT_SECTORS: u64 = 24;
/// Distance from the beginning of a partition within which its clusters have to begin.
const REACH: u64 = GIB;
/// Sectors that an MBR partition table can address.
pub(super) const MBR_SECTORS: u64 = u32::MAX as u64;

/// Partition that takes the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub start: u64,
    pub length: u64,
    /// Logical sector of the drive.
    pub sector: u64,
    pub erase: u64,
}

/// Places that a command gives a filesystem, counted from the beginning of the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made {
    command: String,
    /// Blocks of 1 KiB that the filesystem takes, where it is to leave some of the partition.
    blocks: Option<u64>,
    /// Beginning and end of the tables.
    tables: (u64, u64),
    clusters: u64,
}

impl Place {
    /// Beginnings of erase blocks behind the beginning of the partition.
    fn grid(self) -> impl Iterator<Item = u64> {
        let end = self.start + self.length.min(REACH);
        (self.start / self.erase + 1..).map(move |n| n * self.erase).take_while(move |at| *at < end)
    }

    /// As [`Place::exact_vfat`], in a little less than all of it where that is needed.
    fn vfat(self) -> Option<Made> {
        self.exact_vfat().or_else(|| {
            let cluster = self.cluster()?;
            // Half of what one more cluster of tables is for.
            let less = 64 * cluster / self.sector * cluster;
            let length = self.length.checked_sub(less)?;
            let made = Place { length, ..self }.vfat_of(cluster)?;
            Some(Made { blocks: Some(length / KIB), ..made })
        })
    }

    /// `mkfs.vfat` with as many reserved sectors as the clusters need to begin with an erase block: the tables lie right
    /// before them.
    fn exact_vfat(self) -> Option<Made> {
        self.vfat_of(self.cluster()?)
    }

    /// Size of a cluster of FAT32.
    fn cluster(self) -> Option<u64> {
        let largest = if self.length > 32 * GIB { 64 * KIB } else { 32 * KIB };
        std::iter::successors(Some(largest), |size| Some(size / 2))
            .take_while(|size| *size >= self.sector)
            .find(|size| self.length / size >= FAT32_CLUSTERS)
    }

    /// The same with clusters of this size; `None` where what mkfs.fat rounds decides about the size of its tables.
    fn vfat_of(self, cluster: u64) -> Option<Made> {
        let per_cluster = cluster / self.sector;
        let sectors = self.length / self.sector;
        let fits = sectors <= MBR_SECTORS && self.start.is_multiple_of(cluster);
        self.grid().filter(|at| fits && at.is_multiple_of(cluster)).find_map(|clusters| {
            let before = (clusters - self.start) / self.sector;
            let table = |reserved: u64| self.table(sectors, reserved, per_cluster);
            let rest = |table: u64| before.checked_sub(2 * table);
            let reserved = rest(table(rest(table(before))?))?;
            let is_exact =
                |sectors: u64| reserved + 2 * self.table(sectors, reserved, per_cluster) == before;
            let stands =
                RESERVED.contains(&reserved) && is_exact(sectors) && is_exact(sectors - TRACK);
            stands.then(|| Made {
                command: format!("mkfs.vfat -F 32 -s {per_cluster} -R {reserved}"),
                blocks: None,
                tables: (self.start + reserved * self.sector, clusters),
                clusters,
            })
        })
    }

    /// Sectors of one of two tables, as mkfs.fat makes them: whole clusters.
    fn table(self, sectors: u64, reserved: u64, per_cluster: u64) -> u64 {
        let bytes = sectors.saturating_sub(reserved) * self.sector + 16;
        let clusters = bytes / (per_cluster * self.sector + 8);
        ((clusters + 2) * 4).div_ceil(self.sector).next_multiple_of(per_cluster)
    }

    /// `mkfs.exfat` with the boundary that lets the clusters begin with an erase block: it aligns both the table and the
    /// clusters to it, counted from the beginning of the drive. In the zone up to `zone` where some boundary allows that.
    fn exfat(self, zone: u64) -> Option<Made> {
        // Sizes of clusters of the SD file system specification, by capacity.
        let cluster = match self.length {
            length if length <= 32 * GIB => 32 * KIB,
            length if length <= 128 * GIB => 128 * KIB,
            length if length <= 512 * GIB => 256 * KIB,
            _ => 512 * KIB,
        };
        let boot = self.start + BOOT_SECTORS * self.sector;
        let most = ((self.length / cluster + 3) * 4).next_multiple_of(cluster);
        let at = |bound: u64| {
            let from = boot.next_multiple_of(bound);
            let clusters = (from + most).next_multiple_of(bound);
            // The table does not count the space before the clusters, and only mkfs.exfat knows its exact size.
            let rest = (self.start + self.length).checked_sub(clusters + cluster)?;
            let is_one = (from + rest / cluster * 4).next_multiple_of(bound) == clusters;
            (is_one && clusters.is_multiple_of(self.erase)).then(|| Made {
                command: format!("mkfs.exfat -c {}K -b {}K", cluster / KIB, bound / KIB),
                blocks: None,
                tables: (from, from + most),
                clusters,
            })
        };
        let bounds = FS_BLOCK.ilog2()..=REACH.ilog2();
        bounds
            .filter_map(|log2| at(1 << log2))
            .min_by_key(|made| (made.tables.1 > zone, made.clusters))
    }
}

/// Partition for FAT or exFAT on a drive of `capacity` bytes: in the zone where there is one, and where everything else
/// begins otherwise.
pub(super) fn place(
    erase: u64,
    zone: Option<u64>,
    capacity: u64,
    sector: u64,
    start: u64,
) -> Option<Place> {
    let end = capacity / erase * erase;
    let from = |start: u64| {
        // Whole erase blocks of clusters may be as many as just fill a table: then mkfs.fat's rounding decides, and a
        // partition that is a little shorter avoids that.
        let place = |less: u64| {
            let length = end.checked_sub(start + less).filter(|length| *length > 0)?;
            Some(Place { start, length, sector, erase })
        };
        let shorter = place(MIB).filter(|place| place.exact_vfat().is_some());
        let whole = place(0)?;
        whole.exact_vfat().is_none().then_some(shorter).flatten().or(Some(whole))
    };
    let usual = from(start)?;
    let Some(zone) = zone else { return Some(usual) };
    let is_within = usual.vfat().is_some_and(|made| made.clusters <= zone);
    if is_within {
        return Some(usual);
    }
    // If a size is not a power of two, some starts have no boundary for exFAT.
    let begins = (MIB..zone.min(start)).step_by(MIB as usize);
    let mut places = begins.filter_map(from).filter(|place| place.vfat().is_some());
    places.find(|place| place.exfat(zone).is_some()).or(Some(usual))
}

/// Advice for FAT and exFAT in `place`, which is the partition `first`; with `disk`, the partition is made first.
pub(super) fn advice(
    place: Place,
    zone: Option<u64>,
    disk: Option<&str>,
    first: &str,
) -> Vec<Advice> {
    let end = zone.unwrap_or(0);
    let systems = [(Subject::Vfat, place.vfat()), (Subject::Exfat, place.exfat(end))];
    let mut systems: Vec<Advice> = systems
        .into_iter()
        .filter_map(|(topic, made)| made.map(|made| (topic, made)))
        .map(|(topic, Made { command, blocks, tables: (from, to), clusters })| {
            let place = match zone {
                Some(zone) if to <= zone => {
                    format!(", within the first {}, which take small writes in any order", Bytes(zone).human())
                }
                // FAT's tables end where its clusters begin.
                Some(zone) if zone < clusters => format!(
                    "; the zone for small writes ends at {}, inside an erase block, so that they cannot be both within \
                     it and before clusters on the grid",
                    Bytes(zone).human()
                ),
                _ => String::new(),
            };
            let tables = if topic == Subject::Vfat { "tables" } else { "table" };
            let why = format!(
                "its clusters begin at {}, with an erase block, and its {tables} at {}{place}",
                Bytes(clusters).human(),
                Bytes(from).human()
            );
            let blocks = blocks.map_or(String::new(), |blocks| format!(" {blocks}"));
            new(topic, Some(format!("{command} {first}{blocks}")), why)
        })
        .collect();
    if let (false, Some(disk)) = (systems.is_empty(), disk) {
        let zone = zone.filter(|zone| place.start < *zone);
        let zone = zone.map_or(String::new(), |zone| {
            format!(
                ", within the first {}, which take small writes in any order",
                Bytes(zone).human()
            )
        });
        let partition = new(
            Subject::FatPartition,
            Some(format!(
                "echo 'start={}, size={}, type=c' | sfdisk --label dos {disk}",
                size(place.start),
                size(place.length)
            )),
            format!(
                "in place of all above, for FAT, or with type=7 for exFAT: the partition begins at {}{zone}",
                Bytes(place.start).human()
            ),
        );
        systems.insert(0, partition);
    }
    systems
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when tables or clusters lie elsewhere than the command of the real programs puts them: the numbers are those of
    // mkfs.fat 4.2 and mkfs.exfat 1.2.0 for these sizes.
    #[test]
    fn clusters_begin_with_an_erase_block() {
        let zone = |erase: u64, zone: u64, capacity| {
            place(erase, Some(zone), capacity, 512, super::super::start(erase)).unwrap()
        };
        // The zone ends inside an erase block: the partition begins in it, the clusters on the grid.
        let stick = zone(8 * MIB, 4 * MIB, 8 * GIB);
        assert_eq!((stick.start, stick.length), (MIB, 8191 * MIB));
        let made = stick.vfat().unwrap();
        assert_eq!(made.command, "mkfs.vfat -F 32 -s 64 -R 10240");
        assert_eq!((made.tables, made.clusters), ((6 * MIB, 8 * MIB), 8 * MIB));
        let made = stick.exfat(4 * MIB).unwrap();
        assert_eq!(made.command, "mkfs.exfat -c 32K -b 4096K");
        assert_eq!((made.tables, made.clusters), ((4 * MIB, 5 * MIB), 8 * MIB));
        // It ends with one: tables in it, clusters behind.
        let card = zone(4 * MIB, 4 * MIB, 8 * GIB);
        assert_eq!((card.start, card.vfat().unwrap().clusters), (MIB, 4 * MIB));
        assert_eq!(card.exfat(4 * MIB).unwrap().tables, (2 * MIB, 3 * MIB));
        // It has room for where all else begins.
        let wide = zone(4 * MIB, 16 * MIB, 8 * GIB);
        assert_eq!((wide.start, wide.vfat().unwrap().clusters), (4 * MIB, 8 * MIB));
    }

    // Breaks when a partition has no FAT since its length just fills a table.
    #[test]
    fn partitions_of_any_whole_mib_take_a_fat() {
        for start in [1, 4, 8, 33] {
            for length in 64..700 {
                let (start, length) = (start * MIB, length * MIB);
                let place = Place { start, length, sector: 512, erase: 4 * MIB };
                let made = place.vfat().unwrap_or_else(|| panic!("{place:?}"));
                assert!(made.clusters <= start + 12 * MIB, "{place:?}: {made:?}");
                assert!(made.blocks.is_none_or(|blocks| length / KIB - blocks <= 4096), "{made:?}");
            }
        }
    }

    // Breaks when a drive of some size gets a command whose numbers contradict each other.
    #[test]
    fn drives_of_all_sizes_have_a_layout() {
        for erase in [512 * KIB, MIB, 3 * MIB, 4 * MIB, 6 * MIB, 8 * MIB, 16 * MIB] {
            for capacity in [488 * MIB, GIB, 7 * GIB + 5 * MIB, 30 * GIB, 119 * GIB, 477 * GIB] {
                for end in [None, Some(2 * MIB), Some(4 * MIB), Some(32 * MIB)] {
                    let start = super::super::start(erase);
                    let place = place(erase, end, capacity, 512, start).unwrap();
                    let (vfat, exfat) = (place.vfat(), place.exfat(end.unwrap_or(0)));
                    assert!(vfat.is_some(), "{place:?}");
                    // exFAT knows powers of two only.
                    assert!(exfat.is_some() || !erase.is_power_of_two(), "{place:?}");
                    for made in vfat.into_iter().chain(exfat) {
                        assert!(made.clusters.is_multiple_of(erase), "{made:?}");
                        assert!(made.tables.0 > place.start && made.tables.1 <= made.clusters);
                    }
                }
            }
        }
    }
}
