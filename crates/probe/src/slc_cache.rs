//! The part of the medium that is written with one bit a cell: size, plateaus, recovery after idle time.
