//! The command line: arguments to mode, one file per subcommand.
