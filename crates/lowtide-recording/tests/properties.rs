//! What a recording promises, whatever is put in and whatever happens to the file.

use std::fs;
use std::path::PathBuf;

use lowtide_core::entry::{Cleanup, Entry, EventKind, Exit, Header};
use lowtide_core::look::{
    Allocator, Breakdown, By, Cost, Counts, Examiner, Layout, Look, LookWhy, MemoryClass, Missing,
    Objects, Part, PartMember, Pool, PythonVersion, Reserved, Rest, UsualSize,
};
use lowtide_core::mark::{Geometry, LoopObject, Mark, MarkSource, Phase, TrainingLoop};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::sample::{
    Basis, Cgroup, Gap, GapWhy, Gpu, Limit, LimitFrom, Node, Pressure, Pss, Reading, Sample,
    TreeSum,
};
use lowtide_core::units::{Bytes, Micros, Share};
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{Frames, file_head};
use lowtide_recording::summary::Summary;
use lowtide_recording::{Recording, RecordingError};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

/// Mostly pages and small steps, sometimes anything: both ways of storing a difference are met.
fn size() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        4 => (0u64..50).prop_map(|pages| Bytes(pages * 4096)),
        1 => any::<u64>().prop_map(Bytes),
    ]
}

/// Entries in JSON keep them as seconds, exactly below 2^51.
fn micros() -> impl Strategy<Value = Micros> {
    prop_oneof![
        4 => (0u64..90).prop_map(|t| Micros(t * 10_000)),
        1 => (0..1u64 << 51).prop_map(Micros),
    ]
}

fn id() -> impl Strategy<Value = ProcId> {
    (1u32..9, 0u64..3).prop_map(|(pid, start)| ProcId { pid, start })
}

fn pressure() -> impl Strategy<Value = Pressure> {
    let percent = || prop_oneof![(0u32..10_001).prop_map(|h| h as f32 / 100.0), -1e9f32..1e9];
    (percent(), percent(), micros(), micros()).prop_map(|(some, full, some_total, full_total)| {
        Pressure {
            some_avg10: some,
            full_avg10: full,
            some_total,
            full_total,
        }
    })
}

fn pss() -> impl Strategy<Value = Pss> {
    (
        micros(),
        micros(),
        [size(), size(), size(), size(), size(), size()],
    )
        .prop_map(|(at, cost, [anon, file, shmem, swap, uss, rss_anon])| Pss {
            at,
            cost,
            anon,
            file,
            shmem,
            swap,
            uss,
            rss_anon,
        })
}

fn reading() -> impl Strategy<Value = Reading> {
    (
        id(),
        [size(), size(), size(), size(), size(), size()],
        (any::<u32>(), option::of(0u32..9)),
        micros(),
        (any::<u64>(), 0u64..9),
        option::of(size()),
        option::of(pss()),
        (option::of(0u64..900), option::of(any::<[u64; 3]>())),
    )
        .prop_map(
            |(
                id,
                [anon, file, shmem, swap, vsize, peak],
                (threads, fds),
                cpu,
                faults,
                gpu,
                pss,
                (objects, collections),
            )| {
                Reading {
                    anon,
                    file,
                    shmem,
                    swap,
                    vsize,
                    peak,
                    threads,
                    fds,
                    cpu,
                    minor_faults: faults.0,
                    major_faults: faults.1,
                    gpu,
                    pss,
                    objects,
                    collections,
                    ..Reading::of(id)
                }
            },
        )
}

fn node() -> impl Strategy<Value = Node> {
    (
        [size(), size(), size(), size(), size(), size()],
        option::of(pressure()),
        option::of((size(), size())),
    )
        .prop_map(
            |([total, available, page_cache, shmem, swap_total, swap_free], pressure, dev_shm)| {
                Node {
                    total,
                    available,
                    page_cache,
                    shmem,
                    swap_total,
                    swap_free,
                    pressure,
                    dev_shm,
                }
            },
        )
}

fn cgroup() -> impl Strategy<Value = Cgroup> {
    let maybe = || option::of(size());
    (
        "[a-z/]{0,4}",
        size(),
        [
            maybe(),
            maybe(),
            maybe(),
            maybe(),
            maybe(),
            maybe(),
            maybe(),
            maybe(),
        ],
        (option::of(any::<u64>()), option::of(0u64..9)),
        option::of(pressure()),
        any::<bool>(),
    )
        .prop_map(
            |(path, current, sizes, (oom_kills, limit_hits), pressure, only_ours)| {
                let [max, high, swap, swap_max, anon, file, shmem, kernel] = sizes;
                Cgroup {
                    path,
                    current,
                    max,
                    high,
                    swap,
                    swap_max,
                    anon,
                    file,
                    shmem,
                    kernel,
                    oom_kills,
                    limit_hits,
                    pressure,
                    only_ours,
                }
            },
        )
}

fn limit() -> impl Strategy<Value = Limit> {
    let from = prop_oneof![
        "[a-z/]{0,6}".prop_map(LimitFrom::Cgroup),
        Just(LimitFrom::Node),
        Just(LimitFrom::Slurm),
        Just(LimitFrom::Rlimit),
        Just(LimitFrom::User),
    ];
    (size(), from, size()).prop_map(|(bytes, from, used)| Limit { bytes, from, used })
}

fn gap() -> impl Strategy<Value = Gap> {
    let why = prop_oneof![
        Just(GapWhy::Vanished),
        Just(GapWhy::Denied),
        Just(GapWhy::TooLarge),
        Just(GapWhy::Late),
        Just(GapWhy::Dropped),
        Just(GapWhy::Unsupported),
        Just(GapWhy::Malformed),
    ];
    (option::of(id()), ".{0,8}", why).prop_map(|(who, what, why)| Gap { who, what, why })
}

fn tree() -> impl Strategy<Value = TreeSum> {
    let basis = prop_oneof![
        Just(Basis::Cgroup),
        Just(Basis::Counters),
        (micros(), any::<u32>()).prop_map(|(oldest, unread)| Basis::Pss { oldest, unread }),
    ];
    (size(), basis).prop_map(|(held, basis)| TreeSum { held, basis })
}

fn gpu() -> impl Strategy<Value = Gpu> {
    (0u32..3, "[A-Z]{0,3}", size(), size()).prop_map(|(index, name, used, total)| Gpu {
        index,
        name,
        used,
        total,
    })
}

fn sample() -> impl Strategy<Value = Sample> {
    (
        (any::<u64>(), micros(), micros()),
        vec(reading(), 0..6),
        node(),
        (vec(cgroup(), 0..3), vec(gpu(), 0..3), vec(gap(), 0..3)),
        option::of(limit()),
        tree(),
    )
        .prop_map(
            |((seq, at, late), readings, node, (cgroups, gpus, gaps), limit, tree)| Sample {
                seq,
                at,
                late,
                readings,
                node,
                cgroups,
                limit,
                tree,
                gpus,
                gaps,
            },
        )
}

fn mark() -> impl Strategy<Value = Mark> {
    let source = prop_oneof![
        Just(MarkSource::Callback),
        Just(MarkSource::Output),
        Just(MarkSource::TrainerState),
        Just(MarkSource::Memory),
    ];
    let phase = prop_oneof![
        Just(Phase::Start),
        Just(Phase::Train),
        Just(Phase::Eval),
        Just(Phase::Save),
        Just(Phase::End),
    ];
    let count = || option::of(any::<u64>());
    let geometry = (count(), count(), count(), count(), option::of(-1e9f64..1e9)).prop_map(
        |(examples, batch, accumulate, world, epoch_steps)| Geometry {
            examples,
            batch,
            accumulate,
            world,
            epoch_steps,
        },
    );
    let training_loop = prop_oneof![
        Just(TrainingLoop::Trainer),
        Just(TrainingLoop::Lightning),
        Just(TrainingLoop::Plain)
    ];
    let object = prop_oneof![
        Just(LoopObject::TrainerState),
        Just(LoopObject::LightningLoop),
        Just(LoopObject::Accelerator),
        Just(LoopObject::Bar),
        Just(LoopObject::DataLoader),
        Just(LoopObject::Optimizer),
    ];
    let epoch = prop_oneof![
        (0u32..900).prop_map(|e| f64::from(e) / 100.0),
        -1e300f64..1e300
    ];
    (
        micros(),
        source,
        (option::of(any::<u32>()), option::of(any::<u32>())),
        (count(), count(), count()),
        option::of(epoch),
        option::of(phase),
        (
            option::of(geometry),
            option::of(training_loop),
            option::of(object),
        ),
    )
        .prop_map(
            |(
                at,
                source,
                (pid, rank),
                (step, total_steps, examples),
                epoch,
                phase,
                (geometry, training_loop, object),
            )| {
                Mark {
                    at,
                    source,
                    pid,
                    rank,
                    step,
                    total_steps,
                    epoch,
                    phase,
                    examples,
                    geometry,
                    training_loop,
                    object,
                }
            },
        )
}

fn member() -> impl Strategy<Value = Member> {
    let role = prop_oneof![
        Just(Role::Trainer),
        Just(Role::Other),
        (0u32..9, 0u32..9).prop_map(|(rank, world)| Role::Rank { rank, world }),
    ];
    (
        id(),
        option::of(id()),
        vec(".{0,12}", 0..4),
        role,
        ".{0,20}",
    )
        .prop_map(|(id, parent, argv, role, why)| Member {
            id,
            parent,
            facts: Facts {
                argv,
                ..Facts::default()
            },
            role,
            why,
        })
}

fn look() -> impl Strategy<Value = Look> {
    let of_class = (size(), ".{0,9}", any::<u64>()).prop_map(|(bytes, name, count)| {
        let usual = (count % 2 == 1).then_some(UsualSize { size: bytes, count });
        let member = PartMember {
            name,
            count,
            bytes,
            usual,
        };
        Part::of_class(MemoryClass::FileClean, bytes, vec![member])
    });
    let plain = (".{0,9}", option::of(any::<u64>()), option::of(size()))
        .prop_map(|(name, count, bytes)| Part::new(name, count, bytes));
    let rest = (any::<u64>(), option::of(any::<u64>()), option::of(size())).prop_map(
        |(parts, count, bytes)| Rest {
            parts,
            count,
            bytes,
        },
    );
    // Also of things that nobody breaks down by yet.
    let breakdown = (
        "[a-z-]{1,9}",
        vec(prop_oneof![of_class, plain], 0..3),
        option::of(rest),
    )
        .prop_map(|(by, parts, rest)| Breakdown {
            by: By::from(by),
            parts,
            rest,
        });
    let missing = prop_oneof![
        Just(Missing::Unlisted),
        size().prop_map(|by| Missing::Changed { by }),
        ".{0,9}".prop_map(|what| Missing::Denied { what }),
    ];
    let objects = (any::<u64>(), any::<u64>()).prop_map(|(tracked, with_graph)| Objects {
        tracked,
        with_graph,
        cuda: None,
    });
    let reserved = (any::<u64>(), size(), size(), option::of(".{0,9}")).prop_map(
        |(start, size, touched, name)| Reserved {
            start,
            size,
            touched,
            name,
        },
    );
    let pools = proptest::sample::subsequence(
        vec![Pool::Arrow, Pool::Jvm, Pool::Torch, Pool::Mimalloc],
        0..4,
    );
    let python =
        (0u32..20, option::of(0u32..30)).prop_map(|(minor, micro)| PythonVersion { minor, micro });
    let layout = (any::<u64>(), vec(reserved, 0..3), pools, option::of(python)).prop_map(
        |(maps, reserved, pools, python)| Layout {
            allocator: Allocator::Glibc,
            reserved,
            pools,
            python,
            counts: Counts {
                maps,
                ..Counts::default()
            },
        },
    );
    (
        (micros(), id(), "[a-z]{1,9}", option::of(size())),
        vec(missing, 0..2),
        vec(breakdown, 0..3),
        option::of(layout),
        option::of(objects),
    )
        .prop_map(
            |((at, id, examiner, held), missing, breakdowns, layout, objects)| Look {
                held,
                cost: Cost { wall: at, cpu: at },
                missing,
                breakdowns,
                layout,
                objects,
                ..Look::new(at, id, LookWhy::Due, Examiner::from(examiner))
            },
        )
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        1 => look().prop_map(Entry::Look),
        6 => sample().prop_map(Entry::Sample),
        3 => mark().prop_map(Entry::Mark),
        1 => (".{0,9}", micros(), 0.0f64..1.0).prop_map(|(name, started, budget)| {
            Entry::Header(Header { name, started, budget: Share(budget), ..Header::default() })
        }),
        1 => member().prop_map(Entry::Member),
        1 => (id(), micros()).prop_map(|(id, at)| Entry::Gone { id, at }),
        1 => (micros(), id(), ".{0,9}").prop_map(|(at, id, why)| Entry::Watch { at, id, why }),
        1 => (micros(), gap(), any::<u64>())
            .prop_map(|(at, gap, ticks)| Entry::Gap { at, gap, ticks }),
        1 => (micros(), ".{0,30}")
            .prop_map(|(at, text)| Entry::Event { at, kind: EventKind::Info, text }),
        1 => (micros(), any::<u32>(), ".{0,30}")
            .prop_map(|(at, pid, json)| Entry::Record { at, pid, json }),
        1 => (micros(), any::<u32>(), btree_map(".{0,9}", any::<i64>(), 0..3))
            .prop_map(|(at, pid, freed)| Entry::Cleanup(Cleanup { at, pid, freed })),
        1 => (micros(), any::<u32>(), btree_map(".{0,9}", -1e9..1e9, 0..3))
            .prop_map(|(at, pid, values)| Entry::Log { at, pid, values }),
        1 => (micros(), option::of(any::<i32>().prop_map(Exit::Signal)))
            .prop_map(|(at, exit)| Entry::End { at, exit }),
    ]
}

/// What one run could have written: it has one header, and its clock does not go back.
fn entries(many: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Entry>> {
    vec(entry(), many).prop_map(|mut entries| {
        let (mut headed, mut clock) = (false, 0u64);
        for entry in &mut entries {
            match entry {
                Entry::Sample(sample) => {
                    clock += sample.at.0;
                    sample.at = Micros(clock);
                }
                Entry::Header(_) if headed => {
                    let text = "in place of a second header".to_owned();
                    let kind = EventKind::Info;
                    *entry = Entry::Event {
                        at: Micros(0),
                        kind,
                        text,
                    };
                }
                Entry::Header(_) => headed = true,
                _ => {}
            }
        }
        entries
    })
}

/// The bytes of a recording, and after how many of them each entry is complete.
struct Written {
    bytes: Vec<u8>,
    complete_at: Vec<usize>,
}

/// Every entry is its own frame here; `key_at` says which begin with a keyframe.
fn write(entries: &[Entry], key_at: impl Fn(usize) -> bool) -> Written {
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    let mut written = Written {
        bytes: file_head().to_vec(),
        complete_at: Vec::new(),
    };
    let mut batch = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if key_at(index) {
            encoder.want_key();
        }
        encoder.put(&mut frames, entry).unwrap();
        frames.swap_into(&mut batch);
        written.bytes.extend_from_slice(&batch);
        written.complete_at.push(written.bytes.len());
    }
    written
}

struct Place {
    path: PathBuf,
    _dir: tempfile::TempDir,
}

fn on_disk(bytes: &[u8]) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recording.lowtide");
    fs::write(&path, bytes).unwrap();
    Place { path, _dir: dir }
}

fn read(bytes: &[u8]) -> Result<Vec<Entry>, RecordingError> {
    Recording::open(&on_disk(bytes).path)?.collect()
}

fn is_damage(entry: &Entry) -> bool {
    matches!(entry, Entry::Gap { gap, .. } if gap.why == GapWhy::Malformed && gap.what == "recording")
}

#[test]
fn a_sample_from_before_the_last_one_is_left_out_and_told() {
    let at = |seq: u64, seconds: u64| {
        Entry::Sample(Sample {
            seq,
            at: Micros(seconds * 1_000_000),
            ..Sample::default()
        })
    };
    let all = [at(0, 1), at(1, 2), at(2, 9), at(3, 4), at(4, 5), at(5, 10)];
    let written = write(&all, |index| index == 3);
    let got = read(&written.bytes).unwrap();
    let told: Vec<u64> = (got.iter())
        .filter_map(|entry| match entry {
            Entry::Sample(sample) => Some(sample.seq),
            _ => None,
        })
        .collect();
    assert_eq!(told, [0, 1, 2, 5]);
    let lost: Vec<u64> = (got.iter().filter(|entry| is_damage(entry)))
        .map(|entry| match entry {
            Entry::Gap { ticks, .. } => *ticks,
            _ => 0,
        })
        .collect();
    assert_eq!(lost, [2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_put_in_comes_out(entries in entries(0..20), key_every in 1usize..9) {
        let written = write(&entries, |index| index % key_every == 0);
        prop_assert_eq!(read(&written.bytes).unwrap(), entries);
    }

    #[test]
    fn a_cut_anywhere_keeps_every_complete_entry(
        entries in entries(1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let written = write(&entries, |_| false);
        let cut = file_head().len() + cut.index(written.bytes.len() - file_head().len() + 1);
        let complete = written.complete_at.iter().filter(|&&at| at <= cut).count();
        prop_assert_eq!(&read(&written.bytes[..cut]).unwrap()[..], &entries[..complete]);
    }

    #[test]
    fn a_broken_byte_costs_no_entry_before_it_and_none_after_the_next_keyframe(
        entries in entries(9..20),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let key_every = 4;
        let written = write(&entries, |index| index % key_every == 0);
        let head = file_head().len();
        let at = head + at.index(written.bytes.len() - head);
        let mut bytes = written.bytes.clone();
        bytes[at] ^= flip;
        let got = read(&bytes).unwrap();
        let got: Vec<&Entry> = got.iter().filter(|e| !is_damage(e)).collect();

        let broken = written.complete_at.iter().filter(|&&end| end <= at).count();
        let whole: Vec<&Entry> = entries.iter().filter(|e| !is_damage(e)).collect();
        let before = entries[..broken].iter().filter(|e| !is_damage(e)).count();
        prop_assert_eq!(&got[..before], &whole[..before]);
        // A keyframe begins with the first sample after it was asked for.
        let key = (broken + 1..entries.len())
            .filter(|index| index % key_every == 0)
            .find_map(|asked| {
                (asked..entries.len()).find(|&i| matches!(entries[i], Entry::Sample(_)))
            });
        let after = key.map_or(0, |key| entries[key..].iter().filter(|e| !is_damage(e)).count());
        prop_assert!(got.len() >= after);
        prop_assert_eq!(&got[got.len() - after..], &whole[whole.len() - after..]);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(junk in vec(any::<u8>(), 0..2000)) {
        let _ = read(&junk);
        let _ = Summary::read(&on_disk(&junk).path);
        let mut headed = file_head().to_vec();
        headed.extend_from_slice(&junk);
        read(&headed).unwrap();
        let _ = Summary::read(&on_disk(&headed).path);
    }

    /// Checksums keep damage away from the decoder; here it meets junk all the same.
    #[test]
    fn any_payload_is_decoded_without_a_panic(kind in 0u8..8, junk in vec(any::<u8>(), 0..300)) {
        let mut frames = Frames::default();
        frames.begin_key();
        frames.record(kind, &junk);
        let mut batch = Vec::new();
        frames.swap_into(&mut batch);
        let mut bytes = file_head().to_vec();
        bytes.extend_from_slice(&batch);
        read(&bytes).unwrap();
    }
}

fn ticks(range: std::ops::Range<u64>) -> Vec<Entry> {
    range
        .map(|seq| {
            Entry::Sample(Sample {
                seq,
                at: Micros(seq * 1_000_000),
                ..Sample::default()
            })
        })
        .collect()
}

#[test]
fn a_gap_says_how_many_ticks_the_damage_cost() {
    let entries = ticks(0..40);
    let written = write(&entries, |index| index == 30);
    let mut bytes = written.bytes.clone();
    bytes[written.complete_at[10] + 12] ^= 0x55;
    let got = read(&bytes).unwrap();
    let lost = 30 - 11;
    assert_eq!(got[..11], entries[..11]);
    assert!(is_damage(&got[11]));
    assert!(matches!(got[11], Entry::Gap { ticks, at: Micros(10_000_000), .. } if ticks == lost));
    assert_eq!(got[12..], entries[30..]);
}

#[test]
fn damage_that_no_keyframe_follows_is_told_at_the_end_and_names_are_saved() {
    let mut entries = ticks(0..20);
    entries.push(Entry::End {
        at: Micros(20_000_000),
        exit: Some(Exit::Code(0)),
    });
    let written = write(&entries, |_| false);
    let mut bytes = written.bytes.clone();
    bytes[written.complete_at[10] + 12] ^= 0x55;
    let got = read(&bytes).unwrap();
    assert_eq!(got[..11], entries[..11]);
    assert_eq!(
        got[11], entries[20],
        "the end does not depend on what was lost"
    );
    assert!(
        matches!(got[12], Entry::Gap { ticks: 8, .. }),
        "{:?}",
        got[12]
    );
    assert_eq!(got.len(), 13);
}

#[test]
fn a_growing_file_is_followed_and_half_a_frame_waited_for() {
    let entries = ticks(0..3);
    let written = write(&entries, |_| false);
    let [first, second, third] = written.complete_at[..] else {
        panic!("three entries")
    };
    let place = on_disk(&written.bytes[..first]);
    let mut recording = Recording::open(&place.path).unwrap();
    let mut next = || recording.next().transpose().unwrap();
    assert_eq!(next(), Some(entries[0].clone()));
    assert_eq!(next(), None);
    fs::write(&place.path, &written.bytes[..second - 1]).unwrap();
    assert_eq!(next(), None);
    fs::write(&place.path, &written.bytes[..third]).unwrap();
    assert_eq!(next(), Some(entries[1].clone()));
    assert_eq!(next(), Some(entries[2].clone()));
    assert_eq!(next(), None);
}

#[test]
fn other_files_and_other_versions_are_refused_in_words() {
    let error = |bytes: &[u8]| match Recording::open(&on_disk(bytes).path) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{bytes:?} was taken for a recording"),
    };
    assert!(error(b"\x89PNG\r\n\x1a\n....").ends_with("is not a lowtide recording"));
    assert!(error(b"").ends_with("ends before its first entry"));
    for version in [1, 7] {
        let mut other = file_head();
        other[8] = version;
        let says = format!("has version {version} of the format; this lowtide reads version 2");
        assert!(error(&other).ends_with(&says), "{}", error(&other));
    }
    let missing = Recording::open(std::path::Path::new("/no/such/recording"));
    assert!(matches!(missing, Err(RecordingError::Open { .. })));
}
