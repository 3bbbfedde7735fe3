//! A PostgreSQL server of our own: as Debian packages it, run by the user postgres, reached by a socket in its data.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::volume::tool;

/// The user that it runs as; it refuses to be root.
const USER: &str = "postgres";
/// Debian's directory of the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A running server. Stopped at once when dropped.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    data: PathBuf,
    is_running: bool,
}

/// The programs of the newest version that is installed.
fn programs() -> Result<PathBuf> {
    let versions =
        fs::read_dir(VERSIONS).context("PostgreSQL is missing (apt-get install postgresql)")?;
    let newest = versions
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .context("PostgreSQL is missing (apt-get install postgresql)")?;
    Ok(Path::new(VERSIONS).join(newest.to_string()).join("bin"))
}

/// Returns the output of `postgres --version`.
///
/// # Errors
/// Returns an error if PostgreSQL is missing.
pub fn version() -> Result<String> {
    tool(&programs()?.join("postgres").to_string_lossy(), &["--version"])
}

/// Runs one of the server's programs as its user.
fn as_user(program: &Path, arguments: &[&str]) -> Result<String> {
    let program = program.to_string_lossy().into_owned();
    tool("runuser", &[&["-u", USER, "--", &program], arguments].concat())
}

/// Makes an empty cluster in `data`, with parts of the log of 1 MiB, so that a small device holds it.
///
/// # Errors
/// Those of initdb.
pub fn initialise(data: &Path) -> Result<()> {
    fs::create_dir(data)?;
    let data = data.to_string_lossy();
    tool("chown", &[USER, &data])?;
    let arguments = ["-D", &data, "-A", "trust", "--wal-segsize=1", "--no-sync"];
    as_user(&programs()?.join("initdb"), &arguments)?;
    Ok(())
}

impl Server {
    /// Starts it on `data` with `shared_buffers` MiB of cache. No network, so that several can run.
    ///
    /// # Errors
    /// Those of `pg_ctl`.
    pub fn start(data: &Path, shared_buffers: u32) -> Result<Server> {
        let programs = programs()?;
        let told = data.to_string_lossy();
        // Checkpoints every half minute, or a short run would see none.
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={told} -c shared_buffers={shared_buffers}MB \
             -c max_wal_size=64MB -c min_wal_size=16MB -c checkpoint_timeout=30s"
        );
        let log = data.join("log.txt");
        let arguments = ["-D", &told, "-l", &log.to_string_lossy(), "-w", "-o", &options, "start"];
        as_user(&programs.join("pg_ctl"), &arguments)
            .with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
        Ok(Server { programs, data: data.to_owned(), is_running: true })
    }

    /// Makes pgbench's tables, of `scale` times 100,000 rows.
    ///
    /// # Errors
    /// Those of pgbench.
    pub fn fill(&self, scale: u32) -> Result<()> {
        let (socket, scale) = (self.data.to_string_lossy(), scale.to_string());
        let arguments = ["-h", &socket, "-q", "-i", "-s", &scale, "postgres"];
        as_user(&self.programs.join("pgbench"), &arguments)?;
        Ok(())
    }

    /// The command that runs pgbench's usual transactions.
    pub fn bench(&self, clients: u32, seconds: u32) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["runuser", "-u", USER, "--"].map(OsString::from).to_vec();
        words.push(self.programs.join("pgbench").into());
        words.push("-h".into());
        words.push(self.data.clone().into());
        let flags = ["-c", &clients.to_string(), "-j", "2", "-T", &seconds.to_string(), "postgres"];
        words.extend(flags.map(OsString::from));
        words
    }

    /// Stops it as an administrator would, with all that it has made durable.
    ///
    /// # Errors
    /// Those of `pg_ctl`.
    pub fn stop(mut self) -> Result<()> {
        self.is_running = false;
        self.halt("fast")
    }

    fn halt(&self, mode: &str) -> Result<()> {
        let arguments = ["-D", &self.data.to_string_lossy(), "-w", "-m", mode, "stop"];
        as_user(&self.programs.join("pg_ctl"), &arguments).map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.is_running
            && let Err(error) = self.halt("immediate")
        {
            eprintln!("warning: {error:#}");
        }
    }
}
