//! The thin binary: arguments in, exit status out.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(leverframe::cli::run::main())
}
