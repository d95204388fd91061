use crate::zoo::Kind;
pub(super) const KINDS: &[Kind] = &[];
