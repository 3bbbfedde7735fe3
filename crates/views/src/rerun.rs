//! A repetition beside its original.

use mark::repeat::{Outcome, Repeat, RepeatedTest};
use record::RunId;
use report::{Cell, Group, Row, Sheet, Standing, Tone};
use stats::{Better, Quantity, Unit};

use super::mark::title;

/// Lays out `repeat`, the comparison with the run `original`.
pub fn sheet(original: &RunId, repeat: &Repeat) -> Sheet {
    let (closing, tone) = closing(repeat);
    Sheet {
        title: format!("compared with {original}"),
        facts: vec![format!(
            "MB/s; a ratio within {}% of 1 on either side agrees",
            repeat.margin_percent
        )],
        groups: groups(repeat),
        caveats: Vec::new(),
        closing,
        tone,
    }
}

/// A table per direction, in the order of the tests.
fn groups(repeat: &Repeat) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for test in &repeat.tests {
        let title = title(&test.op);
        let row = row(test, repeat);
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.rows.push(row),
            None => {
                let columns = ["before", "again", "ratio", "95% interval"];
                let columns = columns.map(str::to_owned).to_vec();
                groups.push(Group { title, columns, rows: vec![row] });
            }
        }
    }
    groups
}

fn row(test: &RepeatedTest, repeat: &Repeat) -> Row {
    let name = test.name.clone();
    let quantity = |value: f64, unit: Unit| Quantity {
        value,
        low: None,
        high: None,
        confidence: repeat.confidence,
        unit,
        n: test.runs.1,
        n_effective: test.n_effective,
        better: Better::Higher,
    };
    let medians = test.original_mb_s.zip(test.repeated_mb_s);
    let (Some(ratio), Some((before, again))) = (test.ratio, medians) else {
        let reason = "one of the two has no run with a throughput".to_owned();
        let standing = Standing::Withdrawn { reason, instead: String::new() };
        return Row { name, standing, detail: vec![], proofs: vec![] };
    };
    let ratio = Quantity { low: ratio.low, high: ratio.high, ..quantity(ratio.ratio, Unit::Ratio) };
    let cells = vec![
        Cell::Value(quantity(before, Unit::MbPerS)),
        Cell::Value(quantity(again, Unit::MbPerS)),
        Cell::Value(ratio),
        Cell::Interval(ratio),
    ];
    Row { name, standing: Standing::Stands(cells), detail: vec![said(test)], proofs: vec![] }
}

fn said(test: &RepeatedTest) -> String {
    let (before, again) = test.runs;
    let outcome = match test.outcome {
        Outcome::Agrees => "agrees",
        Outcome::Faster => "faster",
        Outcome::Slower => "slower",
        Outcome::Undecided => "undecided: the interval reaches beyond the margin",
        Outcome::NotComparable => "not comparable: a number was withdrawn",
    };
    format!("{outcome}; {before} and {}", report::number::counted(again, "run"))
}

fn closing(repeat: &Repeat) -> (String, Tone) {
    let count = |outcome| repeat.tests.iter().filter(|t| t.outcome == outcome).count();
    let differ = count(Outcome::Faster) + count(Outcome::Slower);
    let (agree, all) = (count(Outcome::Agrees), repeat.tests.len());
    let lacking = count(Outcome::NotComparable);
    match (repeat.identical, differ) {
        (true, _) => ("Identical to the last bit.".to_owned(), Tone::Good),
        (false, 0) if repeat.must_be_identical => (
            "Not identical, which a virtual drive's must be: the model or drivescope has changed."
                .to_owned(),
            Tone::Bad,
        ),
        (_, 1..) => (format!("{differ} of {all} numbers differ."), Tone::Bad),
        _ if agree == all => (format!("All {all} numbers agree."), Tone::Good),
        _ if lacking == all => ("No number of the two can be compared.".to_owned(), Tone::Bad),
        _ => {
            let mut text = format!("{agree} of {all} numbers agree, and none is known to differ");
            if lacking > 0 {
                text += &format!("; {lacking} cannot be compared");
            }
            if agree + lacking < all {
                text += "; more runs would decide the others";
            }
            (text + ".", Tone::Mixed)
        }
    }
}
