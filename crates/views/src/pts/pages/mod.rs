//! The report of enterprise tests: the pages that the specification asks for, as a document.

mod cover;
mod demand;
mod header;
mod iops;
mod latency;
mod parts;
mod recovery;
mod sweeps;
mod throughput;
mod wsat;

use pts::body::Body;
use pts::options::Test;
use record::Envelope;
use report::html::{Document, Page};

use parts::Part;

/// All pages of all tests, as one document. `written` is the date and time at which they ended; empty where that is not
/// known.
pub fn document(bodies: &[Body], envelope: &Envelope, written: &str) -> Document {
    let device = bodies.first().map_or("nothing", |body| body.device.name.as_str());
    Document {
        title: format!("Performance test report: {device}"),
        imprint: format!(
            "drivescope {}, run {}; laid out after SNIA SSS PTS {}",
            envelope.version,
            envelope.run_id,
            header::SPECIFICATION
        ),
        pages: pages(bodies, envelope, written),
        answers: true,
        ..Document::default()
    }
}

/// The pages alone. `written` as of [`document`].
pub fn pages(bodies: &[Body], envelope: &Envelope, written: &str) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut first_pages = Vec::new();
    for body in bodies {
        // The cover is the first.
        first_pages.push(pages.len() + 2);
        pages.extend(of_test(body, header::header(body, envelope, written)));
    }
    let mut all = vec![cover::page(bodies, envelope, written, &first_pages)];
    all.extend(pages);
    all
}

fn of_test(body: &Body, header: Vec<report::html::Facts>) -> Vec<Page> {
    let mut part = Part::new(body, header);
    match body.test {
        Test::Iops => iops::pages(&mut part),
        Test::Throughput => throughput::pages(&mut part),
        Test::Latency => latency::pages(&mut part),
        Test::Wsat => wsat::pages(&mut part),
        Test::Hir => recovery::idle(&mut part),
        Test::Xsr => recovery::stimuli(&mut part),
        Test::Cbw | Test::Dirth => demand::pages(&mut part),
        Test::QdSweep => sweeps::depth(&mut part),
        Test::Ezfio => sweeps::ezfio(&mut part),
    }
    part.pages
}
