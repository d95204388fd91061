//! How long harmless growth lasts before it ends: what a straight line does not show. Stores fill, caches and
//! pools come to their size, a first pass over the data ends; a leak goes on. So growth of a certain length is a
//! leak with the odds of a leak against all that would still be filling by then.
//!
//! The lengths are those of real stores with their sources (`zoo/prior`; a test holds these numbers to what `fit.py`
//! makes of them). The odds are a judgement, not a count: nobody knows how often each kind of growth is. A first pass
//! and a store are taken for half as common as a leak where no epochs are known, and stores beyond a first pass for
//! rare where they are: of 55 harmless jobs that people wrote who had not seen the code, one kept filling over several
//! printed epochs. Within that they were set so that a leak which goes on for five epochs of a toy job is told.
//! docs/accuracy.md shows what they move.

/// A length that is spread over orders of magnitude: where 10, 50, 90, 95 and 99 % of the stores are full. Between
/// these, and beyond, the logarithm is taken to be normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length(pub [f64; 5]);

/// Where a normal distribution has reached those shares, in deviations.
const DEVIATIONS: [f64; 5] = [-1.281_552, 0.0, 1.281_552, 1.644_854, 2.326_348];

impl Length {
    /// The share that is longer.
    pub fn longer_than(self, length: f64) -> f64 {
        if length <= 0.0 {
            return 1.0;
        }
        let places = self.0.map(f64::ln);
        above(between(&places, &DEVIATIONS, length.ln()))
    }

    /// The length at so many deviations from the middle.
    pub fn at(self, deviations: f64) -> f64 {
        let places = self.0.map(f64::ln);
        between(&DEVIATIONS, &places, deviations).exp()
    }

    /// The same, so many times as long.
    #[must_use]
    pub fn times(self, factor: f64) -> Length {
        Length(self.0.map(|length| length * factor))
    }
}

/// Straight lines from point to point, and on beyond the outermost.
fn between(xs: &[f64; 5], ys: &[f64; 5], x: f64) -> f64 {
    let to = xs.partition_point(|known| *known < x).clamp(1, 4);
    let width = (xs[to] - xs[to - 1]).max(f64::MIN_POSITIVE);
    ys[to - 1] + (x - xs[to - 1]) / width * (ys[to] - ys[to - 1])
}

/// The share of a normal distribution that lies above so many deviations; right to seven digits (Abramowitz and
/// Stegun, 26.2.17).
fn above(deviations: f64) -> f64 {
    let z = deviations.abs();
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = [
        1.330_274_429,
        -1.821_255_978,
        1.781_477_937,
        -0.356_563_782,
        0.319_381_530,
    ];
    let powers = t * series.into_iter().fold(0.0, |sum, term| sum * t + term);
    let tail = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * powers;
    if deviations < 0.0 { 1.0 - tail } else { tail }
}

/// How often growth that is seen is each of these, for one leak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// A first pass over the data, of which nobody tells how long it is.
    pub first_pass: f64,
    /// A store of a size of its own, in a job that tells of no epochs.
    pub store: f64,
    /// The same in a job with epochs: what learns from a data set seldom keeps more than that. What learns from its own
    /// experience does, and some of it speaks of epochs.
    pub store_beside_epochs: f64,
    /// A store of several passes: variants of each example, a bank of features.
    pub passes: f64,
    /// The same two where somebody told how long an epoch is: who looks that up suspects growth and knows the job, and a
    /// replay buffer would have come to mind.
    pub passes_told: f64,
    pub store_told: f64,
    /// A pool of the last or best results.
    pub pool: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// What stores of a size of their own take to fill.
    pub store_steps: Length,
    pub store_seconds: Length,
    /// What stores that are larger than the data take, in passes over it.
    pub passes: Length,
    /// What pools of results take, in evaluations, saves or epochs.
    pub rounds: Length,
    /// What a first pass over the data takes.
    pub epoch_steps: Length,
    pub epoch_seconds: Length,
    pub odds: Odds,
    /// Growth is called a leak from this probability on.
    pub sure: f64,
}

/// For how long growth has gone on, by all that was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lasted {
    pub epochs: Option<f64>,
    /// Somebody told how long an epoch is.
    pub told: bool,
    pub steps: Option<f64>,
    pub seconds: Option<f64>,
}

impl Prior {
    pub const PUBLISHED: Prior = Prior {
        store_steps: Length([3.06, 56.1, 133e3, 723e3, 1.18e6]),
        store_seconds: Length([1.89, 143.0, 14.4e3, 50.8e3, 573e3]),
        passes: Length([0.0409, 0.973, 7.6, 12.8, 24.9]),
        rounds: Length([0.958, 10.3, 553.0, 4910.0, 25e3]),
        epoch_steps: Length([26.4, 340.0, 12.9e3, 19e3, 313e3]),
        epoch_seconds: Length([3.88, 304.0, 8380.0, 13.6e3, 27.3e3]),
        odds: Odds {
            first_pass: 0.5,
            store: 0.5,
            store_beside_epochs: 0.04,
            passes: 0.15,
            passes_told: 0.08,
            store_told: 0.02,
            pool: 0.11,
        },
        sure: 0.95,
    };

    /// The probability that growth of this length is a leak.
    pub fn leaks(&self, lasted: Lasted) -> f64 {
        let store = goes_on(lasted, self.store_steps, self.store_seconds);
        let harmless = match lasted.epochs {
            Some(epochs) => {
                let passes = self.passes.longer_than(epochs);
                let (tied, own) = match lasted.told {
                    true => (self.odds.passes_told, self.odds.store_told),
                    false => (self.odds.passes, self.odds.store_beside_epochs),
                };
                tied * passes + own * store
            }
            None => {
                let pass = goes_on(lasted, self.epoch_steps, self.epoch_seconds);
                self.odds.first_pass * pass + self.odds.store * store
            }
        };
        1.0 / (1.0 + harmless)
    }

    /// The probability that what so many rounds each left behind is a leak.
    pub fn rounds_leak(&self, rounds: f64) -> f64 {
        1.0 / (1.0 + self.odds.pool * self.rounds.longer_than(rounds))
    }

    /// How long growth has to go on until that is sure, where `lasted` tells what a length comes to. None where no length
    /// would do.
    pub fn sure_after(&self, lasted: impl Fn(f64) -> Lasted) -> Option<f64> {
        let sure = |length: f64| self.leaks(lasted(length)) >= self.sure;
        let (mut low, mut high) = (0.0, 1.0);
        while !sure(high) {
            low = high;
            high *= 4.0;
            if high > MOST {
                return None;
            }
        }
        while high - low > CLOSE * high {
            let middle = 0.5 * (low + high);
            *(if sure(middle) { &mut high } else { &mut low }) = middle;
        }
        Some(high)
    }

    /// Rounds after which it is sure.
    pub fn sure_rounds(&self) -> usize {
        let sure = |rounds: &usize| self.rounds_leak(*rounds as f64) >= self.sure;
        (1..MOST_ROUNDS).find(sure).unwrap_or(MOST_ROUNDS)
    }

    /// The same prior with all lengths so many times as long.
    #[must_use]
    pub fn times(self, factor: f64) -> Prior {
        Prior {
            store_steps: self.store_steps.times(factor),
            store_seconds: self.store_seconds.times(factor),
            passes: self.passes.times(factor),
            rounds: self.rounds.times(factor),
            epoch_steps: self.epoch_steps.times(factor),
            epoch_seconds: self.epoch_seconds.times(factor),
            ..self
        }
    }
}

impl Default for Prior {
    fn default() -> Prior {
        Prior::PUBLISHED
    }
}

/// Beyond all that is watched, and how closely a length is found.
const MOST: f64 = 1e12;
const CLOSE: f64 = 1e-3;
const MOST_ROUNDS: usize = 1000;

/// The share that goes on. By the clock where there is one: what is sized in steps has few of them where steps are slow (a
/// million in a replay buffer at 5 ms each, a hundred in a shuffle buffer at 0.5 s), so the clock tells more.
fn goes_on(lasted: Lasted, steps: Length, seconds: Length) -> f64 {
    let by_time = lasted.seconds.map(|lasted| seconds.longer_than(lasted));
    let by_steps = || lasted.steps.map(|lasted| steps.longer_than(lasted));
    by_time.or_else(by_steps).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: Prior = Prior::PUBLISHED;
    /// What is longer than each point of a table.
    const LONGER: [f64; 5] = [0.9, 0.5, 0.1, 0.05, 0.01];

    fn tables(prior: &Prior) -> [Length; 6] {
        [
            prior.store_steps,
            prior.store_seconds,
            prior.passes,
            prior.rounds,
            prior.epoch_steps,
            prior.epoch_seconds,
        ]
    }

    /// Lengths over sixteen orders of magnitude.
    fn lengths() -> impl Iterator<Item = f64> {
        (-80..=240).map(|tenths| 10f64.powf(f64::from(tenths) / 20.0))
    }

    fn by_epochs(epochs: f64) -> Lasted {
        Lasted {
            told: false,
            epochs: Some(epochs),
            steps: Some(100.0 * epochs),
            seconds: None,
        }
    }

    fn by_steps(steps: f64) -> Lasted {
        Lasted {
            steps: Some(steps),
            ..Lasted::default()
        }
    }

    fn by_seconds(seconds: f64) -> Lasted {
        Lasted {
            seconds: Some(seconds),
            ..Lasted::default()
        }
    }

    /// Epochs of a hundred seconds.
    fn by_both(seconds: f64) -> Lasted {
        Lasted {
            told: false,
            epochs: Some(seconds / 100.0),
            ..by_seconds(seconds)
        }
    }

    const WAYS: [fn(f64) -> Lasted; 4] = [by_epochs, by_steps, by_seconds, by_both];

    #[test]
    fn the_normal_distribution_is_right() {
        let known = [
            (0.0, 0.5),
            (1.0, 0.158_655_254),
            (1.644_853_627, 0.05),
            (3.0, 0.001_349_898),
            (-2.0, 0.977_249_868),
        ];
        for (deviations, share) in known {
            assert!((above(deviations) - share).abs() < 1e-7, "{deviations}");
        }
    }

    #[test]
    fn the_table_is_met_at_its_points() {
        for table in tables(&P) {
            for (length, longer) in table.0.into_iter().zip(LONGER) {
                let found = table.longer_than(length);
                assert!((found - longer).abs() < 1e-6, "{length}: {found}");
            }
            for (length, deviations) in table.0.into_iter().zip(DEVIATIONS) {
                assert!((table.at(deviations) / length - 1.0).abs() < 1e-9);
            }
        }
    }

    /// Between the points, and beyond the outermost.
    #[test]
    fn ever_fewer_are_longer() {
        for table in tables(&P) {
            assert!(table.0.is_sorted_by(|a, b| a < b), "{table:?}");
            let shares: Vec<f64> = lengths().map(|l| table.longer_than(l)).collect();
            assert!(shares.is_sorted_by(|a, b| a >= b), "{table:?}");
            assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
            assert_eq!(table.longer_than(0.0), 1.0);
            assert!(table.longer_than(1e-300) > 0.999 && table.longer_than(1e300) < 1e-6);
        }
    }

    #[test]
    fn a_length_is_found_again_by_its_deviations() {
        for table in tables(&P) {
            for deviations in [-3.0, -1.0, -0.2, 0.7, 1.5, 2.0, 4.0] {
                let found = table.longer_than(table.at(deviations));
                assert!((found - above(deviations)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn longer_growth_is_more_surely_a_leak() {
        for way in WAYS {
            let sure: Vec<f64> = lengths().map(|length| P.leaks(way(length))).collect();
            assert!(sure.is_sorted());
            assert!(sure[0] < P.sure && sure[sure.len() - 1] > 0.999, "{sure:?}");
        }
        let rounds: Vec<f64> = (0..2000).map(|n| P.rounds_leak(f64::from(n))).collect();
        assert!(rounds.is_sorted() && rounds[0] < P.sure);
    }

    /// Where a pass ends is known with epochs: that leaves less that may be filling.
    #[test]
    fn an_epoch_that_has_passed_tells_more_than_time() {
        for seconds in [300.0, 1000.0, 5000.0, 10_000.0] {
            assert!(P.leaks(by_both(seconds)) > P.leaks(by_seconds(seconds)));
        }
    }

    /// What is counted in steps is asked only where there is no clock.
    #[test]
    fn the_clock_comes_before_the_steps() {
        let both = Lasted {
            told: false,
            steps: Some(1e9),
            ..by_seconds(60.0)
        };
        assert_eq!(P.leaks(both), P.leaks(by_seconds(60.0)));
        let nothing = P.leaks(Lasted::default());
        let harmless = P.odds.first_pass + P.odds.store;
        assert_eq!(nothing, 1.0 / (1.0 + harmless));
    }

    #[test]
    fn it_is_sure_after_the_least_length() {
        for way in WAYS {
            let after = P.sure_after(way).unwrap();
            assert!(P.leaks(way(after)) >= P.sure, "{after}");
            assert!(
                P.leaks(way(after * (1.0 - 2.0 * CLOSE))) < P.sure,
                "{after}"
            );
        }
        // Of a unit much longer than that it is a small part.
        let days = P.sure_after(|days| by_seconds(86_400.0 * days)).unwrap();
        let seconds = P.sure_after(by_seconds).unwrap();
        assert!((86_400.0 * days / seconds - 1.0).abs() < 2.0 * CLOSE);
    }

    #[test]
    fn what_is_never_sure_is_told_so() {
        assert_eq!(P.sure_after(|_| Lasted::default()), None);
        let certain = Prior { sure: 1.1, ..P };
        assert_eq!(certain.sure_after(by_seconds), None);
        assert_eq!(certain.sure_rounds(), MOST_ROUNDS);
        // And what is sure from the beginning.
        let hasty = Prior { sure: 0.1, ..P };
        assert_eq!(hasty.sure_after(by_seconds), Some(0.0));
    }

    #[test]
    fn longer_stores_are_waited_for() {
        let longer = P.times(10.0);
        for (length, tenfold) in tables(&P).into_iter().zip(tables(&longer)) {
            assert_eq!(tenfold, length.times(10.0));
            assert!((tenfold.longer_than(700.0) - length.longer_than(70.0)).abs() < 1e-9);
        }
        assert_eq!((longer.odds, longer.sure), (P.odds, P.sure));
        for way in [by_steps, by_seconds] {
            let [short, long] = [P, longer].map(|prior| prior.sure_after(way).unwrap());
            assert!(
                (long / short / 10.0 - 1.0).abs() < 3.0 * CLOSE,
                "{short} {long}"
            );
        }
        for way in WAYS {
            assert!(longer.sure_after(way) > P.sure_after(way));
            assert!(longer.leaks(way(500.0)) < P.leaks(way(500.0)));
        }
        assert!(longer.sure_rounds() > P.sure_rounds());
    }

    /// Who is surer asks for more.
    #[test]
    fn to_be_surer_takes_longer() {
        let surer = Prior { sure: 0.99, ..P };
        for way in WAYS {
            assert!(surer.sure_after(way) > P.sure_after(way));
        }
        assert!(surer.sure_rounds() > P.sure_rounds());
    }

    #[test]
    fn rounds_are_enough_from_the_least_number_on() {
        let enough = P.sure_rounds();
        assert!((2..MOST_ROUNDS).contains(&enough), "{enough}");
        assert!(P.rounds_leak(enough as f64) >= P.sure);
        assert!(P.rounds_leak((enough - 1) as f64) < P.sure);
    }
}
