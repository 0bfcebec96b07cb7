//! Generates the packages of this crate, as a user's build script does it, and a list of all types for the tests.

use std::path::PathBuf;
use std::{env, fs, io};

use rospin_codegen::{Generator, SHIPPED};

fn main() -> io::Result<()> {
    // Another crate would be called as its package, and have the types at its root.
    Generator::new().package("interfaces/kinds_msgs").crate_name("kinds_msgs").generate_or_exit();
    let roots = rospin_codegen::definitions().into_iter().map(|root| root.display().to_string());
    println!("cargo::rustc-env=DEFINITIONS={}", roots.collect::<Vec<_>>().join(":"));
    println!("cargo::rustc-env=DISTRIBUTION={}", env::var("ROS_DISTRO").unwrap_or_else(|_| "jazzy".to_owned()));
    list_types()
}

/// Writes `each_type!`, which calls another macro with the path and the name of every shipped type, and of every type
/// of this crate, and `each_interface!`, which does so for messages, services and actions, and says first which of them
/// it is.
fn list_types() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    let copy = out.join("shipped");
    fs::create_dir_all(&copy)?;
    let names = SHIPPED.iter().map(|name| (*name).to_owned());
    Generator::new().ship(names, "::rospin_wire").out_dir(&copy).generate().map_err(io::Error::other)?;
    let begin = |name: &str| format!("macro_rules! {name} {{\n($with:ident) => {{\n");
    let mut types = begin("each_type");
    let mut interfaces = begin("each_interface");
    let shipped = SHIPPED.iter().map(|package| (*package, &copy, "rospin_msgs"));
    for (package, folder, at) in shipped.chain([("kinds_msgs", &out, "rospin_interfaces_test")]) {
        let mut kind = "";
        for line in fs::read_to_string(folder.join(format!("{package}.rs")))?.lines() {
            let word = |before: &str, after: &str| line.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            if let Some(found) = ["msg", "srv", "action"].into_iter().find(|kind| word("pub mod ", " {") == Some(kind))
            {
                kind = found;
            }
            if let Some(name) = word("impl f::Fields for ", " {") {
                types += &format!("$with!(::{at}::{package}::{kind}::{name}, \"{package}/{kind}/{name}\");\n");
            }
            for of in ["Message", "ServiceInterface", "Action"] {
                let wire = if at == "rospin_msgs" { "::rospin_wire" } else { "::rospin_msgs::wire" };
                if let Some(name) = word(&format!("impl {wire}::{of} for "), " {") {
                    interfaces +=
                        &format!("$with!({of}, ::{at}::{package}::{kind}::{name}, \"{package}/{kind}/{name}\");\n");
                }
            }
        }
    }
    for (file, list) in [("each_type.rs", types), ("each_interface.rs", interfaces)] {
        fs::write(out.join(file), list + "};\n}\n")?;
    }
    Ok(())
}
