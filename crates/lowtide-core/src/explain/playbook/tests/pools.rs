//! Cases of memory that is mapped in large pieces, and of the collector's release.

use super::cases::{EntryCase, case};
use super::*;

/// Growth inside the arenas of these.
fn arenas(signs: &mut Signs, owners: &[Pool]) {
    look(signs, &[(MemoryClass::OtherAnon, 0.95)]);
    signs.pools = owners.to_vec();
}

fn python(signs: &mut Signs, minor: u32, micro: Option<u32>) {
    signs.python = Some(PythonVersion { minor, micro });
}

pub(super) const CASES: &[EntryCase] = &[
    case(
        "P43",
        leak,
        |s| {
            look(s, &[(MemoryClass::OtherAnon, 0.98)]);
            undecided(s);
            reserve(s, 185.0 * MB);
        },
        // Eight tenths of it: the rest has no end that is known.
        |s| reserve(s, 160.0 * MB),
    ),
    case(
        "P44",
        leak,
        |s| arenas(s, &[Pool::Arrow]),
        // Whose arena it is cannot be told.
        |s| arenas(s, &[Pool::Arrow, Pool::Jvm]),
    ),
    case(
        "P45",
        leak,
        |s| arenas(s, &[Pool::Torch]),
        |s| look(s, &[(MemoryClass::GlibcLive, 0.9)]),
    ),
    case(
        "P46",
        leak,
        |s| arenas(s, &[Pool::Jvm]),
        |s| s.pools.clear(),
    ),
    case(
        "P47",
        leak,
        |s| arenas(s, &[Pool::Jemalloc]),
        // A buffer that is being filled lies in no arena.
        |s| reserve(s, 190.0 * MB),
    ),
    case(
        "P48",
        leak,
        |s| {
            look(s, &[(MemoryClass::PythonLive, 0.9)]);
            python(s, 14, Some(2));
        },
        |s| python(s, 14, Some(5)),
    ),
    case(
        "P48",
        leak,
        |s| {
            look(s, &[(MemoryClass::PythonLive, 0.9)]);
            python(s, 14, Some(4));
            cleaned(s, "gc", 30, 30.0 * 50.0 * MB);
            counted(s, 0.0, 0.0, 0.0);
            s.objects.as_mut().unwrap().span.last.objects = 9000.0;
        },
        // A list: its objects are more, and no collection frees them.
        |s| cleaned(s, "gc", 30, 0.0),
    ),
];

fn untested<'a>(matched: &'a Matched, about: &str) -> Option<&'a str> {
    let found = matched.untested.iter().find(|s| s.about.starts_with(about));
    found.map(|statement| statement.says.as_str())
}

#[test]
fn a_release_that_is_not_known_is_asked_for() {
    let mut signs = leak();
    look(&mut signs, &[(MemoryClass::PythonLive, 0.9)]);
    python(&mut signs, 14, None);
    let matched = matched(&signs);
    assert!(matched.candidates.iter().all(|c| c.id != "P48"));
    assert!(untested(&matched, "P48").unwrap().contains("python -VV"));
}

#[test]
fn several_owners_of_arenas_are_named_together() {
    let mut signs = leak();
    arenas(&mut signs, &[Pool::Arrow, Pool::Torch]);
    assert!(matched(&signs).candidates.is_empty());
    let open = super::super::super::statements::untested(&signs);
    let whose = open
        .iter()
        .find(|s| s.about == "whose arena grows")
        .unwrap();
    assert!(
        whose.says.contains("Arrow, torch's mimalloc"),
        "{}",
        whose.says
    );
}

/// As seen with np.zeros: all of it huge pages, of no kind that the look knew.
#[test]
fn a_buffer_that_is_being_filled_is_nothing_else() {
    for kind in [
        MemoryClass::OtherAnon,
        MemoryClass::GlibcMapped,
        MemoryClass::Shared,
    ] {
        let mut signs = leak();
        undecided(&mut signs);
        look(&mut signs, &[(kind, 0.99)]);
        signs.shared = vec![("/dev/shm/buffer".to_owned(), 190.0 * MB)];
        signs.counts.as_mut().unwrap().last.huge = Bytes(198_000_000);
        reserve(&mut signs, 196.0 * MB);
        let found = matched(&signs).candidates;
        let ids: Vec<&str> = found.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["P43"], "{kind:?}");
        assert_eq!(
            found[0].because,
            [
                "98 % of the growth touched one block of 1.00 GB that was reserved before: 300 MB of it are in use, 700 MB are left, and there it ends"
            ]
        );
    }
}

#[test]
fn huge_pages_of_no_known_use_are_untested() {
    let mut signs = leak();
    look(&mut signs, &[(MemoryClass::OtherAnon, 0.95)]);
    signs.counts.as_mut().unwrap().last.huge = Bytes(190_000_000);
    let matched = matched(&signs);
    assert!(matched.candidates.iter().all(|c| c.id != "P27"));
    assert!(untested(&matched, "P27").is_some());
}
