//! Real drives on Linux: engines, environment, identity, storage stack and the safety gate.
