//! `/proc/PID/environ`: the few variables that matter for memory or for the job's geometry. All
//! others are dropped here, so that no secret of the environment ever gets further.

/// Kept when the name begins so.
const PREFIXES: [&[u8]; 12] = [
    b"MALLOC_",
    b"PYTORCH_",
    b"TORCH_",
    b"TORCHINDUCTOR_",
    b"TORCHELASTIC_",
    b"OMPI_COMM_WORLD_",
    b"PMI_",
    b"PMIX_",
    b"LOWTIDE_",
    b"SLURM_MEM_PER_",
    b"SLURM_NTASKS",
    b"SLURM_CPUS_",
];

/// Kept when the name is exactly this.
const NAMES: [&[u8]; 19] = [
    b"LD_PRELOAD",
    b"PYTHONMALLOC",
    b"RANK",
    b"LOCAL_RANK",
    b"WORLD_SIZE",
    b"LOCAL_WORLD_SIZE",
    b"GROUP_RANK",
    b"OMP_NUM_THREADS",
    b"TOKENIZERS_PARALLELISM",
    b"HF_DATASETS_IN_MEMORY_MAX_SIZE",
    b"WANDB_MODE",
    b"CUDA_VISIBLE_DEVICES",
    b"SLURM_JOB_ID",
    b"SLURM_PROCID",
    b"SLURM_LOCALID",
    b"SLURM_NODEID",
    b"SLURM_RESTART_COUNT",
    b"SLURM_JOB_END_TIME",
    b"SLURM_JOB_NUM_NODES",
];

/// A knob is short; what is longer is no knob.
const LONGEST_VALUE: usize = 256;

pub fn parse(bytes: &[u8]) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = bytes
        .split(|byte| *byte == 0)
        .filter_map(|entry| {
            let equals = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (&entry[..equals], &entry[equals + 1..]);
            if !matters(name) || value.len() > LONGEST_VALUE {
                return None;
            }
            let value = String::from_utf8_lossy(value);
            Some((
                String::from_utf8_lossy(name).into_owned(),
                super::mask::text(&value).unwrap_or_else(|| value.into_owned()),
            ))
        })
        .collect();
    kept.sort();
    kept.dedup_by(|a, b| a.0 == b.0);
    kept
}

/// Of the names that only begin like a knob's, one that speaks of a secret anywhere (`TORCH_HFTOKEN`) is none.
const SECRET: [&[u8]; 4] = [b"TOKEN", b"SECRET", b"PASSW", b"KEY"];

fn matters(name: &[u8]) -> bool {
    let speaks_of = |word: &&[u8]| {
        let mut windows = name.windows(word.len());
        windows.any(|window| window.eq_ignore_ascii_case(word))
    };
    let is_family = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    NAMES.contains(&name) || (is_family && !SECRET.iter().any(speaks_of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_knobs_are_kept() {
        let environ = b"HOME=/home/x\0RANK=3\0WANDB_API_KEY=s\0HF_TOKEN=s\0MALLOC_ARENA_MAX=2\0SLURM_JOB_ID=9\0SLURM_JWT=s\0TORCH_SECRET=s\0TORCH_HFTOKEN=s\0TORCH_api_key=s\0PATH=x\0SLURM_MEM_PER_NODE=32000\0";
        let kept: Vec<String> = parse(environ)
            .into_iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        assert_eq!(
            kept,
            [
                "MALLOC_ARENA_MAX=2",
                "RANK=3",
                "SLURM_JOB_ID=9",
                "SLURM_MEM_PER_NODE=32000"
            ]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
