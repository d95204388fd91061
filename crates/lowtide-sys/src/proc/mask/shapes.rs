//! Which words are secrets by their look: tokens of well-known services, keys in hexadecimal, and what no
//! person would type.

/// How the tokens of well-known services begin, and how long the rest is at least.
const STARTS: [(&str, usize); 54] = [
    ("hf_", 16),
    ("api_org_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glrt-", 16),
    ("glcbt-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AKIA", 12),
    ("ASIA", 12),
    ("AIza", 20),
    ("ya29.", 10),
    ("GOCSPX-", 10),
    ("eyJhbGciOi", 6),
    ("eyJ0eXAiOi", 6),
    ("dckr_pat_", 10),
    ("npm_", 20),
    ("pypi-", 16),
    ("nvapi-", 10),
    ("r8_", 16),
    ("gsk_", 16),
    ("xai-", 16),
    ("pplx-", 16),
    ("tgp_v1_", 10),
    ("fw_", 20),
    ("key-", 24),
    ("SG.", 16),
    ("shpat_", 16),
    ("shpss_", 16),
    ("hvs.", 16),
    ("hvb.", 16),
    ("dop_v1_", 16),
    ("dapi", 28),
    ("lin_api_", 16),
    ("ATATT", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("pk_live_", 10),
    ("whsec_", 10),
    ("lsv2_", 16),
    ("pul-", 20),
    ("secret_", 20),
    ("AGE-SECRET-KEY-", 20),
];
/// Beginnings that ordinary names have, too: a digit must follow somewhere.
const STARTS_WITH_DIGITS: [(&str, usize); 4] = [("sk-", 16), ("pk-", 16), ("rk-", 16), ("sk_", 16)];

/// A run of letters and digits of this length that changes between small, capital and digit this often is
/// typed by nobody: `Qwen2VLForConditionalGeneration` changes 0.3 times a letter, a random string 0.6.
const RANDOM_RUN: usize = 20;
const RANDOM_CHANGES: f64 = 0.4;
const RANDOM_DIGITS: usize = 3;
/// Where the name says that it may be a secret, less is enough.
const PERHAPS_RUN: usize = 12;
const PERHAPS_CHANGES: f64 = 0.3;
/// A key in hexadecimal: 128 bits or more.
const HEX: usize = 32;
const PERHAPS_HEX: usize = 16;
/// Base64 with its own signs.
const BASE64: usize = 28;

/// The token of a service: its prefix tells.
pub(super) fn is_token(word: &str) -> bool {
    let body_is = |start: &str, least: usize, digits: bool| {
        word.strip_prefix(start).is_some_and(|body| {
            let body = body.trim_end_matches(['=', '.']);
            let alnum = body
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric())
                .count();
            let marks = body
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.+/=~".contains(c));
            let digit = body.bytes().any(|byte| byte.is_ascii_digit());
            // `hf_home_of_the_whole_team` is a name: the body of a token is one piece, or has digits.
            marks && body.len() >= least && (!digits || digit) && (digit || alnum >= least)
        })
    };
    STARTS
        .iter()
        .any(|(start, least)| body_is(start, *least, false))
        || STARTS_WITH_DIGITS
            .iter()
            .any(|(start, least)| body_is(start, *least, true))
}

/// What no person types, whatever it is called.
pub(super) fn is_random(word: &str) -> bool {
    runs(word).any(|run| changes_often(run, RANDOM_RUN, RANDOM_CHANGES)) || is_base64(word)
}

/// A key in hexadecimal, or a hash.
pub(super) fn is_hex(word: &str) -> bool {
    runs(word).any(|run| all_hex(run, HEX))
}

/// For a value whose name says that it may be a secret.
pub(super) fn is_suspicious(word: &str) -> bool {
    is_token(word)
        || is_random(word)
        || runs(word).any(|run| {
            all_hex(run, PERHAPS_HEX) || changes_often(run, PERHAPS_RUN, PERHAPS_CHANGES)
        })
}

/// A word that leads to a file, or names one.
pub(super) fn is_path(word: &str) -> bool {
    let rooted = ["/", "./", "../", "~/"]
        .iter()
        .any(|root| word.starts_with(root));
    let plain = word
        .chars()
        .all(|c| c.is_alphanumeric() || "/._-~=@{}%+".contains(c));
    let named = word
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'));
    let extension = named.is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=11).contains(&end.len())
            && end
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            && end.chars().any(|c| c.is_ascii_lowercase())
    });
    plain && word.len() > 2 && (rooted || extension || word.contains('/') && !is_base64(word))
}

fn runs(word: &str) -> impl Iterator<Item = &str> {
    word.split(|c: char| !c.is_ascii_alphanumeric())
}

fn all_hex(run: &str, least: usize) -> bool {
    let small = run
        .bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let large = run
        .bytes()
        .all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b));
    let both =
        run.bytes().any(|b| b.is_ascii_digit()) && run.bytes().any(|b| b.is_ascii_alphabetic());
    run.len() >= least && (small || large) && both
}

fn changes_often(run: &str, least: usize, share: f64) -> bool {
    if run.len() < least || run.bytes().filter(u8::is_ascii_digit).count() < RANDOM_DIGITS {
        return false;
    }
    changes(run) >= share * (run.len() - 1) as f64 && run.bytes().any(|b| b.is_ascii_alphabetic())
}

/// How often neighbours are of different kinds.
fn changes(text: &str) -> f64 {
    let kind = |byte: &u8| {
        (
            byte.is_ascii_digit(),
            byte.is_ascii_uppercase(),
            byte.is_ascii_lowercase(),
        )
    };
    let bytes = text.as_bytes();
    bytes
        .windows(2)
        .filter(|pair| kind(&pair[0]) != kind(&pair[1]))
        .count() as f64
}

fn is_base64(word: &str) -> bool {
    let body = word.trim_end_matches('=');
    let signs = body
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"+/".contains(&b));
    let kinds = [
        u8::is_ascii_digit,
        u8::is_ascii_uppercase,
        u8::is_ascii_lowercase,
    ];
    let all_kinds = kinds
        .iter()
        .all(|kind| body.bytes().filter(kind).count() >= 2);
    signs
        && all_kinds
        && body.len() >= BASE64
        && changes(body) >= RANDOM_CHANGES * body.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_types_is_random() {
        for word in [
            "q8Zt4Lw1Xr7Nb2Kd9Vf3",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCY3X4MPL3K3Y",
            "aGVsbG8gd29ybGQhIFRoaXMgaXMgYSBrZXk0Nw==",
        ] {
            assert!(is_random(word), "{word}");
        }
        for word in [
            "Qwen2VLForConditionalGeneration",
            "meta-llama/Llama-3.1-8B-Instruct",
            "exp-2024-05-01_lr1e-4_bs32_wd0.01",
            "checkpoint-10000",
            "GPU-8f6e2a1c-3b4d-5e6f-7a8b-9c0d1e2f3a4b",
            "openai/clip-vit-large-patch14-336",
            "deepseek_r1_distill_qwen_32b_8k_2025",
            "/data/shards/train-00012-of-01024.parquet",
        ] {
            assert!(!is_random(word), "{word}");
        }
    }

    #[test]
    fn tokens_are_told_from_names_with_the_same_beginning() {
        for word in [
            "hf_abcdefghijklmnopqrst",
            "sk-proj-a1b2c3d4e5f6g7h8",
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_0123456789abcdefghij",
        ] {
            assert!(is_token(word), "{word}");
        }
        for word in [
            "hf_home",
            "hf_home_of_the_whole_team",
            "sk-learn-pipeline-for-text",
            "hf_",
            "npm_config_cache",
        ] {
            assert!(!is_token(word), "{word}");
        }
    }

    #[test]
    fn paths_are_paths() {
        for word in [
            "/run/secrets/hf",
            "./token.txt",
            "keys/id_rsa",
            "model.safetensors",
            "../a",
            "~/x",
        ] {
            assert!(is_path(word), "{word}");
        }
        for word in [
            "abc",
            "/",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCY3X4MPL3K3Y",
            "p4$s/w0rd",
        ] {
            assert!(!is_path(word), "{word}");
        }
    }
}
