//! Meaning of the letters in a block tracepoint's `rwbs` (`blk_fill_rwbs` of `kernel/trace/blktrace.c`).
//!
//! An optional `F` (flush first), one operation (`W`, `WZ`, `D`, `DE`, `R`, `F`, `ZA`, `ZR`, `ZRA`, `ZF`, `ZO`, `ZC`,
//! `N`), then any of `F` (force unit access), `A` (read ahead), `S` (sync), `M` (metadata), `U` or `a` (atomic).

use std::ops::BitOr as _;

use block::trace::Traits;

/// Decodes the letters of `rwbs`, up to its first zero. `sectors` is the length of the I/O: `N` is a command passed
/// through when it addresses nothing, and zeroes to be written otherwise (kernels before 6.19 have no letter for them).
pub(crate) fn traits(rwbs: &[u8], sectors: u64) -> Traits {
    let end = rwbs.iter().position(|&letter| letter == 0).unwrap_or(rwbs.len());
    let mut letters = &rwbs[..end];
    let mut traits = Traits::NONE;
    // A flush of no data is `F`, or `FF` if the flag is set too; the next letter separates it from a flush before data.
    if let [b'F', b'W' | b'R' | b'D' | b'Z' | b'N' | b'F', ..] = letters {
        traits = traits | Traits::FLUSH;
        letters = &letters[1..];
    }
    let (operation, flags) = operation(letters, sectors);
    traits = traits | operation;
    // Atomic writes have no category; what is not known yet says nothing.
    flags.iter().filter_map(|&flag| Traits::of_flag(flag)).fold(traits, Traits::bitor)
}

fn operation(letters: &[u8], sectors: u64) -> (Traits, &[u8]) {
    let (operation, width) = match letters {
        [b'W', b'Z', ..] => (Traits::WRITE | Traits::WRITE_ZEROES, 2),
        [b'W', ..] => (Traits::WRITE, 1),
        [b'D', b'E', ..] => (Traits::WRITE | Traits::DISCARD, 2),
        [b'D', ..] => (Traits::WRITE | Traits::DISCARD, 1),
        [b'R', ..] => (Traits::READ, 1),
        [b'F', ..] => (Traits::FLUSH, 1),
        [b'Z', b'R', b'A', ..] => (Traits::WRITE | Traits::ZONE_RESET_ALL, 3),
        [b'Z', b'R', ..] => (Traits::WRITE | Traits::ZONE_RESET, 2),
        [b'Z', b'A', ..] => (Traits::WRITE | Traits::ZONE_APPEND, 2),
        [b'Z', b'F', ..] => (Traits::WRITE | Traits::ZONE_FINISH, 2),
        [b'Z', b'O', ..] => (Traits::WRITE | Traits::ZONE_OPEN, 2),
        [b'Z', b'C', ..] => (Traits::WRITE | Traits::ZONE_CLOSE, 2),
        [b'N', ..] if sectors > 0 => (Traits::WRITE | Traits::WRITE_ZEROES, 1),
        [b'N', ..] => (Traits::PASSTHROUGH, 1),
        _ => (Traits::NONE, 0),
    };
    (operation, &letters[width..])
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a flush before data is taken for force unit access, or one operation for another: a replay would
    // then issue something else than was recorded.
    #[test]
    fn all_operations_with_and_without_flags() {
        let write = Traits::WRITE;
        let cases: [(&str, Traits); 24] = [
            ("R", Traits::READ),
            ("W", write),
            ("RA", Traits::READ | Traits::AHEAD),
            ("RSM", Traits::READ | Traits::SYNC | Traits::META),
            ("WS", write | Traits::SYNC),
            ("WFS", write | Traits::FUA | Traits::SYNC),
            ("FWS", Traits::FLUSH | write | Traits::SYNC),
            ("FWFSM", Traits::FLUSH | write | Traits::FUA | Traits::SYNC | Traits::META),
            ("F", Traits::FLUSH),
            ("FF", Traits::FLUSH),
            ("FS", Traits::FLUSH | Traits::SYNC),
            ("D", write | Traits::DISCARD),
            ("DE", write | Traits::DISCARD),
            ("DS", write | Traits::DISCARD | Traits::SYNC),
            ("WSU", write | Traits::SYNC),
            ("WZS", write | Traits::WRITE_ZEROES | Traits::SYNC),
            ("ZA", write | Traits::ZONE_APPEND),
            ("ZAS", write | Traits::ZONE_APPEND | Traits::SYNC),
            ("ZR", write | Traits::ZONE_RESET),
            ("ZRAS", write | Traits::ZONE_RESET_ALL | Traits::SYNC),
            ("ZF", write | Traits::ZONE_FINISH),
            ("ZO", write | Traits::ZONE_OPEN),
            ("ZC", write | Traits::ZONE_CLOSE),
            ("", Traits::NONE),
        ];
        for (letters, expected) in cases {
            assert_eq!(traits(letters.as_bytes(), 8), expected, "{letters}");
            let padded = [letters.as_bytes(), b"\0WFS"].concat();
            assert_eq!(traits(&padded, 8), expected, "{letters} and what lies behind its end");
        }
        assert_eq!(traits(b"NS", 8), write | Traits::WRITE_ZEROES | Traits::SYNC);
        assert_eq!(traits(b"N", 0), Traits::PASSTHROUGH);
    }
}
