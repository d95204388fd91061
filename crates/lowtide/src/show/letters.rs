//! Our own letters, as strokes: what [`super::png`] writes with. A picture with text needs a font, and a
//! machine that trains has none: so the printable ASCII characters are drawn here by hand.
//!
//! A letter lies on a grid. Each point is two digits, x and y; the base line is y = 2, small letters
//! reach 7, capitals 9, tails go down to 0. A space begins a new stroke; one point alone is a dot.

/// Where the base line lies on the grid.
pub(crate) const BASE: f32 = 2.0;
/// What a size of 1 has of the grid's units: capitals are 7 units high and 0.72 of the size.
pub(crate) const UNITS: f32 = 7.0 / 0.72;
/// Between two letters.
const BETWEEN: f32 = 1.9;

/// For what is not ASCII and has no likeness there.
const UNKNOWN: &str = "0209494202";

const STROKES: [&str; 95] = [
    "",                                 // space
    "0904 02",                          // !
    "0907 1917",                        // "
    "1219 3239 0747 0444",              // #
    "4839190807163645433212 0312 2922", // $
    "0269 0819281708 4354635243",       // %
    "5217182938370403123255",           // &
    "0907",                             // '
    "19070311",                         // (
    "09171301",                         // )
    "2824 0745 4705",                   // *
    "0545 2723",                        // +
    "131201",                           // ,
    "0535",                             // -
    "02",                               // .
    "0139",                             // /
    "190803123243483919",               // 0
    "182922 1232",                      // 1
    "08193948470242",                   // 2
    "08193948473616 364543321203",      // 3
    "32390444",                         // 4
    "490906364543321203",               // 5
    "483919080312324345361605",         // 6
    "094912",                           // 7
    "16070819394847361605031232434536", // 8
    "463515060819394843321203",         // 9
    "02 06",                            // :
    "131201 16",                        // ;
    "370533",                           // <
    "0646 0444",                        // =
    "073503",                           // >
    "08192938371514 12",                // ?
    "453626151423334447381807031242",   // @
    "022942 1535",                      // A
    "02093948473606 3645433202",        // B
    "4839190803123243",                 // C
    "02092947442202",                   // D
    "49090242 0636",                    // E
    "490902 0636",                      // F
    "48391908031232434525",             // G
    "0902 4942 0646",                   // H
    "0929 1912 0222",                   // I
    "3933221203",                       // J
    "0902 4905 1642",                   // K
    "090232",                           // L
    "0209254942",                       // M
    "02094249",                         // N
    "190803124253584919",               // O
    "02093948463505",                   // P
    "190803124253584919 3452",          // Q
    "02093948463505 2542",              // R
    "483919080716364543321203",         // S
    "0949 2922",                        // T
    "090312324349",                     // U
    "092249",                           // V
    "0912375269",                       // W
    "0942 4902",                        // X
    "092549 2522",                      // Y
    "09490242",                         // Z
    "19090111",                         // [
    "0931",                             // \
    "09191101",                         // ]
    "072947",                           // ^
    "0141",                             // _
    "0918",                             // `
    "4742 4637170603123243",            // a
    "0902 0617374643321203",            // b
    "4637170603123243",                 // c
    "4942 4637170603123243",            // d
    "05454637170603123243",             // e
    "39291812 0737",                    // f
    "47413010 4637170603123243",        // g
    "0902 0617374642",                  // h
    "0702 09",                          // i
    "171100 19",                        // j
    "0902 3704 1532",                   // k
    "090312",                           // l
    "0702 0617273632 3647576662",       // m
    "0702 0617374642",                  // n
    "170603123243463717",               // o
    "0700 0617374643321203",            // p
    "4740 4637170603123243",            // q
    "0702 051737",                      // r
    "46371706153443321203",             // s
    "19132232 0737",                    // t
    "0703123243 4742",                  // u
    "072247",                           // v
    "0722364267",                       // w
    "0742 4702",                        // x
    "0722 4710",                        // y
    "07470242",                         // z
    "29181605141221",                   // {
    "0900",                             // |
    "09181625141201",                   // }
    "05163445",                         // ~
];

/// The strokes of one letter, and how far it is to the next one, in units of the grid.
pub(crate) struct Letter {
    pub strokes: Vec<Vec<(f32, f32)>>,
    pub advance: f32,
}

pub(crate) fn letter(c: char) -> Letter {
    let likeness = match c {
        '–' | '—' | '−' => '-',
        '×' => 'x',
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        '\u{a0}' => ' ',
        c => c,
    };
    let drawn = (likeness as usize)
        .checked_sub(' ' as usize)
        .and_then(|nth| STROKES.get(nth))
        .unwrap_or(&UNKNOWN);
    let digit = |byte: u8| f32::from(byte - b'0');
    let strokes: Vec<Vec<(f32, f32)>> = drawn
        .split_ascii_whitespace()
        .map(|stroke| {
            let points = stroke.as_bytes().chunks_exact(2);
            points.map(|xy| (digit(xy[0]), digit(xy[1]))).collect()
        })
        .collect();
    let width = strokes.iter().flatten().map(|(x, _)| *x).reduce(f32::max);
    Letter {
        strokes,
        advance: width.unwrap_or(2.0) + BETWEEN,
    }
}

/// How wide a text of size 1 is.
pub(crate) fn width(text: &str) -> f32 {
    let advances: f32 = text.chars().map(|c| letter(c).advance).sum();
    (advances - BETWEEN).max(0.0) / UNITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_is_drawn_on_the_grid_and_none_like_another() {
        let mut seen = std::collections::BTreeMap::new();
        for c in '!'..='~' {
            let nth = c as usize - ' ' as usize;
            let digits = STROKES[nth].replace(' ', "");
            assert!(digits.len() >= 2 && digits.len().is_multiple_of(2), "{c}");
            assert!(digits.bytes().all(|b| b.is_ascii_digit()), "{c}");
            let before = seen.insert(STROKES[nth], c);
            assert!(before.is_none(), "{c} looks like {before:?}");
        }
    }

    #[test]
    fn what_has_no_letter_is_a_box_and_a_long_text_is_wider() {
        assert_eq!(letter('é').strokes.len(), 1);
        assert_eq!(letter('–').strokes, letter('-').strokes);
        assert!(width("leak") < width("leak of memory"));
    }
}
