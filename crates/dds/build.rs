//! Compiles Cyclone DDS with the patches in `c/cyclone/`, and what is in `c/`, and has both linked into the program.
//!
//! RustDDS had a third of the throughput of the C library, and seven times its latency. The crate `cyclonedds-src` has
//! the source. Existing bindings do not suit: `cyclonedds-rust-sys` links a shared library that programs do not find,
//! prints warnings in every build, and lacks parts that encodings need; `cyclors` needs libclang; `cyclonedds` wraps
//! the former. So a few hundred lines of C in `c/` fill in the library's structures, from its own headers.
//!
//! The patches go into a copy of the source, and the build stops if a line is not as expected. The library in this
//! repository would be 26 MB, with licences of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::{env, fs, io};

use diffy::patch_set::{ParseOptions, PatchSet};

/// The tools that can be missing, and the commands that install them.
const TOOLS: &str = "CMake and a C and C++ compiler; install them with `sudo apt install cmake g++` (Debian, Ubuntu), \
                     `sudo dnf install cmake gcc-c++` (Fedora) or `brew install cmake` (macOS)";

/// The development files of OpenSSL, and the commands that install them.
const OPENSSL: &str = "the development files of OpenSSL; install them with `sudo apt install libssl-dev` (Debian, Ubuntu), \
                       `sudo dnf install openssl-devel` (Fedora), or `brew install openssl` with OPENSSL_ROOT_DIR set to where it \
                       is (macOS)";

fn main() {
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rerun-if-env-changed=CMAKE");
    println!("cargo::rerun-if-env-changed=OPENSSL_ROOT_DIR");
    println!("cargo::rerun-if-env-changed=DOCS_RS");
    // Documentation is not linked, and the registry's machines would compile for minutes.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(missing) = missing_tool() {
        println!("cargo::error=rospin-dds compiles Cyclone DDS, but {missing} cannot be run: it needs {TOOLS}");
        exit(1);
    }
    let is_secure = env::var_os("CARGO_FEATURE_SECURITY").is_some();
    if is_secure && !has_openssl() {
        println!("cargo::error=rospin-dds compiles DDS security, but there is no `openssl/ssl.h`: it needs {OPENSSL}");
        exit(1);
    }
    let folder = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    let source = match patched(&cyclonedds_src::source_dir(), Path::new(&folder)) {
        Ok(source) => source,
        Err(reason) => {
            println!(
                "cargo::error=rospin-dds compiles Cyclone DDS with patches of its own, which could not be applied: {reason}"
            );
            exit(1);
        }
    };
    let built = cmake::Config::new(&source)
        .profile("Release")
        .define("BUILD_SHARED_LIBS", "OFF")
        .define("BUILD_IDLC", "OFF")
        .define("BUILD_DDSPERF", "OFF")
        .define("ENABLE_ICEORYX", "OFF")
        .define("ENABLE_LTO", "OFF")
        .define("ENABLE_QOS_PROVIDER", "OFF")
        // ROS types are known by their names. Without their XTypes descriptions, those of Fast DDS, which the library
        // finds invalid, are ignored.
        .define("ENABLE_TYPELIB", "OFF")
        .define("ENABLE_TYPE_DISCOVERY", "OFF")
        .define("ENABLE_TOPIC_DISCOVERY", "OFF")
        .define("ENABLE_SECURITY", if is_secure { "ON" } else { "OFF" })
        .define("ENABLE_SSL", if is_secure { "ON" } else { "OFF" })
        .define("ENABLE_TCP_TLS", "OFF")
        .build_target("ddsc")
        .build()
        .join("build");
    compile_ours(&source, &built, is_secure);
    println!("cargo::rustc-link-search=native={}", built.join("lib").display());
    println!("cargo::rustc-link-lib=static=ddsc");
    if is_secure {
        link_openssl(&built);
    }
}

/// Copies the library's source into `folder`, with the patches of `c/cyclone/`, and returns its place.
///
/// # Errors
/// If a file cannot be read or written, or if a patch does not find exactly the lines that it changes.
fn patched(source: &Path, folder: &Path) -> Result<PathBuf, String> {
    let patches = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/cyclone");
    let mut names = Vec::new();
    for entry in fs::read_dir(&patches).map_err(|error| format!("{}: {error}", patches.display()))? {
        names.push(entry.map_err(|error| error.to_string())?.path());
    }
    names.sort();
    let mut changed = BTreeMap::new();
    for patch in names {
        apply(&patch, source, &mut changed).map_err(|reason| format!("{}: {reason}", patch.display()))?;
    }
    let copy = folder.join("cyclonedds");
    copy_tree(source, &copy, &changed).map_err(|error| format!("{}: {error}", copy.display()))?;
    Ok(copy)
}

/// Applies a patch to files of `source`, or to what earlier patches have made of them in `changed`.
fn apply(patch: &Path, source: &Path, changed: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<(), String> {
    let text = fs::read_to_string(patch).map_err(|error| error.to_string())?;
    for change in PatchSet::parse(&text, ParseOptions::unidiff()) {
        let change = change.map_err(|error| error.to_string())?;
        let diff = change.patch().as_text().ok_or("it is not text")?;
        let name = diff.original().and_then(|name| name.strip_prefix("a/")).ok_or("a file has no name")?;
        let file = source.join(name);
        let before = match changed.remove(&file) {
            Some(before) => before,
            None => fs::read(&file).map_err(|error| format!("{name}: {error}"))?,
        };
        let before = String::from_utf8(before).map_err(|error| format!("{name}: {error}"))?;
        let after = diffy::apply(&before, diff).map_err(|error| format!("{name}: {error}"))?;
        changed.insert(file, after.into_bytes());
    }
    Ok(())
}

/// Copies what CMake reads, with the files in `changed` in place of their originals. A file that has its content
/// already is left alone: what is written anew is compiled anew.
fn copy_tree(from: &Path, to: &Path, changed: &BTreeMap<PathBuf, Vec<u8>>) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let (file, copy) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            let is_unused = ["docs", "examples", "fuzz", "WiX", "tests"].iter().any(|unused| name == *unused);
            if !is_unused {
                copy_tree(&file, &copy, changed)?;
            }
            continue;
        }
        let content = match changed.get(&file) {
            Some(content) => content.clone(),
            None => fs::read(&file)?,
        };
        if fs::read(&copy).is_ok_and(|there| there == content) {
            continue;
        }
        // A build that is interrupted leaves no half of a file under its name.
        let draft = to.join("draft-of-a-copy");
        fs::write(&draft, content)?;
        fs::rename(&draft, &copy)?;
    }
    Ok(())
}

/// Returns the first tool that is missing or does not run; `None` if all are there.
fn missing_tool() -> Option<String> {
    let runs = |program: &str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let compiler = |cpp| {
        let compiler = cc::Build::new().cpp(cpp).try_get_compiler();
        compiler.map_or_else(|_| "cc".to_owned(), |compiler| compiler.path().display().to_string())
    };
    let cmake = env::var("CMAKE").unwrap_or_else(|_| "cmake".to_owned());
    [cmake, compiler(false), compiler(true)].into_iter().find(|program| !runs(program))
}

/// Asks the compiler whether it finds the headers of OpenSSL.
fn has_openssl() -> bool {
    let Some(folder) = env::var_os("OUT_DIR") else { return false };
    let probe = Path::new(&folder).join("openssl.c");
    if std::fs::write(&probe, "#include <openssl/ssl.h>\n").is_err() {
        return false;
    }
    let mut compiler = cc::Build::new();
    // CMake uses this variable, too.
    if let Some(root) = env::var_os("OPENSSL_ROOT_DIR") {
        compiler.include(Path::new(&root).join("include"));
    }
    compiler.file(probe).cargo_output(false).try_expand().is_ok()
}

/// Links the OpenSSL that CMake found.
fn link_openssl(built: &Path) {
    let cache = std::fs::read_to_string(built.join("CMakeCache.txt")).unwrap_or_default();
    for (variable, library) in [("OPENSSL_SSL_LIBRARY:", "ssl"), ("OPENSSL_CRYPTO_LIBRARY:", "crypto")] {
        let line = cache.lines().find(|line| line.starts_with(variable));
        let folder = line.and_then(|line| Path::new(line.split_once('=')?.1).parent());
        if let Some(folder) = folder {
            println!("cargo::rustc-link-search=native={}", folder.display());
        }
        println!("cargo::rustc-link-lib={library}");
    }
}

/// Compiles the C code of this crate. It sees the library's own headers, so if the library changes them, it does not
/// compile any more.
fn compile_ours(source: &Path, built: &Path, is_secure: bool) {
    let core = source.join("src/core");
    let mut headers = vec![
        core.join("ddsc/include"),
        core.join("ddsi/include"),
        core.join("cdr/include"),
        source.join("src/ddsrt/include"),
        built.join("src/core/include"),
        built.join("src/ddsrt/include"),
        core.join("ddsc/src"),
        core.join("ddsi/src"),
    ];
    if is_secure {
        headers.extend(["api", "core"].map(|part| source.join("src/security").join(part).join("include")));
    }
    let mut ours = cc::Build::new();
    ours.files(["c/sample.c", "c/history.c", "c/entity.c", "c/discovery.c", "c/heard.c", "c/room.c", "c/log.c"]);
    if env::var_os("CARGO_FEATURE_BARE").is_some() {
        ours.file("c/bare.c");
    }
    // `-isystem` hides warnings in the library's own headers.
    headers.iter().for_each(|folder| _ = ours.flag("-isystem").flag(folder.display().to_string()));
    // Without `NDEBUG`, structures of the library have other sizes.
    ours.define("NDEBUG", None).std("gnu11").opt_level(3).warnings(true).extra_warnings(true);
    ours.compile("rospin_dds");
}
