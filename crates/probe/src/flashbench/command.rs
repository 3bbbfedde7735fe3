//! Facts about a table from a command line, a comment or a file name.

use super::lines::clip;

/// As much of a line as a number and its unit take.
const VALUE_BYTES_MAX: usize = 80;

/// As much of a command, and of a device's name, as is kept.
const COMMAND_BYTES_MAX: usize = 400;
pub(super) const DEVICE_BYTES_MAX: usize = 200;

/// A call of flashbench as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub text: String,
    pub align: bool,
    pub open_au: bool,
    pub find_fat: bool,
    pub scatter: bool,
    pub program: bool,
    pub random: bool,
    pub nr: Given,
    pub erase_bytes: Given,
    pub block_bytes: Given,
    pub count: Given,
    pub fat_nr: Given,
    pub span: Given,
    pub device: Option<String>,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Given {
    /// Not given: the default holds.
    #[default]
    Absent,
    /// Given, but as a variable or otherwise without a value that can be read.
    Unknown,
    Value(u64),
}

impl Given {
    pub(super) fn value(self) -> Option<u64> {
        match self {
            Given::Value(value) => Some(value),
            Given::Absent | Given::Unknown => None,
        }
    }

    /// The value, or flashbench's default where it was left to that.
    pub(super) fn or_default(self, default: u64) -> Option<u64> {
        match self {
            Given::Absent => Some(default),
            given => given.value(),
        }
    }

    fn of(text: Option<&str>) -> Given {
        text.and_then(value).map_or(Given::Unknown, Given::Value)
    }
}

/// Long options, the letter of each, and whether a value belongs to it.
const OPTIONS: [(&str, char, bool); 18] = [
    ("out", 'o', true),
    ("scatter", 's', false),
    ("scatter-order", '\0', true),
    ("scatter-span", 'S', true),
    ("align", 'a', false),
    ("interval", 'i', false),
    ("interval-order", '\0', true),
    ("find-fat", 'f', false),
    ("findfat", 'f', false),
    ("fat-nr", 'F', true),
    ("open-au", 'O', false),
    ("open-au-nr", 'N', true),
    ("offset", '\0', true),
    ("random", 'r', false),
    ("verbose", 'v', false),
    ("count", 'c', true),
    ("blocksize", 'b', true),
    ("erasesize", 'e', true),
];

/// Letters that are not a short option of flashbench, but represent a long one in [`OPTIONS`].
const LONG_ONLY: [char; 3] = ['S', 'N', '\0'];

/// Reads a command line, if `line` holds one: the name of the program, with options behind it.
pub(super) fn command(line: &str) -> Option<Command> {
    let words = words(line);
    let is_program = |word: &str| {
        let word = word.trim_start_matches(['\'', '"', '`', '(', '$']);
        word.rsplit('/').next() == Some("flashbench")
    };
    let prompts = ["$", "#", ">", "%"];
    let at = (0..words.len()).find(|at| {
        let next = words.get(at + 1).is_some_and(|next| !prompts.contains(&next.as_str()));
        is_program(&words[*at]) && next && words[at + 1..].iter().any(|word| is_option(word))
    })?;
    let typed = words[at..].join(" ");
    let typed = typed.trim_end_matches(['`', '\'', '"', ':', ';', ',']);
    let mut command =
        Command { text: clip(typed, COMMAND_BYTES_MAX).to_owned(), ..Command::default() };
    let mut rest = words[at + 1..].iter().map(String::as_str);
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            let Some((_, letter, valued)) = option(name) else { continue };
            let value = if valued { value.or_else(|| rest.next()) } else { None };
            command.take(letter, value);
        } else if is_option(word) {
            command.take_letters(&word[1..], &mut rest);
        } else if command.device.is_none() || word.starts_with("/dev/") {
            let device = word.trim_matches(['\'', '"', '`', '.', ',', ')', ';', ':']);
            command.device = Some(clip(device, DEVICE_BYTES_MAX).to_owned());
        }
    }
    Some(command)
}

fn is_option(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|c: char| c == '-' || c.is_ascii_alphabetic()))
}

/// The long option that `name` is, or is the unambiguous beginning of.
fn option(name: &str) -> Option<(&'static str, char, bool)> {
    let name = name.trim_end_matches(['\'', '"', ']', ',', ')']);
    let whole = OPTIONS.iter().find(|(long, _, _)| *long == name);
    let mut begins = OPTIONS.iter().filter(|(long, _, _)| long.starts_with(name));
    match (whole, begins.next(), begins.next()) {
        (Some(found), _, _) | (None, Some(found), None) => Some(*found),
        _ => None,
    }
}

impl Command {
    /// True for a command of a script that ran it with several numbers of units: it printed a table for each.
    pub(super) fn is_in_loop(&self) -> bool {
        self.nr == Given::Unknown
    }

    fn take(&mut self, letter: char, value: Option<&str>) {
        match letter {
            'a' => self.align = true,
            's' => self.scatter = true,
            'f' => self.find_fat = true,
            'O' => self.open_au = true,
            'p' => self.program = true,
            'r' => self.random = true,
            'N' => self.nr = Given::of(value),
            'S' => self.span = Given::of(value),
            'F' => self.fat_nr = Given::of(value),
            'c' => self.count = Given::of(value),
            'b' => self.block_bytes = Given::of(value),
            'e' => self.erase_bytes = Given::of(value),
            _ => {}
        }
    }

    /// Letters behind one dash: `-aO`, `-b1024`, `-b 1024`.
    fn take_letters<'a>(&mut self, letters: &'a str, rest: &mut impl Iterator<Item = &'a str>) {
        for (at, letter) in letters.char_indices() {
            let short = !LONG_ONLY.contains(&letter);
            let valued = OPTIONS.iter().any(|(_, l, valued)| *l == letter && short && *valued);
            let behind = letters.get(at + letter.len_utf8()..).filter(|behind| !behind.is_empty());
            if valued {
                self.take(letter, behind.or_else(|| rest.next()));
                return;
            }
            if short {
                self.take(letter, None);
            }
        }
    }
}

/// Words of a command line. What a shell would compute, `$[4 * 1024]` or `$((4 * 1024))`, is one word.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut depth = 0u32;
    for sign in line.chars() {
        match sign {
            '[' | '(' if depth > 0 || word.ends_with('$') => depth += 1,
            ']' | ')' if depth > 0 => depth -= 1,
            _ => {}
        }
        if sign.is_whitespace() && depth == 0 {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        } else {
            word.push(sign);
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// A whole number as typed: digits, `0x…`, with K, M or G (binary), or computed by a shell.
pub(super) fn value(text: &str) -> Option<u64> {
    let text = text.trim_matches(['\'', '"', '`', ',', ';']).trim_end_matches('.');
    // A parenthesis at the end of a remark does not belong to a computation.
    let text = if text.contains(['(', '[']) { text } else { text.trim_end_matches([')', ']']) };
    if let Some(inner) = text.strip_prefix("$[").and_then(|rest| rest.strip_suffix(']')) {
        return computed(inner);
    }
    if let Some(inner) = text.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))")) {
        return computed(inner);
    }
    if let Some(hex) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text.get(..end)?.parse().ok()?;
    let scale = match text.get(end..)?.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" | "kb" => 10,
        "m" | "mib" | "mb" => 20,
        "g" | "gib" | "gb" => 30,
        _ => return computed(text),
    };
    number.checked_mul(1 << scale)
}

/// Products, sums and shifts of whole numbers, with parentheses, as shells have them.
fn computed(text: &str) -> Option<u64> {
    let mut sum = Sum { rest: text, depth: 0 };
    let value = sum.shifts()?;
    sum.rest.trim().is_empty().then_some(value)
}

struct Sum<'a> {
    rest: &'a str,
    depth: u32,
}

impl Sum<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn shifts(&mut self) -> Option<u64> {
        let mut value = self.terms()?;
        while self.takes("<<") {
            let by = u32::try_from(self.terms()?).ok().filter(|by| *by < 64)?;
            value = value.checked_mul(1 << by)?;
        }
        Some(value)
    }

    fn terms(&mut self) -> Option<u64> {
        let mut value = self.factors()?;
        loop {
            if self.takes("+") {
                value = value.checked_add(self.factors()?)?;
            } else if self.takes("-") {
                value = value.checked_sub(self.factors()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn factors(&mut self) -> Option<u64> {
        let mut value = self.powers()?;
        loop {
            if self.takes("*") {
                value = value.checked_mul(self.powers()?)?;
            } else if self.takes("/") {
                value = value.checked_div(self.powers()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn powers(&mut self) -> Option<u64> {
        let value = self.atom()?;
        if !self.takes("**") {
            return Some(value);
        }
        value.checked_pow(u32::try_from(self.atom()?).ok()?)
    }

    fn atom(&mut self) -> Option<u64> {
        if self.takes("(") {
            self.depth += 1;
            // People do not type more, and the stack is finite.
            let value = if self.depth <= 8 { self.shifts() } else { None };
            return value.filter(|_| self.takes(")"));
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let value = rest.get(..end)?.parse().ok()?;
        self.rest = rest.get(end..)?;
        Some(value)
    }
}

/// Facts in a comment or a headline: `# open-au-nr=3, linear`, `==== AU=2, random access ====`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heading {
    pub nr: Option<u32>,
    pub random: Option<bool>,
    pub erase_bytes: Option<u64>,
    pub block_bytes: Option<u64>,
}

/// Most open units that anybody tries; flashbench itself wraps around beyond 85 units of 4 MiB.
const NR_MAX: u64 = 4096;

impl Heading {
    /// Reads a line that is neither a command nor a row.
    pub(super) fn of(line: &str) -> Heading {
        let lower = line.to_ascii_lowercase();
        let nr = ["open-au-nr", "nr", "au"].iter().find_map(|key| keyed(&lower, key)).and_then(nr);
        let about = nr.is_some() || lower.contains("open-au");
        let random = ["random", "linear"].map(|word| about && lower.contains(word));
        Heading {
            nr,
            random: (random[0] != random[1]).then_some(random[0]),
            erase_bytes: keyed(&lower, "erasesize"),
            block_bytes: keyed(&lower, "blocksize"),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Heading::default()
    }

    /// Takes over what `later` says.
    pub(super) fn learn(&mut self, later: Heading) {
        self.nr = later.nr.or(self.nr);
        self.random = later.random.or(self.random);
        self.erase_bytes = later.erase_bytes.or(self.erase_bytes);
        self.block_bytes = later.block_bytes.or(self.block_bytes);
    }
}

pub(super) fn nr(value: u64) -> Option<u32> {
    u32::try_from(value).ok().filter(|_| (1..=NR_MAX).contains(&value))
}

/// The number behind `key`, which begins a word, and an equals sign: `nr=3`, `AU = 3`. `None` when a line has several
/// that differ: "nr=3 good, nr=4 slow" does not describe a table.
fn keyed(line: &str, key: &str) -> Option<u64> {
    let mut values = line.match_indices(key).filter_map(|(at, _)| {
        let before = line[..at].chars().next_back();
        let option = line[..at].ends_with("--");
        let begins = option || !before.is_some_and(|c| c.is_alphanumeric() || "_-".contains(c));
        let behind = line.get(at + key.len()..)?.trim_start();
        // Only the option's whole name is so rare that a colon will do: there are serial nr: 3 and AU: 4 MiB.
        let colon = if key == "open-au-nr" { behind.strip_prefix(':') } else { None };
        let behind = colon.or(behind.strip_prefix('=')).filter(|_| begins)?;
        let words = words(clip(behind, VALUE_BYTES_MAX));
        let number = words.first()?.trim_end_matches(['.', ':', ')']);
        let unit =
            words.get(1).filter(|unit| value(&format!("1{unit}")).is_some_and(|one| one > 1));
        unit.map_or_else(|| value(number), |unit| value(&format!("{number}{unit}")))
    });
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// Open units and order from a file's name: `card-lin-nr3.txt`, `random_nr=2`.
pub(super) fn file_name(name: &str) -> (Option<u32>, Option<bool>) {
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
    let parts: Vec<&str> = base.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let tight = parts.iter().find_map(|part| part.strip_prefix("nr")?.parse().ok());
    let loose =
        || parts.windows(2).find(|pair| pair[0] == "nr").and_then(|pair| pair[1].parse().ok());
    let has = |words: &[&str]| parts.iter().any(|part| words.contains(part));
    let random = [has(&["random", "rand", "rnd"]), has(&["linear", "lin"])];
    (tight.or_else(loose).and_then(nr), (random[0] != random[1]).then_some(random[0]))
}

/// Size of a whole device, where a line states it as `N bytes`: more than any erase block, in whole sectors.
pub(super) fn capacity(line: &str) -> Option<u64> {
    if ["copied", "transferred", "written", "record"].iter().any(|word| line.contains(word)) {
        return None;
    }
    let hex = line
        .split_once("filesize: 0x")
        .and_then(|(_, hex)| u64::from_str_radix(hex.split_whitespace().next()?, 16).ok());
    let stated = || {
        let (before, _) = line.split_once(" bytes")?;
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    hex.or_else(stated).filter(|bytes| *bytes >= 128 << 20 && bytes % 512 == 0)
}
