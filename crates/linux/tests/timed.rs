//! Requests at intended times, through an engine's whole loop.
//!
//! Alone in its program: it is timed, to fractions of a millisecond.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::num::NonZeroU64;

use block::Bytes;
use drivescope_linux::target::{Calibration, EngineKind};
use rustix::thread::set_current_timer_slack;

#[path = "common/step_kit.rs"]
mod kit;
use kit::*;

// By what the kernel's timers are late each request is issued late: were it not kept small, the latency of a
// fast drive under timed arrivals would be mostly the tester's.
#[test]
fn slack_of_timers_is_no_latency() {
    // Submitters' threads inherit it from this one.
    set_current_timer_slack(Some(NonZeroU64::new(2_000_000).unwrap())).unwrap();
    let arrival = r#"{ kind = "timed", depth = 4, per_s = 250.0, gaps = "constant" }"#;
    let plan = plan("4KiB", arrival, "{ ios = 100 }", &only("read"));
    for engine in EngineKind::ALL {
        let mut seen = Vec::new();
        // On a busy machine the wait for a CPU hides it.
        let exact = (0..20).any(|_| {
            let mut nothing = Calibration::new(engine, Bytes::mib(64), None);
            let samples = run(&mut nothing, &plan.steps[0]);
            seen.push(samples.phases[0].latency().percentile(50.0).unwrap());
            seen.last().is_some_and(|&ns| ns < 500_000)
        });
        println!("{engine}: p50 {seen:?} ns");
        assert!(exact, "{engine}: p50 {seen:?} ns");
    }
}
