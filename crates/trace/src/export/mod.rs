//! Traces written in the formats of others.
