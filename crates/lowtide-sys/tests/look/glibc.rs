//! glibc's blocks in real programs: planted ones, freed ones, cached ones, on targets that run on.

use lowtide_core::look::{Look, MemoryClass};

use crate::job::Job;
use crate::{held, layout, look_into, near, parts, sum, target};

fn count(look: &Look, class: MemoryClass, name: &str) -> u64 {
    let part = parts(look).iter().find(|part| part.class == Some(class));
    let mut members = part.into_iter().flat_map(|part| &part.members);
    members
        .find(|member| member.name == name)
        .map_or(0, |member| member.count)
}

/// Three threads allocate and free without pause while the look is taken.
#[test]
fn planted_blocks_are_found_while_the_target_runs() {
    let mut job = target("churn");
    // The main arena, and one for each of the two other threads.
    assert_eq!(job.until("ready"), "3");
    let mut looks = Vec::new();
    for _ in 0..5 {
        let look = look_into(&job);
        assert_eq!(layout(&look).counts.arenas, 2, "{look:#?}");
        // malloc(200) and malloc(456), 20,000 each: in the main heap, in the heaps of two threads.
        // Some get 16 bytes more, where splitting a free block would leave less than a block.
        let found = |names: [&str; 2]| -> u64 {
            let of = |name| count(&look, MemoryClass::GlibcLive, name);
            names.into_iter().map(of).sum()
        };
        looks.push((
            found(["208 B blocks", "224 B blocks"]),
            found(["464 B blocks", "480 B blocks"]),
        ));
    }
    let enough = |found: u64| (19_800..21_500).contains(&found);
    let good = looks
        .iter()
        .filter(|(main, threads)| enough(*main) && enough(*threads));
    assert_eq!(good.count(), looks.len(), "{looks:?}");
}

#[test]
fn what_malloc_trim_returns_is_foreseen() {
    let mut job = target("trim");
    job.until("ready");
    let look = look_into(&job);
    let foreseen = look.bytes(MemoryClass::GlibcFree).as_f64();
    job.tell();
    let returned: f64 = job.until("trimmed").parse().unwrap();
    assert!(returned > 20e6, "{returned}");
    assert!(
        near(foreseen, returned, 0.1),
        "foreseen {foreseen}, returned {returned}\n{look:#?}"
    );
    let after = look_into(&job);
    assert!(
        after.bytes(MemoryClass::GlibcFree).as_f64() < 0.02 * returned,
        "{after:#?}"
    );
    // What is in use is the same before and after; the holes are what trimming cannot return.
    let live = look.bytes(MemoryClass::GlibcLive).as_f64();
    assert!(
        near(after.bytes(MemoryClass::GlibcLive).as_f64(), live, 0.01),
        "{after:#?}"
    );
}

#[test]
fn cached_blocks_are_not_in_use() {
    let mut job = target("cached");
    job.until("ready");
    let look = look_into(&job);
    assert!(
        count(&look, MemoryClass::GlibcLive, "80 B blocks") < 1000,
        "{look:#?}"
    );
    // malloc_trim would join them and return nearly all.
    assert!(
        near(look.bytes(MemoryClass::GlibcFree).as_f64(), 8e6, 0.05),
        "{look:#?}"
    );
}

#[test]
fn blocks_of_their_own_are_told_from_their_neighbours() {
    let mut job = target("mapped");
    job.until("ready");
    let look = look_into(&job);
    assert!(
        near(look.bytes(MemoryClass::GlibcMapped).as_f64(), 30.1e6, 0.01),
        "{look:#?}"
    );
    let other = look.bytes(MemoryClass::OtherAnon).as_f64();
    assert!(near(other, 30.0 * 8192.0, 0.2), "{look:#?}");
}

/// A look must not bring in pages that the program never touched.
#[test]
fn untouched_pages_stay_untouched() {
    let mut job = target("untouched");
    job.until("ready");
    let before = held(&look_into(&job));
    look_into(&job);
    job.tell();
    let after: f64 = job.until("done").parse().unwrap();
    assert!(near(after * 1024.0, before, 0.01), "{before} {after}");
}

/// A preloaded malloc or none that is known: mappings only, and it says so.
#[test]
fn an_unknown_malloc_is_said() {
    let mut job = Job::start(std::process::Command::new(crate::built(&["-static"])).arg("mapped"));
    job.until("ready");
    let look = look_into(&job);
    assert!(!look.missing.is_empty());
    assert!(near(sum(&look), held(&look), 0.02), "{look:#?}");
}
