//! Tables of rates and of places, and the information around them.

use drivescope_probe::flashbench::{
    FindFatTable, NoteKind, OpenAuTable, OtherKind, ParseError, Parsed, Scatter, Source,
    TEXT_BYTES_MAX, Table, parse, parse_all,
};

const FAST: &str = "4MiB    8.79M/s \n2MiB    7.41M/s \n1MiB    6.87M/s \n512KiB  912K/s  \n";

fn all(text: &str) -> Vec<Parsed> {
    parse("card.txt", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn open_au(parsed: &Parsed) -> &OpenAuTable {
    let Table::OpenAu(table) = &parsed.table else { panic!("{parsed:?}") };
    table
}

fn find_fat(parsed: &Parsed) -> &FindFatTable {
    let Table::FindFat(table) = &parsed.table else { panic!("{parsed:?}") };
    table
}

fn scatter(parsed: &Parsed) -> &Scatter {
    let Table::Scatter(table) = &parsed.table else { panic!("{parsed:?}") };
    table
}

fn rates(table: &OpenAuTable) -> Vec<(u64, f64)> {
    table.rows.iter().map(|row| (row.len_bytes >> 10, row.rate.bytes_per_s / 1e3)).collect()
}

// Breaks when an option of a command line is read wrongly: the inference then looks for the wrong thing.
#[test]
fn what_a_command_line_tells() {
    let told = |command: &str| {
        let text = format!("$ {command}\n{FAST}");
        let all = all(&text);
        let [parsed] = &all[..] else { panic!("{command}: {all:?}") };
        let table = open_au(parsed);
        (table.nr, table.random, table.erase_block, parsed.told.block_bytes)
    };
    const MIB: u64 = 1 << 20;
    let (e, b) = (Some(4 * MIB), Some(MIB / 2));
    let linear = [
        "flashbench -O --erasesize=$[4 * 1024 * 1024] --blocksize=$[512 * 1024] /dev/sdb --open-au-nr=3",
        "sudo ./flashbench --open-au --open-au-nr 3 --erasesize 4194304 --blocksize 524288 /dev/sdb",
        "./flashbench -O -e 4194304 -b524288 --open-au-nr=3 /dev/sdb",
        "/usr/bin/flashbench -Oe 0x400000 -b $((1 << 19)) --open-au-nr=3 /dev/sdb",
        "user@host:~/flashbench $ ./flashbench -O --erasesize=4M --blocksize=512K --open-au-nr=3 x",
        "root@host:~/flashbench# ./flashbench --open-au --open-au-nr=3 --erase=$((2**22)) -b 512KiB x",
        "flashbench -o out -O --erasesize=$[(2+2)*1024*1024] \\\n   --blocksize=$[512*1024] x --open-au-nr=3",
        "drivescope flashbench -O -e 4194304 -b 524288 --open-au-nr=3 sim:usb-8m",
    ];
    for command in linear {
        assert_eq!(told(command), (Some(3), Some(false), e, b), "{command}");
    }
    let random = [
        "flashbench -O -r --erasesize=4194304 --blocksize=524288 --open-au-nr=3 /dev/sdb",
        "flashbench -rO --erasesize=4194304 --blocksize=524288 --open-au-nr=3 /dev/sdb",
        "flashbench --open-au --random -e 4194304 -b 524288 --open-au-nr=3 /dev/sdb",
    ];
    for command in random {
        assert_eq!(told(command), (Some(3), Some(true), e, b), "{command}");
    }
    // Variables of a script give no value, and are not the default either.
    let script = "flashbench -O --erasesize=$ERASE --blocksize=$BLOCK --open-au-nr=$NR /dev/sdb";
    assert_eq!(told(script), (None, Some(false), None, None));
    // Not given: flashbench's own defaults, where the rows do not speak against them.
    assert_eq!(told("flashbench -O -b 524288 /dev/sdb"), (Some(2), Some(false), e, b));
    let other = all(&format!("flashbench -O /dev/sdb\n{}", FAST.replace("4MiB", "8MiB")));
    assert_eq!(open_au(&other[0]).erase_block, None);
    assert_eq!(open_au(&other[0]).nr_from, Some(Source::Default));
    // A command of another test says nothing about this one.
    assert_eq!(told("flashbench -a -b 1024 /dev/sdb"), (None, None, None, None));
}

// Breaks when what scripts and people write above a table is lost, or taken for more than it says.
#[test]
fn what_headlines_and_names_tell() {
    let told = |name: &str, before: &str| {
        let all = parse(name, format!("{before}\n{FAST}").as_bytes()).unwrap();
        let table = open_au(&all[0]);
        (table.nr, table.nr_from, table.random)
    };
    let heading = Some(Source::Heading);
    assert_eq!(
        told("a", "# note: open-au-nr=4, random, verdict: slow"),
        (Some(4), heading, Some(true))
    );
    assert_eq!(told("a", "======= AU=5, linear access ======="), (Some(5), heading, Some(false)));
    assert_eq!(told("a", "BLOCKSIZE = 1024 ERASESIZE = 4194304 AU = 6"), (Some(6), heading, None));
    // It says two things, or nothing about units.
    assert_eq!(told("a", "# claimed: 3 (nr=3 good, nr=4 slow)"), (None, None, None));
    assert_eq!(told("a", "# fat-nr=6, random"), (None, None, None));
    for no_number in
        ["AU = 4 MiB", "AU=4MiB", "AU: 4 MiB", "serial nr: 12", "AU size: 4194304", "nr=0"]
    {
        assert_eq!(told("a", no_number), (None, None, None), "{no_number}");
    }
    let erase = |text: &str| open_au(&all(&format!("{text}\n{FAST}"))[0]).erase_block;
    assert_eq!(erase("ERASESIZE = 4 MiB BLOCKSIZE = 1024"), Some(4 << 20));
    assert_eq!(erase("# erasesize=$[4 * 1024 * 1024]"), Some(4 << 20));
    assert_eq!(
        told("a", "# command: flashbench -O /dev/sdb (nr=3)"),
        (Some(3), heading, Some(false))
    );
    let name = Some(Source::FileName);
    assert_eq!(told("x/card-lin-nr3.txt", ""), (Some(3), name, Some(false)));
    assert_eq!(told("card_random_nr-2.log", ""), (Some(2), name, Some(true)));
    assert_eq!(told("nr.txt", ""), (None, None, None));
    // The command's number counts, and the difference is noted.
    let both = all(&format!("# nr=4\n$ flashbench -O --open-au-nr=3 x\n{FAST}"));
    assert_eq!(open_au(&both[0]).nr, Some(3));
    assert_eq!(both[0].notes[0].kind, NoteKind::NumbersDiffer { command: 3, heading: 4 });
}

// Breaks when one command's facts are given to a table that another one printed.
#[test]
fn each_table_has_its_own_command() {
    let text = format!(
        "Disk /dev/sdb: 3.7 GiB, 3965190144 bytes, 7744512 sectors\n\
         512000000 bytes (512 MB) copied, 20 s\n\
         $ flashbench -O --open-au-nr=1 /dev/sdb\n{FAST}\n\
         $ flashbench -O -r --open-au-nr=2 /dev/sdb\n{}^C\n\
         And one that nobody tells about:\n{}",
        FAST.replace('8', "7"),
        FAST.replace('8', "6"),
    );
    let all = all(&text);
    let facts: Vec<_> = all.iter().map(open_au).map(|t| (t.nr, t.random, t.stopped)).collect();
    assert_eq!(
        facts,
        [(Some(1), Some(false), false), (Some(2), Some(true), true), (None, None, false)]
    );
    assert!(all.iter().all(|parsed| parsed.told.capacity_bytes == Some(3_965_190_144)));
    assert_eq!(all[0].lines, (4, 7));
}

// Breaks when what a script ran in a loop gives its facts to the first table alone.
#[test]
fn a_loop_prints_many_tables() {
    let text = format!(
        "$ for i in 1 2; do echo open-au-nr=$i; flashbench -Or --open-au-nr=$i -b $[512<<10] /dev/sdb; done\n\
         open-au-nr=1\n{FAST}open-au-nr: 2\n{}",
        FAST.replace('8', "7"),
    );
    let all = all(&text);
    let facts: Vec<_> = all.iter().map(open_au).map(|t| (t.nr, t.random, t.erase_block)).collect();
    assert_eq!(facts, [(Some(1), Some(true), Some(4 << 20)), (Some(2), Some(true), Some(4 << 20))]);
    for parsed in &all {
        assert_eq!(parsed.told.block_bytes, Some(512 << 10));
        assert_eq!(parsed.told.device.as_deref(), Some("/dev/sdb"));
    }
}

// Breaks when what a forum puts around a table takes its first row away.
#[test]
fn tags_are_no_part_of_rows() {
    let bare = rates(open_au(&all(FAST)[0]));
    let trimmed = FAST.trim_end();
    for text in [
        format!("[code]{trimmed}[/code]"),
        format!("<pre>{trimmed}</pre>"),
        format!("```{trimmed}```"),
        FAST.replace('\n', "<br>\n"),
        FAST.replace('\n', "<br />"),
        FAST.replace('\n', " | |\n"),
        FAST.lines().map(|line| format!("| {} |\n", line.trim().replace("  ", " | "))).collect(),
    ] {
        assert_eq!(rates(open_au(&all(&text)[0])), bare, "{text}");
    }
}

// Breaks when tables without a number are numbered although some have one, or linear and random ones are mixed.
#[test]
fn order_numbers_tables_that_nothing_else_numbers() {
    let text = |digit: &str| FAST.replace('8', digit).into_bytes();
    let texts = [text("5"), text("6"), text("7")];
    let numbers = |names: [&str; 3]| -> Vec<_> {
        let given = names.into_iter().zip(texts.iter().map(Vec::as_slice));
        let all = parse_all(given).unwrap();
        all.iter().map(|parsed| (open_au(parsed).nr, open_au(parsed).nr_from)).collect()
    };
    let order = Some(Source::Order);
    assert_eq!(numbers(["a", "b", "c"]), [(Some(1), order), (Some(2), order), (Some(3), order)]);
    assert_eq!(
        numbers(["a", "b-nr3.txt", "c"]),
        [(None, None), (Some(3), Some(Source::FileName)), (None, None)]
    );
    assert_eq!(
        numbers(["a-lin", "b-rand", "c-lin"]),
        [(Some(1), order), (None, None), (Some(2), order)]
    );
    // One alone is not the first of a series.
    assert_eq!(open_au(&parse_all([("a", texts[0].as_slice())]).unwrap()[0]).nr, None);
}

// Breaks when a way of writing rates is not known, or a cut one is read as what is left of it.
#[test]
fn rates_in_every_form() {
    let text = "8MiB    3.755G/ \n4MiB    1e+03K/s\n2MiB  8.5 \n";
    let error = parse("a", text.as_bytes()).unwrap();
    assert_eq!(rates(open_au(&error[0])), [(8192, 3_755_000.0), (4096, 1000.0)]);
    assert_eq!(open_au(&error[0]).cut.as_ref().unwrap().line, 3);
    let steps: Vec<_> =
        open_au(&error[0]).rows.iter().map(|row| row.rate.step_bytes_per_s).collect();
    assert_eq!(steps, [1e6, 1e3]);
    let text = "> 3MiB\t8,5MB/s\n> 1.5MiB\t7.41 M/s\n";
    assert_eq!(parse("a", text.as_bytes()).unwrap().len(), 1, "a unit apart is no rate");
    let text = "3MiB 8,5MB/s\n1.5MiB 4MiB/s\n768KiB 850KB/s\n384KiB 999B/s\n";
    let parsed = all(text);
    let four = (4u64 << 20) as f64 / 1e3;
    assert_eq!(
        rates(open_au(&parsed[0])),
        [(3072, 8500.0), (1536, four), (768, 850.0), (384, 0.999)]
    );
    assert_eq!(parsed[0].notes[0].kind, NoteKind::DecimalComma);
    // All in one line, with words around it.
    let joined = format!("$ flashbench -O --open-au-nr=7 x {} (end)", FAST.replace('\n', " "));
    let joined = all(&joined);
    assert_eq!(rates(open_au(&joined[0])), rates(open_au(&all(FAST)[0])));
    assert_eq!(open_au(&joined[0]).nr, Some(7));
}

// Breaks when sentences about sizes and rates are taken for rows.
#[test]
fn prose_is_no_table() {
    for text in [
        "Writes of 4MiB run at 8.79M/s here.\n",
        "at 4MiB 8.79M/s and at 2MiB 7.41M/s\n",
        "We align 4 bytes pre and post.\n",
        "I get 512KiB  in a second\n",
        "1.5 2.5\n3.5 4.5\n",
        "",
    ] {
        let error = parse("post.txt", text.as_bytes()).unwrap_err();
        assert_eq!(error, ParseError::NoTable { file: "post.txt".to_owned() }, "{text}");
    }
    let long = vec![b' '; TEXT_BYTES_MAX + 1];
    assert!(matches!(parse("a", &long), Err(ParseError::TooLong { .. })));
}

// Breaks when a text that ends anywhere in its last row gives a row that was never printed.
#[test]
fn a_table_of_rates_may_end_anywhere() {
    let fat = "4MiB    865K/s   3.56M/s  3.01M/s  \n2MiB    4.3M/s   4.88M/s  5.11M/s  \n";
    for (text, columns) in [(FAST, 1), (fat, 3)] {
        let cells = |text: &str| -> Vec<(u64, Vec<f64>)> {
            match &all(text)[0].table {
                Table::OpenAu(table) => {
                    table.rows.iter().map(|r| (r.len_bytes, vec![r.rate.bytes_per_s])).collect()
                }
                Table::FindFat(table) => {
                    let cells = |rates: &[drivescope_probe::flashbench::Rate]| {
                        rates.iter().map(|rate| rate.bytes_per_s).collect()
                    };
                    table.rows.iter().map(|r| (r.len_bytes, cells(&r.rates))).collect()
                }
                table => panic!("{table:?}"),
            }
        };
        let whole = cells(text);
        assert!(whole.iter().all(|(_, cells)| cells.len() == columns));
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        for end in last..text.len() {
            let got = cells(&text[..end]);
            assert!(got.len() + 1 >= whole.len(), "{end}");
            assert_eq!(got[..], whole[..got.len()], "cut at {end}");
        }
    }
}

// Breaks when a damaged row inside a table goes unseen.
#[test]
fn damage_inside_a_table_of_rates_is_refused() {
    for (good, bad) in [("7.41M/s", "7.41"), ("7.41M/s", ""), ("8.79M/s", "8.79")] {
        let error = parse("a.txt", FAST.replacen(good, bad, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(": expected a rate like 8.79M/s, found"), "{error}");
    }
    let fat = "4MiB 1M/s 2M/s\n2MiB 1M/s\n1MiB 1M/s 2M/s\n";
    let error = parse("a.txt", fat.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("a.txt:2: expected as many rates as in the first row"), "{error}");
}

// Breaks when several tests of one command are not distinguished.
#[test]
fn one_command_may_print_several_tables() {
    let text = "\
$ flashbench -f -O -a --fat-nr=3 --erasesize=4194304 --blocksize=1048576 --open-au-nr=1 /dev/sdb
4MiB    865K/s   3.56M/s  3.01M/s
2MiB    4.3M/s   4.88M/s  5.11M/s
1MiB    3.99M/s  4.9M/s   5.23M/s
align 8388608\tpre 724µs\ton 1.04ms\tpost 768µs\tdiff 299µs
align 4194304\tpre 741µs\ton 1.08ms\tpost 788µs\tdiff 317µs
4MiB    6.45M/s
2MiB    5.19M/s
1MiB    5.19M/s
";
    let all = all(text);
    let [fat, align, open] = &all[..] else { panic!("{all:?}") };
    assert_eq!((find_fat(fat).erase_block, find_fat(fat).random), (Some(4 << 20), Some(false)));
    let width: Vec<usize> = find_fat(fat).rows.iter().map(|row| row.rates.len()).collect();
    assert_eq!(width, [3, 3, 3]);
    assert!(matches!(&align.table, Table::Align(table) if table.rows.len() == 2));
    assert_eq!(open_au(open).nr, Some(1));
    assert!(all.iter().all(|parsed| parsed.told.command.is_some()));
    // A mail program broke the wide rows.
    let mail = text.replace("  3.01M/s", "\n3.01M/s").replace("  5.11M/s", "\n5.11M/s");
    let mail = parse("a", mail.replace("   5.23M/s", "\n5.23M/s").as_bytes()).unwrap();
    assert_eq!(find_fat(&mail[0]), find_fat(fat));
}

// Breaks when output from which nothing is inferred passes for a table of another test, or is an error.
#[test]
fn other_output_is_recognised() {
    let interval = "\
512 bytes: min 230ns avg 1.32µs max 8.7µs: 2226.09 MB/s
1024 bytes: min 230ns avg 246ns max 320ns: 4452.17 MB/s
180214 MB/s, 217ns access time
bytes 512, time 230 overhead 10.1589
bytes 1024, time 230 overhead 7.31788
";
    let cells = "8.1M/s   8.2M/s   8.3M/s   9.1M/s   8M/s     8.1M/s   8.2M/s   9.2M/s  ";
    let sizes: Vec<String> = (0..13).map(|by| size_label((2 << 20) >> by)).collect();
    let program: String = sizes.iter().map(|size| format!("{size:<8}{cells}\n")).collect();
    let old = "1024 bytes: aligned 400µs unaligned 500µs diff 100000, 25% min 20% avg\n";
    for (text, kind, lines) in [
        (interval, OtherKind::Interval, 5),
        (program.as_str(), OtherKind::Program, 13),
        (old, OtherKind::Unaligned, 1),
    ] {
        let all = all(text);
        let [parsed] = &all[..] else { panic!("{all:?}") };
        let Table::Other(other) = parsed.table else { panic!("{parsed:?}") };
        assert_eq!((other.kind, other.lines), (kind, lines));
        assert_eq!(parsed.notes[0].kind, NoteKind::Skipped { kind });
    }
    // The same columns are of --find-fat where the command says so.
    let asked = format!("flashbench -f --fat-nr=8 -e 2097152 -b 512 x\n{program}");
    assert_eq!(find_fat(&all(&asked)[0]).rows.len(), 13);
}

fn size_label(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{}KiB", bytes >> 10),
        _ => format!("{}MiB", bytes >> 20),
    }
}

/// As flashbench prints it, in 32-bit arithmetic.
fn scatter_text(points: u32, block: i32) -> String {
    let line = |at: u32| {
        let offset = f64::from((at as i32).wrapping_mul(block)) / 1_048_576.0;
        format!("{offset:.6}\t{:.6}\n", 1.65 + f64::from(at % 7) / 1e3)
    };
    (0..points).map(line).collect()
}

// Breaks when places or times of --scatter are off by as little as a sector or a nanosecond.
#[test]
fn scatter_is_read_exactly() {
    let text = scatter_text(4096, 512);
    let all = all(&format!("$ flashbench -s --scatter-span=4 -b 512 /dev/sdb\n{text}"));
    let points = &scatter(&all[0]).points;
    assert_eq!(points.len(), 4096);
    assert!(points.iter().zip(0..).all(|(point, at)| point.offset_bytes == at * 512));
    assert_eq!(points[6].ns, 1_656_000.0);
    assert_eq!((all[0].told.scatter_span, all[0].told.block_bytes), (Some(4), Some(512)));
    // Two of them in one text.
    assert_eq!(parse("a", format!("{text}{text}").as_bytes()).unwrap().len(), 2);
    // As it was in 2010: bytes and nanoseconds.
    let old: String = (0..300).map(|at| format!("{}\t{}\n", at * 8192, 400_000 + at)).collect();
    let old = parse("a", old.as_bytes()).unwrap();
    let last = scatter(&old[0]).points[299];
    assert_eq!((last.offset_bytes, last.ns), (299 * 8192, 400_299.0));
}

// Breaks when offsets that flashbench's 32-bit arithmetic turned negative stay where they are not.
#[test]
fn wrapped_offsets_are_put_right() {
    let all = all(&scatter_text(16384, 262_144 * 2));
    let points = &scatter(&all[0]).points;
    assert_eq!(points.len(), 16384);
    assert!(points.iter().zip(0..).all(|(point, at)| point.offset_bytes == at * 524_288));
    let notes: Vec<_> = all[0].notes.iter().map(|note| (note.line, &note.kind)).collect();
    assert_eq!(notes, [(4097, &NoteKind::OffsetsWrapped), (12289, &NoteKind::OffsetsWrapped)]);
}

// Breaks when a scatter file that ends inside a line gives a time that was not measured, or one with a hole passes.
#[test]
fn scatter_may_end_anywhere_and_must_ascend() {
    let text = scatter_text(40, 8192);
    let whole = scatter(&all(&text)[0]).points.clone();
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    for end in last..text.len() {
        let parsed = all(&text[..end]);
        let got = &scatter(&parsed[0]).points;
        assert!(got[..] == whole[..39] || got[..] == whole[..], "cut at {end}");
    }
    let wrong = text.replacen("0.085938", "0.075938", 1);
    assert_ne!(wrong, text);
    let error = parse("s.dat", wrong.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("s.dat:12: expected an offset"), "{error}");
}
