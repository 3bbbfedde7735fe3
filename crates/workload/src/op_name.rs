//! Operations by name, as plan files write them.

use block::Op;
use serde::{Deserialize, Deserializer, Serializer};

const NAMES: [(Op, &str); 4] =
    [(Op::Read, "read"), (Op::Write, "write"), (Op::Flush, "flush"), (Op::Discard, "discard")];

pub fn serialize<S: Serializer>(op: &Op, to: S) -> Result<S::Ok, S::Error> {
    let name = NAMES.iter().find(|(known, _)| known == op).map_or("", |(_, name)| name);
    to.serialize_str(name)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Op, D::Error> {
    let text = String::deserialize(from)?;
    NAMES.iter().find(|(_, name)| *name == text).map(|(op, _)| *op).ok_or_else(|| {
        serde::de::Error::custom(format!(
            "`{text}` is not an operation: write read, write, flush or discard"
        ))
    })
}
