//! `wsat`: the figure of the enterprise benchmark that was measured too early, made again on the virtual drive of that class at its
//! full size, with what is known of the model beside it.
//!
//! The same drive lives six lives: purged and written at random until it is steady; not purged but full, filled once more in order,
//! written at random until it is steady, and then asked at each depth; as ezFIO preconditions it, two fills of random writes and
//! not more, and none with its `--fast-precondition`; with one order of addresses replayed; and, for the truth, as the model has it when it was steady for ever.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use serde_json::Value;
use stats::steady::Verdict;

use crate::binary::{Binary, number, text};
use crate::provenance::{self, Machine};
use crate::sheet;

const MODEL: &str = "mlc-nvme";
const SEED: u64 = 1;
/// Most that a steady value may be off from the model's.
const OFF_MAX: f64 = 0.03;
/// IOPS of the fresh plateau, by the document's figure.
const PLATEAU: std::ops::RangeInclusive<f64> = 600e3..=700e3;
/// Seconds until the cliff, likewise.
const CLIFF_S_MAX: f64 = 500.0;
/// A rate below this share of the plateau is no longer of it.
const FALLEN: f64 = 0.7;
/// Share of the purged life that is well before its cliff.
const EARLY: f64 = 0.01;
/// Of what is flat, the slowest sample is at least this share of the plateau.
const FLAT: f64 = 0.93;

/// Options of `wsat`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Capacity of the drive; another than the model's is a trial
    #[arg(long, value_name = "SIZE")]
    capacity: Option<String>,
    /// Keep what each life came to in this directory, and take what is there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Lives at once; each takes 3 GiB of memory
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Output directory of the table [default: docs/validation; target/validate for trials of another capacity]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Purged,
    Filled,
    Ezfio,
    EzfioFast,
    Replayed,
    Truth,
}

impl Life {
    /// The longest first, so that those at once end together.
    const ALL: [Life; 6] =
        [Life::Purged, Life::Filled, Life::Ezfio, Life::Replayed, Life::Truth, Life::EzfioFast];

    fn name(self) -> &'static str {
        match self {
            Life::Purged => "purged",
            Life::Filled => "filled",
            Life::Ezfio => "ezfio",
            Life::EzfioFast => "ezfio-fast",
            Life::Replayed => "replayed",
            Life::Truth => "truth",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Life::Purged => "purged, uniform writes until steady",
            Life::Filled => {
                "not purged, filled in order, uniform writes until steady, then by depth"
            }
            Life::Ezfio => {
                "as ezFIO preconditions: filled in order, then two fills of uniform writes"
            }
            Life::EzfioFast => {
                "as ezFIO --fast-precondition: filled in order, then what it measures"
            }
            Life::Replayed => "purged, the order of the first pass replayed, two fills",
            Life::Truth => "as the model is when steady, one fill",
        }
    }

    fn arguments(self, capacity: Option<&str>, plot: &Path) -> Vec<String> {
        let state = match self {
            Life::Purged | Life::Replayed => "fresh",
            Life::Filled | Life::Ezfio | Life::EzfioFast => "filled",
            Life::Truth => "steady",
        };
        let mut target = format!("sim:{MODEL}?seed={SEED}&state={state}");
        if let Some(capacity) = capacity {
            let _ = write!(target, "&capacity={capacity}");
        }
        // A small drive has small minutes, so that a fill has as many as on the whole one.
        let minute = if capacity.is_none() { "60s" } else { "2%" };
        let test = if self == Life::Filled { "qd-sweep" } else { "wsat" };
        let mut arguments: Vec<String> =
            ["pts", test, &target, "--minute", minute].map(str::to_owned).to_vec();
        let more: &[&str] = match self {
            Life::Purged => &["--until", "bytes"],
            Life::Filled => &["--no-purge", "--fills", "1", "--until", "bytes"],
            Life::Ezfio => &["--no-purge", "--until", "2fills"],
            // About what its twenty minutes write.
            Life::EzfioFast => &["--no-purge", "--until", "0.25fills"],
            Life::Replayed => &["--until", "2fills", "--addresses", "replayed"],
            Life::Truth => &["--no-purge", "--until", "1fills"],
        };
        arguments.extend(more.iter().map(|&more| more.to_owned()));
        arguments.extend(["--seed".to_owned(), SEED.to_string()]);
        arguments.extend(["--plot".to_owned(), plot.display().to_string()]);
        arguments
    }
}

/// Results of a life.
struct Lived {
    life: Life,
    /// Its command, without the path of its picture.
    command: String,
    body: Value,
}

/// Lives them all and writes the table; false when a claim does not hold.
///
/// # Errors
/// When a life fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(options.out.as_deref(), options.capacity.is_some())?;
    let pictures = out.join("wsat");
    fs::create_dir_all(&pictures)
        .with_context(|| format!("{}: cannot be made", pictures.display()))?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let waiting = Mutex::new(Life::ALL.into_iter());
    let ended = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().map(|mut lives| lives.next());
                    let Ok(Some(life)) = next else { return };
                    eprintln!("wsat: {}", life.words());
                    let lived = lived(life, options, &binary, &pictures);
                    eprintln!("wsat: {}: done", life.name());
                    if let Ok(mut ended) = ended.lock() {
                        ended.push(lived);
                    }
                }
            });
        }
    });
    let ended = ended.into_inner().map_err(|_| anyhow!("a life ended badly"))?;
    let mut lives: Vec<Lived> = ended.into_iter().collect::<Result<_>>()?;
    lives.sort_by_key(|lived| Life::ALL.iter().position(|life| *life == lived.life));
    let claims = claims(&lives)?;
    let path = out.join("wsat.csv");
    fs::write(&path, csv(&lives)?)
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(
        &commit,
        &Machine::here(),
        "wsat.csv",
        &[("Load average at the start", load)],
    );
    let size = options.capacity.as_deref().unwrap_or("full size");
    sheet::write(&out.join("wsat.md"), &table(&head, size, &lives, &claims)?)?;
    Ok(claims.iter().all(|claim| claim.holds))
}

fn lived(life: Life, options: &Options, binary: &Binary, pictures: &Path) -> Result<Lived> {
    let plot = pictures.join(format!("{}.png", life.name()));
    let arguments = life.arguments(options.capacity.as_deref(), &plot);
    let shown = &arguments[..arguments.len() - 2];
    let command = format!("drivescope {}", shown.join(" "));
    let kept = options.keep.as_ref().map(|dir| dir.join(format!("{}.json", life.name())));
    if let Some(path) = kept.as_ref().filter(|path| path.exists() && plot.exists()) {
        let text =
            fs::read_to_string(path).with_context(|| format!("{}: unreadable", path.display()))?;
        let body = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        return Ok(Lived { life, command, body });
    }
    let body = binary.body(&arguments)?;
    if let (Some(dir), Some(path)) = (&options.keep, &kept) {
        fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        fs::write(path, body.to_string()).with_context(|| path.display().to_string())?;
    }
    Ok(Lived { life, command, body })
}

/// A sample of the curve: seconds since the first write, and IOPS.
type Sample = (f64, f64);

impl Lived {
    fn ours(&self, field: &str) -> &Value {
        &self.body["steady"]["ours"][field]
    }

    /// The verdict by bytes; `None` where there is none.
    fn verdict(&self) -> Option<Verdict> {
        serde_json::from_value(self.ours("verdict").clone()).ok()
    }

    fn value(&self) -> Option<f64> {
        self.ours("value")["median"].as_f64()
    }

    /// Fills written at random, or in the replayed order.
    fn fills(&self) -> Result<f64> {
        let stages = self.body["preconditioning"].as_array().context("no preconditioning")?;
        let last =
            stages.iter().rfind(|stage| stage["kind"] == "wdpc").context("no random part")?;
        number(last, "/fills")
    }

    fn curve(&self) -> Result<Vec<Sample>> {
        let rows = self.body.pointer("/tables/curve/rows").and_then(Value::as_array);
        let rows = rows.context("no curve")?;
        let sample = |row: &Value| Some((row["values"][0].as_f64()?, row["values"][1].as_f64()?));
        Ok(rows.iter().filter_map(sample).collect())
    }

    /// Mean over time of the rounds that lie in this part of what was written, as shares of it.
    fn rate(&self, from: f64, to: f64) -> Result<f64> {
        let rounds = self.body["rounds"].as_array().context("no rounds")?;
        let bytes = |round: &Value| round["bytes_written"].as_f64().unwrap_or(0.0);
        let all: f64 = rounds.iter().map(bytes).sum();
        let (mut before, mut ios, mut seconds) = (0.0, 0.0, 0.0);
        for round in rounds {
            let share = before / all;
            before += bytes(round);
            if share >= from && share < to {
                ios += bytes(round);
                seconds += bytes(round) / number(round, "/iops")?;
            }
        }
        Ok(ios / seconds)
    }
}

/// Something that has to be so.
struct Claim {
    what: &'static str,
    found: String,
    wanted: String,
    holds: bool,
}

fn claims(lives: &[Lived]) -> Result<Vec<Claim>> {
    let of = |life| lives.iter().find(|lived| lived.life == life).context("a life is missing");
    let truth = of(Life::Truth)?.rate(0.5, 1.0)?;
    let purged = of(Life::Purged)?;
    let curve = purged.curve()?;
    let whole_s = curve.last().map_or(0.0, |sample| sample.0);
    // The first slices hold what the drive's memory takes.
    let early = curve.iter().skip(2).take_while(|sample| sample.0 < EARLY * whole_s);
    let early: Vec<f64> = early.map(|sample| sample.1).collect();
    let plateau = stats::median(&early).context("no plateau")?;
    let cliff = curve.windows(3).find(|run| run.iter().all(|s| s.1 < FALLEN * plateau));
    let cliff_s = cliff.map(|run| run[0].0);
    let mut claims = vec![
        Claim {
            what: "fresh plateau of the purged drive, IOPS",
            found: format!("{plateau:.0}"),
            wanted: format!("{:.0} to {:.0}", PLATEAU.start(), PLATEAU.end()),
            holds: PLATEAU.contains(&plateau),
        },
        Claim {
            what: "its cliff, s",
            found: cliff_s.map_or("none".to_owned(), |at| format!("{at:.0}")),
            wanted: format!("before {CLIFF_S_MAX:.0}"),
            holds: cliff_s.is_some_and(|at| at < CLIFF_S_MAX),
        },
    ];
    for life in [Life::Purged, Life::Filled] {
        let lived = of(life)?;
        let off = lived.value().map(|value| value / truth - 1.0);
        let value = lived.value().unwrap_or(f64::NAN);
        claims.push(Claim {
            what: match life {
                Life::Purged => "steady value of the purged drive, IOPS",
                _ => "steady value of the filled drive, IOPS",
            },
            found: format!("{value:.0} ({:+.1}%)", 100.0 * off.unwrap_or(f64::NAN)),
            wanted: format!("the model's {truth:.0} ± {:.0}%", 100.0 * OFF_MAX),
            holds: lived.verdict() == Some(Verdict::Yes)
                && off.is_some_and(|off| off.abs() <= OFF_MAX),
        });
    }
    let pair = of(Life::Purged)?.value().zip(of(Life::Filled)?.value());
    let apart = pair.map_or(f64::NAN, |(purged, filled)| purged / filled - 1.0);
    claims.push(Claim {
        what: "the purged one's beside the filled one's",
        found: format!("{:+.1}%", 100.0 * apart),
        wanted: format!("within {:.0}%", 100.0 * OFF_MAX),
        holds: apart.abs() <= OFF_MAX,
    });
    for life in [Life::Ezfio, Life::EzfioFast, Life::Replayed] {
        let lived = of(life)?;
        claims.push(Claim {
            what: match life {
                Life::Ezfio => "verdict after what ezFIO preconditions with",
                Life::EzfioFast => "verdict on what ezFIO --fast-precondition measures",
                _ => "verdict on the replayed order",
            },
            found: lived.verdict().map_or("none", Verdict::as_str).to_owned(),
            wanted: "not yes".to_owned(),
            holds: lived.verdict() != Some(Verdict::Yes),
        });
    }
    for (life, from, what) in [
        (Life::Ezfio, 0.9, "rate after ezFIO's two fills, beside the model's"),
        (Life::EzfioFast, 0.0, "rate that ezFIO --fast-precondition measures, beside the model's"),
    ] {
        let rate = of(life)?.rate(from, 1.0)?;
        claims.push(Claim {
            what,
            found: format!("{:+.0}%", 100.0 * (rate / truth - 1.0)),
            wanted: "told".to_owned(),
            holds: true,
        });
    }
    let replayed = of(Life::Replayed)?;
    let samples = replayed.curve()?;
    let least = samples.iter().skip(2).map(|s| s.1).fold(f64::INFINITY, f64::min);
    let seconds = samples.last().map_or(0.0, |s| s.0);
    claims.push(Claim {
        what: "slowest sample of the replayed order, of the plateau",
        found: format!("{:.3}, over {seconds:.0} s", least / plateau),
        wanted: format!("at least {FLAT}"),
        holds: least >= FLAT * plateau,
    });
    Ok(claims)
}

fn csv(lives: &[Lived]) -> Result<String> {
    let mut csv = "life,time_s,iops\n".to_owned();
    for lived in lives {
        for (time, iops) in lived.curve()? {
            let _ = writeln!(csv, "{},{time:.1},{iops:.0}", lived.life.name());
        }
    }
    Ok(csv)
}

fn table(head: &str, size: &str, lives: &[Lived], claims: &[Claim]) -> Result<String> {
    let cells = |claim: &Claim| {
        let holds = if claim.holds { "yes" } else { "**no**" };
        vec![claim.what.to_owned(), claim.found.clone(), claim.wanted.clone(), holds.to_owned()]
    };
    let rows: Vec<Vec<String>> = claims.iter().map(cells).collect();
    let mut page = format!(
        "# Write saturation at {size}\n\n{head}One drive, `sim:{MODEL}`, in six lives. The truth is its mean rate over the second \
         half of a fill when it begins as the model has it in the long run.\n\n{}",
        sheet::table(1, &["what", "found", "wanted", "holds"], &rows)
    );
    for lived in lives.iter().filter(|lived| lived.life != Life::Truth) {
        let (name, fills) = (lived.life.name(), lived.fills()?);
        let (state, reason) =
            (text(&lived.body, "/steady/ours/state")?, text(&lived.body, "/steady/ours/reason")?);
        let value = lived.value().map(|value| format!(", {value:.0} IOPS")).unwrap_or_default();
        let _ = write!(
            page,
            "\n## {}\n\n`{}`\n\nBy bytes: **{state}**{value} ({reason}), after {fills:.2} fills at random addresses. By PTS: {}.\n\n\
             ![{}](wsat/{name}.png)\n",
            lived.life.words(),
            lived.command,
            text(&lived.body, "/steady/pts/verdict")?.replace('_', " "),
            lived.life.words(),
        );
    }
    Ok(page)
}
