//! A sweep as rows: a row for each run, with the columns that every verb has, then those of the sweep.

use mark::Pattern;
use mark::sweep::Body;
use mark::sweep::body::{SettingFigures, SettingRun};
use workload::plan::Order;

use crate::tidy::{Shared, of_runs};

/// The columns behind those of all runs: what the setting is, and when the run was made.
const COLUMNS: [&str; 13] = [
    "setting",
    "pattern",
    "size_bytes",
    "warm_up_ns",
    "set_duration_ns",
    "order",
    "engine",
    "position",
    "block",
    "planned_at_ns",
    "seed",
    "is_withdrawn",
    "stability",
];

/// All counted runs in the order made.
pub fn csv(body: &Body) -> String {
    let mut rows: Vec<(&SettingFigures, usize, &SettingRun)> = Vec::new();
    for setting in &body.settings {
        rows.extend((1..).zip(&setting.runs).map(|(number, run)| (setting, number, run)));
    }
    rows.sort_by_key(|(_, _, run)| run.position);
    of_runs(
        &COLUMNS,
        rows.into_iter().map(|(setting, number, run)| row(body, setting, number, run)),
    )
}

fn row(body: &Body, setting: &SettingFigures, number: usize, run: &SettingRun) -> Vec<String> {
    let load = &setting.load;
    let op = load.op.word();
    let shared = Shared {
        target: &body.target.name,
        side: String::new(),
        test: &setting.test,
        op: &op,
        block_bytes: Some(load.block.0),
        depth: Some(load.depth),
        threads: Some(load.threads),
    };
    let pattern = match load.pattern {
        Pattern::Sequential => "seq",
        Pattern::Random => "rnd",
    };
    let order = match load.order {
        Order::Blocked => "blocked",
        Order::Interleaved => "interleaved",
        Order::ReadsFirst => "reads_first",
    };
    let size = load.size.unwrap_or(body.setup.region_bytes);
    let mut fields = shared.row(number, &run.run);
    fields.extend([
        setting.name.clone(),
        pattern.to_owned(),
        size.0.to_string(),
        load.warm_up.0.to_string(),
        load.duration.0.to_string(),
        order.to_owned(),
        load.engine.map_or_else(|| body.setup.engine.clone(), |engine| engine.to_string()),
        run.position.to_string(),
        run.block.to_string(),
        run.planned_at_ns.to_string(),
        run.seed.to_string(),
        u8::from(!setting.headline).to_string(),
        setting.stability.standing.word().to_owned(),
    ]);
    fields
}
