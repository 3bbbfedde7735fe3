//! `drivescope sim`: what virtual drives there are, and one of them for other programs.

mod listing;
mod serve;
mod served;

use anyhow::Result;
use bench::opening;
use report::Style;

use crate::args::{SimArgs, SimVerb};
use crate::exit::Exit;
use crate::messages;
use crate::verbs::print_json;

/// Runs the verb.
///
/// # Errors
/// When the model is not known.
pub fn main(args: &SimArgs) -> Result<Exit> {
    match &args.verb {
        SimVerb::List { json: true } => print_json("drivescope.sim.list/1", sim::list())?,
        SimVerb::List { json: false } => {
            let listing = listing::listing(&sim::list());
            messages::result(&report::render_listing(&listing, Style::default()))?;
        }
        SimVerb::Show { model, json } => {
            let description = model.describe()?;
            opening::note_rounding(model, description.info.capacity_bytes);
            if *json {
                print_json("drivescope.sim.show/1", &description)?;
            } else {
                let listing = listing::description(&description)?;
                messages::result(&report::render_listing(&listing, Style::default()))?;
            }
        }
        SimVerb::Serve(args) => return serve::main(args),
    }
    Ok(Exit::Done)
}
