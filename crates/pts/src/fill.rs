//! Parts of a fill, as a record names them.

use crate::options::Test;

/// Parts of a fill: an interrupted run resumes after the last whole one.
pub(crate) const PARTS: u64 = 8;

/// Name in the record of part `part` of a fill, counted from 1.
pub(crate) fn part_of_fill(part: u64, test: Test) -> String {
    format!("part {part} of the fill of {}", test.word())
}

/// True where `what`, as a record calls it, is a part of a fill that another of the same fill follows.
pub(crate) fn is_amid_fill(what: &str) -> bool {
    let part = what.strip_prefix("part ").and_then(|rest| rest.split_once(" of the fill of "));
    let part = part.and_then(|(part, _)| part.parse::<u64>().ok());
    part.is_some_and(|part| part % PARTS != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a record's name for a part is no longer read, or the end of a fill is taken for its middle.
    #[test]
    fn a_fill_is_known_by_the_names_of_its_parts() {
        let amid = |part| is_amid_fill(&part_of_fill(part, Test::Iops));
        assert!(amid(1) && amid(PARTS - 1) && amid(PARTS + 1));
        assert!(!amid(PARTS) && !amid(2 * PARTS));
        assert!(!is_amid_fill("round 3 of iops") && !is_amid_fill("part x of the fill of iops"));
    }
}
