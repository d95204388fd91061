//! One datagram of the marks protocol: a JSON object of absolute state.

use lowtide_core::entry::{Entry, EventKind};
use lowtide_core::mark::{Geometry, Mark, MarkSource, Phase};
use lowtide_core::units::Micros;
use serde::Deserialize;

/// Larger datagrams are cut by the kernel and then refused as broken JSON.
pub const LARGEST: usize = 32 * 1024;

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
    #[serde(default)]
    kind: Saying,
    record: Option<serde_json::Value>,
    text: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Saying {
    #[default]
    Mark,
    Record,
    Note,
}

/// Reads one datagram; what cannot be understood is left out, never an error.
pub fn read(bytes: &[u8], started: u64, now: Micros) -> Option<Entry> {
    let message: Message = serde_json::from_slice(bytes).ok()?;
    if message.v != 1 {
        return None;
    }
    let at = moment(message.t, started, now);
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
        }),
        Saying::Record => Entry::Record {
            at,
            pid: message.pid.unwrap_or_default(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_strange_clock_is_not_believed() {
        let now = Micros(100_000_000);
        assert_eq!(moment(Some(5), 1_000, now), now);
        assert_eq!(moment(Some(u64::MAX), 0, now), now);
        assert_eq!(moment(Some(99_000_000_000), 0, now), Micros(99_000_000));
        assert_eq!(moment(Some(1_000_000_000), 0, now), now);
    }

    #[test]
    fn another_version_is_left_out() {
        assert_eq!(read(br#"{"v":2,"step":1}"#, 0, Micros(1)), None);
    }

    proptest! {
        #[test]
        fn nothing_a_sender_writes_can_hurt(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes, 0, Micros(1));
        }
    }
}
