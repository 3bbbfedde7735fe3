//! The guest's kernel: Debian's, downloaded through apt and unpacked, never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::modules::Index;
use crate::tools;

/// The package that depends on the present kernel of the release.
const PACKAGE: &str = "linux-image-amd64";

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Image that the emulator loads.
    pub image: PathBuf,
    /// Directory of its modules.
    pub modules: PathBuf,
    /// Dependencies of the modules.
    pub index: Index,
    /// Its release, such as `6.1.0-56-amd64`.
    pub release: String,
}

impl Kernel {
    /// The kernel kept in `directory`, downloaded when there is none.
    ///
    /// # Errors
    /// When it cannot be downloaded or unpacked.
    pub fn fetch(directory: &Path) -> Result<Kernel> {
        if let Some(kernel) = Kernel::kept(directory)? {
            return Ok(kernel);
        }
        fs::create_dir_all(directory)?;
        // Unpacked beside and moved when complete: an interrupted download starts again.
        let beside = tempfile::Builder::new().prefix("unpacking-").tempdir_in(directory)?;
        let package = download(beside.path())?;
        let tree = beside.path().join("tree");
        say(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&tree))?;
        let modules = only_entry(&tree.join("lib/modules"))?;
        let release = modules.file_name().context("a kernel without release")?.to_owned();
        let whole = beside.path().join(&release);
        fs::create_dir(&whole)?;
        fs::rename(&modules, whole.join("modules"))?;
        let image = format!("boot/vmlinuz-{}", release.display());
        fs::rename(tree.join(&image), whole.join("vmlinuz")).with_context(|| image.clone())?;
        let index = Index::read(&whole.join("modules"))?;
        fs::write(whole.join("index.json"), serde_json::to_vec(&index)?)?;
        fs::rename(&whole, directory.join(&release))?;
        Kernel::kept(directory)?.context("the kernel was unpacked and is not there")
    }

    /// The newest kernel in `directory`.
    fn kept(directory: &Path) -> Result<Option<Kernel>> {
        let Ok(entries) = fs::read_dir(directory) else { return Ok(None) };
        let indexed = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.ok()?.path();
            path.join("index.json").exists().then_some(path)
        };
        let Some(path) = entries.filter_map(indexed).max() else { return Ok(None) };
        let index = fs::read(path.join("index.json"))?;
        Ok(Some(Kernel {
            image: path.join("vmlinuz"),
            modules: path.join("modules"),
            index: serde_json::from_slice(&index).context("index of modules")?,
            release: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }))
    }
}

/// Downloads the kernel's package into `directory`.
fn download(directory: &Path) -> Result<PathBuf> {
    if tools::find("apt-get").is_none() {
        bail!("apt-get is not installed");
    }
    let name = match package() {
        Ok(name) => name,
        // A machine that never looked for packages knows none.
        Err(_) => {
            say(Command::new("apt-get").args(["-qq", "update"]))?;
            package()?
        }
    };
    say(Command::new("apt-get").args(["-qq", "download", &name]).current_dir(directory))?;
    only_entry(directory)
}

/// The package of the present kernel.
fn package() -> Result<String> {
    let output =
        Command::new("apt-cache").args(["depends", PACKAGE]).output().context("apt-cache")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let name = text.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    let name = name.with_context(|| format!("apt knows no kernel that {PACKAGE} stands for"))?;
    Ok(format!("linux-image-{}", name.trim()))
}

fn only_entry(directory: &Path) -> Result<PathBuf> {
    let mut entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    match (entries.next(), entries.next()) {
        (Some(entry), None) => Ok(entry?.path()),
        _ => bail!("{}: not one entry", directory.display()),
    }
}

/// Runs a command; the error shows what it printed.
fn say(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
