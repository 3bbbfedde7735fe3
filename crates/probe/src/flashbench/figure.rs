//! Numbers with their units, and how exact they are as printed.

/// A number as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// Its digits, without sign and point.
    whole: u64,
    negative: bool,
    /// Significant digits printed.
    pub digits: u32,
    /// The power of ten of the last digit printed.
    pub last_place: i32,
    /// True for `1e+03`.
    pub exponent: bool,
    /// True when its decimal point is a comma.
    pub comma: bool,
}

/// More digits than any number has that flashbench prints; as many fit into 64 bits.
const DIGITS_MAX: usize = 18;

/// Reads a number at the beginning of `text`; gives what follows it.
pub(super) fn number(text: &str) -> Option<(Number, &str)> {
    let bytes = text.as_bytes();
    let digits_from = |from: usize| {
        from + bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count()
    };
    let begin = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let whole = digits_from(begin);
    if whole == begin {
        return None;
    }
    let mut end = whole;
    let mut comma = false;
    if let Some(point @ (b'.' | b',')) = bytes.get(whole) {
        let fraction = digits_from(whole + 1);
        let places = fraction - whole - 1;
        // A comma before three digits may divide thousands: such a number is not read at all.
        if *point == b',' && (places > 2 || places > 0 && bytes.get(fraction) == Some(&b'.')) {
            return None;
        }
        if places > 0 {
            comma = *point == b',';
            end = fraction;
        }
    }
    let places = end.saturating_sub(whole + 1);
    let mantissa = end;
    let mut power = 0;
    if bytes.get(end) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let last = digits_from(end + 1 + sign);
        if last > end + 1 + sign {
            power = text.get(end + 1..last)?.parse::<i32>().ok().filter(|p| p.abs() < 100)?;
            end = last;
        }
    }
    let printed =
        || text.get(begin..mantissa).unwrap_or_default().bytes().filter(u8::is_ascii_digit);
    let count = printed().count();
    if count > DIGITS_MAX {
        return None;
    }
    let whole = printed().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let number = Number {
        whole,
        negative: bytes.first() == Some(&b'-'),
        digits: u32::try_from(printed().skip_while(|digit| *digit == b'0').count()).ok()?,
        last_place: power - i32::try_from(places).ok()?,
        exponent: end > mantissa,
        comma,
    };
    Some((number, text.get(end..)?))
}

impl Number {
    /// The number, times a power of ten. Rounded once: as exact as a number can be.
    pub(super) fn times(&self, power: i32) -> f64 {
        let place = self.last_place + power;
        let whole = self.whole as f64;
        let size = if place < 0 { whole / 10f64.powi(-place) } else { whole * 10f64.powi(place) };
        if self.negative { -size } else { size }
    }

    pub(super) fn value(&self) -> f64 {
        self.times(0)
    }

    /// Distance to the next number that `%.Ng` prints differently, N being `significant`; finer where more digits
    /// are printed. Times a power of ten.
    fn step(&self, significant: i32, power: i32) -> f64 {
        if self.whole == 0 {
            return 10f64.powi(self.last_place + power);
        }
        let mut place = leading_place(self.value()) - (significant - 1);
        if self.exponent {
            // `1e+03` is also printed for values that were rounded up to it.
            place -= 1;
        }
        10f64.powi(place.min(self.last_place) + power)
    }
}

/// The power of ten of the first significant digit.
fn leading_place(value: f64) -> i32 {
    let size = value.abs();
    // The logarithm of a power of ten may come out just below it.
    let place = size.log10().floor() as i32;
    if size >= 10f64.powi(place + 1) { place + 1 } else { place }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Ns,
    Us,
    Ms,
    S,
}

impl TimeUnit {
    /// Nanoseconds in it, as a power of ten.
    fn power(self) -> i32 {
        match self {
            TimeUnit::Ns => 0,
            TimeUnit::Us => 3,
            TimeUnit::Ms => 6,
            TimeUnit::S => 9,
        }
    }
}

/// A time as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time {
    pub number: Number,
    /// `None` if it has none, or if the rest of it does not show which.
    pub unit: Option<TimeUnit>,
    /// True when its end is missing.
    pub cut: bool,
}

impl Time {
    /// In nanoseconds, with a unit of one's own.
    pub(super) fn ns_as(&self, unit: TimeUnit) -> f64 {
        self.number.times(unit.power())
    }

    /// Distance to the next time that prints differently, in nanoseconds.
    pub(super) fn step_as(&self, unit: TimeUnit) -> f64 {
        match unit {
            TimeUnit::Ns => 10f64.powi(self.number.last_place.min(0)),
            TimeUnit::Us | TimeUnit::Ms => self.number.step(3, unit.power()),
            TimeUnit::S => self.number.step(4, unit.power()),
        }
    }
}

/// Forms that the micro sign takes in texts: U+00B5, U+03BC, plain letters, entities, and either sign in UTF-8 taken
/// for Latin-1 once or twice, or replaced by a mark for an unprintable character.
const MICRO: [&str; 12] =
    ["µ", "μ", "u", "Âµ", "Î¼", "Ã‚Âµ", "ÃŽÂ¼", "&micro;", "&#181;", "?", "\u{fffd}", "ï¿½"];

/// Words that may follow a time without a space, where tabs were lost.
const FOLLOWERS: [&str; 5] = ["on", "post", "diff", "align", "pre"];

/// Reads a time at the beginning of `text`; gives what follows it. The unit is missing in a time that was cut.
pub(super) fn time(text: &str) -> Option<(Time, &str)> {
    let (number, behind) = number(text)?;
    let tight = behind.trim_start();
    if let Some((unit, whole, rest)) = time_unit(behind).or_else(|| time_unit(tight)) {
        let (dots, rest) = without_dots(rest);
        return Some((Time { number, unit: Some(unit), cut: !whole || dots }, rest));
    }
    let (_, rest) = without_dots(behind);
    is_end(rest).then_some((Time { number, unit: None, cut: true }, rest))
}

/// Unit, whether it is whole, and what follows it.
fn time_unit(text: &str) -> Option<(TimeUnit, bool, &str)> {
    let micro = MICRO.iter().filter_map(|sign| text.strip_prefix(sign));
    for rest in micro {
        if let Some(behind) = rest.strip_prefix('s').filter(|behind| is_end(behind)) {
            return Some((TimeUnit::Us, true, behind));
        }
        if is_end(rest) && !text.starts_with('?') {
            return Some((TimeUnit::Us, false, rest));
        }
    }
    let plain = [
        ("ns", TimeUnit::Ns, true),
        ("ms", TimeUnit::Ms, true),
        ("s", TimeUnit::S, true),
        ("n", TimeUnit::Ns, false),
        ("m", TimeUnit::Ms, false),
    ];
    plain.iter().find_map(|(name, unit, whole)| {
        let rest = text.strip_prefix(name).filter(|rest| is_end(rest))?;
        Some((*unit, *whole, rest))
    })
}

/// True when a figure may end before `rest`.
fn is_end(rest: &str) -> bool {
    let next = rest.chars().next();
    next.is_none_or(|c| c.is_whitespace() || ".,;)]#".contains(c) || !c.is_ascii())
        || FOLLOWERS.iter().any(|word| rest.starts_with(word))
}

/// Dots behind a figure say that it goes on: `535n...`.
fn without_dots(text: &str) -> (bool, &str) {
    let rest = text.trim_start_matches(['.', '…']);
    let dots = text.len() - rest.len();
    if dots >= 2 { (true, rest) } else { (false, text) }
}

/// Reads a rate that is all of `word`: value and step, in bytes per second. A `/` alone may be left of `/s`, since
/// flashbench cuts after seven bytes.
pub(super) fn rate(word: &str) -> Option<(f64, f64, bool)> {
    let (number, unit) = number(word)?;
    let unit = unit.strip_suffix("/s").or(unit.strip_suffix('/'))?;
    let (power, binary, significant) = match unit {
        "B" => (0, 0, 3),
        "K" | "k" | "KB" | "kB" => (3, 0, 3),
        "M" | "MB" => (6, 0, 3),
        "G" | "GB" => (9, 0, 4),
        "KiB" => (0, 10, 3),
        "MiB" => (0, 20, 3),
        "GiB" => (0, 30, 4),
        _ => return None,
    };
    let scale = f64::from(1u32 << binary);
    let step = if unit == "B" { 1.0 } else { number.step(significant, power) * scale };
    (!number.negative).then_some((number.times(power) * scale, step, number.comma))
}

/// Reads a size that is all of `word`: `4MiB`, `512KiB`, `512B`.
pub(super) fn size(word: &str) -> Option<u64> {
    let (number, unit) = number(word)?;
    let scale = match unit {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    let bytes = number.value() * f64::from(1u32 << scale);
    let fits = (1.0..=1e15).contains(&bytes) && bytes.fract() == 0.0;
    fits.then_some(bytes as u64)
}
