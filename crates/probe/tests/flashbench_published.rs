//! All published tables that are kept beside the repository, and the articles that contain them.

use crate::common::{CASES, SOURCES, beside};
use drivescope_probe::flashbench::{
    AlignTable, DiffFrom, OpenAuTable, Parsed, Source, Table, judge, parse, parse_all,
};
use drivescope_probe::{Finding, Name};

fn align(parsed: &Parsed) -> &AlignTable {
    let Table::Align(table) = &parsed.table else { panic!("{:?}", parsed.table) };
    table
}

fn open_au(parsed: &Parsed) -> &OpenAuTable {
    let Table::OpenAu(table) = &parsed.table else { panic!("{:?}", parsed.table) };
    table
}

/// Rows in microseconds, as people read them.
fn micros(table: &AlignTable, align: u64) -> [f64; 4] {
    let row = table.rows.iter().find(|row| row.align_bytes == align).unwrap();
    [row.pre_ns, row.on_ns, row.post_ns, row.diff_ns.unwrap()].map(|ns| ns / 1e3)
}

/// Rates in kB/s, from the largest writes down.
fn rates(table: &OpenAuTable) -> Vec<f64> {
    table.rows.iter().map(|row| row.rate.bytes_per_s / 1e3).collect()
}

// Breaks when a published table of --align is read wrongly: a row lost, a figure in the wrong unit or column.
#[test]
fn every_published_align_table_is_whole_and_agrees_with_itself() {
    let Some(texts) = beside(CASES, "align-") else { return };
    for (name, text) in &texts {
        let all = parse(name, text).unwrap();
        // A row is a line that begins with the word; nothing else in these files does.
        let lines =
            String::from_utf8_lossy(text).lines().filter(|l| l.starts_with("align")).count();
        let rows: usize = all.iter().map(|parsed| align(parsed).rows.len()).sum();
        let cut = all.iter().filter(|parsed| align(parsed).cut.is_some()).count();
        assert_eq!(rows + cut, lines, "{name}");
        for row in all.iter().flat_map(|parsed| &align(parsed).rows) {
            assert!(row.agrees_with_itself(), "{name}: {row:?}");
        }
    }
}

// Breaks when the article's way of writing (other micro sign, blank lines between rows, prompts) is not understood.
#[test]
fn the_articles_themselves_are_read() {
    let Some(texts) = beside(SOURCES, "000_") else { return };
    let [(name, text)] = &texts[..] else { panic!("one article") };
    let all = parse(name, text).unwrap();
    let [first, rest @ ..] = &all[..] else { panic!("no table") };
    assert_eq!(
        first.told.command.as_deref(),
        Some("./flashbench -o result -a /dev/sdb --blocksize=1024")
    );
    assert_eq!(align(first).rows.len(), 21);
    assert_eq!(micros(align(first), 8 << 20), [483.0, 660.0, 481.0, 178.0]);
    assert_eq!(micros(align(first), 4 << 20), [480.0, 552.0, 483.0, 70.4]);
    assert_eq!(rest.len(), 3);
    for (nr, parsed) in (1..).zip(rest) {
        let table = open_au(parsed);
        assert_eq!((table.nr, table.nr_from), (Some(nr), Some(Source::Command)));
        assert_eq!((table.random, table.erase_block), (Some(false), Some(8 << 20)));
        assert_eq!(table.rows.len(), 11);
        assert_eq!(parsed.told.block_bytes, Some(8192));
    }
    assert_eq!(rates(open_au(&rest[1]))[8..], [13200.0, 8300.0, 3690.0]);
    assert_eq!(rates(open_au(&rest[2]))[..2], [20500.0, 13200.0]);
    // No remark on any of them: nothing had to be mended.
    assert!(all.iter().all(|parsed| parsed.notes.is_empty()), "{all:?}");
}

// Breaks when usage lines and prose around the README's tables are taken for tables, or its commands for prose.
#[test]
fn the_readme_is_read() {
    let Some(texts) = beside(SOURCES, "002_") else { return };
    let [(name, text)] = &texts[..] else { panic!("one document") };
    let all = parse(name, text).unwrap();
    let [first, two, three] = &all[..] else { panic!("{} tables", all.len()) };
    assert_eq!(align(first).rows.len(), 17);
    assert_eq!(micros(align(first), 128 << 20), [735.0, 1080.0, 780.0, 324.0]);
    assert_eq!(micros(align(first), 2048), [787.0, 793.0, 789.0, 4.65]);
    for (parsed, nr) in [(two, 2), (three, 3)] {
        assert_eq!((open_au(parsed).nr, open_au(parsed).random), (Some(nr), Some(false)));
        assert_eq!(open_au(parsed).erase_block, Some(4 << 20));
        assert_eq!(parsed.told.block_bytes, Some(256 << 10));
    }
    assert_eq!(rates(open_au(two)), [8790.0, 7410.0, 6870.0, 6390.0, 6270.0]);
    assert_eq!(rates(open_au(three)), [7750.0, 5030.0, 3240.0, 1760.0, 912.0]);
}

// Breaks when the contents of files do not distinguish tables of one device.
#[test]
fn tables_of_one_device_from_several_files() {
    let Some(texts) = beside(CASES, "openau-kingston4g-") else { return };
    // Given in the wrong order: what they say of themselves counts.
    let texts = texts.iter().rev().map(|(name, text)| (name.as_str(), text.as_slice()));
    let all = parse_all(texts).unwrap();
    let numbers: Vec<_> = all.iter().map(|parsed| open_au(parsed).nr).collect();
    assert_eq!(numbers, [Some(4), Some(3), Some(2), Some(1)]);
    for parsed in &all {
        let table = open_au(parsed);
        assert_eq!((table.erase_block, table.random), (Some(4 << 20), Some(false)));
        assert_eq!(parsed.told.capacity_bytes, Some(3_904_897_024));
        assert_eq!(parsed.told.block_bytes, Some(16 << 10));
    }
    assert_eq!(rates(open_au(&all[0])), [6060.0, 4490.0, 2820.0, 1250.0, 607.0, 302.0]);
}

// Breaks when columns of --find-fat are lost or taken for rows.
#[test]
fn the_published_table_of_find_fat() {
    let Some(texts) = beside(CASES, "fat-kingston4g") else { return };
    let [(name, text)] = &texts[..] else { panic!("one table") };
    let all = parse(name, text).unwrap();
    let [parsed] = &all[..] else { panic!("{name}: {} tables", all.len()) };
    let Table::FindFat(table) = &parsed.table else { panic!("{name}: {:?}", parsed.table) };
    assert_eq!(table.rows.len(), 9, "{name}");
    assert!(table.rows.iter().all(|row| row.rates.len() == 6), "{name}");
    let first: Vec<f64> = table.rows[0].rates.iter().map(|rate| rate.bytes_per_s).collect();
    assert_eq!(first, [865e3, 3.56e6, 3.01e6, 5.13e6, 5.14e6, 5.12e6]);
    assert_eq!((table.erase_block, table.random), (Some(4 << 20), Some(false)));
}

/// Findings from all tables of one device together, as `import flashbench` judges them.
fn said(prefixes: &[&str]) -> Option<Vec<Finding>> {
    let mut tables = Vec::new();
    for prefix in prefixes {
        let texts = beside(CASES, prefix)?;
        let texts = texts.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
        tables.extend(parse_all(texts).unwrap().into_iter().map(|parsed| parsed.table));
    }
    Some(judge(&tables, None))
}

// Breaks when a published table no longer gives what its author read in it, or more than the table shows.
#[test]
fn published_tables_give_the_values_of_their_authors() {
    let values = |findings: &[Finding]| -> Vec<(Name, u64)> {
        findings.iter().filter_map(|f| Some((f.name, f.value?))).collect()
    };
    let Some(readme) = said(&["align-readme", "openau-readme"]) else { return };
    let expected = [
        (Name::EraseBlock, 4 << 20),
        (Name::Page, 8 << 10),
        (Name::MultiPlanePage, 16 << 10),
        (Name::OpenAuLinear, 2),
    ];
    assert_eq!(values(&readme), expected, "{readme:#?}");
    let usb = said(&["align-source000", "openau-source000"]).unwrap();
    let expected =
        [(Name::EraseBlock, 8 << 20), (Name::MultiPlanePage, 16 << 10), (Name::OpenAuLinear, 1)];
    assert_eq!(values(&usb), expected, "{usb:#?}");
    // Its author: 2 or 4 MiB, three open, no zone to be seen; and nothing of a solid-state drive.
    let kingston = said(&["align-kingston4g", "openau-kingston4g", "fat-kingston4g"]).unwrap();
    let block = kingston.iter().find(|f| f.name == Name::EraseBlock).unwrap();
    assert!(block.value.is_none_or(|v| v == 2 << 20 || v == 4 << 20), "{block:?}");
    let class = &block.one_of;
    assert!(class.is_empty() || class.contains(&(2 << 20)) || class.contains(&(4 << 20)));
    let counted = |name: Name| kingston.iter().find(|f| f.name == name).and_then(|f| f.value);
    assert_eq!(counted(Name::OpenAuLinear), Some(3), "{kingston:#?}");
    assert_eq!(counted(Name::FatZone), None, "{kingston:#?}");
    assert_eq!(values(&said(&["align-issue9"]).unwrap()), []);
}

/// Files whose tables are whole, by the beginnings of their names; others may be added beside them.
const WHOLE: [&str; 8] = [
    "align-issue9-intel600p.",
    "align-kingston4g-sa04g.",
    "align-readme-4m-8k.",
    "align-source000-usb-8m-16k.",
    "fat-kingston4g.",
    "openau-kingston4g-lin-",
    "openau-readme-",
    "openau-source000-usb-",
];

// Breaks when one of the files cannot be read at all, or makes the reader say that it mended something where there is
// nothing to mend.
#[test]
fn all_published_files_are_read() {
    let Some(texts) = beside(CASES, "") else { return };
    for (name, text) in &texts {
        let all = parse(name, text).unwrap();
        if !WHOLE.iter().any(|whole| name.starts_with(whole)) {
            continue;
        }
        let [parsed] = &all[..] else { panic!("{name}: {} tables", all.len()) };
        assert_eq!(parsed.notes, [], "{name}");
        assert!(parsed.told.block_bytes.is_some() && parsed.told.device.is_some(), "{name}");
        if name.starts_with("align") {
            assert_eq!(parsed.told.block_bytes, Some(1024), "{name}");
            assert!(
                align(parsed).rows.iter().all(|row| row.diff_from == DiffFrom::Printed),
                "{name}"
            );
        }
        if let Table::OpenAu(table) = &parsed.table {
            assert_eq!(
                (table.nr_from, table.random),
                (Some(Source::Command), Some(false)),
                "{name}"
            );
        }
    }
}
