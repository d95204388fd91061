//! The program `lowtide`; all of it is in the library, so that tests and benches can use it.

use std::process::ExitCode;

fn main() -> ExitCode {
    lowtide::main()
}
