//! Components of shared libraries, which a container loads while it runs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

use rospin_container::{Components, Container, ContainerHandle, Ended, RunError};
use rospin_engine::{Context, ContextOptions, SpinOptions};
use rospin_msgs::composition_interfaces::srv::{
    ListNodes, ListNodesRequest, LoadNode, LoadNodeRequest, LoadNodeResponse, UnloadNode, UnloadNodeRequest,
};
use rospin_node::interfaces::rcl_interfaces::Parameter;
use rospin_node::{Client, ParameterSetting, Ros, ServiceInterface};

/// Returns the library that the example is, compiled if it is not there: Cargo compiles examples only with all tests.
fn library() -> PathBuf {
    let program = env::current_exe().unwrap();
    let profile = program.parent().and_then(Path::parent).unwrap();
    let file = profile.join("examples").join(format!(
        "{}component_library{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    ));
    if !file.exists() {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        // Of all crates, so that it is compiled with the features that the tests have.
        cargo.args(["build", "--quiet", "--workspace", "--example", "component_library"]);
        let target = profile.parent().unwrap();
        assert!(cargo.arg("--target-dir").arg(target).status().unwrap().success(), "the example compiles");
    }
    file
}

/// Returns a library that has nothing to do with rospin: one that this process has loaded.
fn library_of_c() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    paths.map(PathBuf::from).find(|path| path.display().to_string().contains("libc.so")).unwrap()
}

/// A folder below which the package `demo` is installed, and a container that runs.
struct World {
    prefix: PathBuf,
    ros: Ros,
    load: Client<LoadNode>,
    unload: Client<UnloadNode>,
    list: Client<ListNodes>,
    handle: ContainerHandle,
    running: JoinHandle<Result<Ended, RunError>>,
}

fn world(test: &str) -> World {
    let prefix = env::temp_dir().join(format!("rospin-{test}-{}", std::process::id()));
    let index = prefix.join("share/ament_index/resource_index/rclcpp_components");
    fs::create_dir_all(&index).unwrap();
    fs::create_dir_all(prefix.join("lib")).unwrap();
    // A copy, so that it is a library of its own in the process.
    fs::copy(library(), prefix.join("lib/libdemo.so")).unwrap();
    let lines = ["Beacon", "Ends", "Panics", "Missing"].map(|name| format!("demo::{name};lib/libdemo.so\n"));
    fs::write(index.join("demo"), lines.concat()).unwrap();
    fs::write(prefix.join("lib/libtext.so"), "no library").unwrap();
    fs::write(index.join("text"), "text::Talker;lib/libtext.so\n").unwrap();
    fs::write(index.join("other"), format!("other::Talker;{}\n", library_of_c().display())).unwrap();

    let context = Context::new(ContextOptions::new());
    let ros = Ros::in_process(&context);
    let mut container = Container::new(&context);
    let components = Components::new().libraries_in([&prefix]);
    container.serve(&components, &ros, "ComponentManager").unwrap();
    let handle = container.handle();
    let asker = ros.create_node("asker").unwrap();
    let load = asker.create_client("/ComponentManager/_container/load_node").unwrap();
    let unload = asker.create_client("/ComponentManager/_container/unload_node").unwrap();
    let list = asker.create_client("/ComponentManager/_container/list_nodes").unwrap();
    let running = thread::spawn(move || container.run());
    World { prefix, ros, load, unload, list, handle, running }
}

impl World {
    fn call<S: ServiceInterface>(&self, client: &Client<S>, request: S::Request) -> S::Response {
        let options = SpinOptions::new().timeout(Duration::from_secs(40));
        self.ros.executor().spin_until(client.call(request), options).unwrap().unwrap()
    }

    fn load(&self, package: &str, plugin: &str, parameters: Vec<Parameter>) -> LoadNodeResponse {
        let package_name = package.to_owned();
        let plugin_name = plugin.to_owned();
        self.call(&self.load, LoadNodeRequest { package_name, plugin_name, parameters, ..LoadNodeRequest::default() })
    }

    fn listed(&self) -> Vec<(u64, String)> {
        let nodes = self.call(&self.list, ListNodesRequest::default());
        nodes.unique_ids.into_iter().zip(nodes.full_node_names).collect()
    }

    /// Ends the container, and removes the folder.
    fn end(self) -> String {
        self.handle.end("the test is over");
        let ended = self.running.join().unwrap().unwrap().to_string();
        fs::remove_dir_all(self.prefix).unwrap();
        ended
    }
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(40), "it never was so");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn components_of_a_library_run_until_they_are_unloaded() {
    let world = world("library");
    let file = world.prefix.join("beacon");
    let says = || fs::read_to_string(&file).unwrap_or_default();
    let parameters = vec![ParameterSetting::new("file", file.display().to_string()).into()];
    let loaded = world.load("demo", "demo::Beacon", parameters);
    assert!(loaded.success, "{}", loaded.error_message);
    assert_eq!((loaded.full_node_name.as_str(), loaded.unique_id), ("/beacon", 1));
    wait_until(|| says() == "/beacon");
    assert_eq!(world.listed(), [(1, "/beacon".to_owned())]);

    assert!(world.call(&world.unload, UnloadNodeRequest { unique_id: 1 }).success);
    assert!(!world.call(&world.unload, UnloadNodeRequest { unique_id: 1 }).success);
    assert_eq!(world.listed(), []);
    // A write that was under way may come after the response.
    wait_until(|| {
        let _ = fs::remove_file(&file);
        thread::sleep(Duration::from_millis(20));
        !file.exists()
    });
    // The library is there still.
    assert!(world.load("demo", "demo::Beacon", Vec::new()).success);
    assert_eq!(world.end(), "ended: the test is over");
}

#[test]
fn what_cannot_be_loaded_is_told() {
    let world = world("refused");
    let refused = |package: &str, plugin: &str| {
        let answer = world.load(package, plugin, Vec::new());
        assert!(!answer.success);
        answer.error_message
    };
    let not_found = "Failed to find class with the requested plugin name: ";
    let error = refused("demo", "demo::Other");
    assert!(error.starts_with(not_found) && error.contains("package `demo` has no component"), "{error}");
    let error = refused("elsewhere", "demo::Beacon");
    assert!(error.starts_with(not_found) && error.contains("the program has no component"), "{error}");
    let error = refused("other", "other::Talker");
    assert!(error.contains("is no library of rospin's components"), "{error}");
    let error = refused("text", "text::Talker");
    assert!(error.contains("libtext.so"), "{error}");
    // The index names it, but the library does not have it.
    let error = refused("demo", "demo::Missing");
    assert!(error.contains("no component `demo::Missing`; known are: `demo::Beacon`"), "{error}");
    let error = refused("demo", "demo::Panics");
    assert!(error.contains("it panicked: stage fright"), "{error}");
    assert_eq!(world.listed(), []);
    world.end();
}

#[test]
fn a_component_of_a_library_ends_the_container() {
    let world = world("ends");
    assert!(world.load("demo", "demo::Ends", Vec::new()).success);
    wait_until(|| world.running.is_finished());
    assert_eq!(world.end(), "ended: component `/ends` ended: its work is done");
}
