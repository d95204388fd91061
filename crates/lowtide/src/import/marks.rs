//! How a table marks fractions and thousands: `1,534.2` or `1.534,2`. The cells that allow only one reading tell it
//! for the whole table; `1,534` alone allows both, a thousandfold apart, and is refused where nothing else tells.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    /// A point before the fraction, commas between thousands, ...
    Point,
    /// ... or the other way round, ...
    Comma,
    /// ... or both in one table: each cell speaks for itself.
    Mixed,
    Untold,
}

/// What one number tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    Point,
    Comma,
    /// `1.534` or `1,534`.
    Either,
}

impl Marks {
    /// By the cells of the first rows.
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a str>) -> Marks {
        let (mut point, mut comma) = (false, false);
        for cell in cells {
            match number_in(cell).and_then(tells) {
                Some(Tells::Point) => point = true,
                Some(Tells::Comma) => comma = true,
                Some(Tells::Either) | None => {}
            }
        }
        match (point, comma) {
            (true, false) => Marks::Point,
            (false, true) => Marks::Comma,
            (true, true) => Marks::Mixed,
            (false, false) => Marks::Untold,
        }
    }

    /// The cell with its number as programs write it; as it is where it holds none. None where it can be read in
    /// two ways, or only in another way than the table's.
    pub(super) fn plain(self, cell: &str) -> Option<Cow<'_, str>> {
        let commas = cell.contains(',');
        if !commas && (self == Marks::Point || !cell.contains('.')) {
            return Some(cell.into());
        }
        let Some((number, told)) = number_in(cell).and_then(|n| Some((n, tells(n)?))) else {
            return Some(cell.into());
        };
        let comma = match (self, told) {
            (Marks::Point, Tells::Point | Tells::Either) => false,
            (Marks::Comma, Tells::Comma | Tells::Either) => true,
            (Marks::Mixed | Marks::Untold, Tells::Point) => false,
            (Marks::Mixed | Marks::Untold, Tells::Comma) => true,
            // Without a comma anywhere, a point is what it is in every program.
            (Marks::Untold, Tells::Either) if !commas => false,
            _ => return None,
        };
        let rest = &cell[number.len()..];
        Some(match comma {
            true => (number.replace('.', "").replace(',', ".") + rest).into(),
            false if commas => (number.replace(',', "") + rest).into(),
            false => cell.into(),
        })
    }
}

/// The digits and marks that a cell begins with, if they are a number: alone, or before a unit.
fn number_in(cell: &str) -> Option<&str> {
    let end = cell
        .find(|c: char| !matches!(c, '0'..='9' | '.' | ','))
        .unwrap_or(cell.len());
    let (number, rest) = cell.split_at(end);
    let ends = rest.is_empty() || rest.starts_with(|c: char| c.is_alphabetic() || " %".contains(c));
    (ends && number.starts_with(|c: char| c.is_ascii_digit())).then_some(number)
}

fn tells(number: &str) -> Option<Tells> {
    let (points, commas) = (number.matches('.').count(), number.matches(',').count());
    let (mark, one, other) = match (points, commas) {
        (0, 0) => return None,
        (_, 0) => ('.', Tells::Point, Tells::Comma),
        (0, _) => (',', Tells::Comma, Tells::Point),
        // The last mark stands before the fraction.
        _ if number.rfind('.') > number.rfind(',') => {
            let (whole, _) = number.rsplit_once('.')?;
            return (points == 1 && grouped(whole, ',')).then_some(Tells::Point);
        }
        _ => {
            let (whole, _) = number.rsplit_once(',')?;
            return (commas == 1 && grouped(whole, '.')).then_some(Tells::Comma);
        }
    };
    match (points + commas, grouped(number, mark)) {
        (1, true) => Some(Tells::Either),
        (1, false) => Some(one),
        (_, true) => Some(other),
        // A date or a version.
        (_, false) => None,
    }
}

/// `12.345.678`
fn grouped(number: &str, mark: char) -> bool {
    let mut groups = number.split(mark);
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && !first.starts_with('0') && groups.all(|g| g.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str], cell: &str) -> Option<String> {
        let marks = Marks::of(cells.iter().copied());
        marks.plain(cell).map(Cow::into_owned)
    }

    #[test]
    fn one_sure_cell_tells_for_all() {
        let german = ["03.06.2024", "2,2000", "1.534,2"];
        assert_eq!(read(&german, "1.534,2").as_deref(), Some("1534.2"));
        assert_eq!(read(&german, "1.534").as_deref(), Some("1534"));
        assert_eq!(read(&german, "1.534,2 MB").as_deref(), Some("1534.2 MB"));
        assert_eq!(read(&german, "96.6"), None);
        let english = ["1,000", "7.42"];
        assert_eq!(read(&english, "1,000").as_deref(), Some("1000"));
        assert_eq!(read(&english, "1.534").as_deref(), Some("1.534"));
        assert_eq!(read(&english, "1,5"), None);
    }

    #[test]
    fn what_can_be_two_numbers_is_none() {
        assert_eq!(read(&["1,534"], "1,534"), None);
        assert_eq!(read(&["1.534"], "1.534").as_deref(), Some("1.534"));
        for cell in ["1.534", "1,534"] {
            assert_eq!(read(&["7.42", "2,5"], cell), None, "{cell}");
        }
        assert_eq!(read(&["1,234,567"], "1,534").as_deref(), Some("1534"));
        assert_eq!(read(&["0,532"], "1,534").as_deref(), Some("1.534"));
    }

    #[test]
    fn dates_and_words_stay() {
        for cell in [
            "03.06.2024 14:05:07",
            "10:00:00,500",
            "1.2.3",
            "a,b.c",
            "",
            "-",
            "é,1",
        ] {
            assert_eq!(read(&["2,25"], cell).as_deref(), Some(cell));
        }
    }
}
