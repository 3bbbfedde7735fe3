//! Memory that takes writes before the medium does: size, and how it is emptied.
