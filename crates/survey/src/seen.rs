//! Results of all parts of a survey.

use block::health::Health;
use block::{DriveInfo, Stack};
use mark::Direction;
use probe::{Finding, Name, Verdict};

/// Results for one drive when its parts are done. Parts that did not run are absent.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// Facts that the drive reports about itself.
    pub target: &'a DriveInfo,
    /// Layers that I/O to it passes through.
    pub stack: &'a Stack,
    /// The quick benchmark.
    pub mark: Option<&'a mark::Body>,
    /// Probes, in the order in which they worked.
    pub probes: Vec<&'a probe::Body>,
    /// Write saturation.
    pub wsat: Option<&'a pts::body::Body>,
    /// Health that the drives at the bottom of the stack report.
    pub health: &'a [Health],
}

impl Seen<'_> {
    /// The answer of probes about `name` and the body that holds it: the first that decides, else the last that does not.
    pub fn answer(&self, name: Name) -> Option<(&probe::Body, &Finding)> {
        let said = || self.probes.iter().filter_map(|body| Some((*body, body.finding(name)?)));
        let decides = |(_, finding): &(&probe::Body, &Finding)| finding.verdict != Verdict::Unknown;
        said().find(decides).or_else(|| said().next_back())
    }

    /// [`Seen::answer`] by itself.
    pub fn finding(&self, name: Name) -> Option<&Finding> {
        self.answer(name).map(|(_, finding)| finding)
    }

    /// The value that probes found for `name`.
    pub fn value(&self, name: Name) -> Option<u64> {
        self.finding(name).filter(|finding| finding.verdict == Verdict::Found)?.value
    }

    /// The test of the quick benchmark with this name and direction.
    pub fn test(&self, name: &str, direction: Direction) -> Option<&mark::body::Test> {
        let is_meant =
            |test: &&mark::body::Test| test.name == name && test.direction() == Some(direction);
        self.mark?.tests.iter().find(is_meant)
    }

    /// Reads of the whole range.
    pub fn surface(&self) -> Option<&probe::surface::Evidence> {
        self.probes.iter().find_map(|body| body.evidence.surface.as_ref())
    }
}
