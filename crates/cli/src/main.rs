//! The drivescope binary.

fn main() {}
