//! Compiles Cyclone DDS and what is in `c/`, and has both linked into the program.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio, exit};

/// What can be missing, and what installs it.
const TOOLS: &str = "CMake and a C and C++ compiler; install them with `sudo apt install cmake g++` (Debian, Ubuntu), \
                     `sudo dnf install cmake gcc-c++` (Fedora) or `brew install cmake` (macOS)";

fn main() {
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rerun-if-env-changed=CMAKE");
    if let Some(missing) = missing_tool() {
        println!("cargo::error=rospin-dds compiles Cyclone DDS, but {missing} cannot be run: it needs {TOOLS}");
        exit(1);
    }
    let source = cyclonedds_src::source_dir();
    let built = cmake::Config::new(&source)
        .profile("Release")
        .define("BUILD_SHARED_LIBS", "OFF")
        .define("BUILD_IDLC", "OFF")
        .define("BUILD_DDSPERF", "OFF")
        .define("ENABLE_ICEORYX", "OFF")
        .define("ENABLE_LTO", "OFF")
        .define("ENABLE_QOS_PROVIDER", "OFF")
        .define("ENABLE_SECURITY", "OFF")
        .define("ENABLE_SSL", "OFF")
        .build_target("ddsc")
        .build()
        .join("build");
    compile_ours(&source, &built);
    println!("cargo::rustc-link-search=native={}", built.join("lib").display());
    println!("cargo::rustc-link-lib=static=ddsc");
}

/// The first tool that does not run.
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

/// It sees the library's own headers, so what the library changes does not compile any more.
fn compile_ours(source: &Path, built: &Path) {
    let core = source.join("src/core");
    let headers = [
        core.join("ddsc/include"),
        core.join("ddsi/include"),
        core.join("cdr/include"),
        source.join("src/ddsrt/include"),
        built.join("src/core/include"),
        built.join("src/ddsrt/include"),
        core.join("ddsc/src"),
        core.join("ddsi/src"),
    ];
    let mut ours = cc::Build::new();
    ours.files(["c/sample.c", "c/history.c", "c/entity.c", "c/discovery.c", "c/heard.c"]);
    if env::var_os("CARGO_FEATURE_BARE").is_some() {
        ours.file("c/bare.c");
    }
    // Its own warnings are not ours.
    headers.iter().for_each(|folder| _ = ours.flag("-isystem").flag(folder.display().to_string()));
    // Structures of the library have other sizes without it.
    ours.define("NDEBUG", None).std("gnu11").opt_level(3).warnings(true).extra_warnings(true);
    ours.compile("rospin_dds");
}
