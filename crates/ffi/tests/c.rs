//! The whole interface from C: programs that use nothing but the header and the library.

#![expect(clippy::print_stdout, reason = "it says what is skipped")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rospin_trace::{Model, Recording};

const SOURCES: [&str; 9] = ["main", "errors", "order", "spins", "timers", "threads", "removal", "descriptors", "files"];

const ARCHIVE: &str = "librospin_ffi.a";

/// The system's libraries that the archive needs.
const LIBRARIES: [&str; 3] = ["-lpthread", "-lm", "-ldl"];

/// Returns the C compiler; `None` if there is none.
fn compiler() -> Option<String> {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    Command::new(&compiler).arg("--version").output().is_ok().then_some(compiler)
}

/// Returns the folder of the libraries that cargo has built along with this test.
fn libraries() -> PathBuf {
    let test = env::current_exe().expect("this program");
    test.parent().expect("a folder").to_owned()
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles a program, and links it with the library of that name.
fn compile(compiler: &str, sources: &[PathBuf], library: &str, program: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g"]).args(flags);
    command.arg("-I").arg(package().join("include")).args(sources);
    command.arg(libraries().join(library)).args(LIBRARIES).arg(format!("-Wl,-rpath,{}", libraries().display()));
    command.arg("-o").arg(program).output().expect("the compiler runs")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_program_in_c_uses_everything() {
    let Some(compiler) = compiler() else {
        println!("SKIPPED: there is no C compiler");
        return;
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("everything");
    let sources = SOURCES.map(|name| package().join(format!("tests/c/{name}.c")));
    // AddressSanitizer also finds what is never freed. Not every compiler has it.
    let sanitized = compile(&compiler, &sources, ARCHIVE, &program, &["-fsanitize=address", "-fno-omit-frame-pointer"]);
    if !sanitized.status.success() {
        let plain = compile(&compiler, &sources, ARCHIVE, &program, &[]);
        assert!(plain.status.success(), "{}", text(&plain));
    }
    let run = Command::new(&program).arg(&folder).env("ROSPIN_TRACE", folder.join("environment.mcap")).output();
    let run = run.expect("the program runs");
    assert!(run.status.success() && text(&run).contains("all done"), "{}: {}", run.status, text(&run));

    let asked = Model::new(&Recording::open(&folder.join("asked.mcap")).expect("a recording"));
    let callback = asked.callbacks.iter().find(|callback| callback.name == "asked").expect("the entity");
    assert_eq!((callback.group.as_str(), callback.priority, callback.kind.as_str()), ("group", 4, "waitable"));
    assert_eq!(callback.activations.len(), 5);
    let message = asked.messages.iter().find(|message| message.topic == "/c").expect("the publication");
    let callback_of = |activation: usize| asked.callbacks[asked.activations[activation].callback].name.as_str();
    let (from, to) = (message.from.expect("a publisher"), message.taken.expect("a taker").0);
    assert_eq!((callback_of(from), callback_of(to)), ("sends", "takes"));
    let all = Model::new(&Recording::open(&folder.join("environment.mcap")).expect("a recording"));
    for name in ["a", "items", "timer", "reader", "asked"] {
        assert!(all.callbacks.iter().any(|callback| callback.name == name), "{name} is not recorded");
    }
    assert!(all.callbacks.iter().any(|callback| callback.name == "timer" && callback.kind.as_str() == "timer"));
}

#[test]
fn the_example_on_the_crates_page_counts_down() {
    let Some(compiler) = compiler() else {
        println!("SKIPPED: there is no C compiler");
        return;
    };
    let page = fs::read_to_string(package().join("README.md")).expect("README.md");
    let listing = page.split("\n```c\n").nth(1).and_then(|rest| rest.split("\n```").next()).expect("a listing");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page");
    fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("countdown.c");
    fs::write(&source, listing).expect("the source");
    let program = folder.join("countdown");
    let compiled = compile(&compiler, &[source], "librospin_ffi.so", &program, &[]);
    assert!(compiled.status.success(), "{}", text(&compiled));
    let run = Command::new(&program).output().expect("the program runs");
    assert!(run.status.success(), "{}", text(&run));
    assert_eq!(text(&run), "3\n2\n1\n");
}
