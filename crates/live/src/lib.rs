//! Progress of a run on stderr: a line, or a live view on the full screen.
//!
//! - [`progress`] is what a run reports its events to, and draws the line.
//! - [`view`] decides whether there is a live view, and draws it on a thread of its own.
//! - [`model`] is the state of a run made from its events, [`rates`] its rates over time.
//! - `keys` waits for the key that changes from the line to the view.
//! - [`page`] lays a model out, and the facts that instruments report.

mod keys;
pub mod model;
pub mod page;
pub mod progress;
pub mod rates;
pub mod view;

pub use progress::{Bar, Progress, bar};
pub use view::{Display, When};
