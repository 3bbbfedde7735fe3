//! Block devices that give I/O errors where a filesystem or a partition table may be described: what reads them works, and
//! what writes to them asks for that to be named.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use super::common::served::Server;
use super::common::storage::{Loop, has_means, tool};
use super::common::{Ran, run};

/// A loop device over a virtual drive in service.
struct Served {
    device: Option<Loop>,
    server: Option<Server>,
}

impl Served {
    /// `None` where that is not possible.
    fn start(model: &str) -> Option<Served> {
        if !has_means(&["losetup"]) {
            return None;
        }
        let server = Server::start(&[model])?;
        let file = server.file();
        let path = tool("losetup", &["-f", "--show", "--direct-io=on", file.to_str().unwrap()]);
        Some(Served { device: Some(Loop::attached(path, &file)), server: Some(server) })
    }

    fn dev(&self) -> &str {
        self.device.as_ref().unwrap().dev()
    }

    fn name(&self) -> &str {
        self.device.as_ref().unwrap().name()
    }

    /// `probe capacity` with consent and these words.
    fn probe(&self, words: &[&str]) -> Ran {
        let consent = ["--write", "--consent", self.name(), "--json", "--no-record"];
        let verb = ["probe", "capacity", self.dev()];
        run([&verb[..], &consent, words].concat())
    }

    /// The entry of this device in `devices --json`.
    fn listed(&self) -> serde_json::Value {
        let body = run(["devices", "--json"]).exits(0).body();
        let devices = body["devices"].as_array().unwrap();
        devices.iter().find(|device| device["path"] == self.dev()).unwrap().clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Detached first: the drive is in use until then.
        drop(self.device.take());
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

// Breaks when a device whose first block is bad passes for empty, or cannot be read or written to at all.
#[test]
fn a_bad_first_block_is_named_and_can_be_allowed() {
    let model = "optane?capacity=128MiB&faults.unreadable=0+4096&faults.error_after_ns=1000000";
    let Some(served) = Served::start(model) else { return };
    let listed = served.listed();
    assert_eq!((&listed["readable"], &listed["ready"]), (&true.into(), &false.into()), "{listed}");
    assert_eq!(listed["why_not"][0]["use"], "unreadable", "{listed}");
    let why = listed["content"]["unreadable"].as_str().unwrap();
    assert!(why.starts_with("bytes 0 to 4095: Input/output error"), "{why}");
    run(["probe", "align", served.dev(), "--no-record", "--json"]).says(&[]).body();
    let flags = format!("--write --consent {} --allow unknown:content", served.name());
    run(["probe", "capacity", served.dev()]).exits(3).says(&[&flags]);
    let words = ["cannot be read where", "(bytes 0 to 4095: ", "--allow unknown:content"];
    served.probe(&[]).exits(3).says(&words);
    run(["purge", served.dev(), "--method", "zero"]).exits(3).says(&words);
    let body = served.probe(&["--allow=unknown:content"]).body();
    assert_eq!(body["evidence"]["capacity"]["claimed_bytes"], 128 << 20, "{body}");
    assert_ne!(body["findings"][0]["verdict"], "found", "it lost a block: {body}");
}

// Breaks when a fake that fails beyond its real end has no verdict, since nothing there can be read.
#[test]
fn a_fake_that_fails_beyond_its_end_has_a_verdict() {
    let model = "optane?capacity=256MiB&faults.real_capacity_bytes=209719296&faults.beyond=fail\
                 &faults.error_after_ns=100000";
    let Some(served) = Served::start(model) else { return };
    let words = ["cannot be read where", " to 268435455: ", "--allow unknown:content"];
    served.probe(&[]).exits(3).says(&words);
    let body = served.probe(&["--allow=unknown:content"]).body();
    assert_eq!(body["findings"][0]["value"], 209_719_296, "{}", body["findings"]);
}
