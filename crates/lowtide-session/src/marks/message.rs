//! One datagram of the marks protocol: a JSON object of absolute state, or one thing that happened. It is
//! understood here once; what comes after sees typed entries.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lowtide_core::entry::{Cleanup, Entry, EventKind};
use lowtide_core::look::{Breakdown, Cost, Cuda, Examiner, Look, LookWhy, Objects, PythonHeap};
use lowtide_core::mark::{Geometry, Mark, MarkSource, Phase, TrainingLoop};
use lowtide_core::process::ProcId;
use lowtide_core::units::{Bytes, Micros};
use serde::Deserialize;

/// Larger datagrams are cut by the kernel and then refused as broken JSON.
pub(crate) const LARGEST: usize = 32 * 1024;

/// Folders that a job may save to; those that are named first count.
const MOST_FOLDERS: usize = 8;

/// A sender whose clock lies further back than this is of another boot or namespace: our own time is used.
const OLDEST: Micros = Micros(60_000_000);

#[derive(Deserialize)]
struct Message {
    v: u32,
    t: Option<u64>,
    pid: Option<u32>,
    rank: Option<u32>,
    step: Option<u64>,
    total_steps: Option<u64>,
    epoch: Option<f64>,
    phase: Option<Phase>,
    examples: Option<u64>,
    geometry: Option<Geometry>,
    #[serde(rename = "loop")]
    training_loop: Option<String>,
    #[serde(default)]
    kind: Saying,
    look: Option<Counted>,
    cleanup: Option<BTreeMap<String, i64>>,
    log: Option<BTreeMap<String, Option<f64>>>,
    record: Option<serde_json::Value>,
    text: Option<String>,
}

/// What the package counted inside its process.
#[derive(Deserialize)]
struct Counted {
    why: LookWhy,
    held: Option<Bytes>,
    cost: Cost,
    breakdowns: Vec<Breakdown>,
    /// None in a look at holders, which does not count all objects.
    tracked: Option<u64>,
    #[serde(default)]
    with_graph: u64,
    cuda: Option<Cuda>,
    /// Of a look at holders.
    heap: Option<PythonHeap>,
}

impl Counted {
    fn into_look(self, at: Micros, id: ProcId) -> Look {
        Look {
            held: self.held,
            cost: self.cost,
            breakdowns: self.breakdowns,
            objects: self.tracked.map(|tracked| Objects {
                tracked,
                with_graph: self.with_graph,
                cuda: self.cuda,
            }),
            heap: self.heap,
            ..Look::new(at, id, self.why, Examiner::Callback)
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Saying {
    #[default]
    Mark,
    Look,
    Cleanup,
    Log,
    Record,
    Note,
}

/// What the package says to a guard, beside every mark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Told {
    /// The loop asks whether it should stop, and saves then.
    #[serde(default)]
    pub hears: bool,
    /// Folders that hold its checkpoints and nothing else.
    #[serde(default)]
    pub saves: Vec<PathBuf>,
    /// Folders into which its framework writes checkpoints, beside what else there is.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// Words for its command line by which it goes on, with `{checkpoint}` in them.
    pub resume: Option<String>,
}

#[derive(Deserialize)]
struct ToGuard {
    guard: Told,
}

/// What a datagram says to a guard, if it does.
pub(crate) fn told(bytes: &[u8]) -> Option<Told> {
    const NAME: &[u8] = b"\"guard\"";
    // Most jobs say nothing of it, and are not read twice.
    bytes.windows(NAME.len()).find(|part| part == &NAME)?;
    let message: ToGuard = serde_json::from_slice(bytes).ok()?;
    let mut told = message.guard;
    for folders in [&mut told.saves, &mut told.folders] {
        folders.retain(|folder| folder.is_absolute());
        folders.truncate(MOST_FOLDERS);
    }
    Some(told)
}

/// Reads one datagram; what cannot be understood is left out, never an error. `who` tells which process
/// of the tree a pid is now: a look into one that is none of ours is no news.
pub(crate) fn read(
    bytes: &[u8],
    started: u64,
    now: Micros,
    who: impl Fn(u32) -> Option<ProcId>,
) -> Option<Entry> {
    let message: Message = serde_json::from_slice(bytes).ok()?;
    if message.v != 1 {
        return None;
    }
    let at = moment(message.t, started, now);
    let pid = message.pid.unwrap_or_default();
    Some(match message.kind {
        Saying::Mark => Entry::Mark(Mark {
            at,
            source: MarkSource::Callback,
            pid: message.pid,
            rank: message.rank,
            step: message.step,
            total_steps: message.total_steps,
            epoch: message.epoch.filter(|epoch| epoch.is_finite()),
            phase: message.phase,
            examples: message.examples,
            geometry: message.geometry,
            object: None,
            training_loop: message
                .training_loop
                .as_deref()
                .and_then(TrainingLoop::named),
        }),
        Saying::Look => Entry::Look(message.look?.into_look(at, who(pid)?)),
        Saying::Cleanup => Entry::Cleanup(Cleanup {
            at,
            pid,
            freed: message.cleanup?,
        }),
        Saying::Log => {
            let numbers = message.log?.into_iter();
            // A loss that went to NaN arrives as null.
            let values = numbers.filter_map(|(name, value)| Some((name, value?)));
            let values = values.collect();
            Entry::Log { at, pid, values }
        }
        Saying::Record => Entry::Record {
            at,
            pid,
            json: message.record?.to_string(),
        },
        Saying::Note => Entry::Event {
            at,
            kind: EventKind::Info,
            text: message.text?,
        },
    })
}

/// The monotonic clock is one for all processes of a machine, so the sender's time is the true one.
fn moment(sent: Option<u64>, started: u64, now: Micros) -> Micros {
    let at = match sent {
        Some(sent) if sent >= started => Micros((sent - started) / 1000),
        _ => return now,
    };
    if at > now || now.since(at) > OLDEST {
        now
    } else {
        at
    }
}

/// What `scripts/fuzz` tries: whatever is sent, the entry that comes of it can be recorded and read back.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(bytes: &[u8]) {
    use lowtide_recording::codec::{Decoder, Encoder};
    use lowtide_recording::frame::{FRAME_HEAD, Frames, Seen, look};

    let _ = told(bytes);
    let id = |pid| Some(ProcId { pid, start: 9 });
    let Some(entry) = read(bytes, 0, Micros(5_000_000), id) else {
        return;
    };
    let (mut frames, mut written) = (Frames::default(), Vec::new());
    let mut encoder = Encoder::begin(&mut frames, &Default::default());
    if encoder.put(&mut frames, &entry).is_err() {
        return;
    }
    frames.swap_into(&mut written);
    let (mut decoder, mut found) = (Decoder::default(), Default::default());
    let mut rest = &written[..];
    while let Seen::Frame(length) = look(rest) {
        let (frame, after) = rest.split_at(FRAME_HEAD + length);
        decoder.frame(&frame[FRAME_HEAD..], &mut found);
        rest = after;
    }
    assert_eq!(found.len(), 1, "{entry:?} became {found:?}");
    assert_eq!(decoder.skipped(), 0, "{entry:?}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_core::look::By;
    use proptest::prelude::*;

    #[test]
    fn a_strange_clock_is_not_believed() {
        let now = Micros(100_000_000);
        assert_eq!(moment(Some(5), 1_000, now), now);
        assert_eq!(moment(Some(u64::MAX), 0, now), now);
        assert_eq!(moment(Some(99_000_000_000), 0, now), Micros(99_000_000));
        assert_eq!(moment(Some(1_000_000_000), 0, now), now);
    }

    fn nobody(_: u32) -> Option<ProcId> {
        None
    }

    #[test]
    fn a_look_at_holders_is_one_too() {
        let sent = br#"{"v":1,"pid":7,"kind":"look","look":{"why":"start","held":5000,"cost":{"wall":2.5,"cpu":0.02},
            "heap":{"python":{"minor":12,"micro":1},"step":40,"objects":9,"bytes":5060,"holders":[]},
            "breakdowns":[{"by":"holder","parts":[{"name":"train.CACHE","count":200,"bytes":5060,
                "members":[{"name":"bytearray","count":200,"bytes":5000}]}],"rest":{"parts":17}},
                {"by":"library","parts":[{"name":"pyarrow","bytes":8000}]}]}}"#;
        let id = ProcId { pid: 7, start: 9 };
        let Some(Entry::Look(look)) = read(sent, 0, Micros(1), |_| Some(id)) else {
            panic!("no look");
        };
        assert_eq!(look.objects, None);
        assert_eq!(look.heap.as_ref().unwrap().step, Some(40));
        let holders = look.breakdown(&By::Holder).unwrap();
        let cache = holders.part("train.CACHE").unwrap();
        assert_eq!(cache.members[0].bytes, Bytes(5000));
        assert_eq!(holders.rest.unwrap().parts, 17);
    }

    #[test]
    fn what_the_package_counts_is_a_look() {
        let sent = br#"{"v":1,"pid":7,"step":3,"kind":"look","look":{"why":"due","held":5000,"cost":{"wall":0.5,"cpu":0.25},
            "tracked":500,"with_graph":2,"cuda":{"allocated":7,"reserved":9,"peak":9},"later":1,
            "breakdowns":[
                {"by":"device","parts":[{"name":"cpu","count":10,"bytes":4000},
                    {"name":"cuda","count":3,"bytes":70,"held":false}]},
                {"by":"tensor-group","parts":[{"name":"cpu float32[3]","count":12,"bytes":4000}],
                    "rest":{"parts":2,"count":3,"bytes":80}},
                {"by":"coroutine","parts":[{"name":"main","count":1}]}]}}"#;
        let id = ProcId { pid: 7, start: 9 };
        let Some(Entry::Look(look)) = read(sent, 0, Micros(1), |pid| (pid == 7).then_some(id))
        else {
            panic!("no look");
        };
        assert_eq!((look.id, look.held), (id, Some(Bytes(5000))));
        assert_eq!(
            (look.examiner.clone(), look.cost.cpu),
            (Examiner::Callback, Micros(250_000))
        );
        let devices = look.breakdown(&By::Device).unwrap();
        let cuda = devices.part("cuda").unwrap();
        assert_eq!((cuda.bytes, cuda.held), (Some(Bytes(70)), false));
        assert_eq!(look.breakdown(&By::TensorGroup).unwrap().count(), 15);
        let unheard_of = By::Other("coroutine".to_owned());
        assert_eq!(look.breakdown(&unheard_of).unwrap().count(), 1);
        let objects = look.objects.unwrap();
        assert_eq!((objects.tracked, objects.with_graph), (500, 2));
        assert_eq!(objects.cuda.unwrap().reserved, Bytes(9));
        assert_eq!(
            read(sent, 0, Micros(1), nobody),
            None,
            "a process of others"
        );
    }

    #[test]
    fn clean_ups_and_logs_are_understood() {
        let sent = br#"{"v":1,"pid":7,"kind":"cleanup","cleanup":{"gc":-4096,"trim":8192}}"#;
        let Some(Entry::Cleanup(cleanup)) = read(sent, 0, Micros(1), nobody) else {
            panic!("no clean-up");
        };
        assert_eq!((cleanup.freed["gc"], cleanup.freed["trim"]), (-4096, 8192));
        let sent = br#"{"v":1,"pid":7,"kind":"log","log":{"loss":1.5,"grad_norm":null}}"#;
        let Some(Entry::Log { values, .. }) = read(sent, 0, Micros(1), nobody) else {
            panic!("no log");
        };
        assert_eq!(values, BTreeMap::from([("loss".to_owned(), 1.5)]));
    }

    #[test]
    fn what_a_guard_is_told_is_read_beside_the_mark() {
        let sent =
            br#"{"v":1,"pid":7,"step":3,"guard":{"hears":true,"saves":["/a b/ckpt","not/absolute"],
            "folders":["/out"],"resume":"--resume {checkpoint}","later":1}}"#;
        let guard = told(sent).unwrap();
        assert!(guard.hears);
        assert_eq!(guard.saves, [PathBuf::from("/a b/ckpt")]);
        assert_eq!(guard.folders, [PathBuf::from("/out")]);
        assert_eq!(guard.resume.as_deref(), Some("--resume {checkpoint}"));
        assert!(matches!(
            read(sent, 0, Micros(1), nobody),
            Some(Entry::Mark(mark)) if mark.step == Some(3)
        ));
        assert_eq!(told(br#"{"v":1,"pid":7,"step":3}"#), None);
        assert_eq!(told(br#"{"v":1,"guard":7}"#), None);
        let many = format!(
            r#"{{"v":1,"guard":{{"saves":[{}"/x"]}}}}"#,
            r#""/y","#.repeat(90)
        );
        assert_eq!(told(many.as_bytes()).unwrap().saves.len(), MOST_FOLDERS);
    }

    #[test]
    fn a_loop_that_is_not_known_here_leaves_the_mark() {
        for (word, known) in [
            ("trainer", Some(TrainingLoop::Trainer)),
            ("lightning", Some(TrainingLoop::Lightning)),
            ("plain", Some(TrainingLoop::Plain)),
            ("of-2030", None),
        ] {
            let sent = format!(r#"{{"v":1,"pid":7,"step":3,"loop":"{word}"}}"#);
            let Some(Entry::Mark(mark)) = read(sent.as_bytes(), 0, Micros(1), nobody) else {
                panic!("no mark");
            };
            assert_eq!((mark.step, mark.training_loop), (Some(3), known), "{word}");
        }
    }

    #[test]
    fn another_version_is_left_out() {
        assert_eq!(read(br#"{"v":2,"step":1}"#, 0, Micros(1), nobody), None);
    }

    proptest! {
        #[test]
        fn nothing_a_sender_writes_can_hurt(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes, 0, Micros(1), nobody);
        }
    }
}
