use proptest::prelude::*;

use super::*;

fn read(line: &str) -> Result<Options, UsageError> {
    Options::parse(&line.split_whitespace().collect::<Vec<_>>())
}

fn said(line: &str) -> String {
    read(line).unwrap_err().to_string()
}

#[test]
fn nothing_but_a_target_is_all_defaults() {
    let options = read("t16").unwrap();
    assert_eq!(options, Options { targets: vec!["t16".to_owned()], ..Options::default() });
    assert_eq!((options.block, options.depth, options.duration_s), (65_536, 2, 10));
    assert_eq!((options.warm_up_s, options.write_percent, options.total_threads()), (5, 0, 1));
}

// The command line that 14,000 runs were made with.
#[test]
fn a_line_as_scripts_write_it() {
    let options = read("-Zr -b1M -d10 -o8 -t1 -W5 -Sd -w0 /mnt/a").unwrap();
    assert_eq!(options.block, 1 << 20);
    assert_eq!((options.duration_s, options.warm_up_s, options.depth), (10, 5, 8));
    assert_eq!(options.buffers, Buffers { fill: Fill::Random, separate: false });
    assert_eq!(options.caching, Caching { direct: true, ..Caching::default() });
    assert!(options.random.is_none() && options.windows.is_empty());
    assert_eq!(read("-b4K -r x").unwrap().random, Some(Random::default()));
}

#[test]
fn every_option_is_read() {
    let line = "-a0-2,7,1 -n -b4K -B2b -c1G -d3 -D250 -f64M -F3 -g10K -L -o16 -r8K -s2b -Sds -T0 -v -w30 -W0 -xp -z9 \
                -Zzs one two";
    let options = read(line).unwrap();
    let expected = Options {
        targets: vec!["one".to_owned(), "two".to_owned()],
        cpus: Some(vec![0, 1, 2, 7]),
        no_affinity: true,
        block: 4096,
        base_offset: 8192,
        create: Some(1 << 30),
        duration_s: 3,
        iops_interval_ms: Some(250),
        end: Some(64 << 20),
        threads: Threads::Total(3),
        bytes_per_ms: Some(10_240),
        latency: true,
        depth: 16,
        random: Some(Random { align: Some(8192), percent: None }),
        stride: Some(Stride { interlocked: false, bytes: Some(8192) }),
        caching: Caching { direct: true, durable: true, mapped: false },
        thread_stride: Some(0),
        verbose: true,
        engine: Engine::PosixAio,
        write_percent: 30,
        warm_up_s: 0,
        cool_down_s: 0,
        seed: Seed::Given(9),
        buffers: Buffers { fill: Fill::Zeros, separate: true },
        results: ResultFormat::Text,
        windows: Vec::new(),
    };
    assert_eq!(options, expected);
    assert_eq!((options.total_threads(), options.threads_of_target()), (3, 3));
    assert_eq!(read("-t4 one two").unwrap().total_threads(), 8);
}

#[test]
fn values_may_be_missing_where_there_is_one_without() {
    let options = read("-r -w -z -D a").unwrap();
    assert_eq!(options.targets, ["a"]);
    assert_eq!((options.write_percent, options.iops_interval_ms), (0, Some(1000)));
    assert_eq!((options.seed, options.random), (Seed::Fresh, Some(Random::default())));
    assert_eq!(read("a").unwrap().seed, Seed::Unsaid);
    assert_eq!(read("-si a").unwrap().stride, Some(Stride { interlocked: true, bytes: None }));
    assert_eq!(read("-si8K a").unwrap().stride.unwrap().bytes, Some(8192));
}

#[test]
fn words_are_taken_apart_as_argp_does() {
    // A value that has to be there may be the next word; letters without one may be joined.
    assert_eq!(read("-b 4K a").unwrap().block, 4096);
    assert_eq!(read("a -Lnd5").unwrap(), read("-L -n -d5 a").unwrap());
    assert_eq!(read("--block-size=4K --lat a").unwrap(), read("-b4K -L a").unwrap());
    assert_eq!(read("--duration 7 a").unwrap().duration_s, 7);
    assert_eq!(
        read("--rand a").map(|o| o.seed),
        Err(UsageError::Ambiguous {
            given: "--rand".to_owned(),
            meant: vec!["--random-align".to_owned(), "--rand-seed".to_owned()],
        })
    );
    assert_eq!(read("-d1 -- -L").unwrap().targets, ["-L"]);
    assert_eq!(read("-d1 -").unwrap().targets, ["-"]);
    for help in ["--help", "-?", "--usage", "-L?"] {
        assert_eq!(read(help), Err(UsageError::Help));
    }
}

#[test]
fn what_only_windows_knows_is_marked() {
    let options = read("-Suw -C2 -Rxml -rs30,8K a").unwrap();
    assert_eq!(options.windows, ["-C2", "-Rxml", "-Suw", "-rs30,8K"]);
    assert_eq!(options.caching, Caching { direct: true, durable: true, mapped: false });
    assert_eq!((options.cool_down_s, options.results), (2, ResultFormat::Xml));
    assert_eq!(options.random, Some(Random { align: Some(8192), percent: Some(30) }));
    assert_eq!(read("-rs100 a").unwrap().random, Some(Random::default()));
    assert!(read("-Sm a").unwrap().caching.mapped);
    assert_eq!(read("-Sb a").unwrap().caching, Caching::default());
    assert!(read("-Sh -si -Rtext a").unwrap().windows == ["-Rtext"]);
}

#[test]
fn what_is_wrong_is_told_with_the_option() {
    for (line, told) in [
        ("", "no target"),
        ("-d1", "no target"),
        ("-b4K -b4K a", "-b: is given twice"),
        ("-L --latency a", "-L: is given twice"),
        ("-t2 -F2 a", "-t and -F: "),
        ("-T1M -si a", "-T and -si: "),
        ("-k a", "-k: there is no such option"),
        ("--cache a", "--cache: there is no such option"),
        ("-- ", "no target"),
        ("-Xprofile.xml", "-X: is an option of diskspd for Windows"),
        ("-h a", "-h: is an option of diskspd for Windows"),
        ("-b", "-b: its value is missing"),
        ("--overlap", "--overlap: its value is missing"),
        ("--latency=1 a", "--latency: takes no value"),
        ("-b0 a", "-b0: has to be a whole number above 0"),
        ("-b04K a", "-b04K: "),
        ("-b4k a", "-b4k: "),
        ("-b4KK a", "-b4KK: "),
        ("-b2b a", "-b2b: a block is not a number of blocks"),
        ("-bK a", "-bK: "),
        ("-b9999999999G a", "-b9999999999G: is more bytes"),
        ("-B-1 a", "-B-1: "),
        ("-d0 a", "-d0: has to be from 1"),
        ("-d5s a", "-d5s: has to be a whole number"),
        ("-d010 a", "-d010: "),
        ("-d4294967296 a", "-d4294967296: has to be from 1 to 4294967295"),
        ("-D0 a", "-D0: "),
        ("-o0 a", "-o0: "),
        ("-t0 a", "-t0: "),
        ("-F0 a", "-F0: "),
        ("-w101 a", "-w101: has to be a share from 0 to 100"),
        ("-w5% a", "-w5%: "),
        ("-W1.5 a", "-W1.5: "),
        ("-r0 a", "-r0: "),
        ("-rs0 a", "-rs0: has to be a share from 1 to 100"),
        ("-rs101,4K a", "-rs101,4K: "),
        ("-sx a", "-sx: "),
        ("-Sx a", "-Sx: has to be made of"),
        ("-Sbd a", "-Sbd: cannot both"),
        ("-xu a", "-xu: has to be k"),
        ("-xkp a", "-xkp: "),
        ("-zx a", "-zx: "),
        ("-z18446744073709551616 a", "-z18446744073709551616: "),
        ("-Zzr a", "-Zzr: z and r exclude"),
        ("-Z64K a", "-Z64K: "),
        ("-Rjson a", "-Rjson: "),
        ("-a a", "-aa: has to list processors"),
        ("-a3-1 x", "-a3-1: "),
        ("-a1, x", "-a1,: "),
        ("-a99999999 x", "-a99999999: "),
        ("-f4K -B4K a", "-f4096: ends at or before -B"),
    ] {
        let words = said(line);
        assert!(words.contains(told), "{line}: {words}");
    }
    // -r takes precedence, so that there is no cursor to share.
    assert!(read("-r -si -T1M a").is_ok());
}

#[test]
fn blocks_count_wherever_the_block_stands() {
    let a = read("-B3b -b8K -c100b -T2b x").unwrap();
    assert_eq!(a, read("-T2b -c100b -b8K x -B3b").unwrap());
    assert_eq!((a.base_offset, a.create, a.thread_stride), (24_576, Some(819_200), Some(16_384)));
}

/// One option in several spellings, all of which mean the same.
fn option() -> impl Strategy<Value = (char, Vec<String>)> {
    let valued = prop_oneof![
        (Just('b'), (1..4096_u64).prop_map(|n| format!("{n}K"))),
        (Just('B'), (1..4096_u64).prop_map(|n| n.to_string())),
        (Just('d'), (1..1000_u64).prop_map(|n| n.to_string())),
        (Just('o'), (1..1000_u64).prop_map(|n| n.to_string())),
        (Just('t'), (1..1000_u64).prop_map(|n| n.to_string())),
        (Just('g'), (1..1000_u64).prop_map(|n| format!("{n}b"))),
        (Just('W'), (0..1000_u64).prop_map(|n| n.to_string())),
        (Just('s'), (1..1000_u64).prop_map(|n| format!("i{n}M"))),
        (Just('Z'), Just("rs".to_owned())),
    ];
    (valued, 0..4_usize).prop_map(|((letter, value), spelling)| {
        let known = super::super::words::KNOWN;
        let long = known.iter().find(|(known, ..)| *known == letter).unwrap().1;
        let words = match spelling {
            0 => vec![format!("-{letter}{value}")],
            1 => vec![format!("-{letter}"), value],
            2 => vec![format!("--{long}={value}")],
            _ => vec![format!("--{long}"), value],
        };
        (letter, words)
    })
}

proptest! {
    // Breaks when an option swallows its neighbour, or when order or spelling change what is meant.
    #[test]
    fn order_and_spelling_mean_nothing(
        options in proptest::collection::vec(option(), 0..9), turn in 0..9_usize
    ) {
        let mut once = BTreeMap::new();
        options.into_iter().for_each(|(letter, words)| drop(once.insert(letter, words)));
        let mut words: Vec<Vec<String>> = once.into_values().collect();
        words.push(vec!["target".to_owned()]);
        let plain: Vec<String> = words.concat();
        let at = turn % words.len();
        words.rotate_left(at);
        prop_assert_eq!(Options::parse(&plain), Options::parse(&words.concat()));
        prop_assert!(Options::parse(&plain).is_ok());
    }

    // Breaks when some text makes it panic, or is taken for a size that it is not.
    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec("[-a-zA-Z0-9,=?]{0,8}", 0..6)) {
        if let Ok(options) = Options::parse(&words) {
            prop_assert!(options.block > 0 && options.depth > 0 && options.duration_s > 0);
            prop_assert!(!options.targets.is_empty() && options.total_threads() > 0);
        }
    }
}
