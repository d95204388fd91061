//! Just enough of protobuf to walk through a message: its fields, one after the other. What does not fit ends it.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Four or eight bytes that nobody asks for.
    Fixed,
}

/// The numbers of the fields, and what they hold.
pub(super) fn fields(message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    let mut rest = message;
    std::iter::from_fn(move || {
        let key = varint(&mut rest)?;
        let field = match key & 7 {
            0 => Field::Number(varint(&mut rest)?),
            1 => fixed(&mut rest, 8)?,
            2 => {
                let len = usize::try_from(varint(&mut rest)?).ok()?;
                Field::Bytes(cut(&mut rest, len)?)
            }
            5 => fixed(&mut rest, 4)?,
            _ => return None,
        };
        Some((key >> 3, field))
    })
}

fn fixed<'a>(rest: &mut &'a [u8], len: usize) -> Option<Field<'a>> {
    cut(rest, len).map(|_| Field::Fixed)
}

fn cut<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (now, later) = rest.split_at_checked(len)?;
    *rest = later;
    Some(now)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, later) = rest.split_first()?;
        *rest = later;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
