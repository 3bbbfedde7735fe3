//! The text that diskspd prints, on Windows and on Linux: totals of one time span, and nothing of how they came to be.

use super::error::JudgeError;
use super::recorded::{Figure, Format, Load, Pattern, Recorded};
use workload::fio_units::bytes;

/// True when `text` is diskspd's.
pub(super) fn is_it(text: &str) -> bool {
    text.contains("Input parameters:")
        && text.lines().any(|line| line.trim_start().starts_with("Results for "))
        && text.lines().any(|line| line.trim_start().starts_with("Total IO"))
}

/// What the lines of the input say; of several targets, the first.
#[derive(Default)]
struct Input {
    path: Option<String>,
    size_bytes: Option<u64>,
    block_bytes: Option<u64>,
    is_random: Option<bool>,
    alignment_bytes: Option<u64>,
    targets: u64,
}

/// Reads the time spans of `text`.
///
/// # Errors
/// When a table has no total, with the line of its head.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Recorded>, JudgeError> {
    let input = input(text);
    let mut results: Vec<Recorded> = Vec::new();
    let mut table: Option<(&str, u64)> = None;
    for (line, number) in text.lines().zip(1_u64..) {
        let line = line.trim();
        if let Some(span) = line.strip_prefix("Results for ") {
            results.push(begun(file, span.trim_end_matches(':'), &input));
        }
        let head =
            ["Total IO", "Read IO", "Write IO"].into_iter().find(|head| line.starts_with(head));
        if let Some(head) = head {
            unfinished(file, table)?;
            table = Some((head, number));
        } else if let (Some((head, _)), true) = (table, line.starts_with("total:")) {
            let total = total(line).ok_or_else(|| {
                let remedy = "give the text as diskspd printed it";
                JudgeError::at(file, number, "a total without bytes and I/Os", remedy)
            })?;
            table = None;
            if let Some(result) = results.last_mut() {
                take(result, head, total);
            }
        }
    }
    unfinished(file, table)?;
    for result in &mut results {
        if result.written_bytes == Some(0) {
            result.load.pattern = Pattern::ReadsOnly;
        }
    }
    if results.is_empty() {
        let remedy = "give the text of a run that ended";
        return Err(JudgeError::whole(file, "diskspd's text has no results", remedy));
    }
    Ok(results)
}

fn unfinished(file: &str, table: Option<(&str, u64)>) -> Result<(), JudgeError> {
    let Some((head, line)) = table else { return Ok(()) };
    let what = format!("the table {head} has no total");
    Err(JudgeError::at(
        file,
        line,
        what,
        "give the whole text, with the line that begins with total:",
    ))
}

fn input(text: &str) -> Input {
    let mut input = Input::default();
    for line in text.lines().map(str::trim) {
        let after = |name: &str| line.strip_prefix(name).map(str::trim);
        if let Some(path) = after("path:") {
            input.targets += 1;
            input.path.get_or_insert_with(|| path.trim_matches('\'').to_owned());
        } else if let (Some(size), None) =
            (after("size:").or_else(|| after("max file size:")), input.size_bytes)
        {
            input.size_bytes = size_of(size);
        } else if let (Some(size), None) = (after("block size:"), input.block_bytes) {
            input.block_bytes = size_of(size);
        } else if let (Some(alignment), None) =
            (after("using random I/O (alignment:"), input.is_random)
        {
            input.is_random = Some(true);
            input.alignment_bytes = size_of(alignment.trim_end_matches(')'));
        } else if input.is_random.is_none()
            && line.starts_with("using ")
            && line.contains("sequential I/O")
        {
            input.is_random = Some(false);
        }
    }
    input
}

/// `4KiB`, `4096` or `53687091200B`: diskspd's prefixes are those of the standard.
fn size_of(text: &str) -> Option<u64> {
    bytes(text.split_whitespace().next()?, 1000)
}

fn begun(file: &str, span: &str, input: &Input) -> Recorded {
    let mut result = Recorded::of(span.trim(), Format::Diskspd, file);
    let order = match input.is_random {
        Some(true) => "random",
        Some(false) => "in order",
        None => "order not told",
    };
    let block = input.block_bytes.map_or(String::new(), |bytes| format!(", {bytes} B"));
    let pattern = match input.is_random {
        Some(true) => Pattern::Random,
        Some(false) => Pattern::Sequential,
        None => Pattern::Unknown,
    };
    result.load =
        Load { words: format!("{order}{block}"), pattern, block_bytes: input.block_bytes };
    result.range_bytes = input.size_bytes.filter(|_| input.targets == 1);
    let apart = input.alignment_bytes.zip(input.block_bytes).filter(|(apart, block)| apart > block);
    if let Some((apart, block)) = apart {
        result.doubt(
            "aligned_apart",
            format!("random I/Os of {block} B were {apart} B apart: only 1/{} of the range was addressed", apart / block.max(1)),
            format!("give diskspd -r with the block size, such as -r{block}"),
        );
    }
    result
}

/// Bytes and I/Os, and I/Os a second, of `total: bytes | I/Os | MiB/s | I/O per s | …`.
fn total(line: &str) -> Option<(u64, f64, f64)> {
    let mut fields = line.strip_prefix("total:")?.split('|').map(str::trim);
    let bytes = fields.next()?.parse().ok()?;
    fields.next()?.parse::<u64>().ok()?;
    let mib_per_s: f64 = fields.next()?.parse().ok()?;
    let iops: f64 = fields.next()?.parse().ok()?;
    (mib_per_s.is_finite() && iops.is_finite()).then_some((bytes, mib_per_s, iops))
}

fn take(result: &mut Recorded, head: &str, (bytes, mib_per_s, iops): (u64, f64, f64)) {
    let name = match head {
        "Write IO" => {
            result.written_bytes = Some(bytes);
            "write"
        }
        "Read IO" => "read",
        _ => return,
    };
    if bytes > 0 {
        let figure = |value, unit| Figure { name: name.to_owned(), value, unit };
        // What diskspd calls MB/s on Linux counts 2^20 bytes too.
        let both = [figure(iops, "IOPS"), figure(mib_per_s * f64::from(1 << 20), "B/s")];
        result.figures.extend(both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Command Line: diskspd -b4K -r\n\nInput parameters:\n\n\tjob:   1\n\tduration: 30s\n\
        \tpath: 'F'\n\t\tsize: 1073741824B\n\t\tblock size: 4096\n\t\tusing random I/O (alignment: 65536)\n\
        Results for job 1:\ntest time: 30s\nTotal IO\nthread | bytes | I/Os | MB/s | I/O per s | file\n\
        total:  8192 | 2 | 0.50 | 2.00 |\n\nRead IO\ntotal: 0 | 0 | 0.00 | 0.00 |\n\nWrite IO\n\
        total: 8192 | 2 | 0.50 | 2.00 |\n";

    #[test]
    fn totals_and_what_was_asked() {
        assert!(is_it(TEXT));
        let results = read("d.txt", TEXT).unwrap();
        assert_eq!(results.len(), 1);
        let result = &results[0];
        assert_eq!((result.written_bytes, result.range_bytes), (Some(8192), Some(1 << 30)));
        assert_eq!(result.load.pattern, Pattern::Random);
        assert_eq!(result.figures.len(), 2);
        // -r without a number addresses every sixteenth block only.
        assert_eq!(result.caveats[0].code, "aligned_apart");
    }

    #[test]
    fn a_table_that_was_cut_off_is_named_with_its_line() {
        let cut = TEXT.rsplit_once("total:").unwrap().0;
        assert_eq!(read("d.txt", cut).unwrap_err().line, Some(20));
        assert!(read("d.txt", &TEXT.replace("| 2 |", "| x |")).unwrap_err().line.is_some());
        assert!(!is_it("nothing"));
    }
}
