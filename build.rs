//! How the shipped binary is linked. Nothing here generates code, and no other build is touched: a profile of Cargo
//! cannot carry arguments for the linker.

use std::env;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=link/no_unwind_tables.ld");
    // Only the profile `dist` optimises for size; it aborts on a panic, which a build script is not told.
    let is_dist = env::var("OPT_LEVEL")? == "z";
    if is_dist && env::var("CARGO_CFG_TARGET_OS")? == "linux" {
        let script = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("link/no_unwind_tables.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
        // Relocations of a position-independent program, a bit each in place of 24 bytes. Read by glibc from 2.36 and
        // musl from 1.2.4 on.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        // Functions that became the same code are kept once. Nothing compares their addresses.
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    Ok(())
}
