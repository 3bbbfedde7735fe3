//! What is known of the making of a result: date, machine, binary.

use std::time::{SystemTime, UNIX_EPOCH};

use block::{UnixNanos, WallClock};
use record::{Document, Envelope, Host, RunId, rfc3339};

/// The machine's real-time clock.
pub struct SystemClock;

impl WallClock for SystemClock {
    fn now(&self) -> UnixNanos {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixNanos(i128::try_from(now.as_nanos()).unwrap_or(0))
    }
}

/// A document of form `schema` around `body`.
pub fn document<B>(schema: &str, run_id: RunId, clock: &dyn WallClock, body: B) -> Document<B> {
    Document {
        envelope: Envelope {
            schema: schema.to_owned(),
            date: rfc3339(clock.now()),
            host: Host {
                name: linux::host::host_name(),
                kernel: linux::host::kernel_release(),
                cpus: std::thread::available_parallelism().map_or(0, usize::from),
                machine: None,
            },
            run_id,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            binary: None,
            arguments: std::env::args_os()
                .skip(1)
                .map(|a| a.to_string_lossy().into_owned())
                .collect(),
            drive: None,
        },
        body,
    }
}
