//! Filling in of the template: each callback group gets the scheduling and the cores of its executor.

use std::collections::BTreeSet;

use rospin_engine::os::OsScheduling;
use rospin_scenario::deployment::ExecutorPlan;
use rospin_scenario::{Deployment, Scenario};

use super::members;
use super::template::{Entry, Template, TemplateError, entries};

/// The keys of an entry that are written anew.
const KEYS: [&str; 6] = ["affinity", "policy", "priority", "runtime", "deadline", "period"];

/// A template that was filled in.
pub(crate) struct Filled {
    /// The text of the file.
    pub(crate) text: String,
    /// The number of callback groups that have settings now.
    pub(crate) groups: usize,
    /// The ids of those that are as before, because the system does not have their callbacks.
    pub(crate) rest: Vec<String>,
}

/// Returns the template with the scheduling and cores that the deployment gives the executors of the system. Everything
/// else in it stays as it is.
///
/// # Errors
/// If the callbacks of a group are on several executors, or the file is not laid out as the dry run writes it.
pub(crate) fn fill(template: &Template, system: &Scenario, deployment: &Deployment) -> Result<Filled, TemplateError> {
    let mut taken = BTreeSet::new();
    let mut text = template.text.clone();
    let (mut wanted, mut rest) = (Vec::new(), Vec::new());
    for id in &template.ids {
        let found = members(system, id, &taken);
        taken.extend(found.iter().copied());
        let executors: BTreeSet<&str> =
            found.iter().filter_map(|place| executor_of(system, deployment, *place)).collect();
        if executors.len() > 1 {
            let executors = executors.into_iter().collect::<Vec<_>>().join(", ");
            return Err(TemplateError::Torn { path: template.path.clone(), id: id.text.clone(), executors });
        }
        let plan = executors.first().and_then(|name| deployment.executor(name));
        let Some(entry) = plan.and_then(|plan| entry_of(&id.text, plan)) else {
            rest.push(id.text.clone());
            continue;
        };
        text = with_entry(&text, &entry).ok_or_else(|| TemplateError::Layout {
            path: template.path.clone(),
            reason: format!("there is no line `- id: {}`", id.text),
        })?;
        wanted.push(entry);
    }
    check(template, &text, &wanted)?;
    Ok(Filled { text, groups: wanted.len(), rest })
}

/// Returns the executor that a callback has in the deployment; in the system if the deployment does not move its group.
fn executor_of<'a>(system: &'a Scenario, deployment: &'a Deployment, callback: usize) -> Option<&'a str> {
    let name = &system.callbacks[callback].group;
    let plan = deployment.groups.iter().find(|plan| plan.name == *name);
    let group = system.groups.iter().find(|group| group.name == *name);
    plan.map(|plan| plan.executor.as_str()).or_else(|| group.map(|group| group.executor.as_str()))
}

/// Returns the entry for the executor's threads; `None` if the deployment says nothing of them.
fn entry_of(id: &str, plan: &ExecutorPlan) -> Option<Entry> {
    let cores = plan.cores.iter().map(|core| u32::from(*core)).collect::<Vec<_>>();
    let affinity = Some(cores).filter(|cores| !cores.is_empty());
    if plan.scheduling.is_none() && affinity.is_none() {
        return None;
    }
    let id = id.to_owned();
    let (mut policy, mut priority, mut times) = ("SCHED_OTHER", Some(0), [None; 3]);
    match plan.scheduling {
        Some(OsScheduling::Other { nice }) => priority = Some(i64::from(nice)),
        Some(OsScheduling::Fifo { priority: of }) => (policy, priority) = ("SCHED_FIFO", Some(i64::from(of))),
        Some(OsScheduling::RoundRobin { priority: of }) => (policy, priority) = ("SCHED_RR", Some(i64::from(of))),
        Some(OsScheduling::Deadline { runtime, deadline, period }) => {
            (policy, priority) = ("SCHED_DEADLINE", None);
            times = [runtime, deadline, period].map(|time| u64::try_from(time.as_nanos()).ok());
        }
        _ => {}
    }
    let [runtime, deadline, period] = times;
    Some(Entry { id, affinity, policy: Some(policy.to_owned()), priority, runtime, deadline, period })
}

/// Returns the text with the settings of the entry in place of those that its id has; `None` if no line has the id.
fn with_entry(text: &str, entry: &Entry) -> Option<String> {
    let mut lines = text.split_inclusive('\n');
    let mut filled = String::new();
    loop {
        let line = lines.next()?;
        filled += line;
        let Some((before, id)) = line.split_once("- id:") else { continue };
        let is_item = before.bytes().all(|byte| byte == b' ');
        if !is_item || id.trim().trim_matches(['"', '\'']) != entry.id {
            continue;
        }
        if !line.ends_with('\n') {
            filled.push('\n');
        }
        let indent = before.len() + 2;
        filled += &settings(entry, &" ".repeat(indent));
        let mut is_old = false;
        for line in lines {
            let depth = line.len() - line.trim_start_matches(' ').len();
            let is_inside = line.trim().is_empty() || depth >= indent;
            // A list stands below its key, deeper or as deep as that.
            let is_element = is_old && depth >= indent && line.trim_start().starts_with("- ");
            let key = line.trim_start().split(':').next().unwrap_or_default();
            is_old = is_inside && (is_element || depth == indent && KEYS.contains(&key) || is_old && depth > indent);
            if !is_inside {
                // The entry has ended; its keys are those of others from here on.
                let rest = text.len() - offset(text, line);
                filled += &text[text.len() - rest..];
                return Some(filled);
            }
            if !is_old {
                filled += line;
            }
        }
        return Some(filled);
    }
}

/// Returns the place of a line, which is a part of the text.
fn offset(text: &str, line: &str) -> usize {
    line.as_ptr() as usize - text.as_ptr() as usize
}

/// Returns the lines with the settings of an entry.
fn settings(entry: &Entry, indent: &str) -> String {
    let mut lines = match &entry.affinity {
        None => format!("{indent}affinity: ~\n"),
        Some(cores) => {
            let cores: String = cores.iter().map(|core| format!("{indent}  - {core}\n")).collect();
            format!("{indent}affinity:\n{cores}")
        }
    };
    lines += &format!("{indent}policy: {}\n", entry.policy.as_deref().unwrap_or_default());
    lines += &entry.priority.map_or_else(String::new, |priority| format!("{indent}priority: {priority}\n"));
    let times = [("runtime", entry.runtime), ("deadline", entry.deadline), ("period", entry.period)];
    for (key, ns) in times {
        lines += &ns.map_or_else(String::new, |ns| format!("{indent}{key}: {ns}\n"));
    }
    lines
}

/// Checks that the text has the wanted entries, and all ids of the template in their order.
fn check(template: &Template, text: &str, wanted: &[Entry]) -> Result<(), TemplateError> {
    let layout = |reason: &str| TemplateError::Layout { path: template.path.clone(), reason: reason.to_owned() };
    let found = entries(text).map_err(|reason| layout(&reason))?;
    let ids = template.ids.iter().map(|id| &id.text);
    if !found.iter().map(|entry| &entry.id).eq(ids) {
        return Err(layout("its groups are not the same once it is filled in"));
    }
    match wanted.iter().find(|entry| !found.contains(entry)) {
        None => Ok(()),
        Some(entry) => Err(layout(&format!("the group {} cannot be filled in", entry.id))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEMPLATE: &str = "hardware_info:\n  cpu_max_mhz: 2101.0000\n\ncallback_groups:\n  - id: /a@Subscription(/x)\n    \
         affinity: ~\n    policy: SCHED_OTHER\n    priority: 0\n\n  - id: /b@Timer(1000)\n    affinity:\n      - 1\n      \
         - 2\n    policy: SCHED_OTHER\n    priority: 0\n\n  - id: /c@Timer(5)\n    affinity: ~\n    policy: SCHED_OTHER\n    \
         priority: 0\n\nnon_ros_threads:\n  - id: worker\n    affinity: ~\n    policy: SCHED_OTHER\n    priority: 0\n";

    fn system() -> Scenario {
        let text = r#"
            duration = "1 s"
            topics = ["/x"]
            callback = [
                { name = "a/x", kind = "subscription", group = "a", subscribes = "/x", execution = "1 us" },
                { name = "b/timer0", kind = "timer", group = "b", period = "1 us", execution = "1 ns" },
            ]
            [[executor]]
            name = "one"
            [[executor]]
            name = "two"
            [[group]]
            name = "a"
            executor = "one"
            [[group]]
            name = "b"
            executor = "two"
        "#;
        Scenario::parse(text).unwrap()
    }

    fn deployment(one: &str, two: &str) -> Deployment {
        Deployment::parse(&format!("executor = [{{ name = \"one\", {one} }}, {{ name = \"two\", {two} }}]")).unwrap()
    }

    #[test]
    fn settings_replace_those_of_the_dry_run_and_the_rest_stays() {
        let template = Template::parse(TEMPLATE, Path::new("t.yaml")).unwrap();
        let plan = deployment(
            "scheduling = { fifo = 20 }, cores = [1, 3]",
            "scheduling = { deadline = { runtime = \"1 ms\", deadline = \"2 ms\", period = \"4 ms\" } }",
        );
        let filled = fill(&template, &system(), &plan).unwrap();
        let expected = TEMPLATE
            .replacen(
                "    affinity: ~\n    policy: SCHED_OTHER\n    priority: 0\n",
                "    affinity:\n      - 1\n      - 3\n    policy: SCHED_FIFO\n    priority: 20\n",
                1,
            )
            .replacen(
                "    affinity:\n      - 1\n      - 2\n    policy: SCHED_OTHER\n    priority: 0\n",
                "    affinity: ~\n    policy: SCHED_DEADLINE\n    runtime: 1000000\n    deadline: 2000000\n    period: 4000000\n",
                1,
            );
        assert_eq!(filled.text, expected);
        assert_eq!((filled.groups, filled.rest), (2, vec!["/c@Timer(5)".to_owned()]));
        // A file that was filled in is a template, too.
        let again = Template::parse(&filled.text, Path::new("t.yaml")).unwrap();
        assert_eq!(fill(&again, &system(), &plan).unwrap().text, filled.text);
        let nice = deployment("scheduling = { nice = -5 }", "cores = [0]");
        let filled = fill(&template, &system(), &nice).unwrap().text;
        assert!(filled.contains("policy: SCHED_OTHER\n    priority: -5\n"), "{filled}");
        assert!(filled.contains("affinity:\n      - 0\n    policy: SCHED_OTHER\n    priority: 0\n"), "{filled}");
    }

    #[test]
    fn a_group_on_two_executors_is_an_error() {
        let torn = "callback_groups:\n  - id: /a@Subscription(/x)@Timer(1000)\n    priority: 0\n";
        let mut system = system();
        system.callbacks[1].name = "a/timer0".to_owned();
        let template = Template::parse(torn, Path::new("t.yaml")).unwrap();
        let plan = deployment("scheduling = { fifo = 2 }", "scheduling = { fifo = 1 }");
        let error = fill(&template, &system, &plan).err().unwrap().to_string();
        assert!(error.contains("one, two") && error.contains("--isolate"), "{error}");
    }

    #[test]
    fn another_layout_is_an_error_and_nothing_is_written() {
        let plan = deployment("scheduling = { fifo = 2 }", "scheduling = { fifo = 1 }");
        for text in [
            "callback_groups: [{ id: \"/a@Subscription(/x)\", priority: 0 }]\n",
            "callback_groups:\n  - priority: 0\n    id: /a@Subscription(/x)\n",
            "callback_groups:\n  - &a\n    id: /a@Subscription(/x)\n",
            "other:\n  - id: /a@Subscription(/x)\ncallback_groups:\n  - id: /a@Subscription(/x)\n    priority: 0\n",
        ] {
            let template = Template::parse(text, Path::new("t.yaml")).unwrap();
            let error = fill(&template, &system(), &plan).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("not laid out"), "{text}: {error}");
        }
        // The last line without its end, a carriage return, and quotes are no other layout.
        for text in [
            "callback_groups:\n  - id: /a@Subscription(/x)",
            "callback_groups:\n  - id: \"/a@Subscription(/x)\"\n    priority: 0\n",
        ] {
            let template = Template::parse(text, Path::new("t.yaml")).unwrap();
            assert_eq!(fill(&template, &system(), &plan).unwrap().groups, 1, "{text}");
        }
    }
}
