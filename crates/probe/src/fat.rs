//! The zone at the beginning that is kept for file allocation tables, found by writing.
