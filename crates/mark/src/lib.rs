//! The quick benchmark: profiles, plan builder, findings and proofs.
