//! Dates as tables have them: `2025-11-02 10:15:30.123456`, with `T` between, and with a zone behind.

use super::fields::{decimal, digits_behind_point, whole};

/// A date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// Nanoseconds since 1970 in UTC.
    pub unix_ns: u64,
    /// Digits behind the point of its seconds.
    pub digits: usize,
    /// It says its zone.
    pub zoned: bool,
}

/// The date that `text` is, of UTC where it has no zone; none of what is none, or is before 1970.
pub fn date(text: &[u8]) -> Option<Date> {
    let day = text.get(..10)?;
    let dashed = [day[4], day[7]] == [b'-'; 2] || [day[4], day[7]] == [b'/'; 2];
    let between = dashed && matches!(text.get(10), Some(b' ' | b'T' | b't'));
    let days =
        days(whole(&day[..4])?, whole(&day[5..7])?, whole(&day[8..])?).filter(|_| between)?;
    let time = &text[11..];
    let end = time.iter().position(|byte| !b"0123456789:.".contains(byte)).unwrap_or(time.len());
    let (clock, zone) = (time.get(..end)?, time[end..].trim_ascii());
    let colons = [clock.get(2)?, clock.get(5)?] == [&b':'; 2];
    let (hours, minutes) = (whole(&clock[..2])?, whole(&clock[3..5])?);
    let seconds = clock.get(6..).filter(|seconds| colons && seconds.len() >= 2)?;
    let ns = decimal(seconds, 1_000_000_000)?;
    if hours > 23 || minutes > 59 || ns >= 61_000_000_000 {
        return None;
    }
    let local =
        ((days * 24 + hours) * 60 + minutes).checked_mul(60_000_000_000)?.checked_add(ns)?;
    let ahead_minutes = ahead(zone)?;
    let unix_ns = i128::from(local) - i128::from(ahead_minutes) * 60_000_000_000;
    Some(Date {
        unix_ns: u64::try_from(unix_ns).ok()?,
        digits: digits_behind_point(seconds),
        zoned: !zone.is_empty(),
    })
}

/// By how many minutes the clocks of a zone are ahead of UTC: of ``, `Z`, `UTC`, `+01:00`, `+0100`, `+01`.
fn ahead(zone: &[u8]) -> Option<i64> {
    let (sign, digits) = match zone {
        b"" | b"Z" | b"z" | b"UTC" | b"GMT" => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (digits, &b"0"[..]),
        4 => digits.split_at(2),
        5 if digits[2] == b':' => (&digits[..2], &digits[3..]),
        _ => return None,
    };
    let (hours, minutes) = (whole(hours)?, whole(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes).cast_signed())
}

/// Days from 1970 to a day; none where the calendar has none such.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, 28 + u64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let index = usize::try_from(month.checked_sub(1)?).ok()?;
    if year < 1970 || day == 0 || day > *lengths.get(index)? {
        return None;
    }
    let before = year - 1;
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leaps(before) - leaps(1969);
    Some(years + lengths[..index].iter().sum::<u64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds by `date -u -d ... +%s`.
    #[test]
    fn dates_are_counted_from_1970_in_utc() {
        for (text, seconds, digits, zoned) in [
            ("1970-01-01 00:00:00", 0, 0, false),
            ("2024-02-29T23:59:59.5Z", 1_709_251_199, 1, true),
            ("2025-11-02 10:15:30.123456", 1_762_078_530, 6, false),
            ("2025/11/02 10:15:30 +01:00", 1_762_074_930, 0, true),
            ("2025-11-02T10:15:30-0530", 1_762_098_330, 0, true),
            ("2000-03-01 00:00:00+00", 951_868_800, 0, true),
        ] {
            let found = date(text.as_bytes()).unwrap();
            assert_eq!(
                (found.unix_ns / 1_000_000_000, found.digits, found.zoned),
                (seconds, digits, zoned),
                "{text}"
            );
        }
    }

    #[test]
    fn what_the_calendar_has_not_is_no_date() {
        for text in [
            "2025-02-29 00:00:00",
            "2025-13-01 00:00:00",
            "2025-11-02 24:00:00",
            "2025-11-02 10:15",
            "2025-11-02",
            "2025-11-02 10:15:30 CET",
            "2025-11-02_10:15:30",
            "1969-12-31 23:59:59",
            "2025-11-02 10:15:30.1.2",
            "1970-01-01 00:00:00+01:00",
            "123.5",
            "",
        ] {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
    }
}
