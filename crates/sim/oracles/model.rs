//! Parameters of a model, as the other oracles take them. Reads the output of `sim show --json`.

use serde_json::Value;

use super::queue::ReadPath;
use super::theory::WriteTimes;

/// The parameters of a model of a solid-state drive.
#[derive(Clone, Debug)]
pub struct SsdParameters(pub Value);

impl SsdParameters {
    fn number(&self, table: &str, key: &str) -> f64 {
        self.0[table][key]
            .as_f64()
            .unwrap_or_else(|| panic!("the model has no number {table}.{key}"))
    }

    fn whole(&self, table: &str, key: &str) -> u64 {
        self.number(table, key) as u64
    }

    fn list(&self, table: &str, key: &str) -> Vec<u64> {
        let list = self.0[table][key].as_array();
        let list = list.unwrap_or_else(|| panic!("the model has no list {table}.{key}"));
        list.iter().filter_map(Value::as_u64).collect()
    }

    /// Mean of what a die does, its rare long ones included.
    fn mean(&self, times: &[u64]) -> f64 {
        let rare =
            self.number("nand", "spikes_per_million") * self.number("nand", "spike_ns") / 1e6;
        times.iter().sum::<u64>() as f64 / times.len() as f64 + rare
    }

    /// Dies of all channels.
    pub fn dies(&self) -> u64 {
        self.whole("nand", "channels") * self.whole("nand", "dies_per_channel")
    }

    /// Bytes that the host can address.
    pub fn capacity(&self) -> u64 {
        self.whole("layout", "capacity_bytes")
    }

    /// Over-provisioning that the model asks for; the drive has what whole blocks give.
    pub fn over_provisioning(&self) -> f64 {
        self.number("layout", "over_provisioning")
    }

    /// Units of a row: a page of all planes.
    pub fn row_units(&self) -> u64 {
        let row = self.whole("nand", "page_bytes") * self.whole("nand", "planes");
        row / self.whole("layout", "map_bytes")
    }

    /// Units of a block of all planes.
    pub fn block_units(&self) -> u64 {
        self.row_units() * self.whole("nand", "pages_per_block")
    }

    /// Returns the times that writes cost a die.
    pub fn write_times(&self) -> WriteTimes {
        WriteTimes {
            program_ns: self.mean(&self.list("nand", "program_ns")),
            read_ns: self.mean(&self.list("nand", "read_ns")),
            erase_ns: self.mean(&[self.whole("nand", "erase_ns")]),
            rows_per_block: self.number("nand", "pages_per_block"),
            units_per_row: self.row_units() as f64,
        }
    }

    /// Returns the path of a random read of `bytes`.
    pub fn read_path(&self, bytes: u64) -> ReadPath {
        let span = |table, key| bytes * 1_000_000_000 / self.whole(table, key);
        ReadPath {
            latency_ns: self.whole("link", "latency_ns"),
            command_ns: self.whole("link", "command_ns"),
            command_jitter_ns: self.whole("link", "command_jitter_ns"),
            dies: self.dies(),
            read_ns: self.list("nand", "read_ns"),
            spikes_per_million: self.whole("nand", "spikes_per_million"),
            spike_ns: self.whole("nand", "spike_ns"),
            channels: self.whole("nand", "channels"),
            channel_ns: span("nand", "channel_bytes_per_s"),
            link_ns: span("link", "bytes_per_s"),
        }
    }

    /// Returns the capacity of the single-bit part, by the model, and how fast and how soon it moves
    /// on in a pause.
    pub fn single_bit(&self) -> SingleBit {
        SingleBit {
            bytes: self.whole("slc", "bytes"),
            fold_bytes_per_s: self.whole("slc", "fold_bytes_per_s"),
            idle_before_fold_ns: self.whole("slc", "idle_before_fold_ns"),
        }
    }
}

/// A cache of cells that are written with one bit.
#[derive(Clone, Copy, Debug)]
pub struct SingleBit {
    /// Capacity.
    pub bytes: u64,
    /// Rate of moving on in a pause of the host.
    pub fold_bytes_per_s: u64,
    /// The pause before that begins.
    pub idle_before_fold_ns: u64,
}
