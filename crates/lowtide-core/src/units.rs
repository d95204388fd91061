//! Sizes, shares and times as types, and the one way they are read from and shown to people.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    pub const ZERO: Bytes = Bytes(0);

    /// The kernel reports most sizes in units of 1,024 bytes and calls them kB.
    pub const fn from_kib(kib: u64) -> Bytes {
        Bytes(kib.saturating_mul(1024))
    }

    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    pub const fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }

    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl std::ops::Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        self.saturating_add(other)
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, |a, b| a + b)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&show_bytes(self.0 as f64))
    }
}

/// Three significant digits and a decimal unit: `17.4 GB`, `-320 kB`, `12 B`.
pub fn show_bytes(bytes: f64) -> String {
    three_digits(bytes, ["B", "kB", "MB", "GB", "TB", "PB"])
}

/// A number of things, likewise: `17.4 M`, `320 k`, `12`.
pub(crate) fn show_count(count: f64) -> String {
    let text = three_digits(count, ["", "k", "M", "G", "T", "P"]);
    text.trim_end().to_owned()
}

/// `131,072`: every digit, as a block's size has meaning to its last.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number without a unit to three digits: `0.98`, `1.41`, `101`.
pub(crate) fn three_significant(value: f64) -> String {
    let whole = value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    let decimals = (2 - whole).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// `units` are those of 1, 1,000, 1,000,000 and so on.
fn three_digits(value: f64, units: [&str; 6]) -> String {
    // 999.5 of a unit would be shown as 1000 of it: step up before that.
    let (nth, divisor) = [5, 4, 3, 2, 1]
        .into_iter()
        .map(|nth| (nth, 1000f64.powi(nth as i32)))
        .find(|(_, size)| value.abs() >= size * 0.9995)
        .unwrap_or((0, 1.0));
    let value = value / divisor;
    let decimals = match value.abs() {
        _ if nth == 0 => 0,
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {}", units[nth])
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("`{0}` is not a size; write it like 512MB, 32GiB or 1500000")]
    Size(String),
    #[error("`{0}` is not a share; write it like 90% or 0.1%")]
    Share(String),
    #[error("`{0}` is not a duration; write it like 500ms, 30s, 10m, 2h or 30d")]
    Duration(String),
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// `512MB`, `1.5 GiB`, `800k`, `123456`. Decimal units are powers of 1,000; those with an `i` of 1,024.
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let error = || UnitError::Size(text.to_owned());
        let trimmed = text.trim().replace([',', '_'], "");
        let split = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let number: f64 = number.parse().map_err(|_| error())?;
        let factor = unit_factor(unit.trim()).ok_or_else(error)?;
        let bytes = number * factor;
        if !bytes.is_finite() || bytes > u64::MAX as f64 {
            return Err(error());
        }
        Ok(Bytes(bytes.round() as u64))
    }
}

const LONGEST_UNIT: usize = "bytes".len();

/// How many bytes one of the named unit is; the empty name is a byte.
pub fn unit_factor(unit: &str) -> Option<f64> {
    // Asked for every number of a long log, so in lower case without memory of its own.
    let mut lower = [0; LONGEST_UNIT];
    let lower = lower.get_mut(..unit.len())?;
    lower.copy_from_slice(unit.as_bytes());
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"" | b"b" | b"byte" | b"bytes" => 1.0,
        b"k" | b"kb" => 1e3,
        b"m" | b"mb" => 1e6,
        b"g" | b"gb" => 1e9,
        b"t" | b"tb" => 1e12,
        b"ki" | b"kib" => 1024.0,
        b"mi" | b"mib" => 1024.0 * 1024.0,
        b"gi" | b"gib" => 1024.0 * 1024.0 * 1024.0,
        b"ti" | b"tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

/// A part of a whole, 0.0 to 1.0; read and shown in per cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        let text = if percent != 0.0 && percent.abs() < 10.0 {
            format!("{percent:.1}%")
        } else {
            format!("{percent:.0}%")
        };
        f.pad(&text)
    }
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Share, UnitError> {
        let error = || UnitError::Share(text.to_owned());
        let number = text.trim().strip_suffix('%').ok_or_else(error)?;
        let percent: f64 = number.trim().parse().map_err(|_| error())?;
        if !percent.is_finite() || percent < 0.0 {
            return Err(error());
        }
        Ok(Share(percent / 100.0))
    }
}

/// A limit of the user's: a size, or a part of the one that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cap {
    Bytes(Bytes),
    Share(Share),
}

impl FromStr for Cap {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Cap, UnitError> {
        if text.trim().ends_with('%') {
            let share: Share = text.parse()?;
            // Nothing, or more than there is, is no limit.
            return if share.0 > 0.0 && share.0 <= 1.0 {
                Ok(Cap::Share(share))
            } else {
                Err(UnitError::Share(text.to_owned()))
            };
        }
        text.parse().map(Cap::Bytes)
    }
}

/// Microseconds, mostly since the run began, on the monotonic clock. Wall time is kept once, in the header.
/// In JSON every time is seconds; they come back exactly up to 2^51 microseconds, which are 71 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Serialize for Micros {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(self.seconds())
    }
}

impl<'de> Deserialize<'de> for Micros {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Micros, D::Error> {
        f64::deserialize(input).map(Micros::from_seconds)
    }
}

impl Micros {
    pub const fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub fn from_seconds(seconds: f64) -> Micros {
        Micros((seconds.max(0.0) * 1e6).round() as u64)
    }

    pub const fn since(self, earlier: Micros) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}

/// `250ms`, `30s`, `10m`, `2h`, `30d`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError::Duration(text.to_owned());
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let number: f64 = number.parse().map_err(|_| error())?;
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(error()),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|_| error())
}

/// `45s`, `3m 20s`, `2h 05m`, `3d 4h`: the two largest units that matter.
pub fn show_duration(seconds: f64) -> String {
    let total = seconds.max(0.0).round() as u64;
    let (days, hours, minutes, secs) = (
        total / 86_400,
        total / 3600 % 24,
        total / 60 % 60,
        total % 60,
    );
    if seconds < 10.0 && seconds.fract() != 0.0 {
        format!("{seconds:.1}s")
    } else if days > 0 {
        format!("{days}d {hours}h")
    } else if hours > 0 {
        format!("{hours}h {minutes:02}m")
    } else if minutes > 0 {
        format!("{minutes}m {secs:02}s")
    } else {
        format!("{secs}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_in_json_and_come_back_exactly() {
        let json = |at: Micros| serde_json::to_string(&at).unwrap();
        assert_eq!(json(Micros(1_500_000)), "1.5");
        assert_eq!(json(Micros(3_000_000)), "3.0");
        for at in [1, 999_999, 1_790_000_000_123_457, (1 << 51) - 1].map(Micros) {
            assert_eq!(serde_json::from_str::<Micros>(&json(at)).unwrap(), at);
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("512MB", 512_000_000),
            ("32GiB", 32 << 30),
            ("1.5 gb", 1_500_000_000),
            ("800k", 800_000),
            ("5,552 MB", 5_552_000_000),
            ("123", 123),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "MB", "12 parsecs", "-3MB", "1e400GB", "90%"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_with_three_digits() {
        for (bytes, text) in [
            (0.0, "0 B"),
            (12.0, "12 B"),
            (999.6, "1.00 kB"),
            (17_432_000_000.0, "17.4 GB"),
            (-320_000.0, "-320 kB"),
            (999_700_000.0, "1.00 GB"),
        ] {
            assert_eq!(show_bytes(bytes), text);
        }
        assert_eq!(show_count(17_432_000.0), "17.4 M");
        assert_eq!(show_count(12.0), "12");
    }

    #[test]
    fn shares_need_their_sign() {
        assert_eq!("90%".parse(), Ok(Share(0.9)));
        assert_eq!("0.1 %".parse(), Ok(Share(0.001)));
        assert!("0.9".parse::<Share>().is_err());
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("250ms", 250),
            ("1.5h", 5_400_000),
            ("30", 30_000),
            ("30 d", 2_592_000_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["", "s", "-3s", "3 fortnights", "1e400d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_name_two_units() {
        assert_eq!(show_duration(0.4), "0.4s");
        assert_eq!(show_duration(200.0), "3m 20s");
        assert_eq!(show_duration(7500.0), "2h 05m");
        assert_eq!(show_duration(3.0 * 86_400.0 + 4.0 * 3600.0), "3d 4h");
    }
}
