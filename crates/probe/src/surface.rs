//! Speed and access time over the whole range of addresses.
