//! Facts that ZFS reports without its own tools: its version, and the counters of its cache.

use block::ArcCounters;

use crate::sysfs::{Roots, read_text};

/// The version of the module, such as `2.2.6-1`; `None` where it is not loaded.
pub(crate) fn version(roots: &Roots) -> Option<String> {
    read_text(&roots.sys.join("module/zfs/version"))
}

/// True when O_DIRECT bypasses the cache: since 2.3, unless a module parameter disables it (OpenZFS:
/// `zfs(4)`, `zfs_dio_enabled`; the dataset's `direct` may still be `disabled`, which the kernel shows
/// nowhere).
pub(crate) fn honours_direct(roots: &Roots, version: &str) -> bool {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (major, minor) = (numbers.next(), numbers.next());
    let (Some(Ok(major)), Some(Ok(minor))) = (major, minor) else { return false };
    let told = read_text(&roots.sys.join("module/zfs/parameters/zfs_dio_enabled"));
    (major, minor) >= (2, 3) && told.as_deref() != Some("0")
}

/// The counters of the cache (`/proc/spl/kstat/zfs/arcstats`: name, type, value).
///
/// # Errors
/// Why they cannot be had.
pub(crate) fn arc(roots: &Roots) -> Result<ArcCounters, String> {
    let path = roots.proc.join("spl/kstat/zfs/arcstats");
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let of = |name: &str| {
        let mut lines = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
        let value = lines
            .find(|words| words.first() == Some(&name))
            .and_then(|words| words.get(2)?.parse().ok());
        value.ok_or_else(|| format!("{}: has no count `{name}`", path.display()))
    };
    Ok(ArcCounters {
        demand_data_hits: of("demand_data_hits")?,
        demand_data_misses: of("demand_data_misses")?,
        prefetch_data_misses: of("prefetch_data_misses")?,
    })
}
