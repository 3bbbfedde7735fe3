//! Sizes of writes within an erase block.

/// Sizes of the writes of `-O` and `-f`, from the largest down: the erase block halved as long as it is not below
/// `blocksize`, and whole sectors. flashbench doubles `blocksize` instead, which is the same where the one is a power
/// of two times the other, and otherwise ends in an error of its own.
pub(super) fn lengths(erasesize: u64, blocksize: u64) -> Vec<u64> {
    let halves =
        std::iter::successors(Some(erasesize), |len| len.is_multiple_of(2).then(|| len / 2));
    halves.take_while(|len| *len >= blocksize.max(1) && len.is_multiple_of(512)).collect()
}

/// The last of [`lengths`].
pub(super) fn smallest(erasesize: u64, blocksize: u64) -> u64 {
    lengths(erasesize, blocksize).last().copied().unwrap_or(erasesize)
}
