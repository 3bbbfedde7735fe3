//! Chunk, interleaving and mapping policy from reads that are issued together.
