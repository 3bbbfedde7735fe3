//! Claims of a device about itself, compared with the findings.

use block::Bytes;
use serde::{Deserialize, Serialize};

use crate::finding::{Name, Verdict};
use crate::known::Known;

/// A size that the device states, or that follows from one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The word of its source, such as `AU_SIZE`.
    pub name: String,
    /// Description of the claim in a few words.
    pub meaning: String,
    /// Source that it was read from.
    pub source: String,
    /// The size.
    pub bytes: Bytes,
}

/// A claim beside what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The claim.
    #[serde(flatten)]
    pub claim: Claim,
    /// Property that it is compared with; `None` if no probe measures it.
    pub about: Option<Name>,
    /// How the two agree.
    pub agreement: Agreement,
}

/// How a claim and a finding agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// They are the same.
    Same,
    /// The claim is a whole multiple of what was found: a larger unit of the same device.
    Multiple,
    /// The finding is a whole multiple of the claim.
    Part,
    /// Neither divides the other: one of them is wrong.
    Differs,
    /// No finding to compare it with.
    Open,
}

/// Compares each claim with the finding that it is about.
pub fn check(claims: &[Claim], known: &Known) -> Vec<Checked> {
    claims.iter().map(|claim| one(claim, known)).collect()
}

fn one(claim: &Claim, known: &Known) -> Checked {
    let about = match claim.name.as_str() {
        "AU_SIZE" | "preferred_erase_size" | "capacity_factor" => Some(Name::EraseBlock),
        _ => None,
    };
    let found = about.and_then(|name| known.finding(name)).filter(|f| f.verdict == Verdict::Found);
    let agreement = match (found.and_then(|found| found.value), claim.bytes.0) {
        (None | Some(0), _) | (_, 0) => Agreement::Open,
        (Some(found), stated) if found == stated => Agreement::Same,
        (Some(found), stated) if stated.is_multiple_of(found) => Agreement::Multiple,
        (Some(found), stated) if found.is_multiple_of(stated) => Agreement::Part,
        _ => Agreement::Differs,
    };
    Checked { claim: claim.clone(), about, agreement }
}

/// Claim that follows from the capacity: the erase block divides the capacity of a card of whole erase blocks, so
/// the largest power of two in it bounds an erase block that is a power of two. `None` below 64 KiB, which any
/// partition may be a multiple of.
pub fn of_capacity(capacity: Bytes) -> Option<Claim> {
    let factor = 1_u64.checked_shl(capacity.0.trailing_zeros())?;
    (factor >= 64 << 10).then(|| Claim {
        name: "capacity_factor".to_owned(),
        meaning: "largest power of two that divides the capacity".to_owned(),
        source: format!("capacity of {} bytes", capacity.0),
        bytes: Bytes(factor),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Finding;

    fn agreement(stated: u64, found: u64) -> Agreement {
        let claim = Claim {
            name: "AU_SIZE".to_owned(),
            meaning: String::new(),
            source: String::new(),
            bytes: Bytes(stated),
        };
        let mut known = Known::new();
        known.learn(&[Finding::found(Name::EraseBlock, found, 0.99, "a step")]);
        check(&[claim], &known)[0].agreement
    }

    // Breaks when a claim that contradicts a finding passes for one that agrees with it.
    #[test]
    fn a_claim_is_held_against_what_was_found() {
        assert_eq!(agreement(4 << 20, 4 << 20), Agreement::Same);
        assert_eq!(agreement(8 << 20, 4 << 20), Agreement::Multiple);
        assert_eq!(agreement(1 << 20, 4 << 20), Agreement::Part);
        assert_eq!(agreement(4 << 20, 3 << 20), Agreement::Differs);
        let claim = of_capacity(Bytes(3_904_897_024)).unwrap();
        assert_eq!(claim.bytes, Bytes::mib(4));
        assert_eq!(check(&[claim], &Known::new())[0].agreement, Agreement::Open);
        assert_eq!(of_capacity(Bytes(512 * 3)), None);
        assert_eq!(of_capacity(Bytes(0)), None);
    }
}
