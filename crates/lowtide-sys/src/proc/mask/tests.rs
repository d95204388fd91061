//! Ways to write a secret, and what only looks like one.

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

/// Every way to write a secret that is known to us; `§` stands for it.
#[test]
fn every_way_to_write_a_secret() {
    let ways: &[&[&str]] = &[
        &["train", "--token", "§"],
        &["train", "--token=§"],
        &["train", "--wandb_key", "§"],
        &["train", "--hubToken=§, (and) more"],
        &["train", "--pw", "§"],
        &["train", "--password=§&x;y"],
        &["mysql", "-u", "me", "-p§", "db"],
        &["/usr/bin/mysqldump", "-p§"],
        &["sshpass", "-p", "§", "ssh", "-p", "2222", "host"],
        &["redis-cli", "-a", "§"],
        &["curl", "-u", "me:§", "https://host"],
        &["curl", "--user", "me:§", "https://host"],
        &["curl", "-sSume:§", "https://host"],
        &[
            "train",
            "--opts",
            "['SOLVER.LR', 0.02, 'AUTH.PASSWORD', '§', 'MODEL.DEPTH', 101]",
        ],
        &["entrainer", "--mot-de-passe", "§"],
        &["docker", "login", "-u", "me", "-p", "§"],
        &["smbclient", "-U", "me%§"],
        &["ldapsearch", "-w", "§"],
        &["7z", "x", "-p§", "a.7z"],
        &["openssl", "enc", "-pass", "pass:§"],
        &["env", "PGPASSWORD=§", "psql"],
        &["env", "MYSQL_PWD=§ with spaces", "mysql"],
        &["sh", "-c", "PGPASSWORD=§ psql -c 'select 1'"],
        &["sh", "-c", "export HF_TOKEN='§'; python train.py"],
        &["sh", "-c", "mysql -p§ -e 'select 1' | sort"],
        &["sh", "-c", "echo § | docker login --password-stdin"],
        &[
            "bash",
            "-lc",
            "curl -H \"Authorization: Basic §\" https://host",
        ],
        &["curl", "-H", "Authorization: token §"],
        &["curl", "-H", "Cookie: session=§; theme=dark"],
        &["curl", "-H", "X-API-Key: §"],
        &["python", "-c", "login(token=\"§\")"],
        &["python", "-c", "from wandb import login; login('§')"],
        &[
            "python",
            "-c",
            "import os; os.environ[\"HF_TOKEN\"] = \"§\"",
        ],
        &["python", "-c", "requests.get(url, auth=('me', '§'))"],
        &["train", "{\"lr\": 1, \"api_key\": \"§\"}"],
        &["train", "--config={\\\"secret\\\": \\\"§\\\"}"],
        &["train", "+logger.api_key=§"],
        &["train", "token: §"],
        &["mount", "-o", "username=me,password=§,uid=1000"],
        &["git", "clone", "https://me:§@host/x.git"],
        &["git", "clone", "https://§@host/x.git"],
        &["train", "postgresql://me:§/x@db:5432/runs"],
        &["train", "jdbc:sqlserver://h;user=me;password=§;x=1"],
        &["train", "Driver=x;Uid=me;Pwd={§};"],
        &[
            "train",
            "https://bucket/x.tar?X-Amz-Credential=a&X-Amz-Signature=§&X-Amz-Date=1",
        ],
        &["train", "https://account/x?sv=2024&sp=r&sig=§"],
        &["train", "https://hooks.slack.com/services/§"],
        &[
            "train",
            "-----BEGIN PRIVATE KEY-----\n§\n-----END PRIVATE KEY-----",
        ],
        &["aws", "configure", "set", "aws_secret_access_key", "§"],
        &[
            "kubectl",
            "create",
            "secret",
            "generic",
            "x",
            "--from-literal=k=§",
        ],
        &["train", "--note", "§"],
        &["wandb", "login", "§"],
        &["train", "run-§"],
    ];
    // Built here, so that no scanner takes this file for a leak.
    let secret = ["q8Zt4Lw1", "Xr7Nb2Kd", "9Vf3Hs6M"].concat();
    for way in ways {
        let argv: Vec<String> = way.iter().map(|a| a.replace('§', &secret)).collect();
        let shown = masked(&argv.iter().map(String::as_str).collect::<Vec<_>>());
        let shown = shown.join(" ");
        assert!(!shown.contains(&secret), "{shown}");
        assert!(
            shown.starts_with(way[0]) && shown.contains("***"),
            "{shown}"
        );
    }
}

/// Words that a person would choose, told by their place alone; what is left of the line with `§` for each.
#[test]
fn a_plain_word_is_masked_where_a_secret_belongs() {
    let ways: &[(&[&str], &str)] = &[
        (
            &[
                "mc",
                "alias",
                "set",
                "store",
                "https://host:9000",
                "minio",
                "swordfish",
            ],
            "mc alias set store https://host:9000 § §",
        ),
        (
            &[
                "/usr/bin/mcli",
                "config",
                "host",
                "add",
                "s",
                "http://h",
                "minio",
                "swordfish",
                "--api",
                "s3v4",
            ],
            "/usr/bin/mcli config host add s http://h § § --api s3v4",
        ),
        (
            &[
                "sh",
                "-c",
                "mc alias set s http://h minio swordfish && python train.py",
            ],
            "sh -c mc alias set s http://h § § && python train.py",
        ),
        (&["mc", "cp", "store/x", "y"], "mc cp store/x y"),
        (
            &[
                "expect",
                "-c",
                "spawn ssh me@h; expect \"word:\"; send \"swordfish\\r\"; interact",
            ],
            "expect -c spawn ssh me@h; expect \"word:\"; send \"§\"; interact",
        ),
        (
            &[
                "expect",
                "-c",
                "spawn scp x h:; send -- {swordfish\\r}; send $PASS",
            ],
            "expect -c spawn scp x h:; send -- {§}; send $PASS",
        ),
        (
            &[
                "restic",
                "--password-command",
                "echo swordfish",
                "backup",
                "x",
            ],
            "restic --password-command § backup x",
        ),
        (
            &["borg", "--passphrase-command=echo swordfish"],
            "borg --passphrase-command=§",
        ),
        (
            &["train", "--eval-command", "echo done", "send", "x"],
            "train --eval-command echo done send x",
        ),
    ];
    for (way, shown) in ways {
        assert_eq!(masked(way).join(" ").replace("***", "§"), *shown);
    }
}

#[test]
fn tokens_of_services_are_known_in_any_place() {
    let body = "abcdefghijklmnopqrstuvwxyz0123456789";
    for start in [
        "hf_",
        "ghp_",
        "sk-",
        "glpat-",
        "AKIA",
        "nvapi-",
        "npm_",
        "dckr_pat_",
    ] {
        let token = format!("{start}{body}");
        for line in [
            token.clone(),
            format!("x={token}"),
            format!("f({token}, 2)"),
            format!("/data/{token}/x"),
            format!("https://host/{token}/x.git"),
            format!("[\"{token}\"]"),
        ] {
            let masked = text(&line).unwrap_or_else(|| line.clone());
            assert!(!masked.contains(&token), "{masked}");
        }
    }
}

#[test]
fn what_tells_one_job_from_another_stays() {
    let lines: &[&[&str]] = &[
        &[
            "python",
            "-u",
            "train.py",
            "--tokenizer",
            "bert",
            "--max-tokens=512",
        ],
        &[
            "train",
            "--bos_token",
            "<s>",
            "--pad-token=<pad>",
            "--image_key",
            "image_512",
        ],
        &[
            "train",
            "--revision",
            "0123456789abcdef0123456789abcdef01234567",
        ],
        &[
            "git",
            "checkout",
            "0123456789abcdef0123456789abcdef01234567",
        ],
        &[
            "docker",
            "run",
            "-p",
            "8080:80",
            "--user",
            "1000:1000",
            "img@sha256:0123456789abcdef0123456789abcdef",
        ],
        &[
            "train",
            "--model",
            "meta-llama/Llama-3.1-8B-Instruct",
            "--arch",
            "Qwen2VLForConditionalGeneration",
        ],
        &[
            "train",
            "--name",
            "exp-2024-05-01_lr1e-4_bs32_wd0.01_seed42",
        ],
        &[
            "train",
            "--token-file",
            "/run/secrets/token",
            "--token",
            "/run/secrets/token",
        ],
        &[
            "train",
            "--auth-mode",
            "basic",
            "--auth=ldap",
            "--use_auth_token=True",
        ],
        &["sh", "-c", "python train.py --token $HF_TOKEN --lr 1e-4"],
        &[
            "train",
            "models--x/snapshots/0123456789abcdef0123456789abcdef01234567/model.safetensors",
        ],
        &[
            "torchrun",
            "--rdzv_id=12345",
            "--rdzv_endpoint=host:29500",
            "train.py",
        ],
        &[
            "train",
            "CUDA_VISIBLE_DEVICES=GPU-8f6e2a1c-3b4d-5e6f-7a8b-9c0d1e2f3a4b",
        ],
        &["python", "-c", "load_dataset('glue', 'mrpc', token=True)"],
    ];
    for line in lines {
        assert_eq!(&masked(line), line);
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(words in proptest::collection::vec(".{0,30}", 0..6)) {
        let mut argv = words;
        arguments(&mut argv);
    }

    /// A panic here would end the watcher of whoever has such a process on the machine.
    #[test]
    fn any_mixture_of_signs_is_survived(
        argv in proptest::collection::vec(
            "(token|auth|Cookie|-p|-u|mysql|curl|echo |spawn |send |mc |set |sudo -S|://|-----BEGIN|rev|[-=:,;|&'\"(){}@/$ é密\\\\a7]){0,14}",
            0..4,
        ),
    ) {
        let mut masked = argv.clone();
        arguments(&mut masked);
        prop_assert_eq!(masked.len(), argv.len());
        for one in &argv {
            text(one);
        }
    }

    #[test]
    fn a_token_never_survives(body in "[A-Za-z0-9]{16,40}", before in "[a-z ]{0,10}") {
        let secret = format!("hf_{body}");
        for line in [format!("{before} {secret}"), format!("{before} T={secret}"), format!("--x={secret}")] {
            prop_assert!(!text(&line).unwrap_or(line).contains(&secret));
        }
    }
}
