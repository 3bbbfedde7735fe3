//! The known name that a mistyped one was probably meant for.

/// The one of `known` that takes the fewest changes of letters to become `name`, if these are half of its letters at most.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter().map(|known| (strsim::osa_distance(name, known), known));
    let (changes, known) = known.min()?;
    (2 * changes <= known.len()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a slip of the finger gets no hint, or any word gets one.
    #[test]
    fn slips_are_near_and_other_words_are_not() {
        let known = ["capacity", "align", "write-buffer"];
        for (typed, meant) in [
            ("capcity", Some("capacity")),
            ("capacty", Some("capacity")),
            ("algin", Some("align")),
            ("writebuffer", Some("write-buffer")),
            ("smart", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(nearest("x", []), None);
    }
}
