//! Kinds of content that signatures mark.

use serde::Serialize;

/// Kind of content that a signature marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Usage {
    /// A filesystem.
    Filesystem,
    /// A member of an array, a volume group or a pool.
    Member,
    /// Encrypted data.
    Encrypted,
    /// Swap, or a suspended system.
    Swap,
    /// A partition table.
    Table,
}
