//! Dates as logs write them, to seconds since 1970, and back. No time zone but what the
//! date says, no leap seconds: 23:59:60 is the midnight that follows.

use std::fmt;

use crate::log::Malformed;

/// `07/Mar/2004:16:05:49 -0800`
const LENGTH: usize = 26;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A moment as RFC 3339 has it, in UTC.
pub(crate) struct Utc(pub(crate) u64);

/// The seconds from 1970 to a date such as `07/Mar/2004:16:05:49 -0800`.
///
/// # Errors
///
/// What is wrong with it: its form, a part out of range, or that it lies before 1970.
pub(crate) fn parse(date: &[u8]) -> Result<u64, Malformed> {
    let date: &[u8; LENGTH] = date.try_into().map_err(|_| Malformed::DateForm)?;
    let marks = [
        (2, b'/'),
        (6, b'/'),
        (11, b':'),
        (14, b':'),
        (17, b':'),
        (20, b' '),
    ];
    if marks.iter().any(|&(at, mark)| date[at] != mark) {
        return Err(Malformed::DateForm);
    }
    let two = |at| number(&date[at..at + 2]);
    let year = number(&date[7..11])?;
    let month = month(&date[3..6]).ok_or(Malformed::Month)?;
    let day = two(0)?;
    if day < 1 || day > days_in(year, month) {
        return Err(Malformed::Day);
    }
    let (hour, minute, second) = (two(12)?, two(15)?, two(18)?);
    if hour > 23 || minute > 59 || second > 60 {
        return Err(Malformed::Time);
    }
    let (hours, minutes) = (two(22)?, two(24)?);
    let east = match date[21] {
        b'+' => 1,
        b'-' => -1,
        _ => return Err(Malformed::DateForm),
    };
    if hours > 23 || minutes > 59 {
        return Err(Malformed::Offset);
    }
    let local = days_before(year, month) + day - 1;
    let local = local * DAY + hour * HOUR + minute * MINUTE + second;
    let utc = local - east * (hours * HOUR + minutes * MINUTE);
    u64::try_from(utc).map_err(|_| Malformed::Before1970)
}

fn number(digits: &[u8]) -> Result<i64, Malformed> {
    digits.iter().try_fold(0, |number, digit| match digit {
        b'0'..=b'9' => Ok(number * 10 + i64::from(digit - b'0')),
        _ => Err(Malformed::DateForm),
    })
}

fn month(name: &[u8]) -> Option<i64> {
    Some(match name {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    })
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from the beginning of 1970 to the beginning of a month; negative before 1970.
fn days_before(year: i64, month: i64) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    // Leap years up to and including `year`, to the beginning of its successor.
    let leaps = |year: i64| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let leap_day = i64::from(month > 2 && is_leap(year));
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969) + BEFORE[month as usize - 1] + leap_day
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 as i64;
        let (day, second) = (seconds / DAY, seconds % DAY);
        // Years of 365 days are too short, so this never guesses too low.
        let mut year = 1970 + day / 365;
        while days_before(year, 1) > day {
            year -= 1;
        }
        let mut month = 12;
        while days_before(year, month) > day {
            month -= 1;
        }
        let day = day - days_before(year, month) + 1;
        let (hour, minute, second) = (second / HOUR, second % HOUR / MINUTE, second % MINUTE);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}
