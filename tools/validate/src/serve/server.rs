//! A drive in service by the binary.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::binary::Binary;
use crate::sheet;

/// A model that is served as a file. Dropping it ends the service.
pub struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    file: PathBuf,
}

impl Server {
    /// Serves `model`.
    ///
    /// # Errors
    /// When drivescope cannot; its own message is on stderr.
    pub fn start(binary: &Binary, model: &str) -> Result<Server> {
        Server::with(binary, model, &[])
    }

    /// As [`Server::start`], with flags of `sim serve`.
    ///
    /// # Errors
    /// The same.
    pub fn with(binary: &Binary, model: &str, flags: &[&str]) -> Result<Server> {
        let mountpoint = sheet::work_dir()?.join(format!("served-{model}"));
        std::fs::create_dir_all(&mountpoint)
            .with_context(|| format!("{}: cannot be made", mountpoint.display()))?;
        let mut child = binary
            .command()
            .args(["sim", "serve", model, "--json"])
            .args(flags)
            .arg(&mountpoint)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start drivescope")?;
        let out = child.stdout.take().context("drivescope has no stdout")?;
        let mut server = Server { child, out: BufReader::new(out), file: PathBuf::new() };
        let body = server.document().with_context(|| format!("{model} is not served"))?;
        let file = body["file"].as_str().context("drivescope does not say where the drive is")?;
        server.file = file.into();
        Ok(server)
    }

    /// The drive.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Ends the service; gives what was served.
    ///
    /// # Errors
    /// When it does not end well.
    pub fn stop(mut self) -> Result<Value> {
        self.interrupt();
        let body = self.document().context("drivescope does not say what it served")?;
        let status = self.child.wait().context("drivescope is gone")?;
        if !status.success() {
            bail!("drivescope sim serve ended with {status}");
        }
        Ok(body)
    }

    /// Asks it to end. A signal that a shell may have had it ignore, as in the background, is none of those.
    fn interrupt(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }

    /// The body of the next document.
    fn document(&mut self) -> Result<Value> {
        let mut text = String::new();
        while self.out.read_line(&mut text).context("drivescope cannot be read")? > 0 {
            if text.ends_with("\n}\n") {
                let mut document: Value = serde_json::from_str(&text)?;
                return Ok(document["body"].take());
            }
        }
        bail!("drivescope ended without a document")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.interrupt();
            let _ = self.child.wait();
        }
    }
}
