//! Access times by offset: bands of kinds of pages, slower and faster zones, periods.
