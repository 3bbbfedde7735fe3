use super::*;

/// A run of two threads on one target: reads of 4 KiB at 1, 2 and 3 ms, and a write at 8 ms in the second.
fn report() -> Report {
    let figures = |latencies_ms: &[u64], per_interval: &[u64]| {
        let mut latency = LatencyHistogram::new();
        latencies_ms.iter().for_each(|ms| latency.record(ms * 1_000_000));
        let ios = latencies_ms.len() as u64;
        Figures { bytes: 4096 * ios, ios, latency, per_interval: Some(per_interval.to_vec()) }
    };
    let none = || figures(&[], &[0, 0]);
    Report {
        command_line: vec!["diskspd".to_owned(), "-b4K".to_owned(), "t16".to_owned()],
        tool: ("drivescope".to_owned(), "1.2.3".to_owned()),
        host: "a&b".to_owned(),
        date: "2026-11-23T15:00:00Z".to_owned(),
        duration_s: 2,
        warm_up_s: 1,
        cool_down_s: 0,
        latency: true,
        interval_ms: Some(1000),
        seed: 7,
        targets: vec![Target {
            path: "t16".to_owned(),
            size: 67_108_864,
            direct: true,
            write_percent: 25,
            block: 4096,
            order: Order::Random,
            stride: 4096,
            depth: 2,
            end: 67_108_864,
            threads: Some(2),
            device: "vda".to_owned(),
            scheduler: "mq-deadline".to_owned(),
            ..Target::default()
        }],
        processors: vec![
            Processor { id: 0, user: 0.25, kernel: 0.125, waiting: 0.125, idle: 0.5 },
            Processor { id: 1, user: 0.0, kernel: 0.0, waiting: 0.0, idle: 1.0 },
        ],
        seconds: 2.0,
        rows: vec![
            Row { thread: 0, target: 0, reads: figures(&[1, 2], &[2, 0]), writes: none() },
            Row {
                thread: 1,
                target: 0,
                reads: figures(&[3], &[0, 1]),
                writes: figures(&[8], &[0, 1]),
            },
        ],
    }
}

/// Written by hand from the format strings of the original, with its tabs, blanks and the bracket that nothing opened.
const TEXT: &str = "
Command Line: diskspd -b4K t16

System info:
\tprocessor count: 2

Input parameters:

\tjob:   1
\t________
\tduration: 2s
\twarm up time: 1s
\tmeasuring latency
\tgathering IOPs at intervals of 1000ms
\trandom seed: 7
\ttotal threads: 2
\tpath: 't16'
\t\tsize: 67108864B
\t\tusing O_DIRECT
\t\tperforming mix test (read/write ratio: 75/25)
\t\tblock size: 4096
\t\tusing random I/O (alignment: 4096)
\t\tnumber of outstanding I/O operations: 2)
\t\tthread stride size: 0
\t\tthreads per file: 2
\t\tblock device: vda
\t\tdevice scheduler: mq-deadline

Results for job 1:
test time:         2s
*****************************************************

 CPU  |  Usage  |   User  |  Kernel | IO Wait |   Idle\x20
-------------------------------------------------------
    0 |  37.50% |  25.00% |  12.50% |  12.50% |  50.00%\x20
    1 |   0.00% |   0.00% |   0.00% |   0.00% | 100.00%\x20
-------------------------------------------------------
 avg:\t 18.75% |  12.50% |   6.25% |   6.25% |  75.00%

Total IO
thread |           bytes |         I/Os |       MB/s |  I/O per s | IopsStdDev | AvgLat(ms) | LatStdDev  | file
-------------------------------------------------------------------------------------------------------------------
     0 |            8192 |            2 |       0.00 |       1.00 |       1.00 |       1.500 |       0.500 | t16 (67108864B)
     1 |            8192 |            2 |       0.00 |       1.00 |       1.00 |       5.500 |       2.500 | t16 (67108864B)
-------------------------------------------------------------------------------------------------------------------
total:             16384 |            4 |       0.01 |       2.00 |       0.00 |       3.500 |       2.693 \n
Read IO
thread |           bytes |         I/Os |       MB/s |  I/O per s | IopsStdDev | AvgLat(ms) | LatStdDev  | file
-------------------------------------------------------------------------------------------------------------------
     0 |            8192 |            2 |       0.00 |       1.00 |       1.00 |       1.500 |       0.500 | t16 (67108864B)
     1 |            4096 |            1 |       0.00 |       0.50 |       0.50 |       3.000 |       0.000 | t16 (67108864B)
-------------------------------------------------------------------------------------------------------------------
total:             12288 |            3 |       0.01 |       1.50 |       0.50 |       2.000 |       0.816 \n
Write IO
thread |           bytes |         I/Os |       MB/s |  I/O per s | IopsStdDev | AvgLat(ms) | LatStdDev  | file
-------------------------------------------------------------------------------------------------------------------
     0 |               0 |            0 |       0.00 |       0.00 |       0.00 |       0.000 |       N/A | t16 (67108864B)
     1 |            4096 |            1 |       0.00 |       0.50 |       0.50 |       8.000 |       0.000 | t16 (67108864B)
-------------------------------------------------------------------------------------------------------------------
total:              4096 |            1 |       0.00 |       0.50 |       0.50 |       8.000 |       0.000 \n

  %-ile |\tRead (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      1.000 |      8.000 |      1.000
   25th |      1.000 |      8.000 |      1.000
   50th |      2.000 |      8.000 |      2.000
   75th |      3.000 |      8.000 |      3.000
   90th |      3.000 |      8.000 |      8.000
   95th |      3.000 |      8.000 |      8.000
   99th |      3.000 |      8.000 |      8.000
3-nines |      3.000 |      8.000 |      8.000
4-nines |      3.000 |      8.000 |      8.000
5-nines |      3.000 |      8.000 |      8.000
6-nines |      3.000 |      8.000 |      8.000
7-nines |      3.000 |      8.000 |      8.000
8-nines |      3.000 |      8.000 |      8.000
9-nines |      3.000 |      8.000 |      8.000
    max |      3.000 |      8.000 |      8.000

";

// Breaks when a script that reads diskspd's report by column or line does not find there what it looks for.
#[test]
fn the_text_is_the_originals_to_the_blank() {
    let text = text(&report());
    for (got, expected) in text.lines().zip(TEXT.lines()) {
        assert_eq!(close(got), close(expected));
    }
    assert_eq!(text.lines().count(), TEXT.lines().count());
}

/// Percentiles are exact to 0.1%, which the last digit may show.
fn close(line: &str) -> String {
    ["1.001", "2.001", "3.001", "3.002", "8.003", "8.004", "2.694", "0.817", "2.501", "2.502"]
        .into_iter()
        .zip([
            "1.000", "2.000", "3.000", "3.000", "8.000", "8.000", "2.693", "0.816", "2.500",
            "2.500",
        ])
        .fold(line.to_owned(), |line, (off, exact)| line.replace(off, exact))
}

#[test]
fn what_was_not_asked_for_is_not_there() {
    let plain = Report { latency: false, interval_ms: None, ..report() };
    let text = text(&plain);
    assert!(!text.contains("Lat") && !text.contains("StdDev") && !text.contains("-ile"));
    assert!(text.ends_with("\n\n\n"));
    let total = text.lines().find(|line| line.starts_with("total:")).unwrap();
    assert_eq!(total, "total:             16384 |            4 |       0.01 |       2.00 ");
    // The one-liner that everybody uses takes the sixth word.
    assert_eq!(total.split_whitespace().nth(5), Some("0.01"));
}

#[test]
fn what_was_asked_for_of_the_target_is_told() {
    let mut report = report();
    report.targets[0] = Target {
        order: Order::Interlocked,
        durable: true,
        base_offset: 512,
        end: 1024,
        fill: Fill::Random,
        separate: true,
        threads: None,
        ..report.targets[0].clone()
    };
    let text = text(&report);
    for line in [
        "\t\tusing O_SYNC",
        "\t\tusing interlocked sequential I/O (stride: 4096)",
        "\t\tbase file offset: 512 bytes",
        "\t\tmax file size: 1024 bytes",
        "\t\tfilling I/O buffers with random data",
        "\t\tseparating read and write buffers",
    ] {
        assert!(text.lines().any(|had| had == line), "{line}");
    }
    assert!(!text.contains("threads per file"));
}

#[test]
fn counts_that_were_not_kept_are_not_made_up() {
    let mut report = report();
    report.rows[0].reads.per_interval = None;
    let text = text(&report);
    assert!(text.contains("|        N/A |       1.500 |"), "{text}");
    assert!(!xml(&report).contains("<Bucket Sample"));
}

#[test]
fn the_xml_has_the_elements_of_windows() {
    let xml = xml(&report());
    let mut open = Vec::new();
    for line in xml.lines().map(str::trim) {
        let name = line.trim_start_matches(['<', '/']).split(['>', ' ']).next().unwrap();
        if line.starts_with("</") {
            assert_eq!(open.pop(), Some(name), "{line}");
        } else if !line.contains("</") && !line.ends_with("/>") {
            open.push(name);
        }
    }
    assert!(open.is_empty() && xml.starts_with("<Results>\n  <System>\n"));
    for line in [
        "    <ComputerName>a&amp;b</ComputerName>",
        "    <TestTimeSeconds>2.00</TestTimeSeconds>",
        "        <UsagePercent>37.50</UsagePercent>",
        "        <IdlePercent>62.50</IdlePercent>",
        "      <AverageReadMilliseconds>2.000</AverageReadMilliseconds>",
        "        <Percentile>99.9</Percentile>",
        "      <ReadIopsStdDev>0.500</ReadIopsStdDev>",
        "      <Bucket SampleMillisecond=\"2000\" Read=\"1\" Write=\"1\" Total=\"2\"/>",
        "        <BytesCount>8192</BytesCount>",
        "        <WriteCount>1</WriteCount>",
    ] {
        assert!(xml.lines().any(|had| had == line), "{line}: {xml}");
    }
    assert_eq!(xml.matches("<Thread>").count(), 2);
}
