//! What is to be issued when, and what became of it.

mod address;
mod options;
mod original;
mod pace;
mod permute;
mod plan;
mod reference;
mod requests;
mod rooms;
mod stream;
mod survey;
mod timeline;

pub use address::{AddressMap, CHUNK, Placed};
pub use options::{Clock, Count, Fit, Layout, Mode, Options, Scale, Writes};
pub use original::Original;
pub use plan::{Origin, Plan, Statement};
pub use reference::{ReferenceReader, ReferenceWriter};
pub use stream::{Counts, LeftOut, Opener, Stream};
pub use survey::{Reach, Survey};
