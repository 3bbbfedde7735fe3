//! The summary as btt prints it, from plain numbers, so that scripts and eyes used to it work on ours.
//!
//! Layout: that of btt 1.2.0 (blktrace, Debian 1.2.0-5), taken from what it prints. Columns and digits are the same
//! to the byte. What btt prints for its plotting scripts behind the summary (`# Total System …`) is left out.

use std::fmt::Write as _;

/// A row of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// `Q2C`, or a device or process within a table of one phase.
    pub name: String,
    /// The least, in nanoseconds.
    pub min_ns: u64,
    /// The mean, in nanoseconds.
    pub avg_ns: f64,
    /// The greatest, in nanoseconds.
    pub max_ns: u64,
    /// Number of times.
    pub n: u64,
}

/// Rows of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// `major,minor` where it has them, else a name.
    pub name: Name,
    /// Shares of Q2G, G2I, Q2M, I2D and D2C in Q2C, from 0 to 1; `None` where nothing completed.
    pub overhead: Option<[f64; 5]>,
    /// I/Os and requests; `None` where there are no requests.
    pub merges: Option<Merges>,
    /// Distances between I/Os.
    pub q2q: Option<Seeks>,
    /// Distances between requests.
    pub d2d: Option<Seeks>,
    /// Plugging of requests.
    pub plugs: Plugs,
    /// I/Os that waited when another arrived, and how often that was asked; `None` for devices that hand I/Os on.
    pub active: Option<(f64, u64)>,
    /// When it was active.
    pub live: Option<Live>,
}

/// Name of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Its number.
    Number(u32, u32),
    /// Its name.
    Word(String),
}

impl Default for Name {
    fn default() -> Name {
        Name::Number(0, 0)
    }
}

/// I/Os and requests of a device. Lengths are in blocks of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merges {
    /// I/Os.
    pub q: u64,
    /// Requests.
    pub d: u64,
    /// The shortest request.
    pub min_blocks: u64,
    /// The longest request.
    pub max_blocks: u64,
    /// All of them.
    pub total_blocks: u64,
}

/// Distances, in blocks of 512 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seeks {
    /// Number of distances.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: u64,
    /// The most frequent, and a second as frequent where there is one.
    pub modes: Vec<u64>,
    /// Occurrences of each of them.
    pub mode_n: u64,
    /// Number of distances as frequent as that.
    pub modes_n: u64,
}

/// Plugging of a device's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plugs {
    /// Unplugs, those by timer left out.
    pub unplugs: u64,
    /// Unplugs by timer.
    pub timer_unplugs: u64,
    /// Share of the time, from 0 to 1.
    pub share: f64,
    /// Requests that unplugs let go, those by timer left out.
    pub requests: u64,
    /// Requests that unplugs by timer let go.
    pub timer_requests: u64,
}

/// When something was active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live {
    /// Periods.
    pub periods: u64,
    /// Their mean, in nanoseconds.
    pub mean_ns: f64,
    /// Mean time between two, in nanoseconds.
    pub idle_ns: f64,
    /// Share of the time, from 0 to 1.
    pub share: f64,
}

/// All that is printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Phases of I/Os that devices hand on (btt's `Q2Qdm`, `Q2Adm`, `Q2Cdm`).
    pub stacked: Vec<Times>,
    /// Phases of all others.
    pub all: Vec<Times>,
    /// The devices.
    pub devices: Vec<Device>,
    /// Shares of all devices together, as those of a device.
    pub overhead: Option<[f64; 5]>,
    /// When any of them was active.
    pub live: Option<Live>,
}

/// The summary as text, with a line feed at its end.
pub fn summary(summary: &Summary) -> String {
    let mut text = String::new();
    section(&mut text, "All Devices");
    times_head(&mut text, "ALL");
    summary.stacked.iter().for_each(|row| times(&mut text, row));
    text.push('\n');
    summary.all.iter().for_each(|row| times(&mut text, row));
    text.push('\n');
    overhead(&mut text, summary);
    merges(&mut text, &summary.devices);
    section(&mut text, "Device Q2Q Seek Information");
    seeks(&mut text, summary.devices.iter().map(|device| (&device.name, device.q2q.as_ref())));
    section(&mut text, "Device D2D Seek Information");
    seeks(&mut text, summary.devices.iter().map(|device| (&device.name, device.d2d.as_ref())));
    plugs(&mut text, &summary.devices);
    active(&mut text, &summary.devices);
    live(&mut text, summary);
    text
}

/// Adds a line.
macro_rules! line {
    ($text:expr, $($form:tt)*) => {{
        // Writing to a string cannot fail.
        let _ = writeln!($text, $($form)*);
    }};
}

fn section(text: &mut String, name: &str) {
    line!(text, "==================== {name} ====================\n");
}

fn times_head(text: &mut String, name: &str) {
    line!(text, "{name:>15} {:>13} {:>13} {:>13} {:>11}", "MIN", "AVG", "MAX", "N");
    let dash = |n: usize| "-".repeat(n);
    line!(text, "{} {} {} {} {}", dash(15), dash(13), dash(13), dash(13), dash(11));
}

fn times(text: &mut String, Times { name, min_ns, avg_ns, max_ns, n }: &Times) {
    let s = |ns: f64| ns / 1e9;
    let (min, avg, max) = (s(*min_ns as f64), s(*avg_ns), s(*max_ns as f64));
    line!(text, "{name:<15} {min:>13.9} {avg:>13.9} {max:>13.9} {n:>11}");
}

/// `(  8,  0)`, at most 14 signs, right in 10 columns.
fn device(name: &Name) -> String {
    let mut text = match name {
        Name::Number(major, minor) => format!("({major:>3},{minor:>3})"),
        Name::Word(word) => block::text::harmless(word).into_owned(),
    };
    if let Some((cut, _)) = text.char_indices().nth(14) {
        text.truncate(cut);
    }
    format!("{text:>10}")
}

fn overhead(text: &mut String, summary: &Summary) {
    section(text, "Device Overhead");
    let names = ["Q2G", "G2I", "Q2M", "I2D", "D2C"].map(|name| format!("{name:>9}"));
    line!(text, "{:>10} | {}", "DEV", names.join(" "));
    let rule = format!("---------- | {}", ["---------"; 5].join(" "));
    line!(text, "{rule}");
    let row = |name: &str, parts: &[f64; 5]| {
        let parts = parts.map(|part| format!("{:>8.4}%", part * 100.0));
        format!("{name:>10} | {}", parts.join(" "))
    };
    for of in &summary.devices {
        if let Some(parts) = &of.overhead {
            line!(text, "{}", row(&device(&of.name), parts));
        }
    }
    if let Some(parts) = &summary.overhead {
        line!(text, "{rule}");
        line!(text, "{}", row("Overall", parts));
    }
    text.push('\n');
}

const MERGES_RULE: &str =
    "---------- | -------- -------- ------- | -------- -------- -------- --------";

fn merges(text: &mut String, devices: &[Device]) {
    section(text, "Device Merge Information");
    merges_head(text);
    line!(text, "{MERGES_RULE}");
    let mut total = Merges { min_blocks: u64::MAX, ..Merges::default() };
    let mut rows = 0;
    for of in devices {
        let Some(merges) = of.merges.filter(|merges| merges.q > 0 && merges.d > 0) else {
            continue;
        };
        // btt prints no fewer I/Os than requests.
        let merges = Merges { q: merges.q.max(merges.d), ..merges };
        merges_row(text, &device(&of.name), &merges);
        rows += 1;
        total.q += merges.q;
        total.d += merges.d;
        total.min_blocks = total.min_blocks.min(merges.min_blocks);
        total.max_blocks = total.max_blocks.max(merges.max_blocks);
        total.total_blocks = total.total_blocks.saturating_add(merges.total_blocks);
    }
    if rows > 1 {
        line!(text, "{MERGES_RULE}");
        merges_head(text);
        merges_row(text, "TOTAL", &total);
    }
    text.push('\n');
}

fn merges_head(text: &mut String) {
    line!(
        text,
        "{:>10} | {:>8} {:>8} {:>7} | {:>8} {:>8} {:>8} {:>8}",
        "DEV",
        "#Q",
        "#D",
        "Ratio",
        "BLKmin",
        "BLKavg",
        "BLKmax",
        "Total"
    );
}

fn merges_row(text: &mut String, name: &str, of: &Merges) {
    let Merges { q, d, min_blocks: min, max_blocks: max, total_blocks: total } = of;
    let ratio = *q as f64 / (*d).max(1) as f64;
    let avg = total / (*d).max(1);
    line!(text, "{name:>10} | {q:>8} {d:>8} {ratio:>7.1} | {min:>8} {avg:>8} {max:>8} {total:>8}");
}

const SEEKS_RULE: &str =
    "---------- | --------------- --------------- --------------- | ---------------";

fn seeks<'a>(text: &mut String, devices: impl Iterator<Item = (&'a Name, Option<&'a Seeks>)>) {
    seeks_head(text, "DEV");
    line!(text, "{SEEKS_RULE}");
    let mut all = Vec::new();
    for (name, seeks) in devices {
        if let Some(seeks) = seeks.filter(|seeks| seeks.n > 0) {
            seeks_row(text, &device(name), seeks);
            // btt shows two modes side by side, and the number of more.
            match (seeks.modes_n, seeks.modes.get(1)) {
                (2, Some(second)) => line!(text, " {second}"),
                (0..=1, _) => text.push('\n'),
                (modes, _) => more_modes(text, modes - 1),
            }
            all.push(seeks);
        }
    }
    if !all.is_empty() {
        line!(text, "{SEEKS_RULE}");
        seeks_head(text, "Overall");
        seeks_overall(text, &all);
        text.push('\n');
    }
    text.push('\n');
}

fn seeks_head(text: &mut String, name: &str) {
    line!(text, "{name:>10} | {:>15} {:>15} {:>15} | {:<15}", "NSEEKS", "MEAN", "MEDIAN", "MODE");
}

/// Without the end of its line.
fn seeks_row(text: &mut String, name: &str, seeks: &Seeks) {
    let Seeks { n, mean, median, mode_n, .. } = seeks;
    let mode = seeks.modes.first().copied().unwrap_or(0);
    let _ = write!(text, "{name:>10} | {n:>15} {mean:>15.1} {median:>15} | {mode}({mode_n})");
}

fn more_modes(text: &mut String, more: u64) {
    line!(text, "\n{:>10}   {:>15} {:>15} {:>15}   ...({more} more)", "", "", "", "");
}

/// Means and medians weighted by the number of seeks, and the most frequent of the devices' modes.
fn seeks_overall(text: &mut String, all: &[&Seeks]) {
    let n: u64 = all.iter().map(|seeks| seeks.n).sum();
    let mean = all.iter().map(|seeks| seeks.mean * seeks.n as f64).sum::<f64>() / n as f64;
    let median =
        all.iter().map(|seeks| u128::from(seeks.median) * u128::from(seeks.n)).sum::<u128>();
    let mut modes: Vec<(u64, u64)> = Vec::new();
    for (mode, times) in
        all.iter().flat_map(|seeks| seeks.modes.iter().map(|mode| (*mode, seeks.mode_n)))
    {
        match modes.iter_mut().find(|(known, _)| *known == mode) {
            Some((_, sum)) => *sum += times,
            None => modes.push((mode, times)),
        }
    }
    let most = modes.iter().map(|(_, times)| *times).max().unwrap_or(0);
    modes.retain(|(_, times)| *times == most);
    let overall = Seeks {
        n,
        mean,
        median: u64::try_from(median / u128::from(n.max(1))).unwrap_or(u64::MAX),
        modes: modes.iter().map(|(mode, _)| *mode).collect(),
        mode_n: most,
        modes_n: modes.len() as u64,
    };
    seeks_row(text, "Average", &overall);
    // A device whose modes were not all kept has as many more here.
    let unkept = |seeks: &&&Seeks| seeks.mode_n == most && seeks.modes_n > seeks.modes.len() as u64;
    let unkept: u64 =
        all.iter().filter(unkept).map(|seeks| seeks.modes_n - seeks.modes.len() as u64).sum();
    let others = (overall.modes_n + unkept).saturating_sub(1);
    if others > 0 {
        more_modes(text, others);
    }
}

fn plugs(text: &mut String, devices: &[Device]) {
    section(text, "Plug Information");
    let head = |name: &str| {
        format!("{name:>10} | {:>10} {:>10}  | % Time Q Plugged", "# Plugs", "# Timer Us")
    };
    let rule = "---------- | ---------- ----------  | ----------------";
    let row = |name: &str, unplugs: u64, timer: u64, share: f64| {
        format!("{name:>10} | {unplugs:>10}({timer:>10}) | {:>13.9}%", share * 100.0)
    };
    line!(text, "{}\n{rule}", head("DEV"));
    let plugged = devices.iter().filter(|of| of.plugs.unplugs + of.plugs.timer_unplugs > 0);
    let mut sums = (0, 0, 0, 0.0);
    for Device { name, plugs, .. } in plugged {
        line!(text, "{}", row(&device(name), plugs.unplugs, plugs.timer_unplugs, plugs.share));
        let (n, unplugs, timer, share) = sums;
        sums = (n + 1, unplugs + plugs.unplugs, timer + plugs.timer_unplugs, share + plugs.share);
    }
    if let (n @ 2.., unplugs, timer, share) = sums {
        line!(text, "{rule}\n{}", head("Overall"));
        line!(text, "{}", row("Average", unplugs / n, timer / n, share / n as f64));
    }
    text.push('\n');
    let head =
        |name: &str, by_timer: &str| format!("{name:>10} | {:>10}   {by_timer:>10}", "IOs/Unp");
    let rule = "---------- | ----------   ----------";
    let row =
        |name: &str, mean: f64, timer: f64| format!("{name:>10} | {mean:>10.1}   {timer:>10.1}");
    let mean = |requests: u64, unplugs: u64| {
        if unplugs == 0 { 0.0 } else { requests as f64 / unplugs as f64 }
    };
    line!(text, "{}\n{rule}", head("DEV", "IOs/Unp(to)"));
    let mut all = Plugs::default();
    for Device { name, plugs, .. } in devices {
        let (untimed, timed) =
            (mean(plugs.requests, plugs.unplugs), mean(plugs.timer_requests, plugs.timer_unplugs));
        line!(text, "{}", row(&device(name), untimed, timed));
        // One that let nothing go is not averaged.
        if plugs.requests > 0 {
            all.unplugs += plugs.unplugs;
            all.requests += plugs.requests;
        }
        if plugs.timer_requests > 0 {
            all.timer_unplugs += plugs.timer_unplugs;
            all.timer_requests += plugs.timer_requests;
        }
    }
    if all.unplugs + all.timer_unplugs > 0 {
        let (untimed, timed) =
            (mean(all.requests, all.unplugs), mean(all.timer_requests, all.timer_unplugs));
        line!(
            text,
            "{rule}\n{}\n{}",
            head("Overall", "IOs/Unp(to)"),
            row("Average", untimed, timed)
        );
    }
    text.push('\n');
}

fn active(text: &mut String, devices: &[Device]) {
    section(text, "Active Requests At Q Information");
    let rule = "---------- | -------------";
    line!(text, "{:>10} | {:>13}\n{rule}", "DEV", "Avg Reqs @ Q");
    let known: Vec<_> = devices.iter().filter_map(|of| Some((&of.name, of.active?))).collect();
    for (name, (mean, _)) in &known {
        line!(text, "{} | {mean:>13.1}", device(name));
    }
    if known.len() > 1 {
        let n: u64 = known.iter().map(|(_, (_, n))| n).sum();
        let sum: f64 = known.iter().map(|(_, (mean, n))| mean * *n as f64).sum();
        line!(text, "{rule}\n{:>10} | {:>13}", "Overall", "Avgs Reqs @ Q");
        line!(text, "{:>10} | {:>13.1}", "Average", sum / n.max(1) as f64);
    }
    text.push('\n');
}

fn live(text: &mut String, summary: &Summary) {
    section(text, "I/O Active Period Information");
    let rule = "---------- | ---------- ------------- ------------- ------";
    let head = ["Avg. Act", "Avg. !Act"].map(|name| format!("{name:>13}")).join(" ");
    line!(text, "{:>10} | {:>10} {head}% Live\n{rule}", "DEV", "# Live");
    let row = |name: &str, of: &Live| {
        let (mean, idle, share) = (of.mean_ns / 1e9, of.idle_ns / 1e9, of.share * 100.0);
        format!("{name:>10} | {:>10} {mean:>13.9} {idle:>13.9} {share:>6.2}", of.periods)
    };
    for of in &summary.devices {
        if let Some(live) = &of.live {
            line!(text, "{}", row(&device(&of.name), live));
        }
    }
    if let Some(live) = &summary.live {
        line!(text, "{rule}\n{}", row("Total Sys", live));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a line is not what Debian's btt (1.2.0-5) printed of a recording with these figures.
    #[test]
    fn lines_are_those_of_btt() {
        let seeks =
            Seeks { n: 85716, mean: 136_362.8, median: 0, modes: vec![0], mode_n: 83, modes_n: 1 };
        let of = Device {
            name: Name::Number(7, 0),
            overhead: Some([0.010966, 0.0, 0.0, 0.0, 0.972960]),
            merges: Some(Merges {
                q: 85716,
                d: 85716,
                min_blocks: 8,
                max_blocks: 8,
                total_blocks: 685_728,
            }),
            q2q: Some(seeks.clone()),
            d2d: Some(Seeks { modes: vec![0, 8], modes_n: 3, ..seeks }),
            plugs: Plugs {
                unplugs: 85716,
                share: 0.02504553188,
                requests: 85716,
                ..Plugs::default()
            },
            active: Some((0.0, 85716)),
            live: None,
        };
        let live = Live { periods: 4072, mean_ns: 194_886.0, idle_ns: 50_509.0, share: 0.7942 };
        let q2q = Times {
            name: "Q2Q".to_owned(),
            min_ns: 1020,
            avg_ns: 11_657.0,
            max_ns: 5_217_884,
            n: 85715,
        };
        let text = summary(&Summary {
            all: vec![q2q],
            overhead: of.overhead,
            devices: vec![of],
            live: Some(live),
            ..Summary::default()
        });
        for line in [
            "            ALL           MIN           AVG           MAX           N",
            "Q2Q               0.000001020   0.000011657   0.005217884       85715",
            " (  7,  0) |   1.0966%   0.0000%   0.0000%   0.0000%  97.2960%",
            "   Overall |   1.0966%   0.0000%   0.0000%   0.0000%  97.2960%",
            "       DEV |       #Q       #D   Ratio |   BLKmin   BLKavg   BLKmax    Total",
            " (  7,  0) |    85716    85716     1.0 |        8        8        8   685728",
            "       DEV |          NSEEKS            MEAN          MEDIAN | MODE           ",
            " (  7,  0) |           85716        136362.8               0 | 0(83)",
            "                                                               ...(2 more)",
            " (  7,  0) |      85716(         0) |   2.504553188%",
            "       DEV |    IOs/Unp   IOs/Unp(to)",
            " (  7,  0) |        1.0          0.0",
            " (  7,  0) |           0.0",
            " Total Sys |       4072   0.000194886   0.000050509  79.42",
        ] {
            assert!(text.lines().any(|printed| printed == line), "{line:?} is not in\n{text}");
        }
    }
}
