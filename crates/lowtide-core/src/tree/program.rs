//! What a command line runs, with the interpreter's own options put aside.

use crate::process::Facts;

/// The program behind a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program<'a> {
    /// `python -m MODULE`
    Module(&'a str),
    /// `python -c CODE`
    Code(&'a str),
    /// `python SCRIPT`, by path. A script with an interpreter line looks the same.
    Script(&'a str),
    /// An interactive interpreter, or one that reads its program from a pipe.
    Interpreter,
    /// Anything else, by the name of its file.
    Binary(&'a str),
    /// No command line could be read.
    Unknown,
}

impl<'a> Program<'a> {
    pub fn of(argv: &'a [String]) -> Program<'a> {
        let Some(first) = argv.first() else {
            return Program::Unknown;
        };
        // A login shell begins with a dash.
        let name = base_name(first).trim_start_matches('-');
        if !is_python_name(name) {
            return Program::Binary(name);
        }
        let mut rest = argv[1..].iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            match argument {
                "-m" => return rest.next().map_or(Program::Interpreter, Program::Module),
                "-c" => return rest.next().map_or(Program::Interpreter, Program::Code),
                "-" => return Program::Interpreter,
                // These two take a value of their own.
                "-X" | "-W" | "--check-hash-based-pycs" => {
                    rest.next();
                }
                _ if argument.starts_with("-m") => return Program::Module(&argument[2..]),
                _ if argument.starts_with("-c") => return Program::Code(&argument[2..]),
                _ if argument.starts_with('-') => {
                    // Flags can be joined: `-um torch.distributed.run`.
                    let letters = &argument[1..];
                    if !argument.starts_with("--") && letters.ends_with('m') {
                        return rest.next().map_or(Program::Interpreter, Program::Module);
                    }
                    if !argument.starts_with("--") && letters.ends_with('c') {
                        return rest.next().map_or(Program::Interpreter, Program::Code);
                    }
                }
                script => return Program::Script(script),
            }
        }
        Program::Interpreter
    }

    pub fn is_python(&self) -> bool {
        !matches!(self, Program::Binary(_) | Program::Unknown)
    }

    /// The name by which people know it.
    pub fn name(&self) -> &'a str {
        match self {
            Program::Module(name) | Program::Binary(name) => name,
            Program::Script(path) => base_name(path),
            Program::Code(_) => "python -c",
            Program::Interpreter => "python",
            Program::Unknown => "",
        }
    }
}

/// A Python process, by its command line, its file, or the library it has mapped (a process may
/// write its own title over its command line).
pub fn is_python(facts: &Facts) -> bool {
    Program::of(&facts.argv).is_python()
        || facts.libpython
        || facts
            .exe
            .as_deref()
            .is_some_and(|exe| is_python_name(base_name(exe)))
}

pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `python`, `python3`, `python3.14t`, `pypy3`.
fn is_python_name(name: &str) -> bool {
    ["python", "pypy"].iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            rest.chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '.' | 't' | 'd'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> String {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        format!("{:?}", Program::of(&argv))
    }

    #[test]
    fn interpreters_options_are_put_aside() {
        for (command, program) in [
            ("python train.py --lr 1", "Script(\"train.py\")"),
            ("/env/bin/python3.11 -u -X dev a/b.py", "Script(\"a/b.py\")"),
            (
                "python -W ignore -m torch.distributed.run x.py",
                "Module(\"torch.distributed.run\")",
            ),
            ("python -um pkg.train", "Module(\"pkg.train\")"),
            ("python3 -c print(1)", "Code(\"print(1)\")"),
            ("python3", "Interpreter"),
            ("python -", "Interpreter"),
            ("-bash", "Binary(\"bash\")"),
            ("/usr/bin/pythonize x", "Binary(\"pythonize\")"),
        ] {
            assert_eq!(of(command), program, "{command}");
        }
        assert_eq!(Program::of(&[]), Program::Unknown);
    }
}
