//! Places to be written as a whole: loop devices, over a file or over a drive in service.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use block::Bytes;

use super::Turn;
use crate::binary::Binary;
use crate::loop_device::{LoopDevice, prepare, read_trimmed};
use crate::serve::server::Server;
use crate::stop;

/// Name of our program in the table.
pub const FULL: &str = "--full";

/// A place before it is made.
pub struct Spec {
    pub name: &'static str,
    /// Virtual drive; of a file otherwise.
    pub model: Option<&'static str>,
    /// Stated and real size.
    pub claimed: u64,
    pub real: u64,
    /// f3probe tries it too.
    pub probed: bool,
}

pub const PLACES: [Spec; 3] = [
    Spec {
        name: "loop device over a file of 4 GiB",
        model: None,
        claimed: 4 << 30,
        real: 4 << 30,
        probed: true,
    },
    Spec {
        name: "served fake of 64 MiB that has 24 MiB",
        model: Some(
            "fake-64g?capacity=64MiB&faults.real_capacity_bytes=25165824&faults.beyond=lose",
        ),
        claimed: 64 << 20,
        real: 24 << 20,
        probed: true,
    },
    Spec {
        name: "served card of 32 MiB",
        model: Some("sdcard-4m?capacity=32MiB"),
        claimed: 32 << 20,
        real: 32 << 20,
        probed: true,
    },
];

/// A place that can be written. Fields are dropped in order: the device before what it lies on.
pub struct Place {
    pub spec: &'static Spec,
    pub device: LoopDevice,
    _server: Option<Server>,
    /// Directory for what is needed beside it.
    pub work: PathBuf,
}

impl Place {
    /// Puts a place up.
    ///
    /// # Errors
    /// Those of [`Server::start`] and [`LoopDevice::attach_writable`].
    pub fn make(spec: &'static Spec, work: &Path, binary: &Binary) -> Result<Place> {
        let (server, backing) = match spec.model {
            Some(model) => {
                let server = Server::start(binary, model)?;
                let file = server.file().to_owned();
                (Some(server), file)
            }
            None => {
                let image = work.join("image");
                // Written before, so that nobody pays for finding room.
                prepare(&image, Bytes(spec.claimed), &*stop::stop_flag()?)?;
                (None, image)
            }
        };
        let device = LoopDevice::attach_writable(&backing)?;
        Ok(Place { spec, device, _server: server, work: work.to_owned() })
    }

    /// Bytes read and written so far, by the kernel's count.
    ///
    /// # Errors
    /// When sysfs does not give it.
    pub fn counted(&self) -> Result<(u64, u64)> {
        let name = self.device.path().file_name().unwrap_or_default();
        let text = read_trimmed(&Path::new("/sys/block").join(name).join("stat"))?;
        let field = |at: usize| text.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
        let sectors = field(2).zip(field(6)).context("no sectors in stat")?;
        Ok((sectors.0 * 512, sectors.1 * 512))
    }
}

/// `probe capacity --full` on a place.
///
/// # Errors
/// When it fails.
pub fn full(place: &Place, binary: &Binary) -> Result<Turn> {
    let device = place.device.path().to_string_lossy().into_owned();
    let word = device.trim_start_matches("/dev/").to_owned();
    let words = ["probe", "capacity", &device, "--full", "--write", "--consent", &word];
    let began = Instant::now();
    let body = binary.body(&words.map(str::to_owned))?;
    let seconds = began.elapsed().as_secs_f64();
    let value = body["findings"][0]["value"].as_u64();
    let full = &body["evidence"]["full"];
    let bytes = |name: &str| full[name].as_u64().unwrap_or_default();
    Ok(Turn {
        place: place.spec.name,
        program: FULL,
        written: bytes("written_bytes"),
        read: bytes("verified_bytes"),
        seconds,
        said: value.map_or("unknown".to_owned(), |value| format!("{value} bytes")),
        is_right: value == Some(place.spec.real),
    })
}
