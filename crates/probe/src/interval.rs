//! Access time and rate from reads of growing size.
