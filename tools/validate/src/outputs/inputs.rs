//! Files that lie in the directory of each group when its first line runs: results of other programs, traces, recorded
//! commands, a model and a few broken ones, the same each time.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A file of the repository, under its own name or another.
macro_rules! file {
    ($dir:literal, $name:literal) => {
        file!($dir, $name => $name)
    };
    ($dir:literal, $name:literal => $as:literal) => {
        ($as, include_bytes!(concat!("../../../../", $dir, "/", $name)))
    };
}

/// Names and contents.
const FILES: [(&str, &[u8]); 30] = [
    file!("docs/examples", "align.txt"),
    file!("docs/examples", "cdm.txt"),
    file!("docs/examples", "history.tar.gz"),
    file!("docs/examples", "shop.spc"),
    file!("docs/examples", "worn-nvme.commands"),
    file!("crates/cli/tests/transcripts/health.in", "cut.commands"),
    file!("crates/cli/tests/transcripts/health.in", "failing-sas.commands"),
    file!("crates/cli/tests/transcripts/health.in", "failing-sata.commands"),
    file!("crates/cli/tests/transcripts/health.in", "qemu-nvme0n1.commands"),
    file!("crates/cli/tests/transcripts/health.in", "resting-sata.commands"),
    file!("crates/cli/tests/transcripts/trace-import.in", "hurt.csv"),
    file!("crates/cli/tests/transcripts/trace-import.in", "io.csv"),
    file!("crates/cli/tests/transcripts/trace-import.in", "load.trace"),
    file!("crates/cli/tests/transcripts/trace-import.in", "plain.csv"),
    file!("crates/cli/tests/transcripts/trace-import.in", "usr.csv"),
    file!("crates/cli/tests/transcripts/trace-import.in", "websearch.spc"),
    file!("crates/cli/tests/transcripts/trace-export.in", "mail.csv"),
    file!("crates/pts/tests/data/group", "g.json"),
    file!("crates/pts/tests/data/group", "g_bw.1.log"),
    file!("crates/pts/tests/data/group", "g_bw.2.log"),
    file!("crates/pts/tests/data/group", "g_bw.3.log"),
    file!("crates/pts/tests/data/group", "g_bw.4.log"),
    file!("crates/pts/tests/data/mixed", "mixed.txt"),
    file!("crates/pts/tests/data/per-io", "p.json"),
    file!("crates/pts/tests/data/per-io", "p_iops.1.log"),
    file!("crates/sim/models", "hdd-7200.toml" => "own.toml"),
    ("job.fio", b"[global]\nbs=4k\ndirect=1\nsize=1g\n[random]\nrw=randread\niodepth=32\n"),
    ("wrong.fio", b"[x]\nsize=1g\nrw=raed\n"),
    ("wrong.toml", b"schema = \"drivescope.plan/1\"\nseed = 7\nstep = 3\n"),
    ("garbage", b"\x7f\x00\xff\n{\xfe"),
];

/// Writes them into `dir`, beside a file of 64 KiB and an empty directory.
///
/// # Errors
/// Names the one that cannot be written.
pub fn write(dir: &Path) -> Result<()> {
    let put = |name: &str, bytes: &[u8]| {
        fs::write(dir.join(name), bytes).with_context(|| format!("{name}: cannot be written"))
    };
    FILES.iter().try_for_each(|(name, bytes)| put(name, bytes))?;
    put("image", &[7; 1 << 16])?;
    fs::create_dir(dir.join("directory")).context("directory")
}
