//! The layering of the design: arrows point down, and the core is pure.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

fn workspace() -> Metadata {
    MetadataCommand::new().no_deps().exec().expect("cargo metadata")
}

/// Names of the workspace crates that `package` depends on when it is used, tests aside.
fn inner_dependencies<'a>(package: &'a Package, metadata: &'a Metadata) -> Vec<&'a str> {
    let used = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    let inner = used.filter(|dependency| metadata.packages.iter().any(|other| *other.name == dependency.name));
    inner.map(|dependency| dependency.name.as_str()).collect()
}

/// What a crate of the workspace may depend on; `None` for anything.
fn allowed(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "rospin-core" => Some(&[]),
        "rospin-scenario" | "rospin-trace" => Some(&["rospin-core"]),
        // Deployment files are text, too.
        "rospin" | "rospin-analysis" | "rospin-sim" => Some(&["rospin-core", "rospin-scenario"]),
        // The conformance suite is generic over the middleware, so it needs the seam, and no adapter.
        "rospin-testkit" => Some(&["rospin-core", "rospin", "rospin-node"]),
        "rospin-node" => Some(&["rospin-core", "rospin", "rospin-macros"]),
        "rospin-container" => Some(&["rospin", "rospin-node", "rospin-scenario"]),
        "rospin-macros" => Some(&[]),
        "rospin-ros2-client" | "rospin-hiroz" => Some(&["rospin-core", "rospin", "rospin-node"]),
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

/// It is a workspace of its own, which nothing of this one sees.
#[test]
fn the_adapter_outside_the_workspace_points_down_too() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../hiroz/Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata");
    let [adapter] = &metadata.packages[..] else { panic!("one package") };
    let allowed = allowed(&adapter.name).expect("an adapter");
    let used = adapter.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    for dependency in used.map(|dependency| dependency.name.as_str()).filter(|name| name.starts_with("rospin")) {
        assert!(allowed.contains(&dependency), "{} must not depend on {dependency}", adapter.name);
    }
}

#[test]
fn only_the_command_may_depend_on_everything() {
    for package in &workspace().packages {
        let known = allowed(&package.name).is_some() || package.name.as_str() == "rospin-lab";
        assert!(known, "say in `allowed` what the new crate {} may depend on", package.name);
    }
}

#[test]
fn neither_simulation_nor_analysis_sees_the_engine() {
    for package in &workspace().packages {
        if package.name.ends_with("-sim") || package.name.ends_with("-analysis") {
            let engine = package.dependencies.iter().find(|dependency| dependency.name == "rospin");
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
