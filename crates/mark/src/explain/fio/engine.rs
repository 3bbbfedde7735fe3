//! fio's engines: how many I/Os are really outstanding, and through which cache they go.

use crate::explain::explained::Way;

/// Effect of an engine on `iodepth` and `direct`.
pub(super) struct Engine {
    /// I/Os outstanding, for the depth that was asked for.
    pub depth: u64,
    pub way: Way,
    /// Whether it does I/O on drives at all.
    pub is_storage: bool,
    /// Whether it is one that is known here.
    pub is_known: bool,
}

/// Engines that wait for each I/O (HOWTO, "ioengine").
const ONE_BY_ONE: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
const QUEUED: [&str; 3] = ["libaio", "io_uring", "posixaio"];
/// Engines on the device's commands, below the page cache.
const BELOW: [&str; 3] = ["io_uring_cmd", "sg", "xnvme"];
const NO_STORAGE: [&str; 11] = [
    "null",
    "cpuio",
    "net",
    "netsplice",
    "rdma",
    "exec",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirdelete",
];

/// The engine `name`, with the depth and the flag that were given.
pub(super) fn engine(name: &str, depth: u64, direct: bool) -> Engine {
    let way = match name {
        "mmap" => Way::PageCache,
        _ if BELOW.contains(&name) || direct => Way::Direct,
        _ if NO_STORAGE.contains(&name) => Way::Memory,
        _ => Way::PageCache,
    };
    let one = ONE_BY_ONE.contains(&name)
        // The kernel does buffered I/O within io_submit(2), which returns when it is done.
        || (name == "libaio" && way == Way::PageCache);
    Engine {
        depth: if one { 1 } else { depth },
        way,
        is_storage: !NO_STORAGE.contains(&name),
        is_known: ONE_BY_ONE.contains(&name)
            || QUEUED.contains(&name)
            || BELOW.contains(&name)
            || NO_STORAGE.contains(&name),
    }
}
