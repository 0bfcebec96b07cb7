//! Writes a table with the definitions of ROS 2's own packages, which the command carries along.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ROS_DISTRO");
    let texts = rospin_codegen::texts().unwrap_or_else(|error| panic!("{error}"));
    let mut table = String::from("&[\n");
    for (name, text) in texts {
        let _ = writeln!(table, "({name:?}, {text:?}),");
    }
    table.push_str("]\n");
    let out = env::var_os("OUT_DIR").expect("Cargo sets it for build scripts");
    fs::write(Path::new(&out).join("definitions.rs"), table).unwrap_or_else(|error| panic!("{error}"));
}
