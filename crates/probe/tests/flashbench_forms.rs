//! The forms in which tables come: each must give the table that was printed, or say what it could not.

use drivescope_probe::flashbench::{
    AlignRow, AlignTable, DiffFrom, NoteKind, Parsed, Table, parse,
};

/// From flashbench's README: figures of a real card.
const README: &str = "\
align 8388608\tpre 724µs\ton 1.04ms\tpost 768µs\tdiff 299µs
align 4194304\tpre 741µs\ton 1.08ms\tpost 788µs\tdiff 317µs
align 2097152\tpre 745µs\ton 950µs\tpost 811µs\tdiff 171µs
align 16384\tpre 745µs\ton 911µs\tpost 781µs\tdiff 148µs
align 8192\tpre 785µs\ton 808µs\tpost 725µs\tdiff 53.3µs
align 2048\tpre 787µs\ton 793µs\tpost 789µs\tdiff 4.65µs
";

fn one(text: &[u8]) -> Parsed {
    let all = parse("table.txt", text).unwrap_or_else(|e| panic!("{e}\n{}", text.escape_ascii()));
    let [parsed] = &all[..] else { panic!("{} tables: {all:?}", all.len()) };
    parsed.clone()
}

fn table(text: &[u8]) -> AlignTable {
    let Table::Align(table) = one(text).table else { panic!("no align table") };
    table
}

fn readme() -> AlignTable {
    let table = table(README.as_bytes());
    assert_eq!(table.rows.len(), 6);
    table
}

// Breaks when figures land in the wrong column or unit, or are held for more exact than they are printed.
#[test]
fn figures_units_and_resolution() {
    let rows = readme().rows;
    let AlignRow { align_bytes, pre_ns, on_ns, post_ns, diff_ns, diff_from, resolution } = rows[0];
    assert_eq!((align_bytes, pre_ns, on_ns, post_ns), (8 << 20, 724e3, 1.04e6, 768e3));
    assert_eq!((diff_ns, diff_from), (Some(299e3), DiffFrom::Printed));
    let steps = [resolution.pre_ns, resolution.on_ns, resolution.post_ns, resolution.diff_ns];
    assert_eq!(steps, [1e3, 1e4, 1e3, 1e3]);
    assert_eq!(rows[4].diff_ns, Some(53_300.0));
    assert_eq!(rows[4].resolution.diff_ns, 100.0);
    assert_eq!(rows[5].diff_ns, Some(4650.0));
    assert_eq!(rows[5].resolution.diff_ns, 10.0);
    // Below 1 µs whole nanoseconds are printed, trailing zeros of others are not.
    let text = "align 65536\tpre 2.4ms\ton 1e+03µ\tpost 30ns\tdiff -214930\n";
    let row = table(text.as_bytes()).rows[0];
    assert_eq!((row.pre_ns, row.on_ns, row.post_ns), (2.4e6, 1e6, 30.0));
    assert_eq!(
        (row.resolution.pre_ns, row.resolution.on_ns, row.resolution.post_ns),
        (1e4, 1e3, 1.0)
    );
    let text = "align 65536\tpre 2.135s\ton 13s\tpost 980ms\tdiff 11.44s\n";
    let row = table(text.as_bytes()).rows[0];
    assert_eq!((row.pre_ns, row.on_ns, row.diff_ns), (2.135e9, 13e9, Some(11.44e9)));
    assert_eq!((row.resolution.pre_ns, row.resolution.diff_ns), (1e6, 1e7));
}

// Breaks when a way of writing the micro sign is not known.
#[test]
fn every_micro_sign_gives_the_same_table() {
    let signs: [&[u8]; 13] = [
        "μs".as_bytes(),
        b"\xb5s",
        b"us",
        "Âµs".as_bytes(),
        "Î¼s".as_bytes(),
        "Ã‚Âµs".as_bytes(),
        b"&micro;s",
        b"?s",
        "\u{fffd}s".as_bytes(),
        "ï¿½s".as_bytes(),
        " µs".as_bytes(),
        "\u{a0}µs".as_bytes(),
        "µ".as_bytes(),
    ];
    for sign in signs {
        let parts: Vec<&[u8]> = README.split("µs").map(str::as_bytes).collect();
        let text = parts.join(sign);
        // A sign that lost its `s` lost its end: only diff shows whether that changes it.
        let rows = |table: AlignTable| {
            table.rows.into_iter().map(|row| AlignRow { diff_from: DiffFrom::Printed, ..row })
        };
        assert!(rows(table(&text)).eq(rows(readme())), "{}", sign.escape_ascii());
    }
}

// Breaks when times whose micro sign was lost are read as seconds, a million times too long.
#[test]
fn a_lost_micro_sign_is_found_missing() {
    let lost = one(README.replace('µ', "").as_bytes());
    assert_eq!(lost.table, Table::Align(readme()));
    let NoteKind::LostMicro { figures, all_lost } = lost.notes[0].kind else { panic!("{lost:?}") };
    assert_eq!((figures, all_lost, lost.notes.len()), (22, true, 1));
    // All of it in milliseconds but the differences, as on a slow card.
    let slow = "\
align 4294967296 pre 1.33ms on 1.65ms post 1.35ms diff 308s
align 2147483648 pre 1.34ms on 1.66ms post 1.36ms diff 308s
align 1073741824 pre 1.33ms on 1.65ms post 1.34ms diff 312s
";
    let diffs: Vec<_> = table(slow.as_bytes()).rows.iter().map(|row| row.diff_ns).collect();
    assert_eq!(diffs, [Some(308e3), Some(308e3), Some(312e3)]);
    // One figure of a table that has signs elsewhere: its row says what it is.
    let typed = README.replacen("on 950µs", "on 950s", 1);
    let typed = one(typed.as_bytes());
    assert_eq!(typed.table, Table::Align(readme()));
    assert_eq!(typed.notes[0].kind, NoteKind::LostMicro { figures: 1, all_lost: false });
}

// Breaks when real seconds, of a device that hangs, are taken for microseconds.
#[test]
fn seconds_stay_seconds() {
    let hung = "\
align 8192\tpre 785µs\ton 1.23s\tpost 725µs\tdiff 1.229s
align 4096\tpre 784µs\ton 2s\tpost 779µs\tdiff 1.999s
align 2048\tpre 787µs\ton 793µs\tpost 789µs\tdiff 4.65µs
";
    let hung = one(hung.as_bytes());
    let Table::Align(table) = &hung.table else { panic!("{hung:?}") };
    assert_eq!((table.rows[0].on_ns, table.rows[1].on_ns), (1.23e9, 2e9));
    assert_eq!(hung.notes, []);
    // Also where no figure is in microseconds.
    let slow = "\
align 8192\tpre 1.33ms\ton 2.1s\tpost 1.35ms\tdiff 2.099s
align 4096\tpre 1.33ms\ton 1.65ms\tpost 1.35ms\tdiff 0ns
";
    assert_eq!(table_rows(slow)[0].on_ns, 2.1e9);
}

fn table_rows(text: &str) -> Vec<AlignRow> {
    table(text.as_bytes()).rows
}

// Breaks when what mail programs, web pages, editors and terminals do to a text hides the table.
#[test]
fn every_layout_gives_the_same_table() {
    let lines = |with: &dyn Fn(&str) -> String| README.lines().map(with).collect::<String>();
    let wide = |big: bool| {
        let units = ['\u{feff}'].into_iter().chain(README.chars()).collect::<String>();
        let bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        units.encode_utf16().flat_map(bytes).collect::<Vec<u8>>()
    };
    let texts: Vec<(&str, Vec<u8>)> = vec![
        ("spaces", README.replace('\t', "   ").into_bytes()),
        ("no-break spaces", README.replace('\t', "\u{a0} \u{a0} ").into_bytes()),
        ("lost tabs", README.replace('\t', "").into_bytes()),
        ("CRLF", README.replace('\n', "\r\n").into_bytes()),
        ("no last line end", README.trim_end().as_bytes().to_vec()),
        ("blank lines", README.replace('\n', "\n\n \t\n").into_bytes()),
        ("quoted", lines(&|line| format!("> {line}\n")).into_bytes()),
        ("quoted twice", lines(&|line| format!("> >> {line}\n")).into_bytes()),
        ("indented", lines(&|line| format!("    {line}\n")).into_bytes()),
        ("joined", README.replace(['\n', '\t'], " ").into_bytes()),
        ("joined behind a comment", format!("# so: {}", README.replace('\n', " ")).into_bytes()),
        ("broken before diff", README.replace("\tdiff", "\ndiff").into_bytes()),
        ("broken behind diff", README.replace("diff ", "diff\n").into_bytes()),
        ("broken behind post", README.replace("post ", "post\n> ").into_bytes()),
        ("broken behind align", README.replace("\tpre", "\npre").into_bytes()),
        ("broken twice", README.replace("\tpre", "\npre").replace("\tpost", "\npost").into_bytes()),
        ("colours", lines(&|line| format!("\u{1b}[32m{line}\u{1b}[0m\n")).into_bytes()),
        ("bracketed paste", format!("\u{1b}[?2004l\r{README}").into_bytes()),
        ("mark of UTF-8", format!("\u{feff}{README}").into_bytes()),
        ("UTF-16, little end first", wide(false)),
        ("UTF-16, big end first", wide(true)),
        ("one line of Latin-1", [b"Gr\xfc\xdfe\n", README.as_bytes()].concat()),
        ("prose", format!("It aligns well:\n\n{README}\nThanks, and align 4 eyes!\n").into_bytes()),
        ("glued to what follows", format!("{}설명", README.trim_end()).into_bytes()),
        ("points", README.replace("µs\n", "µs.\n").into_bytes()),
    ];
    for (name, text) in texts {
        let parsed = one(&text);
        assert_eq!(parsed.table, Table::Align(readme()), "{name}");
        assert_eq!(parsed.notes, [], "{name}");
    }
}

// Breaks when commas of other countries are misread: 1,08 is not 108, and 1,080 is ambiguous.
#[test]
fn a_comma_is_a_point_where_it_can_be_nothing_else() {
    let commas = one(README.replace('.', ",").as_bytes());
    assert_eq!(commas.table, Table::Align(readme()));
    assert_eq!(commas.notes.iter().map(|n| &n.kind).collect::<Vec<_>>(), [&NoteKind::DecimalComma]);
    let thousands = README.replacen("1.04ms", "1,040µs", 1);
    let error = parse("a.txt", thousands.as_bytes()).unwrap_err();
    assert!(error.to_string().starts_with("a.txt:1: expected a time behind `on`"), "{error}");
}

// Breaks when a difference that flashbench cut after seven bytes is read as what is left of it.
#[test]
fn cut_differences_are_read_or_computed() {
    // Figures from an issue about them. (The third is of the first row, as if a digit more had been cut.)
    let text = "\
align 34359738368       pre 986µs       on 1.01ms       post 1.87ms     diff -412331
align 8589934592        pre 690µs       on 1.01ms       post 1.44ms     diff -49389n
align 2147483648        pre 986µs       on 1.01ms       post 9.87ms     diff -412331
align 536870912 pre 980µs       on 1.1ms        post 986µs      diff 114µs
align 32768 pre 47.5µs on 48µs post 47.5µs diff 535n...
align 16384 pre 980µs on 1.1ms post 986µs diff -1.2µs
";
    let parsed = one(text.as_bytes());
    let Table::Align(table) = &parsed.table else { panic!("{parsed:?}") };
    let diffs: Vec<_> =
        table.rows.iter().map(|row| (row.diff_ns.unwrap(), row.diff_from)).collect();
    let computed = 1.01e6 - (986e3 + 9.87e6) / 2.0;
    assert_eq!(
        diffs,
        [
            (-412_331.0, DiffFrom::CutUnit),
            (-49_389.0, DiffFrom::CutUnit),
            (computed, DiffFrom::Computed),
            (114e3, DiffFrom::Printed),
            (535.0, DiffFrom::CutUnit),
            (-1200.0, DiffFrom::Printed),
        ]
    );
    // It is as exact as it is printed, or as coarse as what it was computed from.
    assert_eq!(table.rows[0].resolution.diff_ns, 1.0);
    assert!(table.rows[2].resolution.diff_ns > 10e3);
    let kinds: Vec<_> = parsed.notes.iter().map(|note| (note.line, note.kind.clone())).collect();
    assert_eq!(
        kinds,
        [
            (1, NoteKind::DiffUnitCut { text: "-412331".to_owned() }),
            (2, NoteKind::DiffUnitCut { text: "-49389n".to_owned() }),
            (3, NoteKind::DiffComputed { text: "-412331".to_owned() }),
            (5, NoteKind::DiffUnitCut { text: "535n...".to_owned() }),
            (6, NoteKind::DiffDisagrees { printed_ns: -1200.0, computed_ns: 117e3 }),
        ]
    );
}

// Breaks when a text that ends anywhere in its last row gives a row that was never printed.
#[test]
fn a_text_may_end_anywhere() {
    let whole = readme();
    let last = README.trim_end().rfind('\n').unwrap() + 1;
    let (before, row) = whole.rows.split_at(whole.rows.len() - 1);
    let mut left_out = 0;
    for end in last..README.len() {
        let parsed = one(&README.as_bytes()[..end]);
        let Table::Align(cut) = &parsed.table else { panic!("{parsed:?}") };
        assert_eq!(cut.rows[..before.len()], *before, "cut at {end}");
        let Some(got) = cut.rows.get(before.len()) else {
            left_out += usize::from(cut.cut.is_some());
            continue;
        };
        let true_ = row[0];
        assert_eq!((got.align_bytes, got.pre_ns), (true_.align_bytes, true_.pre_ns), "{end}");
        assert_eq!((got.on_ns, got.post_ns), (true_.on_ns, true_.post_ns), "{end}");
        match got.diff_from {
            DiffFrom::Missing => assert_eq!(got.diff_ns, None),
            DiffFrom::Computed => assert_eq!(got.diff_ns, Some(got.computed_diff_ns())),
            DiffFrom::Printed | DiffFrom::CutUnit => {
                assert_eq!(got.diff_ns, true_.diff_ns, "{end}")
            }
        }
    }
    assert!(left_out > 20, "a row that is left out is told: {left_out}");
}

// Breaks when a damaged row inside a table goes unseen, or the error does not lead to it.
#[test]
fn a_row_that_cannot_be_read_inside_a_table_is_refused() {
    for (good, bad, expected) in [
        ("on 950µs", "on fast", "a time behind `on`"),
        ("on 950µs", "on 950", "a time behind `on`"),
        ("post 811µs", "post -811µs", "a time behind `post`"),
        ("pre 745µs\ton 950µs", "pre 745µs\toh 950µs", "a time behind `on`"),
    ] {
        let text = README.replacen(good, bad, 1);
        let error = parse("card.txt", text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("card.txt:3: expected {expected}, found")), "{error}");
    }
}

// Breaks when a digit that was typed wrongly goes unseen although the other figures of its row show it.
#[test]
fn a_wrong_digit_is_told() {
    let good = readme();
    let (mut told, mut small) = (0, 0);
    for (at, digit) in README.match_indices(|c: char| c.is_ascii_digit()) {
        let line = README[..at].matches('\n').count();
        let begun = README[..at].rfind('\n').map_or(0, |end| end + 1);
        if !README[begun..at].contains("pre") {
            continue;
        }
        for other in ('0'..='9').filter(|other| !digit.contains(*other)) {
            let text = format!("{}{other}{}", &README[..at], &README[at + 1..]);
            let parsed = one(text.as_bytes());
            let Table::Align(table) = &parsed.table else { panic!("{parsed:?}") };
            let (row, was) = (&table.rows[line], &good.rows[line]);
            let moved = |row: &AlignRow| row.diff_ns.unwrap() - row.computed_diff_ns();
            let far = (moved(row) - moved(was)).abs() > 4.0 * was.computed_diff_off_ns();
            let noted = parsed.notes.iter().any(|note| {
                matches!(note.kind, NoteKind::DiffDisagrees { .. })
                    && note.line as usize == line + 1
            });
            assert_eq!(noted, !row.agrees_with_itself(), "{text}");
            assert!(noted || !far, "{text}");
            (told, small) = (told + usize::from(noted), small + usize::from(!noted));
        }
    }
    assert!(told > 3 * small, "{told} told, {small} too small to tell");
}

// Breaks when an answer that quotes a table gives it a second time.
#[test]
fn a_repetition_is_left_out() {
    let quoted = README.lines().map(|line| format!("> {line}\n")).collect::<String>();
    let some = README.lines().nth(2).unwrap();
    let parsed = one(format!("{README}\nYou wrote:\n{quoted}\nLook at\n{some}\nagain.").as_bytes());
    assert_eq!(parsed.table, Table::Align(readme()));
    let kinds: Vec<_> = parsed.notes.iter().map(|note| &note.kind).collect();
    let line = |line| NoteKind::RepeatLeftOut { line };
    assert_eq!(kinds, [&line(9), &line(17)]);
    // Another run of the same test is not a repetition.
    let other = README.replace("724", "725").replace("741", "742").replace("745", "746");
    let other = other.replace("785", "786").replace("787", "788");
    assert_eq!(parse("a", format!("{README}{other}").as_bytes()).unwrap().len(), 2);
}
