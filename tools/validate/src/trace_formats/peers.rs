//! Polars and DuckDB, reading the same files.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The readers that could be had.
pub(super) struct Peers {
    python: Option<PathBuf>,
    /// Names and versions, or why there are none.
    pub(super) versions: String,
}

/// Reads all columns into memory, as either does who wants to work with them, and prints rows and seconds.
const POLARS: &str = "\
import polars, sys, time
begun = time.perf_counter()
frame = polars.read_csv(sys.argv[1], has_header=sys.argv[2] == '1')
print(frame.height, time.perf_counter() - begun)
";

const DUCKDB: &str = "\
import duckdb, sys, time
begun = time.perf_counter()
base = duckdb.connect()
base.execute('create table t as select * from read_csv(?, header=?)', [sys.argv[1], sys.argv[2] == '1'])
seconds = time.perf_counter() - begun
print(base.execute('select count(*) from t').fetchone()[0], seconds)
";

const VERSIONS: &str =
    "import duckdb, polars; print('Polars', polars.__version__, 'and DuckDB', duckdb.__version__)";

impl Peers {
    /// Installs them below `dir`.
    pub(super) fn install(dir: &Path) -> Peers {
        match installed(&dir.join("python")) {
            Ok((python, versions)) => Peers { python: Some(python), versions },
            Err(error) => {
                eprintln!("without Polars and DuckDB: {error:#}");
                Peers {
                    python: None,
                    versions: "nobody: Polars and DuckDB cannot be installed here".to_owned(),
                }
            }
        }
    }

    /// Seconds that Polars takes; `None` without it.
    pub(super) fn polars(&self, path: &Path, head: bool, rows: u64) -> Result<Option<f64>> {
        self.read(POLARS, path, head, rows).context("Polars")
    }

    /// Seconds that DuckDB takes; `None` without it.
    pub(super) fn duckdb(&self, path: &Path, head: bool, rows: u64) -> Result<Option<f64>> {
        self.read(DUCKDB, path, head, rows).context("DuckDB")
    }

    fn read(&self, program: &str, path: &Path, head: bool, rows: u64) -> Result<Option<f64>> {
        let Some(python) = &self.python else {
            return Ok(None);
        };
        let arguments = ["-c", program];
        let head = if head { "1" } else { "0" };
        let said = said(Command::new(python).args(arguments).arg(path).arg(head))?;
        let (found, seconds) = said.split_once(' ').context("no figures")?;
        if found.parse() != Ok(rows) {
            bail!("{found} of {rows} rows were read");
        }
        Ok(Some(seconds.parse()?))
    }
}

fn installed(dir: &Path) -> Result<(PathBuf, String)> {
    said(Command::new("python3").args(["-m", "venv"]).arg(dir))?;
    said(Command::new(dir.join("bin/pip")).args(["install", "--quiet", "polars", "duckdb"]))?;
    let python = dir.join("bin/python");
    let versions = said(Command::new(&python).args(["-c", VERSIONS]))?;
    Ok((python, versions))
}

/// Runs a program and returns its output.
fn said(command: &mut Command) -> Result<String> {
    let output =
        command.output().with_context(|| format!("{}", command.get_program().display()))?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
