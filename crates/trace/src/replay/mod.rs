//! What is to be issued when, and what became of it.
