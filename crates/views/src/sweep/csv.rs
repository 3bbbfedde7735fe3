//! A row a run, for spreadsheets and for those who compute themselves.

use block::text::csv_field;
use block::{Bytes, Nanos};
use mark::sweep::Body;
use mark::sweep::body::{SettingFigures, SettingRun};
use mark::{Direction, Pattern};
use workload::plan::Order;

/// The columns: those that scripts around diskspd write, with the letters of its flags, then ours. `result` is in MB/s (10^6
/// bytes), latencies are in nanoseconds.
const COLUMNS: &str = "No.,Type,Target,Data_size,BlockSize(b),MeasTime(d),IO_depth(o),Threads(t),WaitTime(W),\
                       Read_Write(w),SEQorRND(r),result,position,block,order,planned_at_s,setting,seed,IOPS,p50_ns,p99_ns,\
                       p99.9_ns,max_ns,mean_ns,bytes,ios,headline,stability,reached,pattern,steady,repeatable,\
                       unhindered,undisturbed,engine\n";

/// All counted runs in the order made.
pub fn csv(body: &Body) -> String {
    let mut rows: Vec<(&SettingFigures, usize, &SettingRun)> =
        body.settings.iter().flat_map(numbered).collect();
    rows.sort_by_key(|(_, _, run)| run.position);
    let mut text = COLUMNS.to_owned();
    for (setting, number, run) in rows {
        let row = row(body, setting, number + 1, run);
        text += &row.iter().map(|field| csv_field(field)).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

/// The runs of a setting with their numbers, from 0.
fn numbered(
    setting: &SettingFigures,
) -> impl Iterator<Item = (&SettingFigures, usize, &SettingRun)> {
    setting.runs.iter().enumerate().map(move |(number, run)| (setting, number, run))
}

fn row(body: &Body, setting: &SettingFigures, number: usize, run: &SettingRun) -> Vec<String> {
    let load = &setting.load;
    let writes = match load.op {
        Direction::Read => 0,
        Direction::Write | Direction::Commit => 100,
        Direction::Mix(reads) => 100 - reads,
    };
    let pattern = match load.pattern {
        Pattern::Sequential => "SEQ",
        Pattern::Random => "RND",
    };
    let order = match load.order {
        Order::Blocked => "blocked",
        Order::Interleaved => "interleaved",
        Order::ReadsFirst => "reads_first",
    };
    let size = load.size.unwrap_or(body.setup.region_bytes);
    let latency = run.run.latency_ns;
    let mut fields = vec![
        number.to_string(),
        setting.test.replace(' ', ""),
        body.target.name.clone(),
        short(size),
        short(load.block),
        seconds(load.duration),
        load.depth.to_string(),
        load.threads.to_string(),
        seconds(load.warm_up),
        writes.to_string(),
        pattern.to_owned(),
        format!("{:.3}", run.run.mb_s),
        run.position.to_string(),
        run.block.to_string(),
        order.to_owned(),
        format!("{:.3}", run.planned_at_ns as f64 / 1e9),
        setting.name.clone(),
        run.seed.to_string(),
        format!("{:.3}", run.run.iops),
        latency.p50.to_string(),
        latency.p99.to_string(),
        latency.p999.to_string(),
        latency.max.to_string(),
        format!("{:.0}", latency.mean),
        run.run.bytes.to_string(),
        run.run.ios.to_string(),
        if setting.headline { "stands" } else { "withdrawn" }.to_owned(),
        setting.stability.standing.word().to_owned(),
    ];
    fields.extend(setting.proofs.named().map(|(_, proof)| proof.verdict.as_str().to_owned()));
    // The last: scripts know the others by their places.
    fields.push(load.engine.map_or_else(|| body.setup.engine.clone(), |engine| engine.to_string()));
    fields
}

/// `0.25G`, `1M`, `4K`: a size as flags of diskspd have it.
fn short(bytes: Bytes) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    let unit =
        UNITS.into_iter().find(|(unit, _)| bytes.0 >= *unit && (bytes.0 * 4).is_multiple_of(*unit));
    match unit {
        Some((unit, name)) => format!("{}{name}", bytes.0 as f64 / unit as f64),
        None => format!("{}b", bytes.0),
    }
}

fn seconds(time: Nanos) -> String {
    time.as_secs_f64().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a spreadsheet made for diskspd's flags reads another size than was measured.
    #[test]
    fn sizes_are_written_as_flags_have_them() {
        for (bytes, text) in [
            (Bytes::mib(256), "256M"),
            (Bytes::mib(2560), "2.5G"),
            (Bytes::gib(10), "10G"),
            (Bytes::kib(4), "4K"),
            (Bytes(512), "512b"),
            (Bytes(1_000_000), "1000000b"),
        ] {
            assert_eq!(short(bytes), text);
        }
        assert_eq!(seconds(Nanos::millis(2_500)), "2.5");
    }
}
