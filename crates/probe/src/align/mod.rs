//! Where boundaries are: erase block, page and multi-plane page from what it costs to read across them.
