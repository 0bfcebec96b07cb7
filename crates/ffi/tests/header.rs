//! The header for C: it is what the code is.

use std::path::Path;
use std::{env, fs};

use cbindgen::{Builder, Config};

/// The modules in the order in which the header has them.
const MODULES: [&str; 12] = [
    "status",
    "logging",
    "clock",
    "context",
    "trace",
    "executor",
    "group",
    "foreign",
    "entity",
    "notifier",
    "timer",
    "descriptor",
];

#[test]
fn the_header_is_what_the_code_is() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config::from_file(package.join("cbindgen.toml")).expect("cbindgen.toml");
    let mut builder = Builder::new().with_config(config);
    for module in MODULES {
        builder = builder.with_src(package.join(format!("src/{module}.rs")));
    }
    let mut made = Vec::new();
    builder.generate().expect("bindings").write(&mut made);
    let made = String::from_utf8(made).expect("UTF-8");
    let file = package.join("include/rospin.h");
    if env::var_os("ROSPIN_BLESS").is_some() {
        fs::write(&file, &made).expect("the header");
    }
    let header = fs::read_to_string(&file).expect("the header");
    let line = made.lines().zip(header.lines()).find(|(made, header)| made != header);
    assert!(
        made == header,
        "include/rospin.h is not what src/ is, first at {line:?}; `ROSPIN_BLESS=1 cargo test -p rospin-ffi --test \
         header` writes it"
    );
    for module in fs::read_dir(package.join("src")).expect("src") {
        let path = module.expect("a module").path();
        let text = fs::read_to_string(&path).expect("a module");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let is_public = text.contains("\n#[unsafe(no_mangle)]");
        assert!(!is_public || MODULES.contains(&name.as_str()), "the header lacks src/{name}.rs: add it to MODULES");
    }
}
