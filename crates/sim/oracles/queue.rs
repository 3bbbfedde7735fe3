//! Random reads of a drive as a closed network of queues, worked out by a few lines of simulation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::addresses::Addresses;

/// The stations that a read passes, and how long it takes there, in nanoseconds.
#[derive(Clone, Debug)]
pub struct ReadPath {
    /// On the way, before anything; all requests at once.
    pub latency_ns: u64,
    /// One controller: at least this long.
    pub command_ns: u64,
    /// And up to this much longer, evenly spread.
    pub command_jitter_ns: u64,
    /// Count of dies.
    pub dies: u64,
    /// Time of a page, one entry for each type of page, all as frequent.
    pub read_ns: Vec<u64>,
    /// Reads in a million that are later by `spike_ns`.
    pub spikes_per_million: u64,
    /// How much later.
    pub spike_ns: u64,
    /// Count of channels; die `d` is on channel `d` modulo this.
    pub channels: u64,
    /// Time of a read's data on its channel.
    pub channel_ns: u64,
    /// Time of a read's data on the link.
    pub link_ns: u64,
}

/// The stations, in the order of a read. A read on its way to none of them is done.
const STATIONS: usize = 4;

impl ReadPath {
    /// Reads a second that no depth can exceed: the least that one kind of station can do.
    pub fn ceiling(&self) -> f64 {
        let mean = self.read_ns.iter().sum::<u64>() as f64 / self.read_ns.len() as f64;
        let page = mean + self.spikes_per_million as f64 * self.spike_ns as f64 / 1e6;
        let command = self.command_ns as f64 + self.command_jitter_ns as f64 / 2.0;
        let rates = [
            1.0 / command,
            self.dies as f64 / page,
            self.channels as f64 / self.channel_ns as f64,
            1.0 / self.link_ns as f64,
        ];
        1e9 * rates.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Reads a second with `depth` outstanding, over `reads` of them after a tenth as many to begin with.
    pub fn rate(&self, depth: u64, reads: u64, seed: u64) -> f64 {
        let mut random = Addresses(seed);
        let counts = [1, self.dies, self.channels, 1];
        // Each server takes what comes, in order; when it is free again.
        let mut free: [Vec<u64>; STATIONS] = counts.map(|count| vec![0; count as usize]);
        let mut coming: BinaryHeap<Reverse<(u64, u64, usize, u64)>> =
            (0..depth).map(|n| Reverse((self.latency_ns, n, 0, 0))).collect();
        let (mut sequence, mut done, mut begun) = (depth, 0, 0);
        let warm_up = reads / 10;
        while let Some(Reverse((now, _, station, die))) = coming.pop() {
            sequence += 1;
            if station == STATIONS {
                done += 1;
                if done == warm_up {
                    begun = now;
                } else if done == warm_up + reads {
                    return reads as f64 * 1e9 / (now - begun) as f64;
                }
                coming.push(Reverse((now + self.latency_ns, sequence, 0, 0)));
                continue;
            }
            let die = if station == 1 { random.below(self.dies) } else { die };
            let server = [0, die, die % self.channels, 0][station];
            let free = &mut free[station][server as usize];
            *free = now.max(*free) + self.service(station, &mut random);
            coming.push(Reverse((*free, sequence, station + 1, die)));
        }
        0.0
    }

    fn service(&self, station: usize, random: &mut Addresses) -> u64 {
        match station {
            0 => self.command_ns + random.below(self.command_jitter_ns + 1),
            1 => {
                let page = random.below(self.read_ns.len() as u64);
                let is_late = random.below(1_000_000) < self.spikes_per_million;
                self.read_ns[page as usize] + if is_late { self.spike_ns } else { 0 }
            }
            2 => self.channel_ns,
            _ => self.link_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> ReadPath {
        ReadPath {
            latency_ns: 9_000,
            command_ns: 1_000,
            command_jitter_ns: 0,
            dies: 8,
            read_ns: vec![50_000],
            spikes_per_million: 0,
            spike_ns: 0,
            channels: 4,
            channel_ns: 5_000,
            link_ns: 1_000,
        }
    }

    // One request has the whole way to itself; very many keep the slowest station busy; on one die, with nothing else
    // to wait for, a second request saturates.
    #[test]
    fn it_is_right_where_the_answer_is_known() {
        let alone = path().rate(1, 1000, 1);
        assert!((alone * 66_000.0 / 1e9 - 1.0).abs() < 1e-3, "{alone}");
        let many = path().rate(1000, 200_000, 1);
        assert!((many / path().ceiling() - 1.0).abs() < 0.01, "{many}");
        assert!((path().ceiling() - 160_000.0).abs() < 1e-6);
        let one = ReadPath { dies: 1, channels: 1, ..path() };
        let two = one.rate(2, 1000, 1);
        assert!((two * 50_000.0 / 1e9 - 1.0).abs() < 1e-3, "{two}");
    }
}
