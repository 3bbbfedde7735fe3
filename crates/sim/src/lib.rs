//! Virtual drives and their environment, in virtual time.
