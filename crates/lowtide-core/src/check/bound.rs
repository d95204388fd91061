//! Bounds as people write them: `1MB/step`, `step:90`, `10%`.

use std::str::FromStr;

use crate::units::{Bytes, Share, parse_duration};
use crate::verdict::Axis;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoundError {
    #[error("`{0}` is not a rate; write it like 1MB/step, 1MB/min or 5MB/h")]
    Rate(String),
    #[error("`{0}` is not a place; write it like step:90, time:10min or sample:100")]
    Place(String),
    #[error("`{0}` is neither a size nor a share; write it like 2GB or 10%")]
    Headroom(String),
}

/// At most so many bytes per step, sample or second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateBound {
    pub bytes: f64,
    pub per: Axis,
}

impl FromStr for RateBound {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<RateBound, BoundError> {
        let error = || BoundError::Rate(text.to_owned());
        let (size, unit) = text.split_once('/').ok_or_else(error)?;
        let bytes = size.parse::<Bytes>().map_err(|_| error())?.as_f64();
        let (per, seconds) = match unit.trim() {
            "step" | "steps" | "iter" => (Axis::Step, 1.0),
            "sample" => (Axis::Sample, 1.0),
            "s" | "sec" | "second" => (Axis::Time, 1.0),
            "m" | "min" | "minute" => (Axis::Time, 60.0),
            "h" | "hour" => (Axis::Time, 3600.0),
            "d" | "day" => (Axis::Time, 86_400.0),
            _ => return Err(error()),
        };
        Ok(RateBound {
            bytes: bytes / seconds,
            per,
        })
    }
}

/// A place on the axis by which growth must have ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettleBound {
    pub axis: Axis,
    pub at: f64,
}

impl FromStr for SettleBound {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<SettleBound, BoundError> {
        let error = || BoundError::Place(text.to_owned());
        let (axis, at) = text.split_once(':').ok_or_else(error)?;
        let number = || {
            at.trim()
                .parse::<f64>()
                .ok()
                .filter(|v| v.is_finite() && *v >= 0.0)
        };
        let (axis, at) = match axis.trim() {
            "step" => (Axis::Step, number()),
            "sample" => (Axis::Sample, number()),
            "time" => (Axis::Time, parse_duration(at).ok().map(|d| d.as_secs_f64())),
            _ => return Err(error()),
        };
        Ok(SettleBound {
            axis,
            at: at.ok_or_else(error)?,
        })
    }
}

/// What must be left below the limit at the peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Headroom {
    Size(Bytes),
    Share(Share),
}

impl FromStr for Headroom {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Headroom, BoundError> {
        if let Ok(share) = text.parse() {
            return Ok(Headroom::Share(share));
        }
        text.parse()
            .map(Headroom::Size)
            .map_err(|_| BoundError::Headroom(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_as_people_write_them() {
        let rate: RateBound = "1MB/step".parse().unwrap();
        assert_eq!((rate.bytes, rate.per), (1e6, Axis::Step));
        let rate: RateBound = "6 MB/min".parse().unwrap();
        assert_eq!((rate.bytes, rate.per), (1e5, Axis::Time));
        let place: SettleBound = "step:90".parse().unwrap();
        assert_eq!((place.axis, place.at), (Axis::Step, 90.0));
        let place: SettleBound = "time:10min".parse().unwrap();
        assert_eq!((place.axis, place.at), (Axis::Time, 600.0));
        assert_eq!("10%".parse(), Ok(Headroom::Share(Share(0.1))));
        assert_eq!("2GB".parse(), Ok(Headroom::Size(Bytes(2_000_000_000))));
        assert!("1MB".parse::<RateBound>().is_err());
        assert!("1MB/furlong".parse::<RateBound>().is_err());
        assert!("90".parse::<SettleBound>().is_err());
        assert!("lots".parse::<Headroom>().is_err());
    }
}
