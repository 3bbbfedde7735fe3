//! What stays of a run: the document envelope and the ledger of scratch files.
