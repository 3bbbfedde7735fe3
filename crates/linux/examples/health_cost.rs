//! Cost of querying a drive around each run: `health_cost nvme0n1 [times]`.
#![allow(clippy::unwrap_used, reason = "a tool for developers")]

use std::time::Instant;

use drivescope_linux::health::Watch;
use drivescope_linux::sysfs::Roots;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let leaf = arguments.next().unwrap();
    let times = arguments.next().map_or(1_000, |text| text.parse().unwrap());
    let opened = Instant::now();
    let mut watch = Watch::open(&Roots::default(), &leaf).unwrap();
    println!("opened in {:?}", opened.elapsed());
    let mut spans: Vec<_> = (0..times)
        .map(|_| {
            let begun = Instant::now();
            watch.read().unwrap();
            begun.elapsed()
        })
        .collect();
    spans.sort();
    println!("read: median {:?}, 99% {:?}", spans[times / 2], spans[times * 99 / 100]);
}
