//! Findings, and the bounds that they must keep.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::sheet;

/// A figure and the range that it must lie in.
#[derive(Clone, Debug)]
struct Claim {
    case: String,
    what: &'static str,
    found: String,
    allowed: String,
    holds: Option<bool>,
}

/// All claims, by section.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims {
    sections: Vec<(&'static str, String, Vec<Claim>)>,
}

impl Claims {
    /// Begins a section; `method` describes what is done.
    pub(super) fn section(&mut self, title: &'static str, method: impl Into<String>) {
        eprintln!("{title}");
        self.sections.push((title, method.into(), Vec::new()));
    }

    fn add(&mut self, claim: Claim) {
        let word = match claim.holds {
            Some(true) => "holds",
            Some(false) => "DOES NOT HOLD",
            None => "",
        };
        eprintln!("  {}, {}: {} {word}", claim.case, claim.what, claim.found);
        if let Some((_, _, claims)) = self.sections.last_mut() {
            claims.push(claim);
        }
    }

    /// A figure that must lie between `low` and `high`, with `digits` digits after the point.
    pub(super) fn within(
        &mut self,
        case: &str,
        what: &'static str,
        (found, digits): (f64, usize),
        (low, high): (f64, f64),
    ) {
        let allowed = match (low > f64::NEG_INFINITY, high < f64::INFINITY) {
            (true, true) => format!("{low:.digits$} to {high:.digits$}"),
            (true, false) => format!("at least {low:.digits$}"),
            _ => format!("at most {high:.digits$}"),
        };
        self.add(Claim {
            case: case.to_owned(),
            what,
            found: format!("{found:.digits$}"),
            allowed,
            holds: Some((low..=high).contains(&found)),
        });
    }

    /// A figure that must be `expected` within a share of it.
    pub(super) fn near(
        &mut self,
        case: &str,
        what: &'static str,
        (found, digits): (f64, usize),
        (expected, share): (f64, f64),
    ) {
        let holds = (found / expected - 1.0).abs() <= share;
        self.add(Claim {
            case: case.to_owned(),
            what,
            found: format!("{found:.digits$} ({:+.1}%)", 100.0 * (found / expected - 1.0)),
            allowed: format!("{expected:.digits$} ± {:.0}%", 100.0 * share),
            holds: Some(holds),
        });
    }

    /// Something that must be so.
    pub(super) fn must(&mut self, case: &str, what: &'static str, found: String, holds: bool) {
        let (case, allowed) = (case.to_owned(), String::new());
        self.add(Claim { case, what, found, allowed, holds: Some(holds) });
    }

    /// A figure that is reported without a limit.
    pub(super) fn told(&mut self, case: &str, what: &'static str, found: String) {
        let (case, allowed) = (case.to_owned(), String::new());
        self.add(Claim { case, what, found, allowed, holds: None });
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, &Claim)> {
        self.sections
            .iter()
            .flat_map(|(title, _, claims)| claims.iter().map(|claim| (*title, claim)))
    }

    /// Count of those that do not hold.
    pub(super) fn broken(&self) -> usize {
        self.all().filter(|(_, claim)| claim.holds == Some(false)).count()
    }

    /// The whole page; `head` states how it was made.
    pub(super) fn text(&self, head: &str) -> String {
        let asked = self.all().filter(|(_, claim)| claim.holds.is_some()).count();
        let verdict = match self.broken() {
            0 => format!("{asked} claims, all of them hold."),
            1 => format!("{asked} claims, of which 1 does not hold."),
            broken => format!("{asked} claims, of which {broken} do not hold."),
        };
        let mut text = format!("# Virtual drives of flash\n\n{verdict}\n\n{head}");
        for (title, method, claims) in &self.sections {
            let row = |claim: &Claim| {
                let holds = match claim.holds {
                    Some(true) => "yes",
                    Some(false) => "**no**",
                    None => "",
                };
                let Claim { case, what, found, allowed, .. } = claim;
                [case, *what, found, allowed, holds].map(str::to_owned).to_vec()
            };
            let rows: Vec<Vec<String>> = claims.iter().map(row).collect();
            let head = ["drive", "what", "found", "allowed", "holds"];
            let _ = write!(text, "\n## {title}\n\n{method}\n\n{}", sheet::table(2, &head, &rows));
        }
        text
    }

    /// Writes one line for each claim.
    ///
    /// # Errors
    /// Names the path.
    pub(super) fn write_raw(&self, path: &Path) -> Result<()> {
        let mut raw = "section;drive;what;found;allowed;holds\n".to_owned();
        for (title, claim) in self.all() {
            let Claim { case, what, found, allowed, holds } = claim;
            let holds = holds.map_or(String::new(), |holds| holds.to_string());
            let _ = writeln!(raw, "{title};{case};{what};{found};{allowed};{holds}");
        }
        fs::write(path, raw).with_context(|| format!("{}: cannot be written", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A claim outside its range that counted as held would make the page worthless.
    #[test]
    fn claims_hold_inside_their_ranges_alone() {
        let mut claims = Claims::default();
        claims.section("Section", "Method.");
        claims.within("a", "in", (1.0, 1), (0.5, 1.5));
        claims.within("a", "no bound above", (9.0, 1), (0.5, f64::INFINITY));
        claims.near("a", "near", (0.98, 2), (1.0, 0.03));
        claims.told("a", "told", "x".to_owned());
        assert_eq!(claims.broken(), 0);
        claims.within("b", "below", (0.4, 1), (0.5, 1.5));
        assert!(claims.text("head\n").contains("4 claims, of which 1 does not hold."));
        claims.near("b", "far", (0.96, 2), (1.0, 0.03));
        claims.must("b", "must", "different".to_owned(), false);
        claims.near("b", "nothing", (f64::NAN, 2), (1.0, 0.03));
        assert_eq!(claims.broken(), 4);
        let text = claims.text("head\n");
        assert!(text.contains("7 claims, of which 4 do not hold."), "{text}");
        assert!(text.contains("| b | below | 0.4 | 0.5 to 1.5 | **no** |"), "{text}");
        assert!(text.contains("| a | near | 0.98 (-2.0%) | 1.00 ± 3% | yes |"), "{text}");
    }
}
