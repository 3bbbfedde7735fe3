//! A cursor that goes on by a distance.

/// Position and steps of the cursor.
#[derive(Clone, Debug)]
pub(super) struct Stride {
    begin: u64,
    stride: u64,
    /// The last offset at which a block fits.
    last: u64,
    at: u64,
}

impl Stride {
    /// A cursor at `begin`; all in bytes on the target.
    pub(super) fn new(begin: u64, stride: u64, last: u64) -> Stride {
        Stride { begin, stride, last, at: begin }
    }

    /// False of one that begins where no block fits, which no plan that fits its target has.
    pub(super) fn fits(&self) -> bool {
        self.begin <= self.last
    }

    /// Returns the current offset; moves on from there, or back to the beginning.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let at = self.at;
        let on = at.checked_add(self.stride).filter(|on| *on <= self.last);
        self.at = on.unwrap_or(self.begin);
        at
    }

    /// The same cursor at this place; this one goes on.
    pub(super) fn split(&mut self) -> Stride {
        let there = self.clone();
        self.next();
        there
    }
}
