//! The layering: dependencies point down, the core is pure, and the code map of ARCHITECTURE.md is complete.

use std::path::{Path, PathBuf};
use std::{fs, io};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

fn workspace() -> Metadata {
    MetadataCommand::new().no_deps().exec().expect("cargo metadata")
}

/// Returns the workspace crates that `package` depends on, apart from dev-dependencies.
fn inner_dependencies<'a>(package: &'a Package, metadata: &'a Metadata) -> Vec<&'a str> {
    let used = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    let inner = used.filter(|dependency| metadata.packages.iter().any(|other| *other.name == dependency.name));
    inner.map(|dependency| dependency.name.as_str()).collect()
}

/// Returns the workspace crates that a crate may depend on. `None` means any.
fn allowed(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "rospin-core" => Some(&[]),
        "rospin-scenario" => Some(&["rospin-core"]),
        // These read scenarios or deployment files, which `rospin-scenario` parses.
        "rospin-engine" | "rospin-analysis" | "rospin-sim" | "rospin-trace" => {
            Some(&["rospin-core", "rospin-scenario"])
        }
        // The conformance suite is generic over the middleware, so it depends on the seam, and on no adapter.
        "rospin-testkit" => Some(&["rospin-core", "rospin-engine", "rospin-node"]),
        // Messages do not depend on the engine, so that they compile without it.
        "rospin-wire" | "rospin-codegen" => Some(&[]),
        "rospin-msgs" => Some(&["rospin-core", "rospin-wire", "rospin-codegen"]),
        "rospin-interfaces-test" => Some(&["rospin-msgs", "rospin-codegen"]),
        "rospin-dynamic" => Some(&["rospin-wire", "rospin-msgs"]),
        "rospin-node" => {
            Some(&["rospin-core", "rospin-engine", "rospin-macros", "rospin-wire", "rospin-msgs", "rospin-dynamic"])
        }
        "rospin-accelerator" => Some(&["rospin-core", "rospin-engine"]),
        "rospin-remote" => Some(&["rospin-engine", "rospin-accelerator", "rospin-scenario"]),
        "rospin-wgpu" | "rospin-cuda" => Some(&["rospin-engine", "rospin-accelerator"]),
        "rospin-tf2" => Some(&["rospin-engine", "rospin-node", "rospin-msgs"]),
        "rospin-container" => Some(&["rospin-engine", "rospin-node", "rospin-scenario", "rospin-msgs"]),
        "rospin-macros" => Some(&[]),
        "rospin-zenoh" | "rospin-dds" => Some(&["rospin-core", "rospin-engine", "rospin-node", "rospin-wire"]),
        // rclrs and R2R have nodes of their own.
        "rospin-rclrs" | "rospin-r2r" => Some(&["rospin-engine"]),
        // It observes the engine's recorder, and knows nodes only by what they declare.
        "rospin-tracetools" => Some(&["rospin-engine"]),
        // Between recordings and system files, above both.
        "rospin-learn" => Some(&["rospin-core", "rospin-scenario", "rospin-trace"]),
        // What programs import: everything but the models and the command.
        "rospin" => Some(&[
            "rospin-engine",
            "rospin-node",
            "rospin-container",
            "rospin-msgs",
            "rospin-accelerator",
            "rospin-remote",
            "rospin-tf2",
            "rospin-trace",
            "rospin-tracetools",
            "rospin-learn",
            "rospin-dds",
            "rospin-zenoh",
        ]),
        // A user's program depends on `rospin`, and on the generator in its build script.
        "custom-messages" | "robot" => Some(&["rospin", "rospin-codegen"]),
        "rospin-synthetic" => Some(&["rospin-engine", "rospin-scenario"]),
        "rospin-measure" => Some(&["rospin-engine"]),
        "rospin-report" => Some(&["rospin-core", "rospin-measure", "rospin-scenario", "rospin-sim"]),
        _ => None,
    }
}

#[test]
fn arrows_point_down() {
    let metadata = workspace();
    for package in &metadata.packages {
        let Some(allowed) = allowed(&package.name) else {
            continue;
        };
        for dependency in inner_dependencies(package, &metadata) {
            assert!(allowed.contains(&dependency), "{} must not depend on {dependency}", package.name);
        }
    }
}

/// The adapters in workspaces of their own are not in this workspace's metadata.
#[test]
fn the_adapters_outside_the_workspace_point_down_too() {
    for adapter in ["crates/zenoh", "crates/dds", "crates/wgpu", "integrations/rclrs", "integrations/r2r"] {
        points_down(adapter);
    }
}

fn points_down(adapter: &str) {
    let manifest = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../{}/Cargo.toml"), adapter);
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata");
    let [adapter] = &metadata.packages[..] else { panic!("one package") };
    let allowed = allowed(&adapter.name).expect("an adapter");
    let used = adapter.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    for dependency in used.map(|dependency| dependency.name.as_str()).filter(|name| name.starts_with("rospin")) {
        assert!(allowed.contains(&dependency), "{} must not depend on {dependency}", adapter.name);
    }
}

#[test]
fn only_the_command_and_the_lab_may_depend_on_everything() {
    for package in &workspace().packages {
        let known = allowed(&package.name).is_some() || ["rospin-cli", "rospin-lab"].contains(&package.name.as_str());
        assert!(known, "say in `allowed` what the new crate {} may depend on", package.name);
    }
}

/// The lab is research: the product's commands hand `rospin lab` over to it, and know nothing else of it.
#[test]
fn only_the_command_line_sees_the_lab() {
    let metadata = workspace();
    for package in &metadata.packages {
        let sees_it = inner_dependencies(package, &metadata).contains(&"rospin-lab");
        assert_eq!(sees_it, *package.name == "rospin-cli", "{}", package.name);
    }
    let cli = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/src");
    for file in sources(Path::new(cli)).expect("the sources of the command") {
        let may = ["command_line.rs", "lib.rs"].contains(&name_of(&file).as_str());
        let text = fs::read_to_string(&file).expect("a source file");
        assert!(may || !text.contains("rospin_lab"), "{} uses the lab", file.display());
    }
}

#[test]
fn neither_simulation_nor_analysis_sees_the_engine() {
    for package in &workspace().packages {
        if package.name.ends_with("-sim") || package.name.ends_with("-analysis") {
            let engine = package.dependencies.iter().find(|dependency| dependency.name == "rospin-engine");
            assert!(engine.is_none(), "{} depends on the engine", package.name);
        }
    }
}

#[test]
fn the_core_is_pure() {
    let metadata = workspace();
    let core = metadata.packages.iter().find(|package| package.name.as_str() == "rospin-core").expect("rospin-core");
    let used = core.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    let names: Vec<_> = used.map(|dependency| dependency.name.as_str()).collect();
    assert_eq!(names, ["thiserror"]);
    let root = core.manifest_path.with_file_name("src").join("lib.rs");
    let text = std::fs::read_to_string(root).expect("the core's lib.rs");
    assert!(text.lines().any(|line| line == "#![forbid(unsafe_code)]"), "the core must forbid unsafe code");
}

#[test]
fn every_crate_inherits_the_lints() {
    for package in &workspace().packages {
        let manifest = std::fs::read_to_string(&package.manifest_path).expect("a manifest");
        let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
        assert_eq!(lines.next(), Some("workspace = true"), "[lints] of {}", package.manifest_path);
    }
}

/// Returns the source files below a folder.
fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    Ok(all)
}

fn name_of(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Returns true if one of the lines names a source file, or says of its folder `a file each`.
fn is_named(file: &Path, lines: &[&str]) -> bool {
    let any = |name: &str, rest: &str| {
        let names = |line: &str| line.split_whitespace().any(|word| word.trim_end_matches([',', ';']) == name);
        lines.iter().any(|line| names(line) && line.contains(rest))
    };
    let folder = format!("{}/", name_of(file.parent().expect("a folder")));
    match name_of(file).as_str() {
        "lib.rs" | "main.rs" => !lines.is_empty(),
        "mod.rs" => any(&folder, ""),
        name => any(name, "") || any(&folder, "a file each"),
    }
}

#[test]
fn the_code_map_names_every_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let map = text.split("## Code map").nth(1).expect("a code map");
    let mut missing = Vec::new();
    let parts = ["crates", "integrations"].into_iter();
    let crates =
        parts.flat_map(|part| fs::read_dir(root.join(part)).expect("the crates").map(move |folder| (part, folder)));
    for (part, folder) in crates {
        let folder = folder.expect("a crate").path();
        let name = format!("{part}/{}", name_of(&folder));
        // The lines of this crate, up to the next crate.
        let mut lines = map.lines().skip_while(|line| line.split(' ').next() != Some(&name));
        let head = lines.next();
        let lines: Vec<_> = head.into_iter().chain(lines.take_while(|line| line.starts_with(' '))).collect();
        let unnamed =
            sources(&folder.join("src")).expect("its files").into_iter().filter(|file| !is_named(file, &lines));
        missing.extend(unnamed.map(|file| format!("{name}/{}", file.strip_prefix(&folder).expect("inside").display())));
    }
    missing.sort();
    assert!(missing.is_empty(), "say in the code map of ARCHITECTURE.md what these are for:\n{}", missing.join("\n"));
}
