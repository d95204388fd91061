//! Secrets in command lines, masked: what follows `--token` and its kin, values of `KEY=…`
//! assignments with such names, passwords in URLs, and words shaped like the tokens of well-known services.

const MASK: &str = "***";

/// A name with one of these as a word of its own holds a secret: `--hub-token`, `WANDB_API_KEY`,
/// but not `--max-tokens` or `--tokenizer`.
const SECRET_WORDS: [&str; 14] = [
    "token",
    "apikey",
    "secret",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "credential",
    "credentials",
    "auth",
    "bearer",
    "authorization",
    "accesskey",
    "secretkey",
];

/// `key` alone is too common (`--key-column`); it counts at the end, after one of these.
const KEY_KINDS: [&str; 7] = [
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "encryption",
    "account",
];

/// How the tokens of well-known services begin: Hugging Face, OpenAI, GitHub, GitLab, Slack, AWS, …
const TOKEN_STARTS: [&str; 18] = [
    "hf_",
    "api_org_",
    "sk-",
    "pk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJhbGciOi",
    "dckr_pat_",
];

/// Shorter than any real token: `hf_home` stays.
const SHORTEST_TOKEN: usize = 16;

/// Masks what is secret in an argument list, in place.
pub fn arguments(argv: &mut [String]) {
    let mut next_is_secret = false;
    for argument in argv {
        if std::mem::take(&mut next_is_secret) && !argument.starts_with("--") {
            MASK.clone_into(argument);
            continue;
        }
        if argument.starts_with('-') && !argument.contains('=') && is_secret_name(argument) {
            next_is_secret = true;
            continue;
        }
        if let Some(masked) = text(argument) {
            *argument = masked;
        }
    }
}

/// Masks secrets inside a text (an argument, a script, a value); `None` when there is none.
pub fn text(original: &str) -> Option<String> {
    let mut masked = String::with_capacity(original.len());
    let mut changed = false;
    let mut next_is_secret = false;
    // Words with the separator that follows each of them.
    for piece in original.split_inclusive(is_separator) {
        let end = piece.trim_end_matches(is_separator).len();
        let (word, separator) = piece.split_at(end);
        if word.is_empty() {
            masked.push_str(separator);
            continue;
        }
        let replacement = if std::mem::take(&mut next_is_secret) && !word.starts_with("--") {
            Some(MASK.to_owned())
        } else {
            mask_word(word)
        };
        next_is_secret |= word.starts_with('-') && !word.contains('=') && is_secret_name(word);
        next_is_secret |= word.eq_ignore_ascii_case("bearer");
        changed |= replacement.is_some();
        masked.push_str(replacement.as_deref().unwrap_or(word));
        masked.push_str(separator);
    }
    changed.then_some(masked)
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '(' | ')' | '&' | '?')
}

fn mask_word(word: &str) -> Option<String> {
    if let Some(masked) = mask_url(word) {
        return Some(masked);
    }
    for sign in ['=', ':'] {
        if let Some((name, value)) = word.split_once(sign)
            && !value.is_empty()
            && !value.starts_with("//")
        {
            if is_secret_name(name) {
                return Some(format!("{name}{sign}{MASK}"));
            }
            if is_token(value) {
                return Some(format!("{name}{sign}{MASK}"));
            }
        }
    }
    is_token(word).then(|| MASK.to_owned())
}

/// `scheme://user:password@host`: the password goes, the rest stays.
fn mask_url(word: &str) -> Option<String> {
    let scheme = word.find("://")? + 3;
    let rest = &word[scheme..];
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    let at = authority.rfind('@')?;
    let user = authority[..at].find(':').map_or(0, |colon| colon + 1);
    if user == at {
        return None;
    }
    Some(format!(
        "{}{MASK}{}",
        &word[..scheme + user],
        &word[scheme + at..]
    ))
}

fn is_token(word: &str) -> bool {
    word.len() >= SHORTEST_TOKEN
        && !word.contains('/')
        && TOKEN_STARTS.iter().any(|start| word.starts_with(start))
}

/// Whether an option or variable of this name holds a secret. Its words are split at `-`, `_`, `.`
/// and where a capital begins (`hubToken`).
fn is_secret_name(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut previous_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            words.push(String::new());
            previous_lower = false;
            continue;
        }
        if c.is_uppercase() && previous_lower {
            words.push(String::new());
        }
        previous_lower = c.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    let key_of_kind = words
        .windows(2)
        .any(|pair| KEY_KINDS.contains(&pair[0].as_str()) && pair[1] == "key");
    // `--token-file x` and `--auth-mode basic` name no secret: the last word decides, apart from
    // `API_KEY_ID` and the like.
    key_of_kind
        || words
            .last()
            .is_some_and(|last| SECRET_WORDS.contains(&last.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn masked(argv: &[&str]) -> Vec<String> {
        let mut argv: Vec<String> = argv.iter().map(|a| (*a).to_owned()).collect();
        arguments(&mut argv);
        argv
    }

    #[test]
    fn options_hide_their_value() {
        assert_eq!(
            masked(&[
                "train",
                "--token",
                "abc",
                "--api-key=def",
                "--hubToken",
                "x",
                "--lr",
                "1"
            ]),
            [
                "train",
                "--token",
                "***",
                "--api-key=***",
                "--hubToken",
                "***",
                "--lr",
                "1"
            ]
        );
        // A flag without a value does not swallow the next option.
        assert_eq!(
            masked(&["--use-auth-token", "--lr", "1"]),
            ["--use-auth-token", "--lr", "1"]
        );
    }

    #[test]
    fn names_that_only_look_alike_stay() {
        let plain = [
            "--tokenizer",
            "bert",
            "--max-tokens=512",
            "--key-column=id",
            "--token-file",
            "t.txt",
            "--author=me",
            "hf_home",
            "s3://bucket/path:1",
            "a@b",
        ];
        assert_eq!(masked(&plain), plain);
    }

    #[test]
    fn assignments_urls_and_tokens_are_masked_inside_a_script() {
        assert_eq!(
            text("WANDB_API_KEY=0123 HF_TOKEN='hf_aaaaaaaaaaaaaaaaaa' python x.py --password p")
                .unwrap(),
            "WANDB_API_KEY=*** HF_TOKEN='***' python x.py --password ***"
        );
        assert_eq!(
            text("git clone https://me:pass@host/x").unwrap(),
            "git clone https://me:***@host/x"
        );
        assert_eq!(text("https://tok123@host/x").unwrap(), "https://***@host/x");
        assert_eq!(
            text("curl -H \"Authorization: Bearer abcdef\"").unwrap(),
            "curl -H \"Authorization: Bearer ***\""
        );
        assert_eq!(text("ghp_0123456789abcdefghij").unwrap(), "***");
        assert_eq!(text("x?api_key=1&lr=2").unwrap(), "x?api_key=***&lr=2");
        assert_eq!(text("python train.py --lr=1e-4"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(words in proptest::collection::vec(".{0,30}", 0..6)) {
            let mut argv = words;
            arguments(&mut argv);
        }

        #[test]
        fn a_token_never_survives(body in "[A-Za-z0-9]{16,40}", before in "[a-z ]{0,10}") {
            let secret = format!("hf_{body}");
            for line in [format!("{before} {secret}"), format!("{before} T={secret}"), format!("--x={secret}")] {
                prop_assert!(!text(&line).unwrap_or(line).contains(&secret));
            }
        }
    }
}
