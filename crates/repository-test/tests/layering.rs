//! The layering: dependencies point down, the core is pure, and what ARCHITECTURE.md says of the crates is so.

use std::path::{Path, PathBuf};
use std::{fs, io};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use rospin_repository_test::repository;

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
        "rospin-wgpu" => Some(&["rospin-engine", "rospin-accelerator"]),
        // Bytes of messages may lie in memory of the device.
        "rospin-cuda" => Some(&["rospin-engine", "rospin-accelerator", "rospin-wire"]),
        "rospin-tf2" => Some(&["rospin-engine", "rospin-node", "rospin-msgs"]),
        "rospin-container" => Some(&["rospin-engine", "rospin-node", "rospin-scenario", "rospin-msgs", "rospin-wire"]),
        "rospin-macros" => Some(&[]),
        "rospin-zenoh" | "rospin-dds" | "rospin-local" => {
            Some(&["rospin-core", "rospin-engine", "rospin-node", "rospin-wire"])
        }
        // rclrs and R2R have nodes of their own.
        "rospin-rclrs" | "rospin-r2r" => Some(&["rospin-engine"]),
        "rospin-repository-test" => Some(&[]),
        // C programs have sources of their own, and are recorded.
        "rospin-ffi" => Some(&["rospin-engine", "rospin-trace"]),
        // It observes the engine's recorder, and knows nodes only by what they declare.
        "rospin-tracetools" => Some(&["rospin-engine"]),
        // Between recordings and system files, above both.
        "rospin-learn" => Some(&["rospin-core", "rospin-scenario", "rospin-trace"]),
        // The crate that programs import has everything but the models and the command.
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
        "custom_messages" | "robot" => Some(&["rospin", "rospin-codegen"]),
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

/// The workspaces beside this one, which are not in this workspace's metadata.
const BESIDE: [&str; 3] = ["integrations/rclrs", "integrations/r2r", "lab"];

fn packages_beside(folder: &str) -> Vec<Package> {
    let manifest = repository().join(folder).join("Cargo.toml");
    MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata").packages
}

#[test]
fn the_workspaces_beside_this_one_point_down_too() {
    for package in BESIDE.into_iter().flat_map(packages_beside) {
        let Some(allowed) = allowed(&package.name) else { continue };
        let used = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
        for dependency in used.map(|dependency| dependency.name.as_str()).filter(|name| name.starts_with("rospin")) {
            assert!(allowed.contains(&dependency), "{} must not depend on {dependency}", package.name);
        }
    }
}

#[test]
fn only_the_command_and_the_lab_may_depend_on_everything() {
    let all = workspace().packages.into_iter().chain(BESIDE.into_iter().flat_map(packages_beside));
    for package in all {
        // Those of the checks only state features, see `.ci/union`.
        let free = ["rospin-cli", "rospin-lab", "rospin-union", "rospin-union-lab"];
        let known = allowed(&package.name).is_some() || free.contains(&package.name.as_str());
        assert!(known, "say in `allowed` what the new crate {} may depend on", package.name);
    }
}

/// The lab is research: the command starts its program, and nothing is built from it.
#[test]
fn nothing_depends_on_the_lab() {
    let lab = ["rospin-lab", "rospin-synthetic"];
    for package in workspace().packages.into_iter().chain(BESIDE.into_iter().flat_map(packages_beside)) {
        if lab.contains(&package.name.as_str()) {
            continue;
        }
        for dependency in package.dependencies {
            assert!(!lab.contains(&dependency.name.as_str()), "{} depends on {}", package.name, dependency.name);
        }
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
fn a_plain_cargo_run_starts_the_command() {
    // As from the folder of the repository: from that of a crate, the crate would be the default.
    let manifest = repository().join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata");
    let mut programs = Vec::new();
    for package in metadata.workspace_default_packages() {
        let bins = package.targets.iter().filter(|target| target.is_bin());
        programs.extend(bins.map(|target| target.name.clone()));
    }
    assert_eq!(programs, ["rospin"]);
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

/// Returns the paragraphs and list items of ARCHITECTURE.md, without its diagrams.
fn map_blocks() -> Vec<String> {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut blocks = vec![String::new()];
    let mut is_diagram = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_diagram = !is_diagram;
        } else if !is_diagram {
            let is_item = line.starts_with("- ") || line.starts_with(|first: char| first.is_ascii_digit());
            if is_item || line.is_empty() {
                blocks.push(String::new());
            }
            let block = blocks.last_mut().expect("it begins with one");
            block.push_str(line.trim_start());
            block.push(' ');
        }
    }
    blocks
}

/// Returns what stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the folders of all crates, as the map names them.
fn folders() -> Vec<String> {
    let mut all = [".ci/union/lab", ".ci/union", "fuzz", "lab", "lab/synthetic"].map(str::to_owned).to_vec();
    for part in ["crates", "integrations", "examples"] {
        for folder in fs::read_dir(repository().join(part)).expect("a folder of crates") {
            let folder = folder.expect("a folder").path();
            if folder.join("Cargo.toml").exists() {
                all.push(format!("{part}/{}", name_of(&folder)));
            }
        }
    }
    all
}

/// Returns the entry of a crate in the map.
fn entry(folder: &str) -> String {
    let begin = format!("- `{folder}`");
    let entries: Vec<_> = map_blocks().into_iter().filter(|block| block.starts_with(&begin)).collect();
    assert_eq!(
        entries.len(),
        1,
        "ARCHITECTURE.md needs one entry in its map for {folder}: purpose, and what it imports"
    );
    entries.concat()
}

#[test]
fn the_map_has_one_entry_for_each_crate() {
    for folder in folders() {
        entry(&folder);
    }
}

#[test]
fn the_map_names_all_that_a_crate_imports() {
    let mut packages = workspace().packages;
    packages.extend(BESIDE.into_iter().flat_map(packages_beside));
    for package in packages {
        let path = package.manifest_path.parent().expect("a folder").as_str().to_owned();
        let folder = folders().into_iter().find(|folder| path.ends_with(folder)).expect("a crate");
        let entry = entry(&folder);
        if entry.contains("import everything") || entry.contains("the crates above") {
            continue;
        }
        let words: Vec<_> = entry.split(|letter: char| !letter.is_alphanumeric()).collect();
        for dependency in package.dependencies {
            let imported =
                dependency.name.strip_prefix("rospin-").filter(|_| dependency.kind != DependencyKind::Development);
            if let Some(imported) = imported {
                assert!(words.contains(&imported), "say in ARCHITECTURE.md that {folder} imports {imported}");
            }
        }
    }
}

#[test]
fn the_paths_and_functions_that_the_map_names_exist() {
    for block in map_blocks() {
        let paths: Vec<_> = quoted(&block).filter(|quoted| quoted.contains('/')).collect();
        let mut code = String::new();
        for path in paths {
            let file = repository().join(path);
            assert!(file.exists(), "ARCHITECTURE.md names {path}, which does not exist");
            if file.is_file() {
                code.push_str(&fs::read_to_string(file).expect("a text"));
            }
        }
        for function in quoted(&block).filter_map(|quoted| quoted.strip_suffix("()")) {
            let forms = [format!("fn {function}("), format!("fn {function}<"), format!("{function} (")];
            let is_there = forms.iter().any(|form| code.contains(form));
            assert!(is_there, "ARCHITECTURE.md names `{function}()`, which is in none of the files beside it: {block}");
        }
    }
}

#[test]
fn the_map_is_short_enough_to_be_read() {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let words = text.split_whitespace().count();
    assert!(words <= 4000, "ARCHITECTURE.md has {words} words; reasons belong to the modules that they are about");
}

/// The modules of `crates/node/src` that stand above the lower half. Those in `features` are modules of their own.
const UPPER_HALF: [&str; 3] = ["features", "start", "lifecycle"];

/// An import of one module of `crates/node` by another.
struct Import {
    from: String,
    to: String,
    /// The file that imports, and the line in which it does.
    place: String,
}

/// Returns the module that a path below `crates/node/src` belongs to, such as `node` or `features/action`.
fn module_of<'a>(mut segments: impl Iterator<Item = &'a str>) -> Option<String> {
    match segments.next()? {
        "features" => Some(format!("features/{}", segments.next()?)),
        module => Some(module.to_owned()),
    }
}

/// Returns the code of a file with the number of each line, without comments and without the tests at its end.
fn code_of(file: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(file).expect("a source file");
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line == "mod tests {" {
            break;
        }
        let code = line.trim_start();
        if !code.starts_with("//") {
            lines.push((index + 1, code.to_owned()));
        }
    }
    lines
}

/// Returns the imports between modules of `crates/node`: its paths that begin with `crate::`.
fn imports_of_node() -> Vec<Import> {
    let folder = repository().join("crates/node/src");
    let mut imports = Vec::new();
    for file in sources(&folder).expect("the sources of the nodes") {
        let path = file.strip_prefix(&folder).expect("a file of the folder").to_string_lossy().into_owned();
        let is_root = ["lib.rs", "fuzzing.rs", "features/mod.rs"].contains(&path.as_str());
        if is_root || path.ends_with("tests.rs") {
            continue;
        }
        let from = module_of(path.trim_end_matches(".rs").split('/')).expect("a module");
        for (number, line) in code_of(&file) {
            for named in line.split("crate::").skip(1) {
                let place = format!("crates/node/src/{path}:{number}: {line}");
                let begins_with_module = named.starts_with(|letter: char| letter.is_ascii_lowercase());
                assert!(begins_with_module, "name the module from which this comes: {place}");
                let end = named.find(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
                let to = module_of(named[..end.unwrap_or(named.len())].split("::")).expect("a module");
                if to != from {
                    imports.push(Import { from: from.clone(), to, place });
                }
            }
        }
    }
    imports
}

fn is_above(module: &str) -> bool {
    UPPER_HALF.iter().any(|upper| module.split('/').next() == Some(*upper))
}

#[test]
fn the_lower_half_of_the_nodes_names_no_feature() {
    for Import { from, to, place } in imports_of_node() {
        assert!(
            is_above(&from) || !is_above(&to),
            "`{from}` is below `{to}`, so it must not name it; let `{to}` extend `{from}` instead of this: {place}"
        );
    }
}

/// Returns the shortest way by imports from a module back to itself, if there is one.
fn circle_at<'a>(module: &str, imports: &'a [Import]) -> Option<Vec<&'a Import>> {
    let mut ways: Vec<Vec<&Import>> = vec![Vec::new()];
    let mut seen = vec![module];
    let mut next = 0;
    while next < ways.len() {
        let way = ways[next].clone();
        next += 1;
        let end = way.last().map_or(module, |import| import.to.as_str());
        for import in imports.iter().filter(|import| import.from == end) {
            let mut longer = way.clone();
            longer.push(import);
            if import.to == module {
                return Some(longer);
            }
            if !seen.contains(&import.to.as_str()) {
                seen.push(&import.to);
                ways.push(longer);
            }
        }
    }
    None
}

#[test]
fn the_modules_of_the_nodes_import_each_other_without_circles() {
    let imports = imports_of_node();
    for Import { from, .. } in &imports {
        if let Some(circle) = circle_at(from, &imports) {
            let places: Vec<_> = circle.iter().map(|import| import.place.as_str()).collect();
            panic!("these modules import each other in a circle; change one of these imports:\n{}", places.join("\n"));
        }
    }
}
