//! What I/O to issue, as data: plans, the generators that turn them into requests, the frozen random
//! stream behind them, and the audit of what was really issued.

pub mod plan;
pub mod units;
