//! Moments as logs and tables write them, in seconds. Only differences are used, so a time zone
//! matters no more than a date that is missing.

/// A moment at the start of `text`, and how many bytes it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moment {
    pub seconds: f64,
    /// Hours and minutes only: it may wrap at midnight.
    pub clock_only: bool,
    pub len: usize,
}

/// Epoch seconds between 2001 and 2096; numbers outside are no dates.
const EPOCH: std::ops::Range<f64> = 1e9..4e9;

/// `2026-11-15T10:00:00.123Z`, `2026-11-15 10:00:00,123`, `15/11/2026 10:00:00`, `10:00:00.5`,
/// `Nov 15 10:00:00`, glog's `I1115 10:00:00.123456`, `1700000000.25`.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let bytes = text.as_bytes();
    dated(bytes)
        .or_else(|| glog(bytes))
        .or_else(|| syslog(bytes))
        .or_else(|| {
            let (seconds, len) = clock(bytes)?;
            Some(Moment {
                seconds,
                clock_only: true,
                len,
            })
        })
        .or_else(|| epoch(text))
}

/// The moment that begins a log line, after brackets and up to two words such as `INFO`.
pub(super) fn line_moment(line: &str) -> Option<Moment> {
    let trimmed = line.trim_start_matches(['[', '(', ' ', '<', '"']);
    // As logfmt and syslog's keys have it.
    let keyed = ["time=", "ts=", "timestamp=", "t="]
        .iter()
        .find_map(|key| trimmed.strip_prefix(key));
    let trimmed = keyed.map_or(trimmed, |rest| rest.trim_start_matches('"'));
    moment(trimmed).or_else(|| {
        let (first, rest) = trimmed.split_once([' ', '|', ':'])?;
        let level = first.trim_end_matches([':', ']']);
        matches!(level, "INFO" | "DEBUG" | "WARNING" | "WARN" | "ERROR")
            .then(|| moment(rest.trim_start_matches(['[', '(', ' ', ':', '|'])))?
    })
}

/// A line that is nothing but a moment, as `date` writes one between the samples of a loop: `Wed Nov 18 00:20:37
/// UTC 2026`, `Wed 18 Nov 2026 12:20:37 AM UTC`, `2026-11-18T00:20:37+00:00`, `1794963637`; perhaps behind a name
/// (`time: …`, `# …`, `--- … ---`).
pub(super) fn whole_line(line: &str) -> Option<Moment> {
    // Most lines are readings: they are longer, or have more words.
    const LONGEST: usize = 60;
    if line.len() > LONGEST {
        return None;
    }
    let frame = |c: char| c.is_whitespace() || matches!(c, '-' | '=' | '#' | '[' | ']' | '*');
    let mut line = line.trim_matches(frame);
    for name in [
        "time:",
        "date:",
        "timestamp:",
        "Time:",
        "Date:",
        "Timestamp:",
        "ts=",
        "scraped at",
        "sampled at",
        "taken at",
        "at ",
    ] {
        line = line.strip_prefix(name).map_or(line, str::trim_start);
    }
    if let Some(date) = spoken_date(line) {
        return Some(date);
    }
    let moment = moment(line)?;
    let rest = line[moment.len..].trim();
    // A zone's name may follow.
    let zone = rest.len() <= 5 && rest.bytes().all(|b| b.is_ascii_uppercase());
    zone.then_some(moment)
}

/// `Wed Nov 18 00:20:37 UTC 2026` and `Wed 18 Nov 2026 12:20:37 AM UTC`, as a whole.
fn spoken_date(text: &str) -> Option<Moment> {
    let words: Vec<&str> = text.split_whitespace().collect();
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let day_of_week = words.first()?.trim_end_matches(',');
    if !(5..=7).contains(&words.len()) || !DAYS.iter().any(|d| day_of_week.starts_with(d)) {
        return None;
    }
    let month = words.iter().find_map(|word| month(word.as_bytes()))?;
    let (clock, _) = words.iter().find_map(|word| clock(word.as_bytes()))?;
    let number = |word: &&&str| word.len() <= 4 && word.bytes().all(|b| b.is_ascii_digit());
    let mut numbers = words
        .iter()
        .filter(number)
        .filter_map(|w| w.parse::<i64>().ok());
    let (day, year) = (numbers.next()?, numbers.next()?);
    if year < 1970 {
        return None;
    }
    let half_day = match (
        words.contains(&"PM"),
        words.contains(&"AM"),
        clock >= 43_200.0,
    ) {
        (true, _, false) => 43_200.0,
        (_, true, true) => -43_200.0,
        _ => 0.0,
    };
    Some(Moment {
        seconds: (days(year, month, day)? * 86_400) as f64 + clock + half_day,
        clock_only: false,
        len: text.len(),
    })
}

/// A number in a column of times, by its size: seconds, or an epoch in s, ms, µs or ns.
pub(super) fn epoch_factor(value: f64) -> f64 {
    match value {
        v if v > 1e17 => 1e-9,
        v if v > 1e14 => 1e-6,
        v if v > 1e11 => 1e-3,
        _ => 1.0,
    }
}

fn digits(bytes: &[u8], at: usize, count: usize) -> Option<i64> {
    let slice = bytes.get(at..at + count)?;
    slice.iter().try_fold(0, |value, b| {
        b.is_ascii_digit().then(|| value * 10 + i64::from(b - b'0'))
    })
}

/// `HH:MM:SS` with an optional fraction behind `.` or `,`.
fn clock(bytes: &[u8]) -> Option<(f64, usize)> {
    let (h, m, s) = (
        digits(bytes, 0, 2)?,
        digits(bytes, 3, 2)?,
        digits(bytes, 6, 2)?,
    );
    if bytes[2] != b':' || bytes[5] != b':' || h > 23 || m > 59 || s > 60 {
        return None;
    }
    let mut seconds = (h * 3600 + m * 60 + s) as f64;
    let mut len = 8;
    if matches!(bytes.get(8), Some(b'.' | b',')) {
        let mut scale = 0.1;
        let mut at = 9;
        while let Some(b) = bytes.get(at).filter(|b| b.is_ascii_digit()) {
            seconds += f64::from(b - b'0') * scale;
            scale /= 10.0;
            at += 1;
        }
        if at > 9 {
            len = at;
        }
    }
    bytes
        .get(len)
        .is_none_or(|b| !b.is_ascii_digit())
        .then_some((seconds, len))
}

fn dated(bytes: &[u8]) -> Option<Moment> {
    let separator = |at: usize| matches!(bytes.get(at), Some(b'-' | b'/' | b'.'));
    let days = if separator(4) && separator(7) {
        days(
            digits(bytes, 0, 4)?,
            digits(bytes, 5, 2)?,
            digits(bytes, 8, 2)?,
        )?
    } else if separator(2) && separator(5) {
        // Day or month first cannot be told but by the points of `18.11.2026`; within a run it does not matter
        // much, except at the turn of a day, where the larger number is the day.
        let (a, b) = (digits(bytes, 0, 2)?, digits(bytes, 3, 2)?);
        let day_first = a > 12 || bytes[2] == b'.';
        let (month, day) = if day_first { (b, a) } else { (a, b) };
        days(digits(bytes, 6, 4)?, month, day)?
    } else {
        return None;
    };
    let (mut seconds, mut len) = ((days * 86_400) as f64, 10);
    if matches!(bytes.get(10), Some(b'T' | b' ' | b'_'))
        && let Some((clock, used)) = clock(bytes.get(11..)?)
    {
        seconds += clock;
        len = 11 + used;
        if let Some((offset, used)) = zone(&bytes[len..]) {
            seconds -= offset;
            len += used;
        }
    } else if let Some(clock) = minutes(bytes.get(10..)?) {
        seconds += clock;
        len = 16;
    }
    Some(Moment {
        seconds,
        clock_only: false,
        len,
    })
}

/// ` 14:05` behind a date, and nothing more of a clock.
fn minutes(bytes: &[u8]) -> Option<f64> {
    let (h, m) = (digits(bytes, 1, 2)?, digits(bytes, 4, 2)?);
    let apart = matches!(bytes[0], b'T' | b' ') && bytes[3] == b':';
    let ends = bytes.get(6).is_none_or(|b| *b == b' ');
    (apart && ends && h <= 23 && m <= 59).then_some((h * 3600 + m * 60) as f64)
}

fn zone(bytes: &[u8]) -> Option<(f64, usize)> {
    match bytes.first()? {
        b'Z' => Some((0.0, 1)),
        sign @ (b'+' | b'-') => {
            let hours = digits(bytes, 1, 2)?;
            let (minutes, len) = match bytes.get(3) {
                Some(b':') => (digits(bytes, 4, 2)?, 6),
                _ => digits(bytes, 3, 2).map_or((0, 3), |m| (m, 5)),
            };
            let offset = (hours * 3600 + minutes * 60) as f64;
            Some((if *sign == b'-' { -offset } else { offset }, len))
        }
        _ => None,
    }
}

/// `I1115 10:00:00.123456 thread file:line] text`
fn glog(bytes: &[u8]) -> Option<Moment> {
    if !matches!(bytes.first()?, b'I' | b'W' | b'E' | b'F') || bytes.get(5) != Some(&b' ') {
        return None;
    }
    let days = days(2000, digits(bytes, 1, 2)?, digits(bytes, 3, 2)?)?;
    let (clock, len) = clock(bytes.get(6..)?)?;
    Some(Moment {
        seconds: (days * 86_400) as f64 + clock,
        clock_only: false,
        len: 6 + len,
    })
}

/// `Nov 15 10:00:00`, with the day padded by a space.
fn syslog(bytes: &[u8]) -> Option<Moment> {
    let month = month(bytes)?;
    let day = if bytes.get(4) == Some(&b' ') {
        digits(bytes, 5, 1)?
    } else {
        digits(bytes, 4, 2)?
    };
    let (clock, len) = clock(bytes.get(7..)?)?;
    Some(Moment {
        seconds: (days(2000, month, day)? * 86_400) as f64 + clock,
        clock_only: false,
        len: 7 + len,
    })
}

/// The month whose short name stands at the start.
fn month(bytes: &[u8]) -> Option<i64> {
    const MONTHS: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let at = MONTHS.iter().position(|m| bytes.starts_with(m))?;
    Some(at as i64 + 1)
}

fn epoch(text: &str) -> Option<Moment> {
    let len = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let seconds: f64 = text[..len].parse().ok()?;
    EPOCH.contains(&seconds).then_some(Moment {
        seconds,
        clock_only: false,
        len,
    })
}

/// Days since 1970 of a date of the common calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Counting years from March puts the leap day last.
    let (y, m) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let leaps = y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
    Some(y * 365 + leaps + (153 * m + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_every_kind() {
        let at = |text: &str| moment(text).unwrap_or_else(|| panic!("{text}")).seconds;
        assert_eq!(at("1970-01-02T00:00:01Z"), 86_401.0);
        assert_eq!(at("2026-11-15 10:00:00,500"), 1_794_736_800.5);
        assert_eq!(at("2026-11-15T10:00:00+02:00"), 1_794_736_800.0 - 7200.0);
        assert_eq!(at("15/11/2026 10:00:00"), 1_794_736_800.0);
        assert_eq!(at("03.06.2026 10:00:00"), at("2026-06-03 10:00:00"));
        assert_eq!(at("2026-11-15 10:00"), 1_794_736_800.0);
        assert_eq!(at("10:00:00"), 36_000.0);
        assert_eq!(at("1700000000.25 rss"), 1_700_000_000.25);
        assert_eq!(at("Nov 15 10:00:00") - at("Nov 14 10:00:00"), 86_400.0);
        assert_eq!(
            at("I1115 10:00:01.5 7 a.cc:1]") - at("I1115 10:00:00.5 7 a"),
            1.0
        );
        assert!(line_moment("[2026-11-15 10:00:00,123] [INFO] x").is_some());
        let keyed = line_moment("time=2026-11-15T10:00:00Z level=info mem=5MiB");
        assert_eq!(keyed.map(|m| m.seconds), Some(1_794_736_800.0));
        assert!(line_moment("INFO 2026-11-15 10:00:00,123 x").is_some());
        let alone = |text: &str| whole_line(text).map(|moment| moment.seconds);
        let expected = Some(1_794_961_237.0);
        for text in [
            "Wed Nov 18 00:20:37 UTC 2026",
            "Wed 18 Nov 2026 12:20:37 AM UTC",
            "=== 2026-11-18T00:20:37+00:00 ===",
            "time: 2026-11-18 00:20:37 UTC",
            "1794961237",
            "--- 1794961237",
            "# scraped at 2026-11-18 00:20:37",
        ] {
            assert_eq!(alone(text), expected, "{text}");
        }
        assert_eq!(alone("00:20:37"), Some(1237.0));
        for text in [
            "Wed Nov 18 00:20:37 rss 5 MB",
            "10:00:00 VmRSS: 5 kB",
            "412340",
        ] {
            assert_eq!(alone(text), None, "{text}");
        }
        for text in ["", "10", "99:99:99", "2026-13-01", "step 10", "é10:00"] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
