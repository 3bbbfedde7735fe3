//! The kernel's events made into I/Os.
