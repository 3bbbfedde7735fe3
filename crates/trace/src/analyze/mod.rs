//! What a trace says: phases of I/Os, seeks, load over time, sizes, addresses, reuse.

pub mod bins;
pub mod bursts;
pub mod mix;
pub mod sequential;
pub mod sizes;
