//! A remedy in words, which may name flags of a verb.

use std::borrow::Cow;

/// A remedy in words.
pub(super) struct Wording {
    /// One sentence without a full stop.
    pub(super) sentence: Cow<'static, str>,
    /// True when it names flags of the verb that made the run, which no other verb has.
    pub(super) of_verb: bool,
}

/// A sentence that every reader can follow, whichever verb printed it.
pub(super) const fn plain(sentence: &'static str) -> Wording {
    Wording { sentence: Cow::Borrowed(sentence), of_verb: false }
}

/// A sentence with flags of the verb that made the run.
pub(super) const fn of_verb(sentence: &'static str) -> Wording {
    Wording { sentence: Cow::Borrowed(sentence), of_verb: true }
}

/// A sentence with values in it.
pub(super) fn with_values(sentence: String) -> Wording {
    Wording { sentence: Cow::Owned(sentence), of_verb: false }
}
