//! Code of 3.13 by hand, where a live process would not show why; and any bytes at all.

use std::rc::Rc;

use proptest::prelude::*;

use super::body::{Body, Of};
use super::machine::sites;
use super::site::{Does, Target};

const LOAD_ATTR: u8 = 82;
const LOAD_CONST: u8 = 83;
const LOAD_FAST: u8 = 85;
const LOAD_FAST_AND_CLEAR: u8 = 86;
const CALL: u8 = 53;
const POP_TOP: u8 = 32;
const STORE_FAST: u8 = 110;
const DELETE_FAST: u8 = 65;
const BUILD_LIST: u8 = 47;
const JUMP_BACKWARD: u8 = 77;
const PUSH_NULL: u8 = 34;
const SWAP: u8 = 115;
const UNKNOWN: u8 = 148;

/// The names are `rows`, `append`; the variables `self`, `x`, `y`.
fn body(minor: u32, code: &[(u8, u8)]) -> Body {
    let texts = |texts: &[&str]| texts.iter().map(|text| Rc::from(*text)).collect();
    let mut instructions = Vec::new();
    for (opcode, argument) in code {
        instructions.extend([*opcode, *argument]);
        let words = crate::frames::Opcodes::of(minor).map_or(0, |all| all.followed_by(*opcode));
        instructions.extend(vec![0; 2 * words]);
    }
    Body {
        minor,
        of: Of::Function,
        name: "update".to_owned(),
        instructions,
        names: texts(&["rows", "append"]),
        fast: texts(&["self", "x", "y"]),
        deref: texts(&["self", "x", "y"]),
        free: vec![false; 3],
        arguments: 1,
        caught: Vec::new(),
        slices: Vec::new(),
        cutting: Vec::new(),
        nones: Vec::new(),
    }
}

/// Variables by name and attributes by theirs, and what is done to them.
fn found(code: &[(u8, u8)]) -> Vec<(&'static str, Does, String)> {
    let name = |target: &Target| match target {
        Target::Attribute { .. } => ".rows",
        Target::Fast(variable) => ["self", "x", "y"][*variable],
        other => panic!("{other:?}"),
    };
    let sites = sites(&body(13, code)).unwrap();
    let each = sites.into_iter();
    each.map(|site| (name(&site.target), site.does, site.how))
        .collect()
}

/// `self.rows` on the stack, and `append` of it called.
const SELF_ROWS: [(u8, u8); 2] = [(LOAD_FAST, 0), (LOAD_ATTR, 0)];
const APPENDED: [(u8, u8); 4] = [(LOAD_ATTR, 3), (LOAD_CONST, 0), (CALL, 1), (POP_TOP, 0)];
const APPEND: &str = "append";

#[test]
fn a_variable_is_what_it_was_given_last() {
    // x = self.rows; x.append(0); x = []; x.append(0)
    let code = [
        &SELF_ROWS[..],
        &[(STORE_FAST, 1), (LOAD_FAST, 1)],
        &APPENDED,
        &[(BUILD_LIST, 0), (STORE_FAST, 1), (LOAD_FAST, 1)],
        &APPENDED,
    ];
    let expected = [
        ("x", Does::Adds, APPEND.to_owned()),
        (".rows", Does::Adds, APPEND.to_owned()),
        ("x", Does::Empties, "=".to_owned()),
        ("x", Does::Adds, APPEND.to_owned()),
    ];
    assert_eq!(found(&code.concat()), expected);
}

#[test]
fn what_is_not_known_makes_the_stack_forgotten() {
    let known = [&SELF_ROWS[..], &APPENDED].concat();
    assert_eq!(found(&known), [(".rows", Does::Adds, APPEND.to_owned())]);
    let unknown = [&SELF_ROWS[..], &[(UNKNOWN, 0)], &APPENDED].concat();
    let sites = sites(&body(13, &unknown)).unwrap();
    // It is `append` of something, and of nothing that has a name.
    assert_eq!(sites, []);
}

#[test]
fn a_comprehensions_variable_is_its_own() {
    // [x for x in y] in a function that has an x, given before.
    let before = [(BUILD_LIST, 0), (STORE_FAST, 1)];
    let within = [(LOAD_FAST_AND_CLEAR, 1), (BUILD_LIST, 0), (STORE_FAST, 1)];
    let after = [(STORE_FAST, 1), (LOAD_FAST, 1)];
    let code = [&before[..], &within, &after, &APPENDED].concat();
    assert_eq!(found(&code), [("x", Does::Adds, APPEND.to_owned())]);
    // Without it, that is two more.
    let plain = [&before[..], &[(BUILD_LIST, 0), (STORE_FAST, 1)]].concat();
    assert_eq!(found(&plain), [("x", Does::Empties, "=".to_owned())]);
}

#[test]
fn what_a_handler_undoes_by_itself_is_not_told() {
    let given = [(BUILD_LIST, 0), (STORE_FAST, 1)];
    let undone = [(LOAD_CONST, 0), (STORE_FAST, 1), (DELETE_FAST, 1)];
    assert_eq!(found(&[&given[..], &undone].concat()), []);
    let deleted = [(DELETE_FAST, 1)];
    let expected = [("x", Does::Empties, "del".to_owned())];
    assert_eq!(found(&[&given[..], &deleted].concat()), expected);
}

#[test]
fn what_is_given_in_a_loop_is_given_again() {
    let once = [(BUILD_LIST, 0), (STORE_FAST, 1)];
    assert_eq!(found(&once), []);
    let again = [&once[..], &[(JUMP_BACKWARD, 4)]].concat();
    assert_eq!(found(&again), [("x", Does::Empties, "=".to_owned())]);
}

#[test]
fn what_may_be_the_old_one_and_more_is_not_told_to_empty() {
    // x = y, again and again.
    let code = [(LOAD_FAST, 2), (STORE_FAST, 1), (JUMP_BACKWARD, 4)];
    let expected = [("x", Does::Empties, super::site::GIVEN_UNKNOWN.to_owned())];
    assert_eq!(found(&code), expected);
    // x = [y]: who knows what y has.
    let code = [
        (LOAD_FAST, 2),
        (BUILD_LIST, 1),
        (STORE_FAST, 1),
        (JUMP_BACKWARD, 5),
    ];
    assert_eq!(found(&code), expected);
    // x = append(y, x), of whatever module.
    let code = [
        &[(LOAD_FAST, 2), (LOAD_ATTR, 3)][..],
        &[(LOAD_FAST, 2), (LOAD_FAST, 1), (CALL, 2)],
        &[(STORE_FAST, 1), (JUMP_BACKWARD, 8)],
    ];
    let adds = ("x", Does::Adds, "= itself + ...".to_owned());
    assert!(found(&code.concat()).contains(&adds));
}

#[test]
fn a_method_that_is_taken_and_not_called_may_be_called() {
    const RETURN_VALUE: u8 = 36;
    let taken = [&SELF_ROWS[..], &[(LOAD_ATTR, 2)]].concat();
    let expected = [(".rows", Does::Adds, "append, passed on".to_owned())];
    for then in [(RETURN_VALUE, 0), (BUILD_LIST, 1)] {
        assert_eq!(found(&[&taken[..], &[then]].concat()), expected);
    }
    // append = self.rows.append; append(0)
    let called = [(STORE_FAST, 1), (LOAD_FAST, 1), (PUSH_NULL, 0)];
    let code = [&taken[..], &called, &APPENDED[1..]].concat();
    assert_eq!(found(&code), [(".rows", Does::Adds, APPEND.to_owned())]);
}

#[test]
fn other_versions_and_hidden_code_are_not_read() {
    assert_eq!(sites(&body(8, &[(LOAD_FAST, 0)])), None);
    assert_eq!(sites(&body(16, &[(LOAD_FAST, 0)])), None);
    // ENTER_EXECUTOR of 3.13, INSTRUMENTED_LINE of 3.12.
    assert_eq!(sites(&body(13, &[(70, 0)])), None);
    assert_eq!(sites(&body(12, &[(254, 0)])), None);
}

#[test]
fn a_long_row_of_attributes_ends() {
    let mut code = vec![(LOAD_FAST, 0)];
    code.extend(vec![(LOAD_ATTR, 0); 20_000]);
    code.extend(APPENDED);
    assert!(sites(&body(13, &code)).is_some());
}

proptest! {
    #[test]
    fn any_bytes_have_an_end(
        minor in 8u32..=16,
        bytes in proptest::collection::vec(any::<u8>(), 0..4000),
        arguments in 0usize..4,
        caught in proptest::collection::vec((0usize..2000, 0usize..2000), 0..8),
    ) {
        let mut body = body(minor, &[]);
        body.instructions = bytes;
        body.arguments = arguments;
        body.caught = caught;
        sites(&body);
    }

    /// Instructions that are known, in any order: what is told has to be of this code.
    #[test]
    fn known_instructions_in_any_order(
        minor in 9u32..=15,
        code in proptest::collection::vec((0u8..230, 0u8..6), 0..600),
    ) {
        let body = body(minor, &code);
        let length = body.instructions.len() / 2;
        for site in sites(&body).unwrap_or_default() {
            prop_assert!(site.at < length);
            prop_assert!(!site.how.is_empty());
        }
    }
}

#[test]
fn swapping_below_what_is_known_is_no_harm() {
    let code = [(SWAP, 9), (SWAP, 200), (SWAP, 0), (CALL, 255), (POP_TOP, 0)];
    assert_eq!(found(&code), []);
}
