//! Pressure stall information: `/proc/pressure/memory` and a cgroup's `memory.pressure`.

use lowtide_core::sample::Pressure;
use lowtide_core::units::Micros;

use super::text::{number, words};

pub fn parse(bytes: &[u8]) -> Option<Pressure> {
    let mut pressure = Pressure::default();
    let mut has_some = false;
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut fields = words(line);
        let kind = fields.next();
        let (mut average, mut total) = (0.0, 0);
        for field in fields {
            if let Some(value) = field.strip_prefix(b"avg10=") {
                average = decimal(value)?;
            } else if let Some(value) = field.strip_prefix(b"total=") {
                total = number(value)?;
            }
        }
        match kind {
            Some(b"some") => {
                has_some = true;
                pressure.some_avg10 = average;
                pressure.some_total = Micros(total);
            }
            Some(b"full") => {
                pressure.full_avg10 = average;
                pressure.full_total = Micros(total);
            }
            _ => {}
        }
    }
    has_some.then_some(pressure)
}

fn decimal(bytes: &[u8]) -> Option<f32> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_lines_are_read() {
        let pressure = parse(b"some avg10=1.25 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=5\n").unwrap();
        assert_eq!(pressure.some_avg10, 1.25);
        assert_eq!(pressure.full_avg10, 0.5);
        assert_eq!(pressure.some_total, Micros(77));
        assert_eq!(pressure.full_total, Micros(5));
        assert_eq!(parse(b""), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
