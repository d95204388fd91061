//! Rule "growth ended": the floor rose, and has been level since for longer than it paused before.

use super::plateau::Plateau;
use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::judge::tail::{self, Tail};
use crate::judge::words::place;
use crate::units::show_bytes;
use crate::verdict::{Axis, Evidence};

pub(crate) const RULE: Rule = Rule::named("growth ended");

/// A floor that rose by less than this share of its level did not warm up.
const LEAST_RISE: f64 = 0.08;
/// An upper bound above this share of the pace before it does not show that growth ended.
const GOES_ON: f64 = 0.5;
/// Growth that comes in stairs pauses between them: a flat end has to be this many times as long as the
/// pauses before it. One long pause makes no stairs (a job that loads, waits and begins), so it is the
/// second longest that counts.
const LONGER: f64 = 1.5;
/// What is a rise and no pause, as a share of all that it rose by ...
const STAIR: f64 = 0.02;
/// ... or as so many times its noise.
const STAIR_NOISE: f64 = 2.0;

pub(crate) fn says(axis: Axis, plateau: &Plateau, at: f64) -> Evidence {
    RULE.says(format!(
        "{} until {}, then level",
        show_bytes(plateau.rise),
        place(axis, at)
    ))
}

impl Plateau {
    /// The least rise that is a warm-up.
    pub(crate) fn least_rise(&self) -> f64 {
        LEAST_RISE * self.level
    }

    /// The flat end may be a stair of a growth that goes on: it is no longer than the stairs before it, or
    /// what came before it, for as long, grew at a pace that the end's upper bound still allows.
    pub(crate) fn may_go_on(
        &self,
        line: &FloorLine,
        flat: &Tail,
        grows: impl Fn(&Tail) -> bool,
    ) -> bool {
        let risen = self.rise > self.least_rise();
        if risen && flat.length() < LONGER * self.usual_pause(line) {
            return true;
        }
        let earliest = flat.from - flat.length();
        let first = line.xs.partition_point(|x| *x < earliest);
        let piece = line.from(line.xs[first]).until(flat.from);
        tail::describe(&piece, 0, flat.noise)
            .is_some_and(|before| grows(&before) && flat.high > GOES_ON * before.slope)
    }

    /// The second longest stretch between two rises on the way to the plateau.
    fn usual_pause(&self, line: &FloorLine) -> f64 {
        let stair = (STAIR * self.rise).max(STAIR_NOISE * self.tail.noise);
        let way = self.lowest..(self.tail.start + 1).min(line.len());
        let (mut since, mut base) = (line.xs[way.start], line.ys[way.start]);
        let (mut longest, mut second) = (0.0_f64, 0.0_f64);
        for i in way {
            if line.ys[i] - base > stair {
                let pause = line.xs[i] - since;
                second = second.max(pause.min(longest));
                longest = longest.max(pause);
                since = line.xs[i];
                base = line.ys[i];
            }
        }
        second
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look, names};
    use crate::verdict::{Axis, Class};

    /// Between two stairs the floor is level for as long as between the ones before.
    #[test]
    fn a_pause_between_stairs_is_no_end() {
        let stairs = |x: f64| 500.0 + 40.0 * (x / 200.0).floor();
        for n in [900, 960, 1100] {
            let verdict = look(Axis::Time, n, stairs);
            assert!(verdict.growing, "{verdict:#?}");
            assert!(verdict.rate.value > 0.0, "{verdict:#?}");
        }
        let ended = look(Axis::Time, 1400, |x| stairs(x.min(1000.0)));
        assert_eq!(ended.verdict, Class::WarmUp, "{ended:#?}");
        assert!(names(&ended, RULE));
    }

    /// A straight line has not ended anywhere, however slow it is.
    #[test]
    fn a_straight_ramp_is_never_a_warm_up() {
        for n in (20..=200).step_by(10) {
            for pace in [0.2, 0.5, 1.0, 2.0] {
                let verdict = look(Axis::Step, n, |x| 1000.0 + pace * x);
                assert_ne!(verdict.verdict, Class::WarmUp, "{n} points at {pace}");
                assert_eq!(verdict.settled_at, None, "{n} points at {pace}");
            }
        }
    }

    /// A real fine-tune that keeps its graphs: the last quarter looks level, but its bound still allows the
    /// pace of the quarter before.
    #[test]
    fn a_stair_is_no_end_of_growth() {
        let floor = [
            534.9, 582.5, 585.5, 585.7, 598.2, 605.3, 605.3, 605.3, 609.7, 609.9, 612.0, 627.7,
            627.7, 628.1, 628.1, 628.1, 628.1, 628.1, 628.1, 629.2, 632.0, 637.1, 637.7, 637.1,
            637.2, 640.9, 644.9, 644.9, 644.9, 648.8, 653.9, 657.8, 653.9, 652.7, 664.2, 664.2,
            664.2, 664.2, 664.2, 664.2, 664.3, 668.2, 665.5, 665.5, 669.3, 669.3, 678.0, 670.5,
        ];
        let verdict = look(Axis::Step, floor.len(), |x| floor[x as usize]);
        assert_eq!(verdict.verdict, Class::TooEarly, "{verdict:#?}");
    }
}
