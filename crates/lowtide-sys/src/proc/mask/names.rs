//! Which names of options, variables and fields hold a secret. A name is split into its words at `-`, `_`,
//! `.` and where a capital follows a small letter (`hubToken`); the last word decides.

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    Nothing,
    /// A hash, a revision, an id: long and random, and no secret.
    Hash,
    /// A secret, if the value looks like one: `--sort-key`, `--pad-token`, `sig`.
    Perhaps,
    /// A secret, or how to get in: `--auth ldap`.
    Mode,
    Secret,
    /// A whole line of them: `Authorization: Basic …`, `Cookie: a=b; c=d`.
    Header,
}

/// A name that ends with one of these holds a secret: `HF_TOKEN`, `PGPASSWORD`, `dbpass`, but not
/// `--max-tokens` or `--tokenizer`.
const SECRETS: [&str; 28] = [
    "token",
    "apikey",
    "secret",
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "passcode",
    "passin",
    "passout",
    "pwd",
    "pass",
    "psw",
    "credential",
    "credentials",
    "pw",
    "literal",
    "bearer",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
    "sharedkey",
    "authkey",
    "masterkey",
    "userpass",
    "jwt",
    "psk",
];

/// Endings that count as parts of a longer word, too: `PGPASSWORD`, `AWSSECRET`, `MYSQLPASS`.
const ENDINGS: [&str; 8] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "dbpass",
];

/// The same word elsewhere.
const FOREIGN: [&str; 20] = [
    "passe",
    "mdp",
    "contraseña",
    "contrasena",
    "clave",
    "senha",
    "parola",
    "kennwort",
    "wachtwoord",
    "hasło",
    "haslo",
    "heslo",
    "lösenord",
    "adgangskode",
    "salasana",
    "şifre",
    "пароль",
    "密码",
    "口令",
    "パスワード",
];

/// `key` alone is too common (`--key-column`, `--image_key`); after one of these it is a secret.
const KEYS: [&str; 52] = [
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "encryption",
    "account",
    "wandb",
    "openai",
    "anthropic",
    "hf",
    "huggingface",
    "comet",
    "neptune",
    "clearml",
    "mlflow",
    "aws",
    "azure",
    "gcp",
    "google",
    "ssh",
    "signing",
    "session",
    "master",
    "license",
    "licence",
    "storage",
    "shared",
    "deploy",
    "service",
    "consumer",
    "webhook",
    "admin",
    "ngc",
    "kaggle",
    "groq",
    "cohere",
    "mistral",
    "replicate",
    "langchain",
    "langsmith",
    "pinecone",
    "tavily",
    "serper",
    "sendgrid",
    "stripe",
    "datadog",
    "sentry",
    "jwt",
    "hmac",
    "aes",
    "decryption",
];

/// Tokens of a vocabulary, and passes over something: no secrets.
const TOKENS_OF_TEXT: [&str; 34] = [
    "bos",
    "eos",
    "pad",
    "padding",
    "unk",
    "mask",
    "sep",
    "cls",
    "stop",
    "image",
    "img",
    "video",
    "audio",
    "start",
    "end",
    "special",
    "decoder",
    "forced",
    "prefix",
    "suffix",
    "middle",
    "placeholder",
    "additional",
    "begin",
    "new",
    "system",
    "assistant",
    "vision",
    "first",
    "last",
    "next",
    "trigger",
    "ignore",
    "per",
];
const PASSES: [&str; 12] = [
    "one", "two", "single", "multi", "forward", "backward", "first", "second", "num", "n", "by",
    "low",
];

/// What is long and random by its nature.
const HASHES: [&str; 22] = [
    "revision",
    "rev",
    "commit",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "hash",
    "digest",
    "checksum",
    "md5",
    "ref",
    "etag",
    "fingerprint",
    "uuid",
    "guid",
    "version",
    "branch",
    "tag",
    "image",
    "blob",
    "snapshot",
];

/// Names whose value decides.
const PERHAPS: [&str; 11] = [
    "sid",
    "session",
    "sessionid",
    "key",
    "keys",
    "sig",
    "signature",
    "sas",
    "pat",
    "otp",
    "code",
];

const COMMANDS: [&str; 2] = ["command", "cmd"];

const HEADERS: [&str; 4] = ["authorization", "proxyauthorization", "cookie", "setcookie"];

pub(super) fn holds(name: &str) -> Holds {
    let words = words(name);
    let Some(last) = words.last() else {
        return Holds::Nothing;
    };
    let before = words.len().checked_sub(2).map_or("", |nth| &words[nth]);
    if HEADERS.contains(&words.concat().as_str()) || HEADERS.contains(&last.as_str()) {
        return Holds::Header;
    }
    // `AWS_ACCESS_KEY_ID` too.
    let a_key =
        |pair: &[String]| KEYS.iter().any(|kind| pair[0].ends_with(kind)) && pair[1] == "key";
    let keyed = words.windows(2).any(a_key) && (last == "key" || last == "id");
    let of_text = last == "token" && TOKENS_OF_TEXT.contains(&before);
    let a_pass = last == "pass" && PASSES.contains(&before);
    if of_text || a_pass || PERHAPS.contains(&last.as_str()) && !keyed {
        return Holds::Perhaps;
    }
    let is_secret = |word: &str| {
        SECRETS.contains(&word)
            || FOREIGN.contains(&word)
            || ENDINGS.iter().any(|end| word.ends_with(end))
    };
    // `--password-command "echo X"`.
    let says_it = COMMANDS.contains(&last.as_str()) && is_secret(before);
    if keyed || says_it || is_secret(last) {
        return Holds::Secret;
    }
    if last == "auth" {
        return Holds::Mode;
    }
    if HASHES.contains(&last.as_str()) {
        return Holds::Hash;
    }
    Holds::Nothing
}

fn words(name: &str) -> Vec<String> {
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
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_by_their_last_word() {
        for name in [
            "--token",
            "HF_TOKEN",
            "--hubToken",
            "api_key",
            "WANDB_API_KEY",
            "--wandb_key",
            "PGPASSWORD",
            "--mot-de-passe",
            "--пароль",
            "AWS_ACCESS_KEY_ID",
            "AWSAccessKeyId",
            "X-Amz-Credential",
            "logger.api_key",
            "dbpass",
            "x-api-key",
            "--password-command",
            "RESTIC_PASSWORD_CMD",
        ] {
            assert_eq!(holds(name), Holds::Secret, "{name}");
        }
        for name in [
            "--tokenizer",
            "--max-tokens",
            "--key-column",
            "--token-file",
            "--author",
            "--auth-mode",
            "lr",
            "",
        ] {
            assert_eq!(holds(name), Holds::Nothing, "{name}");
        }
        for name in [
            "--image_key",
            "key",
            "--pad-token",
            "sig",
            "X-Amz-Signature",
            "--two-pass",
        ] {
            assert_eq!(holds(name), Holds::Perhaps, "{name}");
        }
        for name in ["--revision", "commit", "sha256"] {
            assert_eq!(holds(name), Holds::Hash, "{name}");
        }
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "Set-Cookie",
        ] {
            assert_eq!(holds(name), Holds::Header, "{name}");
        }
    }
}
