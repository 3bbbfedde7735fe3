//! Counts of a file's pages in the page cache.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use block::{Bytes, PageCache};

use crate::syscalls;

/// Counts of a file's pages, as far as the kernel reports them.
pub(crate) fn page_cache(file: &File) -> Result<PageCache, String> {
    let page = syscalls::page_bytes();
    match syscalls::cachestat(file) {
        Ok(stat) => Ok(PageCache {
            cached_bytes: Bytes(stat.cached * page),
            dirty_bytes: Some(Bytes((stat.dirty + stat.writeback) * page)),
        }),
        // Not known before Linux 6.5, denied by filters that are older than it.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            by_mincore(file)
        }
        Err(error) => Err(format!("cachestat: {error}")),
    }
}

/// Counts pages with `mincore(2)`, for kernels without cachestat(2). To a user who neither owns the file nor
/// may write to it, `mincore(2)` reports all pages as resident; such an answer is worse than none.
pub(crate) fn by_mincore(file: &File) -> Result<PageCache, String> {
    let meta = file.metadata().map_err(|error| error.to_string())?;
    let may_write = rustix::fs::accessat(
        file,
        c"",
        rustix::fs::Access::WRITE_OK,
        rustix::fs::AtFlags::EMPTY_PATH | rustix::fs::AtFlags::EACCESS,
    );
    if meta.uid() != rustix::process::geteuid().as_raw() && may_write.is_err() {
        return Err("mincore reports truly only to users who may write the file".to_owned());
    }
    let len = if meta.file_type().is_block_device() {
        rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)).map_err(|error| error.to_string())?
    } else {
        meta.len()
    };
    let cached_bytes = syscalls::mincore(file, len).map_err(|error| format!("mincore: {error}"))?;
    Ok(PageCache { cached_bytes, dirty_bytes: None })
}
