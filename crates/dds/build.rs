//! Compiles Cyclone DDS and what is in `c/`, and has both linked into the program.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio, exit};

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
    if let Some(missing) = missing_tool() {
        println!("cargo::error=rospin-dds compiles Cyclone DDS, but {missing} cannot be run: it needs {TOOLS}");
        exit(1);
    }
    let is_secure = env::var_os("CARGO_FEATURE_SECURITY").is_some();
    if is_secure && !has_openssl() {
        println!("cargo::error=rospin-dds compiles DDS security, but there is no `openssl/ssl.h`: it needs {OPENSSL}");
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

/// Compiles the C code of this crate. It sees the library's own headers, so if the library changes them, it does not compile
/// any more.
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
    ours.files(["c/sample.c", "c/history.c", "c/entity.c", "c/discovery.c", "c/heard.c"]);
    if env::var_os("CARGO_FEATURE_BARE").is_some() {
        ours.file("c/bare.c");
    }
    // `-isystem` hides warnings in the library's own headers.
    headers.iter().for_each(|folder| _ = ours.flag("-isystem").flag(folder.display().to_string()));
    // Without `NDEBUG`, structures of the library have other sizes.
    ours.define("NDEBUG", None).std("gnu11").opt_level(3).warnings(true).extra_warnings(true);
    ours.compile("rospin_dds");
}
