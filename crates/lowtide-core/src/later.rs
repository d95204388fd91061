//! What a later lowtide wrote and this one does not know. A recording lasts: a word that is new here costs
//! that word, never the entry that it stands in.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// For fields whose choices carry data: one that is not known becomes the default. (Choices that are
/// plain words have `#[serde(other)]`.)
pub(crate) fn or_default<'de, D, T>(input: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read<T> {
        Known(T),
        Later(IgnoredAny),
    }
    Ok(match Read::deserialize(input)? {
        Read::Known(value) => value,
        Read::Later(_) => T::default(),
    })
}

/// For lists: what is not known is left out of them.
pub(crate) fn only_known<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read<T> {
        Known(T),
        Later(IgnoredAny),
    }
    let all = Vec::<Read<T>>::deserialize(input)?;
    let known = all.into_iter().filter_map(|one| match one {
        Read::Known(value) => Some(value),
        Read::Later(_) => None,
    });
    Ok(known.collect())
}

#[cfg(test)]
mod tests {
    use crate::entry::{Entry, EventKind};
    use crate::postmortem::Cause;
    use crate::process::{Member, Role};
    use crate::sample::{Gap, GapWhy, Limit, LimitFrom};

    #[test]
    fn a_word_of_a_later_lowtide_costs_no_more_than_itself() {
        let gap: Gap = read(r#"{"who":null,"what":"status","why":"on-strike","since":3}"#);
        assert_eq!((gap.why, gap.what.as_str()), (GapWhy::Other, "status"));
        let limit: Limit = read(r#"{"bytes":7,"used":1,"from":{"quota":{"of":"alice"}}}"#);
        assert_eq!((limit.from, limit.bytes.0), (LimitFrom::Other, 7));
        let end: Entry = read(r#"{"end":{"at":5,"exit":{"migrated":"host"}}}"#);
        assert!(matches!(end, Entry::End { exit: None, .. }), "{end:?}");
        let event: Entry = read(r#"{"event":{"at":5,"kind":"moved","text":"away"}}"#);
        let Entry::Event { kind, text, .. } = event else {
            panic!("{event:?}")
        };
        assert_eq!((kind, text.as_str()), (EventKind::Other, "away"));
        let cause: Cause = serde_json::from_str(r#"{"kind":"cosmic-ray"}"#).unwrap_or_default();
        assert_eq!(cause, Cause::Other);
    }

    #[test]
    fn a_role_of_a_later_lowtide_is_other_and_known_ones_stay() {
        let member = |role: &str| -> Member {
            let head = r#"{"id":{"pid":1,"start":2},"parent":null,"why":"","facts":"#;
            let facts = serde_json::to_string(&crate::process::Facts::default()).unwrap();
            read(&format!(r#"{head}{facts},"role":{role}}}"#))
        };
        assert_eq!(member(r#"{"planner":{"depth":3}}"#).role, Role::Other);
        assert_eq!(member(r#""planner""#).role, Role::Other);
        let rank = Role::Rank { rank: 1, world: 2 };
        assert_eq!(member(r#"{"rank":{"rank":1,"world":2}}"#).role, rank);
    }

    fn read<T: serde::de::DeserializeOwned>(json: &str) -> T {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
    }
}
