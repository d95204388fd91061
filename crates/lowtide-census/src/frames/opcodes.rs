//! Instructions that make loops, by version, and how many words follow each: those are counters of the interpreter's
//! own, and look like instructions.

/// What an instruction does, as far as loops go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// More of the next one's number.
    Extends,
    /// Takes the next of an iterator, or leaves the loop: how far is its number.
    Iterates,
    /// Jumps back by its number.
    JumpsBack,
    /// Jumps to its number, perhaps back (up to 3.10).
    JumpsTo,
    /// Where an exception is dealt with: from 3.12 on such code stands behind all else, out of its place.
    Catches,
    /// Hides what stands there: a debugger's, or compiled code's.
    Hides,
    Else,
}

/// From here on instructions are those of debuggers and profilers (3.12 and later).
const WATCHED: u8 = 230;

/// A version's table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opcodes {
    pub(super) minor: u32,
    extends: [u8; 2],
    iterates: (u8, [u8; 2]),
    jumps_back: &'static [u8],
    catches: u8,
    hides: u8,
    /// First and last of a row, and the words that follow each of it.
    followed: &'static [(u8, u8, u8)],
}

impl Opcodes {
    pub(crate) fn of(minor: u32) -> Option<Opcodes> {
        let table = [&OLD, &ELEVEN, &TWELVE, &THIRTEEN, &FOURTEEN, &FIFTEEN];
        let found = table
            .into_iter()
            .find(|one| one.minor == minor || one.minor == 10 && minor == 9);
        found.copied()
    }

    pub(super) fn does(&self, opcode: u8) -> Does {
        let (iterates, [first, last]) = self.iterates;
        match opcode {
            _ if self.extends.contains(&opcode) => Does::Extends,
            _ if opcode == iterates || (first..=last).contains(&opcode) => Does::Iterates,
            _ if self.jumps_back.contains(&opcode) => match self.minor {
                ..=10 => Does::JumpsTo,
                _ => Does::JumpsBack,
            },
            _ if self.catches == opcode => Does::Catches,
            _ if self.minor >= 12 && opcode >= WATCHED || self.hides == opcode => Does::Hides,
            _ => Does::Else,
        }
    }

    /// Words that follow it.
    pub(crate) fn followed_by(&self, opcode: u8) -> usize {
        let mut rows = self.followed.iter();
        let row = rows.find(|(first, last, _)| (*first..=*last).contains(&opcode));
        row.map_or(0, |(.., words)| usize::from(*words))
    }
}

/// No such instruction.
const NONE: u8 = 0;

const OLD: Opcodes = Opcodes {
    minor: 10,
    extends: [144, 144],
    iterates: (93, [93, 93]),
    jumps_back: &[111, 112, 113, 114, 115, 121],
    catches: NONE,
    hides: NONE,
    followed: &[],
};

const ELEVEN: Opcodes = Opcodes {
    minor: 11,
    extends: [144, 34],
    iterates: (93, [93, 93]),
    jumps_back: &[38, 140, 173, 174, 175, 176],
    catches: NONE,
    hides: NONE,
    #[rustfmt::skip]
    followed: &[
        (3, 8, 1), (13, 14, 1), (16, 16, 1), (17, 25, 4), (26, 29, 2), (39, 43, 4), (47, 48, 5), (55, 55, 5),
        (56, 59, 10), (60, 60, 1), (62, 63, 10), (64, 67, 1), (72, 73, 1), (76, 81, 1), (92, 92, 1), (95, 95, 4),
        (106, 106, 4), (107, 107, 2), (113, 113, 1), (116, 116, 5), (121, 122, 1), (127, 127, 1), (141, 141, 1),
        (143, 143, 1), (153, 154, 4), (158, 159, 4), (160, 160, 10), (166, 166, 1), (168, 170, 1), (171, 171, 4),
        (177, 180, 1),
    ],
};

const TWELVE: Opcodes = Opcodes {
    minor: 12,
    extends: [144, 144],
    iterates: (93, [62, 65]),
    jumps_back: &[140],
    catches: 35,
    hides: NONE,
    #[rustfmt::skip]
    followed: &[
        (6, 8, 1), (10, 10, 1), (13, 14, 1), (16, 16, 1), (18, 22, 1), (23, 24, 3), (25, 25, 1), (28, 29, 3),
        (34, 34, 3), (38, 48, 3), (56, 56, 3), (57, 60, 1), (62, 67, 1), (70, 70, 9), (72, 73, 9), (76, 82, 9),
        (92, 93, 1), (95, 95, 4), (106, 106, 9), (107, 107, 1), (111, 113, 4), (116, 116, 4), (122, 123, 1),
        (141, 141, 1), (148, 148, 4), (153, 153, 4), (159, 161, 1), (166, 168, 1), (171, 171, 3),
    ],
};

const THIRTEEN: Opcodes = Opcodes {
    minor: 13,
    extends: [71, 71],
    iterates: (72, [187, 190]),
    jumps_back: &[77],
    catches: 33,
    hides: 70,
    #[rustfmt::skip]
    followed: &[
        (3, 3, 1), (5, 5, 1), (39, 39, 1), (40, 40, 3), (45, 45, 1), (53, 53, 3), (58, 59, 1), (72, 72, 1),
        (77, 77, 1), (82, 82, 9), (91, 91, 4), (93, 93, 1), (97, 100, 1), (104, 104, 1), (108, 108, 4),
        (117, 117, 1), (150, 161, 1), (162, 181, 3), (182, 190, 1), (191, 202, 9), (203, 204, 4), (205, 206, 1),
        (208, 208, 1), (209, 211, 4), (212, 213, 1), (214, 219, 3), (220, 222, 1),
    ],
};

const FOURTEEN: Opcodes = Opcodes {
    minor: 14,
    extends: [69, 69],
    iterates: (70, [171, 174]),
    jumps_back: &[75, 175, 176],
    catches: 32,
    hides: NONE,
    #[rustfmt::skip]
    followed: &[
        (3, 3, 5), (38, 38, 1), (39, 39, 3), (44, 44, 5), (52, 52, 3), (55, 55, 3), (56, 57, 1), (70, 70, 1),
        (75, 75, 1), (80, 80, 9), (92, 92, 4), (96, 96, 1), (100, 103, 1), (106, 106, 1), (110, 110, 4),
        (119, 119, 1), (129, 142, 5), (143, 165, 3), (166, 176, 1), (177, 189, 9), (192, 193, 4), (194, 195, 1),
        (197, 197, 1), (198, 200, 4), (201, 202, 1), (203, 208, 3), (209, 211, 1),
    ],
};

const FIFTEEN: Opcodes = Opcodes {
    minor: 15,
    extends: [67, 67],
    iterates: (68, [174, 178]),
    jumps_back: &[74, 181, 182],
    catches: 30,
    hides: NONE,
    #[rustfmt::skip]
    followed: &[
        (3, 3, 5), (4, 4, 1), (36, 36, 1), (37, 37, 3), (42, 42, 5), (50, 50, 3), (53, 53, 3), (54, 55, 1),
        (68, 68, 1), (70, 70, 1), (74, 74, 1), (79, 79, 9), (91, 91, 4), (95, 95, 1), (99, 102, 1), (105, 105, 1),
        (109, 109, 4), (118, 118, 1), (128, 128, 1), (129, 143, 5), (144, 150, 3), (151, 152, 1), (153, 168, 3),
        (169, 182, 1), (183, 195, 9), (196, 197, 4), (198, 204, 1), (205, 207, 4), (208, 209, 1), (210, 215, 3),
        (216, 218, 1),
    ],
};
