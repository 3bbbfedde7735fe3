//! What a trace says: phases of I/Os, seeks, load over time, sizes, addresses, reuse.
