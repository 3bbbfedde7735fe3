//! The log against a naive model of itself, and its write amplification against theory.

mod naive;
#[path = "../../../../oracles/mod.rs"]
mod oracles;
mod waf;

use self::oracles::theory;
use super::{Collected, Collection, Ftl, InitialState, Shape, SlcShape, Stream};

const POLICIES: [Collection; 3] = [Collection::Greedy, Collection::Fifo, Collection::Choices(3)];
const STATES: [InitialState; 3] = [InitialState::Fresh, InitialState::Filled, InitialState::Steady];

/// Units moved until the host may write on; `most` at a time.
fn catch_up(ftl: &mut Ftl, most: u32) -> u64 {
    let mut moved = 0;
    while ftl.is_behind() {
        let step = ftl.collect(most, |_, _| moved += 1);
        assert_ne!(step, Collected::Nothing, "behind, and nothing to collect");
    }
    moved
}

/// Over-provisioning of `op` on `data_blocks` blocks, net.
fn shape(op: f64, data_blocks: u32, units_per_block: u32) -> Shape {
    let slots = f64::from(data_blocks) * f64::from(units_per_block);
    let units = (slots / (1.0 + op)) as u32;
    Shape { units, data_blocks, units_per_block, slc: None }
}
