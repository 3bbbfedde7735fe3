//! The guest's first and only root directory: BusyBox, the agent, drivescope, tools and modules.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::cpio::Archive;
use crate::kernel::Kernel;
use crate::tools;

/// The first process: mounts what a kernel shows of itself, and becomes the agent.
const INIT: &str = include_str!("guest/init.sh");

/// Contents of the initramfs.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// Kernel that the modules belong to.
    pub kernel: &'a Kernel,
    /// drivescope.
    pub program: &'a Path,
    /// The guest's side of the lab.
    pub agent: &'a Path,
    /// Programs of the host, by name.
    pub tools: BTreeSet<String>,
    /// Modules that are loaded before the agent begins, and those that only have to be at hand.
    pub modules: Vec<String>,
    /// See `modules`.
    pub modules_at_hand: BTreeSet<String>,
}

/// Writes it to `path`.
///
/// # Errors
/// Names the program or module that is missing.
pub fn write(path: &Path, contents: &Contents) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut archive = Archive::new(BufWriter::new(file));
    for directory in ["/dev", "/proc", "/sys", "/run", "/tmp", "/mnt", "/var", "/etc", "/scenario"]
    {
        archive.directory(directory)?;
    }
    let busybox = tools::find("busybox").context("busybox is not installed")?;
    if !tools::libraries(&busybox)?.is_empty() {
        bail!("busybox is not static: the package busybox-static has one that is");
    }
    archive.file("/bin/busybox", 0o755, &fs::read(busybox)?)?;
    archive.symlink("/bin/sh", "busybox")?;
    // The kernel loads modules through this path.
    archive.symlink("/sbin/modprobe", "/bin/busybox")?;
    archive.file("/init", 0o755, INIT.as_bytes())?;
    archive.file(
        "/etc/passwd",
        0o644,
        b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n",
    )?;
    archive.file("/etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n")?;
    archive.symlink("/etc/mtab", "/proc/self/mounts")?;
    let mut libraries = BTreeSet::new();
    program(&mut archive, contents.program, "/lab/drivescope", &mut libraries)?;
    program(&mut archive, contents.agent, "/lab/lab-agent", &mut libraries)?;
    archive.symlink("/lab/lab-host", "lab-agent")?;
    for name in &contents.tools {
        let path = tools::find(name).with_context(|| format!("{name} is not installed"))?;
        program(&mut archive, &path, &path.to_string_lossy(), &mut libraries)?;
    }
    for library in libraries {
        let content = fs::read(&library).with_context(|| library.display().to_string())?;
        archive.file(&library.to_string_lossy(), 0o755, &content)?;
    }
    put_modules(&mut archive, contents)?;
    archive.finish()?;
    Ok(())
}

fn program(
    archive: &mut Archive<BufWriter<File>>,
    from: &Path,
    to: &str,
    libraries: &mut BTreeSet<PathBuf>,
) -> Result<()> {
    let content = fs::read(from).with_context(|| from.display().to_string())?;
    archive.file(to, 0o755, &content)?;
    libraries.extend(tools::libraries(from)?);
    Ok(())
}

fn put_modules(archive: &mut Archive<BufWriter<File>>, contents: &Contents) -> Result<()> {
    let index = &contents.kernel.index;
    let loaded = contents.modules.iter().map(String::as_str);
    let order = index.closure(loaded.chain(contents.modules_at_hand.iter().map(String::as_str)))?;
    let directory = format!("/lib/modules/{}", contents.kernel.release);
    for name in &order {
        let module = index.get(name).with_context(|| name.clone())?;
        let content =
            fs::read(contents.kernel.modules.join(&module.path)).with_context(|| name.clone())?;
        archive.file(&format!("{directory}/{}", module.path), 0o644, &content)?;
    }
    archive.file(
        &format!("{directory}/modules.dep"),
        0o644,
        index.dependencies(&order).as_bytes(),
    )?;
    archive.file(&format!("{directory}/modules.alias"), 0o644, index.aliases(&order).as_bytes())?;
    archive.file("/etc/lab-modules", 0o644, contents.modules.join("\n").as_bytes())?;
    Ok(())
}
