//! The XML that diskspd prints with `-Rxml`: `Results` with a `Profile`, which says what was asked, and a `TimeSpan` for each
//! of the profile's (its ResultParser and the schema beside its source).

use block::Nanos;

use super::diskspd::set_percentile;
use super::error::JudgeError;
use super::measured::{Asked, Measured, ToldLatency, Way};
use super::recorded::{Figure, Format, Load, Pattern, Recorded};
use super::xml::{self, Element};

/// True when `text` is diskspd's.
pub(super) fn is_it(text: &str) -> bool {
    text.contains("<Results>") && text.contains("<TestTimeSeconds>")
}

/// Reads the time spans of `text`.
///
/// # Errors
/// When it is not well formed, or a time span lacks its time or its I/Os, with the line.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Recorded>, JudgeError> {
    let root = xml::read(file, text)?;
    let spans: Vec<&Element> = root.children_called("TimeSpan").collect();
    let asked: Vec<&Element> = root
        .child("Profile")
        .and_then(|profile| profile.child("TimeSpans"))
        .map_or_else(Vec::new, |spans| spans.children_called("TimeSpan").collect());
    if spans.is_empty() {
        let remedy = "give the XML of a run that ended";
        return Err(JudgeError::at(file, root.line, "diskspd's XML has no results", remedy));
    }
    let version = root
        .child("System")
        .and_then(|system| Some(system.child("Tool")?.child("Version")?.text.trim().to_owned()));
    let mut results = Vec::new();
    for (index, span) in spans.into_iter().enumerate() {
        let mut result = Recorded::of(format!("timespan {}", index + 1), Format::DiskspdXml, file);
        result.tool_version.clone_from(&version);
        if let Some(asked) = asked.get(index) {
            take_asked(&mut result, asked);
        }
        take_results(&mut result, span).ok_or_else(|| {
            let remedy = "give the whole XML, as diskspd printed it";
            JudgeError::at(file, span.line, "a time span without its time or its I/Os", remedy)
        })?;
        results.push(result);
    }
    Ok(results)
}

fn number(element: &Element, name: &str) -> Option<f64> {
    let number: f64 = element.child(name)?.text.trim().parse().ok()?;
    Some(number).filter(|number| number.is_finite() && *number >= 0.0)
}

fn count(element: &Element, name: &str) -> Option<u64> {
    element.child(name)?.text.trim().parse().ok()
}

fn is_set(element: &Element, name: &str) -> bool {
    element.child(name).is_some_and(|child| child.text.trim() == "true")
}

fn seconds(element: &Element, name: &str) -> Option<Nanos> {
    let seconds = number(element, name).filter(|seconds| *seconds < 1e9)?;
    Some(Nanos((seconds * 1e9).round() as u64))
}

fn take_asked(result: &mut Recorded, span: &Element) {
    let targets: Vec<&Element> = span
        .child("Targets")
        .map_or_else(Vec::new, |targets| targets.children_called("Target").collect());
    let small = |count: u64| u16::try_from(count).ok().filter(|count| *count > 0);
    let first = targets.first();
    let of = |name: &str| first.and_then(|target| count(target, name));
    // With a ratio some I/Os follow the one before, which is neither order.
    let random = first
        .filter(|target| target.child("RandomRatio").is_none())
        .map(|target| target.child("Random").is_some());
    let each = targets
        .iter()
        .try_fold(0, |sum: u64, target| sum.checked_add(count(target, "ThreadsPerFile")?));
    // With -F all threads go over all targets; else each has threads of its own.
    let threads = count(span, "ThreadCount").filter(|count| *count > 0).or(each);
    let reads = of("WriteRatio").and_then(|writes| u8::try_from(100_u64.checked_sub(writes)?).ok());
    let block_bytes = of("BlockSize");
    result.load = Load {
        words: match (random, block_bytes) {
            (Some(is_random), Some(bytes)) => {
                format!("{}, {bytes} B", if is_random { "random" } else { "in order" })
            }
            _ => "unknown".to_owned(),
        },
        pattern: match random {
            Some(true) => Pattern::Random,
            Some(false) => Pattern::Sequential,
            None => Pattern::Unknown,
        },
        block_bytes,
    };
    result.asked = Asked {
        target: first
            .filter(|_| targets.len() == 1)
            .and_then(|target| Some(target.child("Path")?.text.trim().to_owned())),
        direct: first
            .map(|target| is_set(target, "DisableOSCache") || is_set(target, "DisableAllCache")),
        durable: first
            .map(|target| is_set(target, "WriteThrough") || is_set(target, "DisableAllCache")),
        random,
        depth: of("RequestCount").and_then(small),
        threads: threads.and_then(small),
        reads_percent: reads.filter(|reads| (1..100).contains(reads)),
        warm_up: seconds(span, "Warmup"),
        seed: count(span, "RandSeed").filter(|_| random == Some(true)),
        ..Asked::default()
    };
}

fn take_results(result: &mut Recorded, span: &Element) -> Option<()> {
    let time = seconds(span, "TestTimeSeconds")?;
    result.asked.duration = Some(time);
    let targets: Vec<&Element> = span
        .children_called("Thread")
        .flat_map(|thread| thread.children_called("Target"))
        .collect();
    if targets.is_empty() {
        return None;
    }
    let sizes: Vec<u64> = targets.iter().filter_map(|target| count(target, "FileSize")).collect();
    let is_one = result.asked.target.is_some();
    result.range_bytes = sizes.first().copied().filter(|_| is_one);
    for (way, name, side) in [(Way::Read, "read", "Read"), (Way::Write, "write", "Write")] {
        let sum = |what: &str| {
            let each = targets.iter().map(|target| count(target, &format!("{side}{what}")));
            each.sum_checked()
        };
        let (bytes, ios) = (sum("Bytes")?, sum("Count")?);
        if way == Way::Write {
            result.written_bytes = Some(bytes);
        }
        if ios > 0 && time.0 > 0 {
            let measured = measured(way, side, (bytes, ios, time), span);
            let figure = |value, unit| Figure { name: name.to_owned(), value, unit };
            let iops = measured.iops.unwrap_or(0.0);
            result.figures.extend([figure(iops, "IOPS"), figure(measured.bytes_per_s, "B/s")]);
            result.measured.push(measured);
        }
    }
    result.together = latency("Total", span);
    if result.written_bytes == Some(0) {
        result.load.pattern = Pattern::ReadsOnly;
    }
    Some(())
}

/// A sum that is `None` when a part is missing or the sum overflows.
trait SumChecked {
    fn sum_checked(self) -> Option<u64>;
}

impl<I: Iterator<Item = Option<u64>>> SumChecked for I {
    fn sum_checked(mut self) -> Option<u64> {
        self.try_fold(0_u64, |sum, part| sum.checked_add(part?))
    }
}

/// Latencies of a `side`: `Read`, `Write` or `Total`.
fn latency(side: &str, span: &Element) -> ToldLatency {
    let mut latency = ToldLatency::default();
    if let Some(told) = span.child("Latency") {
        let ns = |element: &Element, name: &str| number(element, name).map(|ms| ms * 1e6);
        latency.mean_ns = ns(told, &format!("Average{side}Milliseconds"));
        for bucket in told.children_called("Bucket") {
            let name = bucket.child("Percentile").map(|name| name.text.trim().to_owned());
            let value = ns(bucket, &format!("{side}Milliseconds"));
            if let Some((name, ns)) = name.zip(value) {
                set_percentile(&mut latency, &name, ns.round() as u64);
            }
        }
    }
    latency
}

fn measured(way: Way, side: &str, moved: (u64, u64, Nanos), span: &Element) -> Measured {
    let (bytes, ios, time) = moved;
    let latency = latency(side, span);
    let seconds = time.as_secs_f64();
    Measured {
        way,
        bytes: Some(bytes),
        ios: Some(ios),
        duration_ns: Some(time.0),
        bytes_per_s: bytes as f64 / seconds,
        iops: Some(ios as f64 / seconds),
        submission_ns: None,
        latency,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "<Results>\n<System><Tool><Name>DISKSPD</Name><Version>2.2</Version></Tool></System>\n\
        <Profile><TimeSpans><TimeSpan><Warmup>5</Warmup><RandSeed>3</RandSeed><ThreadCount>0</ThreadCount><Targets><Target>\
        <Path>C:\\f</Path><BlockSize>4096</BlockSize><DisableOSCache>true</DisableOSCache><Random>4096</Random>\
        <RequestCount>8</RequestCount><WriteRatio>30</WriteRatio><ThreadsPerFile>2</ThreadsPerFile></Target></Targets>\
        </TimeSpan></TimeSpans></Profile>\n<TimeSpan><TestTimeSeconds>2.00</TestTimeSeconds><Latency>\
        <AverageReadMilliseconds>0.5</AverageReadMilliseconds><Bucket><Percentile>0</Percentile><ReadMilliseconds>0.1\
        </ReadMilliseconds></Bucket><Bucket><Percentile>99.9</Percentile><ReadMilliseconds>4.5</ReadMilliseconds></Bucket>\
        </Latency>\n<Thread><Id>0</Id><Target><Path>C:\\f</Path><FileSize>1048576</FileSize><ReadBytes>8192</ReadBytes>\
        <ReadCount>2</ReadCount><WriteBytes>4096</WriteBytes><WriteCount>1</WriteCount></Target></Thread>\
        <Thread><Id>1</Id><Target><Path>C:\\f</Path><FileSize>1048576</FileSize><ReadBytes>8192</ReadBytes>\
        <ReadCount>2</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount></Target></Thread></TimeSpan></Results>";

    // Threads that are not added up give only a part of the drive's speed; without its load, a result cannot be compared with a
    // test of ours.
    #[test]
    fn threads_add_up_and_the_profile_says_what_was_asked() {
        assert!(is_it(XML));
        let result = &read("x.xml", XML).unwrap()[0];
        let asked = &result.asked;
        assert_eq!((asked.depth, asked.threads, asked.reads_percent), (Some(8), Some(2), Some(70)));
        assert_eq!((asked.direct, asked.durable, asked.seed), (Some(true), Some(false), Some(3)));
        assert_eq!((result.range_bytes, result.written_bytes), (Some(1 << 20), Some(4096)));
        let [read, write] = result.measured.as_slice() else { panic!("{result:?}") };
        assert_eq!((read.bytes, read.ios, read.iops), (Some(16384), Some(4), Some(2.0)));
        assert_eq!((read.latency.mean_ns, read.latency.min_ns), (Some(500_000.0), Some(100_000)));
        assert_eq!(read.latency.percentile(99.9), Some(4_500_000));
        assert_eq!((write.ios, write.latency.mean_ns), (Some(1), None));
    }

    // Of a document that was cut off, the numbers that are left are not those of the run.
    #[test]
    fn what_is_cut_off_or_missing_is_named_with_its_line() {
        assert!(read("x.xml", &XML[..XML.len() - 20]).unwrap_err().line.is_some());
        let missing = XML.replace("<TestTimeSeconds>2.00</TestTimeSeconds>", "");
        assert_eq!(read("x.xml", &missing).unwrap_err().line, Some(4));
        assert!(read("x.xml", &XML.replace("<ReadCount>2", "<ReadCount>x")).is_err());
    }
}
