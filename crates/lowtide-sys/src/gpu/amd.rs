//! AMD GPUs, by files alone: sysfs for each card, `fdinfo` for each process.

use std::fs;
use std::path::Path;

use lowtide_core::sample::Gpu;
use lowtide_core::units::Bytes;

use crate::proc::{Proc, number, words};

/// All cards under `/sys/class/drm` (`root` in tests) that tell their memory.
pub fn devices(root: &Path) -> Vec<Gpu> {
    let read = |path: &Path| {
        let text = fs::read(path).ok()?;
        words(&text).next().and_then(number)
    };
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    let mut gpus: Vec<Gpu> = entries
        .flatten()
        .filter_map(|entry| {
            // `card0` is a card, `card0-HDMI-A-1` a plug of it.
            let name = entry.file_name().into_string().ok()?;
            let index = name.strip_prefix("card")?.parse().ok()?;
            let device = entry.path().join("device");
            let product = fs::read_to_string(device.join("product_name")).unwrap_or_default();
            Some(Gpu {
                index,
                name: match product.trim() {
                    "" => "AMD GPU".to_owned(),
                    product => product.to_owned(),
                },
                used: Bytes(read(&device.join("mem_info_vram_used"))?),
                total: Bytes(read(&device.join("mem_info_vram_total"))?),
            })
        })
        .collect();
    gpus.sort_by_key(|gpu| gpu.index);
    gpus
}

/// Video memory of a process, by what its open files of the amdgpu driver tell; `None` when it has
/// none, or may not be looked at.
pub fn of_process(proc: &Proc, pid: u32) -> Option<Bytes> {
    let entries = fs::read_dir(proc.path(pid, "fdinfo")).ok()?;
    let mut clients: Vec<(u64, u64)> = Vec::new();
    for entry in entries.flatten() {
        if let Ok(text) = fs::read(entry.path())
            && let Some(client) = parse_fdinfo(&text)
        {
            clients.push(client);
        }
    }
    // A file that was duplicated names the same client again.
    clients.sort_unstable();
    clients.dedup_by_key(|(client, _)| *client);
    (!clients.is_empty()).then(|| clients.iter().map(|(_, kib)| Bytes::from_kib(*kib)).sum())
}

/// Client and video memory in KiB (Documentation/gpu/drm-usage-stats.rst).
pub(crate) fn parse_fdinfo(text: &[u8]) -> Option<(u64, u64)> {
    let (mut client, mut kib, mut ours) = (None, None, false);
    for line in text.split(|byte| *byte == b'\n') {
        let mut fields = words(line);
        match fields.next() {
            Some(b"drm-driver:") => ours = fields.next() == Some(b"amdgpu"),
            Some(b"drm-client-id:") => client = fields.next().and_then(number),
            Some(b"drm-memory-vram:") => kib = fields.next().and_then(number),
            _ => {}
        }
    }
    ours.then_some((client?, kib?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::fixture::Fixture;
    use proptest::prelude::*;

    #[test]
    fn cards_and_processes_by_files_that_look_like_the_drivers() {
        let fixture = Fixture::new();
        fixture.write("drm/card1/device/mem_info_vram_used", "1000\n");
        fixture.write("drm/card1/device/mem_info_vram_total", "9000\n");
        fixture.write("drm/card1-HDMI-A-1/status", "connected\n");
        fixture.write("drm/card0/device/vendor", "0x8086\n");
        let gpus = devices(&fixture.root().join("drm"));
        assert_eq!(gpus.len(), 1);
        assert_eq!(
            (gpus[0].index, gpus[0].used, gpus[0].total),
            (1, Bytes(1000), Bytes(9000))
        );

        let info = |client: u32| {
            format!(
                "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-memory-vram:\t300 KiB\n"
            )
        };
        fixture.write("7/fdinfo/3", info(1));
        fixture.write("7/fdinfo/4", info(1));
        fixture.write("7/fdinfo/5", info(2));
        fixture.write("7/fdinfo/6", "pos:\t0\nflags:\t02\n");
        assert_eq!(of_process(&fixture.proc(), 7), Some(Bytes::from_kib(600)));
        fixture.write("8/fdinfo/0", "pos:\t0\n");
        assert_eq!(of_process(&fixture.proc(), 8), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_fdinfo(&bytes);
        }
    }
}
