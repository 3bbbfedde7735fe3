//! Messages between host and guest: a line of JSON each, over a virtual serial port. The host asks, the guest
//! answers; while a script runs, the guest may ask the host for an action, and waits until it is done.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Name of the port in the guest, `/dev/virtio-ports/NAME` where there is udev.
pub const PORT: &str = "lab";

/// How often a guest that runs says so, whatever it is busy with.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// Location of a drive in the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The variable that its path gets in scripts.
    pub variable: String,
    /// Address of its controller, such as `0000:00:04.0`.
    pub pci: String,
    /// Namespaces; one on all but NVMe drives.
    pub namespaces: usize,
    /// Its serial number, for scripts.
    pub serial: String,
}

/// From the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// A scenario begins: its modules are loaded, and its drives waited for.
    Begin {
        /// Modules, by name.
        modules: Vec<String>,
        /// Drives.
        places: Vec<Place>,
    },
    /// A script.
    Run {
        /// For `sh -e`.
        script: String,
        /// Variables besides those of the drives.
        variables: BTreeMap<String, String>,
        /// The script and all that it started are killed after that.
        timeout_ms: u64,
    },
    /// The action that the script asked for is done, or has failed.
    Done {
        /// Why not.
        error: Option<String>,
    },
    /// The scenario has ended: everything that it made goes away.
    End,
}

/// From the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The guest has booted.
    Ready {
        /// Release of its kernel.
        kernel: String,
    },
    /// It runs: said every [`SIGN_OF_LIFE`], and no answer to anything.
    Alive,
    /// The scenario may begin.
    Begun {
        /// Variables of its drives.
        variables: BTreeMap<String, String>,
    },
    /// A script has ended.
    Ran(Ran),
    /// A script asks for something that only the host can do.
    Wish {
        /// The action, such as `remove a`.
        action: String,
    },
    /// All is cleaned up.
    Ended {
        /// Resources that could not be cleaned up.
        leftovers: Vec<String>,
    },
    /// The request could not be met.
    Failed {
        /// Why.
        why: String,
    },
}

/// Result of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Exit status, or 128 and the signal.
    pub exit: i32,
    /// It was killed, since it took too long.
    pub timed_out: bool,
    /// Standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// Milliseconds that it took.
    pub took_ms: u64,
}
