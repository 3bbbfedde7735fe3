//! Runs scenarios in an emulated machine; `scripts/lab` builds it and what it needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Parser, Subcommand};
use drivescope_lab::group::batches;
use drivescope_lab::kernel::Kernel;
use drivescope_lab::machine::EMULATOR;
use drivescope_lab::outcome::{self, Outcome};
use drivescope_lab::run::{Lab, hindrance};
use drivescope_lab::scenario::{self, Scenario};
use drivescope_lab::{initramfs, tools};

/// Runs scenarios on drives that this machine does not have
#[derive(Debug, Parser)]
#[command(name = "scripts/lab", max_term_width = 80)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the scenarios
    List,
    /// Download the guest's kernel
    Fetch,
    /// Write the guest's root directory, with drivescope alone
    Initramfs {
        /// File to write
        path: PathBuf,
        /// drivescope
        #[arg(long)]
        program: Option<PathBuf>,
    },
    /// Run scenarios
    Run(Options),
}

#[derive(Args, Debug)]
struct Options {
    /// Names of scenarios
    names: Vec<String>,
    /// Those with this tag
    #[arg(long)]
    tag: Vec<String>,
    /// All of them
    #[arg(long)]
    all: bool,
    /// File for what came of each step
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// drivescope; LAB_PROGRAM, or the one beside this program, when missing
    #[arg(long)]
    program: Option<PathBuf>,
    /// Machines at a time; as many as there are CPUs when missing
    #[arg(long)]
    jobs: Option<usize>,
    /// Leave images and consoles in target/lab
    #[arg(long)]
    keep: bool,
}

fn main() -> ExitCode {
    match run(Cli::parse().verb) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from).join("lab")
}

fn run(verb: Verb) -> Result<bool> {
    match verb {
        Verb::List => {
            for scenario in scenario::read_all(Path::new(scenario::DIRECTORY))? {
                println!(
                    "{:<24} {} [{}]",
                    scenario.name,
                    scenario.summary,
                    scenario.tags.join(", ")
                );
            }
            Ok(true)
        }
        Verb::Fetch => {
            let kernel = Kernel::fetch(&directory().join("kernel"))?;
            println!("{}", kernel.image.display());
            Ok(true)
        }
        Verb::Initramfs { path, program } => {
            let lab = lab(program, false)?;
            let contents = initramfs::Contents {
                kernel: &lab.kernel,
                program: &lab.program,
                agent: &lab.agent,
                tools: BTreeSet::new(),
                modules: vec!["virtio_pci".to_owned(), "virtio_console".to_owned()],
                modules_at_hand: BTreeSet::new(),
            };
            initramfs::write(&path, &contents)?;
            Ok(true)
        }
        Verb::Run(options) => run_scenarios(&options),
    }
}

fn run_scenarios(options: &Options) -> Result<bool> {
    let scenarios = chosen(scenario::read_all(Path::new(scenario::DIRECTORY))?, options)?;
    let lacking = lacking(&directory().join("kernel"));
    let skip = |scenario: &Scenario| lacking.clone().or_else(|| hindrance(scenario));
    let (skipped, runnable): (Vec<_>, Vec<_>) = scenarios.iter().partition(|s| skip(s).is_some());
    let mut outcomes: Vec<Outcome> =
        skipped.into_iter().map(|s| Outcome { skipped: skip(s), ..Outcome::of(s) }).collect();
    outcomes.iter().for_each(tell);
    if !runnable.is_empty() {
        let runnable: Vec<Scenario> = runnable.into_iter().cloned().collect();
        let jobs =
            options.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
        outcomes.extend(run_batches(&lab(options.program.clone(), options.keep)?, &runnable, jobs));
    }
    outcomes.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_vec_pretty(&outcomes)?)
            .with_context(|| path.display().to_string())?;
    }
    println!("\n{}\n{}", outcome::table(&outcomes), outcome::summary(&outcomes));
    Ok(outcome::counts(&outcomes).1 == 0)
}

/// Why this machine can run no scenario at all.
fn lacking(kernel: &Path) -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the lab's machine is an x86_64".to_owned());
    }
    let needed = ["busybox", EMULATOR].into_iter().chain((!kernel.exists()).then_some("apt-get"));
    let missing = needed.into_iter().find(|name| tools::find(name).is_none());
    missing.map(|name| format!("{name} is not installed"))
}

/// Batches, `jobs` at a time.
fn run_batches(lab: &Lab, scenarios: &[Scenario], jobs: usize) -> Vec<Outcome> {
    let batches = batches(scenarios, jobs);
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.min(batches.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(batch) = batches.get(number) else { return };
                    let made = lab.run(number, batch, &tell);
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.extend(made);
                    }
                }
            });
        }
    });
    outcomes.into_inner().unwrap_or_default()
}

fn tell(outcome: &Outcome) {
    println!("{}\n{}", outcome.line(), outcome.complaint().trim_end());
}

fn chosen(scenarios: Vec<Scenario>, options: &Options) -> Result<Vec<Scenario>> {
    for name in &options.names {
        ensure!(
            scenarios.iter().any(|s| s.name == *name),
            "no scenario is named {name:?}: try `list`"
        );
    }
    let has_tag = |s: &Scenario| options.tag.iter().any(|tag| s.tags.contains(tag));
    let wanted = |s: &Scenario| options.all || options.names.contains(&s.name) || has_tag(s);
    let chosen: Vec<Scenario> = scenarios.into_iter().filter(wanted).collect();
    if chosen.is_empty() {
        bail!("nothing to run: name scenarios, or give --tag or --all");
    }
    Ok(chosen)
}

/// Fetches the kernel and strips both programs of debugging data: the parts that every boot needs.
fn lab(program: Option<PathBuf>, keep: bool) -> Result<Lab> {
    let beside = std::env::current_exe()?.with_file_name("");
    let named = program.or_else(|| std::env::var_os("LAB_PROGRAM").map(PathBuf::from));
    let program = named.unwrap_or_else(|| beside.join("drivescope"));
    let directory = directory();
    let kernel = Kernel::fetch(&directory.join("kernel"))?;
    let stripped = directory.join("programs");
    fs::create_dir_all(&stripped)?;
    Ok(Lab {
        program: strip(&program, &stripped.join("drivescope"))?,
        agent: strip(&beside.join("lab-agent"), &stripped.join("lab-agent"))?,
        kernel,
        directory,
        keep,
    })
}

fn strip(from: &Path, to: &Path) -> Result<PathBuf> {
    ensure!(from.is_file(), "{}: is not there; scripts/lab builds it", from.display());
    if tools::find("strip").is_none() {
        return Ok(from.to_owned());
    }
    let output = Command::new("strip").arg("-o").arg(to).arg(from).output().context("strip")?;
    ensure!(output.status.success(), "strip: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(to.to_owned())
}
