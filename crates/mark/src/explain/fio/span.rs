//! fio's `size`, `filesize`, `io_size`, `offset` and `loops`: over which bytes a job goes, and how many it transfers.

use super::sections::{Job, Size};
use crate::explain::error::ExplainError;

/// Region of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// Files of a copy.
    pub files: u64,
    /// Bytes of each file; none where the target's size decides.
    pub bytes: Option<u64>,
    /// Offset of the first copy in each file.
    pub offset: u64,
    /// From where one copy begins to where the next does.
    pub increment: u64,
    /// Bytes that are transferred in one go over it, where that is less than all of it.
    pub limit: Option<u64>,
}

/// Reads what says so, for all copies or for the one of this number. `target` is the size of what the job works on, where that is known.
pub(super) fn span(
    job: &Job,
    target: Option<u64>,
    copy: Option<u64>,
) -> Result<Span, ExplainError> {
    let named = job.text("filename").map(|names| names.split(':').count() as u64);
    let files = match named {
        Some(names) => names,
        None => job.number("nrfiles")?.unwrap_or(1).clamp(1, 1 << 20),
    };
    let file = match job.size("filesize")? {
        Some(Size::Bytes(bytes)) => Some(bytes),
        Some(Size::Share(_)) => {
            return Err(job.error("filesize", "a file has a size; write bytes, such as 1g"));
        }
        None => target,
    };
    let needs = |name: &str| {
        job.error(
            name,
            "is a share of a file whose size the command does not give; add --target-size SIZE",
        )
    };
    let resolve = |name: &str, size: Option<Size>| match size {
        None => Ok(None),
        Some(Size::Bytes(bytes)) => Ok(Some(bytes)),
        Some(Size::Share(share)) => match file {
            Some(file) => Ok(Some((u128::from(file) * u128::from(share) / 100) as u64)),
            None => Err(needs(name)),
        },
    };
    let size = resolve("size", job.size("size")?)?;
    let has_files =
        ["filename", "opendir", "read_iolog"].iter().any(|name| job.given(name).is_some());
    if size.is_none() && file.is_none() && target.is_none() && !has_files {
        return Err(job.error(
            "size",
            "fio refuses a job that names neither a file nor a size; add filename= or size=",
        ));
    }
    let offset = match (job.size("offset")?, file) {
        // Of a file that fio makes itself, what lies before is added.
        (Some(Size::Share(_)), None) if size.is_some() => 0,
        (offset, _) => resolve("offset", offset)?.unwrap_or(0),
    };
    let increment = resolve("offset_increment", job.size("offset_increment")?)?.unwrap_or(0);
    let (offset, increment) = match copy {
        Some(copy) => (offset.saturating_add(copy.saturating_mul(increment)), 0),
        None => (offset, increment),
    };
    let room = file.map(|file| file.saturating_sub(offset));
    // A regular file is made as large as size asks for; only a device ends where it ends, and a file whose size is given.
    let is_device = job
        .text("filename")
        .is_some_and(|names| names.split(':').all(|name| name.starts_with("/dev/")));
    let cap = room.filter(|_| is_device || job.given("filesize").is_some());
    let (bytes, limit) = match (size, cap) {
        (Some(size), Some(room)) if files == 1 => (Some(size.min(room)), None),
        (Some(size), Some(room)) => (Some(room), Some(size.min(room.saturating_mul(files)))),
        (Some(size), None) => (Some(size / files), None),
        (None, _) => (room, None),
    };
    Ok(Span { files, bytes, offset, increment, limit })
}

/// Bytes after which a copy ends, of `pass` bytes in a pass; `block` is the one size of its transfers.
pub(super) fn transferred(
    job: &Job,
    span: &Span,
    pass: Option<u64>,
    block: Option<u64>,
    is_free: bool,
) -> Result<Option<u64>, ExplainError> {
    let whole =
        |bytes: u64| block.map_or(bytes, |block| bytes.div_ceil(block).saturating_mul(block));
    let all = span.bytes.map(|bytes| bytes.saturating_mul(span.files));
    // Draws without a map are counted in bytes, the last one included; a pass ends where no whole block is left.
    let once = if is_free { all.map(whole) } else { pass };
    let once = span.limit.map_or(once, |limit| once.map(|once| once.min(whole(limit))));
    let io_size = match job.size("io_size")? {
        None => None,
        Some(Size::Bytes(bytes)) => Some(bytes),
        Some(Size::Share(share)) => {
            let all = all.ok_or_else(|| {
                job.error(
                    "io_size",
                    "is a share of a size that the command does not give; add --target-size SIZE",
                )
            })?;
            Some((u128::from(all) * u128::from(share) / 100) as u64)
        }
    };
    let loops = job.number("loops")?.unwrap_or(1).max(1);
    let bytes = match (io_size, loops) {
        (None, loops) => once.map(|once| once.saturating_mul(loops)),
        (Some(io_size), 1) => Some(whole(io_size)),
        // Of several loops each ends where the size does.
        (Some(io_size), loops) => {
            let each = once.map_or(whole(io_size), |once| once.min(whole(io_size)));
            Some(each.saturating_mul(loops))
        }
    };
    let ios = job.number("number_ios")?.filter(|ios| *ios > 0);
    Ok(match (ios, block, bytes) {
        (Some(ios), Some(block), bytes) => {
            let most = ios.saturating_mul(block);
            Some(bytes.map_or(most, |bytes| bytes.min(most)))
        }
        (_, _, bytes) => bytes,
    })
}
