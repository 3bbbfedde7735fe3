//! Analysis of a trace in btt's layout.

use formats::btt::{Device, Live, Merges, Name, Plugs, Seeks, Summary, Times};
use trace::analyze::Phase;
use trace::analyze::activity::Activity;
use trace::analyze::body::{self, Body};
use trace::analyze::phases::{Overhead, Phases};
use trace::analyze::plugs::PlugFigures;
use trace::analyze::seeks::SeekFigures;

/// Unit in which btt counts lengths, in bytes.
const BLOCK: u64 = 512;

/// Lays out `body`.
pub fn summary(body: &Body) -> Summary {
    let stacked = body.stacked.as_ref().map(|stacked| {
        let mut rows = times(&stacked.phases, &[Phase::Q2q, Phase::Q2a, Phase::Q2c]);
        rows.iter_mut().for_each(|row| row.name.push_str("dm"));
        rows
    });
    Summary {
        stacked: stacked.unwrap_or_default(),
        all: times(&body.phases, &Phase::ALL),
        devices: body.devices.iter().map(device).collect(),
        overhead: body.overhead.as_ref().map(shares),
        live: body.activity.as_ref().map(live),
    }
}

fn times(phases: &Phases, wanted: &[Phase]) -> Vec<Times> {
    let known = wanted.iter().filter_map(|phase| Some((phase, phases.of(*phase)?)));
    known
        .map(|(phase, spread)| Times {
            name: phase.name().to_owned(),
            min_ns: spread.min_ns,
            avg_ns: spread.mean_ns,
            max_ns: spread.max_ns,
            n: spread.n,
        })
        .collect()
}

fn device(device: &body::Device) -> Device {
    let number = device.device.as_ref().and_then(|number| {
        let (major, minor) = number.split_once(',')?;
        Some(Name::Number(major.parse().ok()?, minor.parse().ok()?))
    });
    Device {
        name: number.unwrap_or_else(|| Name::Word(device.name.clone())),
        overhead: device.overhead.as_ref().filter(|_| !device.stacked).map(shares),
        merges: device.merges.as_ref().map(|merges| Merges {
            q: merges.queued,
            d: merges.issued,
            min_blocks: merges.request_min_bytes / BLOCK,
            max_blocks: merges.request_max_bytes / BLOCK,
            total_blocks: merges.request_total_bytes / BLOCK,
        }),
        q2q: device.seeks_q2q.as_ref().map(seeks),
        d2d: device.seeks_d2d.as_ref().map(seeks),
        plugs: device.plugs.as_ref().map(plugs).unwrap_or_default(),
        active: device.active_at_q.map(|active| (active.mean, active.n)),
        live: device.activity.as_ref().map(live),
    }
}

fn shares(overhead: &Overhead) -> [f64; 5] {
    [overhead.q2g, overhead.g2i, overhead.q2m, overhead.i2d, overhead.d2c]
}

fn seeks(seeks: &SeekFigures) -> Seeks {
    let closest = &seeks.closest;
    let first = std::iter::once(closest.mode_bytes);
    Seeks {
        n: seeks.n,
        mean: closest.mean_bytes / BLOCK as f64,
        median: closest.median_bytes / BLOCK,
        modes: first.chain(closest.second_mode_bytes).map(|bytes| bytes / BLOCK).collect(),
        mode_n: closest.mode_n,
        modes_n: closest.modes,
    }
}

fn plugs(plugs: &PlugFigures) -> Plugs {
    Plugs {
        unplugs: plugs.unplugs - plugs.timer_unplugs,
        timer_unplugs: plugs.timer_unplugs,
        share: plugs.plugged_share,
        requests: plugs.unplugged_requests - plugs.timer_unplugged_requests,
        timer_requests: plugs.timer_unplugged_requests,
    }
}

fn live(activity: &Activity) -> Live {
    Live {
        periods: activity.periods,
        mean_ns: activity.mean_live_ns,
        idle_ns: activity.mean_idle_ns,
        share: activity.live_share,
    }
}
