//! The plan of a launch: each process of the file with its command line, after the arguments are filled in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rospin_node::NodeName;
use rospin_scenario::FileError;

use super::file::{Goal, LaunchFile, Lifecycle, OnExit, Process};
use super::find;
use super::parameters;
use super::substitute::Scope;

/// Time from SIGINT to SIGTERM. For nodes of rospin, a signal that comes within a second is the same request as SIGINT.
const SIGTERM_TIMEOUT: Duration = Duration::from_millis(1200);
/// Time from SIGTERM to SIGKILL. With the other one, all has ended two seconds after Ctrl-C.
const SIGKILL_TIMEOUT: Duration = Duration::from_millis(400);
/// Pause before a process is started anew.
const RESPAWN_DELAY: Duration = Duration::from_secs(1);

/// A process that the launch starts.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Name in the log: namespace, name, and the number in the file, from 1.
    pub(super) label: String,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    /// Variables beside those of the launch's own environment.
    pub(super) environment: BTreeMap<String, String>,
    /// Full names of its managed nodes, with their states.
    pub(super) managed: Vec<(String, Goal)>,
    /// Numbers of the processes whose managed nodes reach their states first.
    pub(super) after: Vec<usize>,
    pub(super) respawn: Option<Respawn>,
    /// True if the launch ends with it.
    pub(super) is_required: bool,
    pub(super) sigterm_timeout: Duration,
    pub(super) sigkill_timeout: Duration,
}

/// Rule by which an ended process is started anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Respawn {
    pub(super) delay: Duration,
    /// How often at most.
    pub(super) max_retries: Option<u32>,
}

impl Planned {
    /// Returns the command line as a shell takes it.
    pub(super) fn line(&self) -> String {
        let mut words = Vec::new();
        for (name, value) in &self.environment {
            words.push(format!("{name}={}", quoted(value)));
        }
        words.push(quoted(&self.program.to_string_lossy()));
        for argument in &self.arguments {
            words.push(quoted(argument));
        }
        words.join(" ")
    }
}

/// Returns the word in quotation marks if a shell would read it otherwise.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the values of the file's arguments: those of the command line, `NAME:=VALUE`, and the file's own for the
/// others, which may refer to each other. The error is a sentence with the fix.
pub(super) fn arguments(file: &LaunchFile, folder: &Path, given: &[String]) -> Result<Scope, String> {
    let folder = folder.to_string_lossy().into_owned();
    let mut scope = Scope { folder, arguments: BTreeMap::new() };
    let mut open = file.content.arguments.clone();
    let mut values = Vec::new();
    for word in given {
        let Some((name, value)) = word.split_once(":=") else {
            return Err(format!("`{word}` is no argument of a launch file; write it as NAME:=VALUE"));
        };
        if !open.contains_key(name) {
            let known = Scope { folder: String::new(), arguments: open };
            return Err(known.no_argument(name));
        }
        values.push((name, value));
    }
    for (name, value) in values {
        open.remove(name);
        scope.arguments.insert(name.to_owned(), value.to_owned());
    }
    // Each round fills in those that refer to arguments of earlier rounds only.
    while !open.is_empty() {
        let mut errors = Vec::new();
        let before = open.len();
        for (name, default) in std::mem::take(&mut open) {
            match scope.fill(&default) {
                Ok(value) => drop(scope.arguments.insert(name, value)),
                Err(error) => {
                    errors.push((name.clone(), error));
                    open.insert(name, default);
                }
            }
        }
        if open.len() == before {
            // One that refers to another of them has no fault of its own.
            let refers = |name: &str| open.keys().any(|other| open[name].contains(&format!("$(var {other})")));
            let own = errors.iter().find(|(name, _)| !refers(name));
            let text = match own {
                Some((name, error)) => format!("of `{name}`: {error}"),
                None => format!(
                    "of `{}`: arguments refer to each other in a circle; write a value for one of them",
                    errors[0].0
                ),
            };
            return Err(file.file.error("arguments", 0, "", text).to_string());
        }
    }
    Ok(scope)
}

/// Returns all processes of the file, in its order.
pub(super) fn processes(file: &LaunchFile, folder: &Path, scope: &Scope) -> Result<Vec<Planned>, FileError> {
    let mut planned = Vec::new();
    let mut names = Vec::new();
    let common = environment(&file.content.environment, scope);
    let common = common.map_err(|message| file.file.error("environment", 0, "", message))?;
    for number in 0..file.content.processes.len() {
        let reader = Reader { file, folder, scope, common: &common, number, process: &file.content.processes[number] };
        let (name, process) = reader.plan()?;
        names.push(name);
        planned.push(process);
    }
    check_names(file, &names)?;
    for number in 0..planned.len() {
        planned[number].after = after(file, number, &names, &planned)?;
    }
    check_order(file, &planned)?;
    Ok(planned)
}

/// The names of a process.
struct Names {
    /// Namespace with a slash at its end.
    namespace: String,
    /// Name of the process with its namespace.
    full: String,
    /// Node that the process renames, with its namespace.
    node: Option<String>,
}

/// Reads one process of a file.
struct Reader<'a> {
    file: &'a LaunchFile,
    folder: &'a Path,
    scope: &'a Scope,
    /// Environment of all processes.
    common: &'a BTreeMap<String, String>,
    number: usize,
    process: &'a Process,
}

impl Reader<'_> {
    fn error(&self, key: &'static str, message: impl Into<String>) -> FileError {
        self.file.error(self.number, key, message)
    }

    fn fill(&self, key: &'static str, text: &str) -> Result<String, FileError> {
        self.scope.fill(text).map_err(|message| self.error(key, message))
    }

    fn fill_option(&self, key: &'static str, text: Option<&String>) -> Result<Option<String>, FileError> {
        let Some(text) = text else { return Ok(None) };
        let filled = self.fill(key, text)?;
        if filled.is_empty() {
            return Err(self.error(key, "this is empty; write a name, or leave it out"));
        }
        Ok(Some(filled))
    }

    /// Returns the path of a file that is there, from the folder of the launch file.
    fn path(&self, key: &'static str, text: &str) -> Result<String, FileError> {
        let path = self.folder.join(self.fill(key, text)?);
        match std::fs::File::open(&path) {
            Ok(_) => Ok(path.to_string_lossy().into_owned()),
            Err(error) => Err(self.error(key, format!("{}: {error}; correct the path", path.display()))),
        }
    }

    fn plan(&self) -> Result<(Names, Planned), FileError> {
        let process = self.process;
        let program_name = self.fill("program", &process.program)?;
        let package = self.fill_option("package", process.package.as_ref())?;
        let program = find::program(&program_name, package.as_deref(), self.folder);
        let program = program.map_err(|message| self.error("program", message))?;
        let names = self.names(&program)?;
        let mut environment = self.common.clone();
        let own = self::environment(&process.environment, self.scope);
        environment.extend(own.map_err(|message| self.error("environment", message))?);
        if let Some(deployment) = &process.deployment {
            environment.insert("ROSPIN_DEPLOYMENT".to_owned(), self.path("deployment", deployment)?);
        }
        let planned = Planned {
            label: format!("{}-{}", &names.full[1..], self.number + 1),
            program,
            arguments: self.arguments(&names)?,
            environment,
            managed: self.managed(&names)?,
            after: Vec::new(),
            respawn: self.respawn()?,
            is_required: process.on_exit == OnExit::Shutdown,
            sigterm_timeout: process.sigterm_timeout.map_or(SIGTERM_TIMEOUT, |span| span.0),
            sigkill_timeout: process.sigkill_timeout.map_or(SIGKILL_TIMEOUT, |span| span.0),
        };
        Ok((names, planned))
    }

    fn names(&self, program: &Path) -> Result<Names, FileError> {
        let mut namespace = self.fill_option("namespace", self.process.namespace.as_ref())?.unwrap_or_default();
        if !namespace.is_empty() && !namespace.starts_with('/') {
            let message = format!("namespace `{namespace}` has no slash at its beginning; write \"/{namespace}\"");
            return Err(self.error("namespace", message));
        }
        let above = if namespace.len() > 1 { namespace.trim_end_matches('/') } else { "/" };
        if let Err(error) = NodeName::new(above, "node") {
            return Err(self.error("namespace", error.to_string()));
        }
        let node = self.fill_option("node", self.process.node.as_ref())?;
        if let Some(Err(error)) =
            node.as_ref().filter(|node| !node.contains('/')).map(|node| NodeName::new(above, node))
        {
            return Err(self.error("node", error.to_string()));
        }
        if !namespace.ends_with('/') {
            namespace.push('/');
        }
        let given = self.fill_option("name", self.process.name.as_ref())?;
        for (key, name) in [("node", &node), ("name", &given)] {
            if let Some(name) = name.as_ref().filter(|name| name.contains('/')) {
                return Err(self.error(key, format!("`{name}` has a slash; `namespace` is for what stands before it")));
            }
        }
        if given.as_ref().is_some_and(|name| name.contains(char::is_control)) {
            return Err(self.error("name", "this has a control character, such as a line break; leave it out"));
        }
        let of_program = || program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = given.or_else(|| node.clone()).unwrap_or_else(of_program);
        let full = format!("{namespace}{name}");
        let node = node.map(|node| format!("{namespace}{node}"));
        Ok(Names { namespace, full, node })
    }

    /// Returns the program's own arguments, and those for ROS.
    fn arguments(&self, names: &Names) -> Result<Vec<String>, FileError> {
        let mut own = Vec::new();
        for argument in &self.process.arguments {
            own.push(self.fill("arguments", argument)?);
        }
        let mut rules = Vec::new();
        if let Some(node) = &self.process.node {
            rules.push(format!("__node:={}", self.fill("node", node)?));
        }
        if names.namespace != "/" {
            rules.push(format!("__ns:={}", names.namespace.trim_end_matches('/')));
        }
        for (from, to) in &self.process.remap {
            rules.push(format!("{}:={}", self.fill("remap", from)?, self.fill("remap", to)?));
        }
        let mut of_ros = Vec::new();
        for rule in rules {
            of_ros.push("-r".to_owned());
            of_ros.push(rule);
        }
        for file in &self.process.parameter_files {
            of_ros.push("--params-file".to_owned());
            of_ros.push(self.path("parameter_files", file)?);
        }
        let parameters = parameters::flat(&self.process.parameters, self.scope);
        for (name, value) in parameters.map_err(|message| self.error("parameters", message))? {
            of_ros.push("-p".to_owned());
            of_ros.push(format!("{name}:={value}"));
        }
        if !of_ros.is_empty() {
            own.push("--ros-args".to_owned());
            own.extend(of_ros);
        }
        Ok(own)
    }

    fn managed(&self, names: &Names) -> Result<Vec<(String, Goal)>, FileError> {
        match (&self.process.lifecycle, &names.node) {
            (None, _) => Ok(Vec::new()),
            (Some(Lifecycle::Only(goal)), Some(node)) => Ok(vec![(node.clone(), *goal)]),
            (Some(Lifecycle::Only(goal)), None) => {
                let message = format!(
                    "of which node? Add its name: `node = \"camera\"`, or write `lifecycle = {{ camera = \"{goal}\" }}`"
                );
                Err(self.error("lifecycle", message))
            }
            (Some(Lifecycle::Each(goals)), _) => {
                let mut managed = Vec::new();
                for (node, goal) in goals {
                    let node = full_name(&names.namespace, &self.fill("lifecycle", node)?);
                    let (above, name) = node.rsplit_once('/').unwrap_or(("", &node));
                    let checked = NodeName::new(if above.is_empty() { "/" } else { above }, name);
                    if let Err(error) = checked {
                        return Err(self.error("lifecycle", error.to_string()));
                    }
                    managed.push((node, *goal));
                }
                if managed.is_empty() {
                    return Err(self.error("lifecycle", "no node is named here; name one, or leave this out"));
                }
                Ok(managed)
            }
        }
    }

    fn respawn(&self) -> Result<Option<Respawn>, FileError> {
        let Process { respawn, respawn_delay, respawn_max_retries, .. } = self.process;
        if *respawn {
            let delay = respawn_delay.map_or(RESPAWN_DELAY, |span| span.0);
            return Ok(Some(Respawn { delay, max_retries: *respawn_max_retries }));
        }
        let is_given =
            [("respawn_delay", respawn_delay.is_some()), ("respawn_max_retries", respawn_max_retries.is_some())];
        for (key, is_given) in is_given {
            if is_given {
                return Err(self.error(key, "this counts for processes that are started anew; add `respawn = true`"));
            }
        }
        Ok(None)
    }
}

/// Returns the variables with their values filled in. The error is a sentence with the fix.
fn environment(variables: &BTreeMap<String, String>, scope: &Scope) -> Result<BTreeMap<String, String>, String> {
    let mut filled = BTreeMap::new();
    for (name, value) in variables {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("`{name}` is no name of a variable; correct it"));
        }
        filled.insert(name.clone(), scope.fill(value).map_err(|error| format!("of `{name}`: {error}"))?);
    }
    Ok(filled)
}

/// Returns the full name of something in a namespace, which ends with a slash. A name that begins with one is full.
fn full_name(namespace: &str, name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("{namespace}{name}") }
}

/// Checks that no two processes, and no two nodes, have the same name.
fn check_names(file: &LaunchFile, names: &[Names]) -> Result<(), FileError> {
    let mut processes = BTreeSet::new();
    let mut nodes = BTreeSet::new();
    for (number, Names { full, node, .. }) in names.iter().enumerate() {
        if let Some(node) = node
            && !nodes.insert(node)
        {
            let message = format!("there is a node {node} already; give one of them another name or namespace");
            return Err(file.error(number, "node", message));
        }
        if !processes.insert(full) {
            let message = format!("there is a process {full} already; give one of them another `name`");
            return Err(file.error(number, "name", message));
        }
    }
    Ok(())
}

/// Returns the numbers of the processes that `after` of that process names.
fn after(file: &LaunchFile, number: usize, names: &[Names], planned: &[Planned]) -> Result<Vec<usize>, FileError> {
    let mut after = Vec::new();
    for name in &file.content.processes[number].after {
        let full = full_name(&names[number].namespace, name);
        let Some(found) = names.iter().position(|names| names.full == full) else {
            let known: Vec<&str> = names.iter().map(|names| names.full.as_str()).collect();
            let fix = match rospin_scenario::nearest(&full, &known) {
                Some(nearest) => format!("nearest: {nearest}"),
                None => format!("there are {}", known.join(", ")),
            };
            return Err(file.error(number, "after", format!("there is no process {full}; {fix}")));
        };
        if planned[found].managed.is_empty() {
            let message = format!(
                "process {full} has no managed node whose state could be waited for; give it `lifecycle`, or leave it \
                 out here"
            );
            return Err(file.error(number, "after", message));
        }
        after.push(found);
    }
    Ok(after)
}

/// Checks that no process waits for itself.
fn check_order(file: &LaunchFile, planned: &[Planned]) -> Result<(), FileError> {
    let mut is_started = vec![false; planned.len()];
    loop {
        let may_start = |number: &usize| {
            let after: &[usize] = &planned[*number].after;
            !is_started[*number] && after.iter().all(|before| is_started[*before])
        };
        let Some(next) = (0..planned.len()).find(may_start) else { break };
        is_started[next] = true;
    }
    match is_started.iter().position(|is_started| !is_started) {
        None => Ok(()),
        Some(number) => {
            let message = "this process could never start: it waits for one that waits for it; leave one name out";
            Err(file.error(number, "after", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use rospin_scenario::TomlFile;

    use super::*;

    fn plan_with(text: &str, given: &[&str]) -> Result<Vec<Planned>, String> {
        let file = LaunchFile::read(TomlFile::new("robot.toml", text)).map_err(|error| error.to_string())?;
        let folder = Path::new("/bin");
        let given: Vec<String> = given.iter().map(|&word| word.to_owned()).collect();
        let scope = arguments(&file, folder, &given)?;
        processes(&file, folder, &scope).map_err(|error| error.to_string())
    }

    fn plan(text: &str) -> Result<Vec<Planned>, String> {
        plan_with(text, &[])
    }

    #[test]
    fn every_key_has_its_place_on_the_command_line() {
        let text = r#"
            [arguments]
            robot = "r1"
            rate = 20

            [environment]
            ROS_DOMAIN_ID = 7
            HOME = "/tmp"

            [[process]]
            program = "./sh"
            arguments = ["a b", "$(var robot)"]
            node = "camera"
            namespace = "/$(var robot)"
            remap = { image = "/$(var robot)/raw" }
            parameter_files = ["sh"]
            deployment = "./sh"
            environment = { HOME = "$(dirname)" }
            lifecycle = "active"
            parameters = { rate = "$(var rate)", text = "20", on = true, lens = { f = 2.0, names = ["a"] } }

            [[process]]
            name = "detector"
            program = "sh"
            namespace = "/r2"
            after = ["/r2/camera"]
            respawn = true
            respawn_delay = "50 ms"
            respawn_max_retries = 3
            on_exit = "shutdown"
            sigterm_timeout = "5 s"
        "#;
        let processes = plan_with(text, &["robot:=r2"]).unwrap();
        let [camera, detector] = &processes[..] else { panic!("two") };
        assert_eq!((camera.label.as_str(), detector.label.as_str()), ("r2/camera-1", "r2/detector-2"));
        assert_eq!(
            camera.line(),
            "HOME=/bin ROSPIN_DEPLOYMENT=/bin/./sh ROS_DOMAIN_ID=7 /bin/./sh 'a b' r2 --ros-args -r __node:=camera -r \
             __ns:=/r2 -r image:=/r2/raw --params-file /bin/sh -p lens.f:=2.0 -p 'lens.names:=[\"a\"]' -p on:=true -p \
             rate:=20 -p 'text:=\"20\"'"
        );
        assert_eq!(camera.managed, [("/r2/camera".to_owned(), Goal::Active)]);
        assert_eq!(detector.after, [0]);
        let respawn = detector.respawn.unwrap();
        assert_eq!((respawn.delay, respawn.max_retries), (Duration::from_millis(50), Some(3)));
        assert!(detector.is_required && !camera.is_required && camera.respawn.is_none());
        assert_eq!(detector.sigterm_timeout, Duration::from_secs(5));
        assert!(detector.arguments == ["--ros-args", "-r", "__ns:=/r2"]);
    }

    #[test]
    fn arguments_refer_to_the_values_of_others() {
        let text = "[arguments]\nrobot = \"r1\"\nimage = \"/$(var robot)/image\"\ntopic = \"$(var image)/raw\"\n\
                    [[process]]\nprogram = \"sh\"\narguments = [\"$(var topic)\"]";
        let first = |given: &[&str]| plan_with(text, given).unwrap().swap_remove(0).arguments.swap_remove(0);
        assert_eq!(first(&[]), "/r1/image/raw");
        assert_eq!(first(&["robot:=r2"]), "/r2/image/raw");
        assert_eq!(first(&["robot:=r2", "image:=i"]), "i/raw");
    }

    #[test]
    fn several_managed_nodes_of_one_program_are_named() {
        let text =
            "[[process]]\nprogram = \"sh\"\nnamespace = \"/r\"\nlifecycle = { a = \"inactive\", \"/b\" = \"active\" }";
        let managed = &plan(text).unwrap()[0].managed;
        assert_eq!(*managed, [("/b".to_owned(), Goal::Active), ("/r/a".to_owned(), Goal::Inactive)]);
    }

    #[test]
    fn mistakes_are_told_with_place_and_fix() {
        let base = "[[process]]\nprogram = \"sh\"\n";
        let managed = "[[process]]\nprogram = \"sh\"\nnode = \"a\"\nlifecycle = \"active\"\n";
        let cases = [
            ("x = ".to_owned(), "line 1, column"),
            ("process = 7".to_owned(), "write `[[process]]` above each process"),
            (String::new(), "there is no process; add one"),
            (base.replace("program", "program_"), "line 2, column 1: unknown field `program_`, expected"),
            ("[[process]]\nname = \"a\"".to_owned(), "missing field `program`; add to this `process`: `program = "),
            (base.replace("sh", "./shh"), "line 2, column 11, `program`: there is no program /bin/./shh"),
            (format!("{base}{base}"), "there is a process /sh already; give one of them another `name`"),
            (
                format!("{base}node = \"n\"\n{base}node = \"n\"\n"),
                "line 6, column 8, `node`: there is a node /n already",
            ),
            (format!("{base}namespace = \"r\""), "line 3, column 13, `namespace`: namespace `r` has no slash"),
            (format!("{base}name = \"a/b\""), "`name`: `a/b` has a slash"),
            (format!("{base}node = \"\""), "`node`: this is empty"),
            (format!("{base}node = \"a b\""), "line 3, column 8, `node`: "),
            (format!("{base}namespace = \"/a b\""), "line 3, column 13, `namespace`: "),
            (format!("{base}namespace = \"//\""), "line 3, column 13, `namespace`: "),
            (format!("{base}name = \"a\\nb\""), "`name`: this has a control character"),
            (format!("{base}lifecycle = {{ \"a b\" = \"active\" }}"), "line 3, column 13, `lifecycle`: "),
            (
                format!("{base}remap = {{ a = \"$(var b)\" }}"),
                "line 3, column 9, `remap`: the launch file has no argument `b`",
            ),
            (format!("{base}deployment = \"no.toml\""), "line 3, column 14, `deployment`: /bin/no.toml: No such file"),
            (format!("{base}parameter_files = [\"no.yaml\"]"), "`parameter_files`: /bin/no.yaml: No such file"),
            (format!("{base}parameters = {{ a = [] }}"), "`parameters`: parameter `a`: an empty list has no type"),
            (format!("{base}environment = {{ \"a=b\" = \"\" }}"), "`a=b` is no name of a variable"),
            (format!("\n[environment]\nA = \"$(var b)\"\n{base}"), "line 2, column 1: of `A`: the launch file has no"),
            (format!("{base}respawn_delay = \"1 s\""), "line 3, column 17, `respawn_delay`: this counts for processes"),
            (format!("{base}respawn_max_retries = -1"), "line 3, column 23, `respawn_max_retries`: "),
            (format!("{base}respawn = true\nrespawn_delay = \"1\""), "`1` has no unit"),
            (format!("{base}sigterm_timeout = 5"), "expected a duration as in"),
            (
                format!("{base}on_exit = \"restart\""),
                "`on_exit`: unknown variant `restart`, expected `nothing` or `shutdown`",
            ),
            (format!("{base}lifecycle = \"active\""), "line 3, column 13, `lifecycle`: of which node?"),
            (format!("{base}lifecycle = \"on\""), "expected \"active\", \"inactive\", or a table as in"),
            (format!("{base}lifecycle = {{}}"), "no node is named here"),
            (format!("{base}after = [\"b\"]"), "line 3, column 9, `after`: there is no process /b; there are /sh"),
            (format!("{base}name = \"c\"\n{base}name = \"b\"\nafter = [\"c\"]"), "process /c has no managed node"),
            (format!("{managed}after = [\"a\"]"), "it waits for one that waits for it"),
            (
                "[arguments]\na = \"$(var b)\"\n".to_owned() + base,
                "line 1, column 1: of `a`: the launch file has no argument `b`",
            ),
        ];
        for (text, said) in cases {
            let error = plan(&text).unwrap_err();
            assert!(error.starts_with("robot.toml: ") && error.contains(said), "{text}\n{error}");
        }
        let circle = format!("[arguments]\na = \"$(var b)\"\nb = \"$(var a)\"\n{base}");
        assert!(plan(&circle).unwrap_err().contains("of `a`: arguments refer to each other in a circle"));
        let text = format!("[arguments]\nrobot = \"\"\n{base}");
        assert!(plan_with(&text, &["robt:=1"]).unwrap_err().contains("nearest: robot"));
        assert!(plan_with(&text, &["robot"]).unwrap_err().contains("write it as NAME:=VALUE"));
    }
}
