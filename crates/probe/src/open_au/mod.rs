//! How many erase blocks may be open at once: writes to more and more of them, until each one costs a merge.
