//! The table of states: which lines ran in each, how they ended, and that the drives are what they were.

use std::fmt::Write as _;

use super::{InState, Row, Rows};
use crate::sheet;

/// Enough hex digits to distinguish two contents at sight; the raw figures have all.
const DIGITS: usize = 16;

pub(super) fn text(head: &str, rows: &Rows) -> String {
    let matrices: Vec<(&String, &Row)> =
        rows.iter().filter(|(_, row)| !row.states.is_empty()).collect();
    let sum = |of: &dyn Fn(&InState) -> usize, control: bool| -> usize {
        let states = matrices.iter().flat_map(|(_, row)| &row.states);
        states.filter(|state| state.control == control).map(of).sum()
    };
    let (cells, changed) = (sum(&|s| s.cells, false), sum(&|s| s.changed, false));
    let (controls, wrote) = (sum(&|s| s.cells, true), sum(&|s| s.changed, true));
    let faulty = sum(&|s| s.faulty, false) + sum(&|s| s.faulty, true);
    let mut text = String::from("# Nothing is written without consent\n\n");
    let _ = writeln!(
        text,
        "{cells} command lines ran on drives that had to stay as they were, in states that stand against writing: \
         {changed} of them changed a drive. {controls} ran where nothing stands against it, to show that they can write: \
         {wrote} did, and the others are lines that say why they do not, or are at fault. {faulty} are at fault: they ended \
         otherwise than they should, or wrote nothing where they had to.\n"
    );
    text.push_str(head);
    text.push_str(
        "The command lines are made from the tree of commands: each verb that can write to a drive, with each of its ways \
         to. Exit status 3 is the gate's refusal, 2 a command line that makes no sense for the target. The emulator's \
         image of each drive is hashed before and after every line. See [docs/lab.md](../lab.md) and \
         [docs/safety.md](../safety.md).\n",
    );
    for (name, row) in matrices {
        let _ = writeln!(
            text,
            "\n## {name}\n\n{}. Commit `{}`, {:.0} minutes.\n",
            row.summary,
            row.commit,
            row.seconds / 60.0
        );
        let lines: Vec<Vec<String>> = row.states.iter().map(line).collect();
        let head = ["state", "drives before and after (SHA-256)", "lines", "exit", "changed"];
        text.push_str(&sheet::table(2, &head, &lines));
    }
    text
}

fn line(state: &InState) -> Vec<String> {
    let short = |hash: &String| hash.get(..DIGITS).unwrap_or(hash).to_owned();
    let drives = state.sha256.iter().map(|(drive, [before, after])| match before == after {
        true => format!("{drive} `{}`, the same", short(before)),
        false => format!("{drive} `{}`, `{}`", short(before), short(after)),
    });
    let exits = state.exits.iter().map(|(exit, n)| match state.exits.len() {
        1 => exit.to_string(),
        _ => format!("{exit} ({n})"),
    });
    let name = state.name.replace('|', "\\|");
    vec![
        if state.control { format!("{name} (may write)") } else { name },
        drives.collect::<Vec<_>>().join("; "),
        state.cells.to_string(),
        exits.collect::<Vec<_>>().join(", "),
        state.changed.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    // A drive that was written to must not hide in a sum of such as may be.
    #[test]
    fn controls_are_counted_apart() {
        let state = |name: &str, control, changed, after: &str| InState {
            name: name.to_owned(),
            control,
            cells: 4,
            changed,
            exits: [(3, 3), (2, 1)].into(),
            sha256: [("a".to_owned(), ["x".to_owned(), after.to_owned()])].into(),
            ..InState::default()
        };
        let states = vec![state("free", true, 4, "y"), state("swap", false, 0, "x")];
        let row =
            Row { summary: "it holds".into(), commit: "0123".into(), states, ..Row::default() };
        let text = text("", &[("m".to_owned(), row)].into());
        assert!(text.contains("4 command lines ran on drives that had to stay"), "{text}");
        assert!(text.contains("0 of them changed a drive. 4 ran where"), "{text}");
        assert!(
            text.contains("| free (may write) | a `x`, `y` | 4 | 2 (1), 3 (3) | 4 |"),
            "{text}"
        );
        assert!(text.contains("| swap | a `x`, the same | 4 | 2 (1), 3 (3) | 0 |"), "{text}");
    }
}
