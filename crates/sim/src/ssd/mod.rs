//! A drive of flash chips with a page-mapped translation layer.

pub(crate) mod ftl;
