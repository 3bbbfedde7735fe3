//! How many erase blocks may be open at once: writes to more and more of them, until each one costs a merge.

mod infer;
mod table;

pub use infer::{infer, infer_order};
pub use table::{Order, Row, Table};
