//! Real and virtual drives as one: a name becomes a [`TargetSpec`], and each kind of target an [`IoPath`](engine::IoPath), which is what
//! instruments work on.
//!
//! The loop that issues the I/O of a step is generic over the drive, and it is compiled where a target loses its
//! type. That is here and nowhere else in the product, so it is compiled once for each kind of drive, and optimised for
//! speed whatever the crates are that use it.
//!
//! `spec` parses the name, `open` opens the target with its environment, identity and write permit, `path` makes an I/O path of
//! it.

mod open;
mod path;
mod spec;

pub use open::{
    DrivenTarget, Look, OpenDrive, OpenError, OpenRequest, OpenTarget, TestFile, look, null_stack,
    open, open_path, open_virtual, unopened,
};
pub use path::{of_calibration, of_null, of_real, of_virtual};
pub use spec::{TargetSpec, Unnamed, VirtualSpec};
