//! Short options that take a password, by the program that has them: `-p` is a port to most.

use super::is_reference;

/// Which part of a value is the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// What follows the first of these: `user:password`.
    After(char),
}

struct Short {
    programs: &'static [&'static str],
    option: &'static str,
    part: Part,
    /// The value may follow in the same word, in the next one, or both.
    glued: bool,
    next: bool,
    /// Only beside this word: `docker login -p`, but `docker run -p 80:80`.
    with: Option<&'static str>,
}

const fn short(
    programs: &'static [&'static str],
    option: &'static str,
    glued: bool,
    next: bool,
) -> Short {
    Short {
        programs,
        option,
        part: Part::Whole,
        glued,
        next,
        with: None,
    }
}

const fn after(programs: &'static [&'static str], option: &'static str, sign: char) -> Short {
    Short {
        part: Part::After(sign),
        ..short(programs, option, true, true)
    }
}

const SHORT: &[Short] = &[
    short(
        &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mysqlsh",
            "mariadb",
            "mariadb-dump",
        ],
        "-p",
        true,
        false,
    ),
    short(
        &["7z", "7za", "7zr", "7zz", "rar", "unrar"],
        "-p",
        true,
        false,
    ),
    short(&["rar", "unrar"], "-hp", true, false),
    short(
        &[
            "sshpass",
            "mongo",
            "mongosh",
            "mongoimport",
            "mongoexport",
            "mongodump",
            "mongorestore",
            "cqlsh",
            "rabbitmqadmin",
        ],
        "-p",
        true,
        true,
    ),
    short(
        &[
            "ldapsearch",
            "ldapadd",
            "ldapmodify",
            "ldapwhoami",
            "ldapdelete",
        ],
        "-w",
        true,
        true,
    ),
    short(
        &[
            "sqlcmd",
            "bcp",
            "zip",
            "unzip",
            "ipmitool",
            "mosquitto_pub",
            "mosquitto_sub",
        ],
        "-P",
        true,
        true,
    ),
    short(&["redis-cli", "valkey-cli"], "-a", false, true),
    short(&["openssl"], "-k", false, true),
    short(&["openssl"], "-K", false, true),
    after(&["curl", "wget"], "-u", ':'),
    after(&["curl"], "-U", ':'),
    after(&["http", "https", "xh", "ab"], "-a", ':'),
    after(&["ab"], "-A", ':'),
    after(&["smbclient", "rpcclient", "net", "smbget"], "-U", '%'),
    after(&["lftp", "lftpget"], "-u", ','),
    Short {
        with: Some("login"),
        ..short(
            &[
                "docker", "podman", "nerdctl", "helm", "skopeo", "buildah", "crane", "az", "oc",
            ],
            "-p",
            false,
            true,
        )
    },
];

/// Options of any program whose value is a user with a password.
const USERS: [&str; 4] = ["-u", "--user", "--proxy-user", "--userpwd"];

/// Where a short option puts its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In this word, behind the option.
    Here(usize, Part),
    Next(Part),
}

/// What a word is to the programs that were named before it.
pub(super) fn secret_of(programs: &[&str], words: &[&str], word: &str) -> Option<Place> {
    for short in SHORT {
        let named = short
            .programs
            .iter()
            .any(|program| programs.contains(program));
        if !named || short.with.is_some_and(|with| !words.contains(&with)) {
            continue;
        }
        match word.strip_prefix(short.option) {
            Some("") if short.next => return Some(Place::Next(short.part)),
            Some(rest) if short.glued && !rest.is_empty() => {
                return Some(Place::Here(short.option.len(), short.part));
            }
            // `curl -sSu me:X`.
            None if short.part == Part::After(':') && is_cluster(word, short.option) => {
                return Some(Place::Here(1, short.part));
            }
            _ => {}
        }
    }
    USERS
        .contains(&word)
        .then_some(Place::Next(Part::After(':')))
}

/// Several short options in one word, the last of them with its value.
fn is_cluster(word: &str, option: &str) -> bool {
    let letter = &option[1..];
    let before = word
        .strip_prefix('-')
        .and_then(|rest| rest.split_once(letter));
    before.is_some_and(|(others, value)| {
        others.len() <= 4 && others.bytes().all(|b| b.is_ascii_alphabetic()) && value.contains(':')
    })
}

/// Words that are secrets by their place: `mc alias set NAME URL ACCESS SECRET`.
pub(super) fn by_place(words: &[&str]) -> Vec<usize> {
    let named = |word: &&str| matches!(word.rsplit('/').next(), Some("mc" | "mcli"));
    let Some(program) = words.iter().position(named) else {
        return Vec::new();
    };
    let mut rest = words.iter().enumerate().skip(program + 1);
    // `mc config host add` is what it was called before.
    if !rest.any(|(_, word)| matches!(*word, "set" | "s" | "add")) {
        return Vec::new();
    }
    rest.skip_while(|(_, word)| !word.contains("://"))
        .skip(1)
        .filter(|(_, word)| !word.starts_with('-') && !is_reference(word))
        .map(|(place, _)| place)
        .take(2)
        .collect()
}

/// The program that a word names, if its short options are known.
pub(super) fn program(word: &str) -> Option<&str> {
    let name = word.rsplit('/').next()?;
    SHORT
        .iter()
        .any(|short| short.programs.contains(&name))
        .then_some(name)
}
