//! Filling in of the template: each callback group gets the scheduling and the cores of its executor.

use std::collections::BTreeSet;

use rospin_engine::os::OsScheduling;
use rospin_scenario::deployment::ExecutorPlan;
use rospin_scenario::{Deployment, Scenario};

use super::entry::{Entry, File, Format};
use super::layout::{Place, lines, places, rewritten};
use super::members_of_all;
use super::template::{Members, Template, TemplateError};

/// The keys of an entry that gets cores and scheduling.
const ALL: &[&str] = &["affinity", "policy", "nice", "priority", "runtime", "deadline", "period"];
/// The key of an entry that only gets cores.
const CORES: &[&str] = &["affinity"];
/// The keys of an entry whose niceness gets the key of another format.
const NICENESS: &[&str] = &["nice", "priority"];

/// A template that was filled in.
pub(crate) struct Filled {
    /// The text of the file.
    pub(crate) text: String,
    /// The format in which it is written.
    pub(crate) format: Format,
    /// The number of callback groups that have settings now.
    pub(crate) groups: usize,
    /// The ids of those that are as before, because the system does not have their callbacks.
    pub(crate) rest: Vec<String>,
}

/// An entry of the template of which some keys are written anew.
struct Change {
    section: &'static str,
    place: usize,
    entry: Entry,
    keys: &'static [&'static str],
}

/// Returns the template with the scheduling and cores that the deployment gives the executors of the system, in the
/// format that is wanted or, by default, the template's own. Everything else in it stays as it is.
///
/// # Errors
/// If the callbacks of a group are on several executors, the file is not laid out as the dry run writes it, or the
/// configurator would refuse the result.
pub(crate) fn fill(
    template: &Template,
    system: &Scenario,
    deployment: &Deployment,
    wanted: Option<Format>,
) -> Result<Filled, TemplateError> {
    let format = match wanted {
        Some(format) => format,
        None => template.format()?,
    };
    let mut changes = Vec::new();
    let mut rest = Vec::new();
    for (place, found) in members_of_all(system, &template.ids).into_iter().enumerate() {
        match plan_of(template, place, &found, system, deployment)? {
            Some(plan) => {
                let before = &template.file.callback_groups[place];
                let unknown = |scheduling| TemplateError::Policy { id: before.id().to_owned(), scheduling };
                changes.push(filled_in(before, place, plan, format).map_err(unknown)?);
            }
            None => rest.push(template.ids[place].text.clone()),
        }
    }
    let groups = changes.len();
    for (section, place, entry) in template.file.entries() {
        let is_filled = changes.iter().any(|change| (change.section, change.place) == (section, place));
        if !is_filled && let Some(entry) = with_niceness_of(entry, format) {
            changes.push(Change { section, place, entry, keys: NICENESS });
        }
    }
    let text = written(template, &changes, format)?;
    check(template, &text, &changes, format)?;
    Ok(Filled { text, format, groups, rest })
}

/// Returns the executor that the callbacks of an id have; `None` if the deployment says nothing of it.
fn plan_of<'a>(
    template: &Template,
    place: usize,
    callbacks: &[usize],
    system: &Scenario,
    deployment: &'a Deployment,
) -> Result<Option<&'a ExecutorPlan>, TemplateError> {
    let executors: BTreeSet<&str> =
        callbacks.iter().filter_map(|callback| executor_of(system, deployment, *callback)).collect();
    let id = &template.ids[place];
    let torn = || (template.path.clone(), id.text.clone(), executors.iter().copied().collect::<Vec<_>>().join(", "));
    if id.members == Members::Rest {
        // The groups are on several executors, as they should be, but all of them get the same settings.
        let plans: Vec<Option<&ExecutorPlan>> = executors.iter().map(|name| deployment.executor(name)).collect();
        let settings = |plan: &Option<&ExecutorPlan>| plan.map(|plan| (plan.scheduling, plan.cores.clone()));
        if plans.windows(2).any(|pair| settings(&pair[0]) != settings(&pair[1])) {
            let (path, id, executors) = torn();
            return Err(TemplateError::TornWildcard { path, id, executors });
        }
    } else if executors.len() > 1 {
        let (path, id, executors) = torn();
        return Err(TemplateError::Torn { path, id, executors });
    }
    let plan = executors.first().and_then(|name| deployment.executor(name));
    Ok(plan.filter(|plan| plan.scheduling.is_some() || !plan.cores.is_empty()))
}

/// Returns the executor that a callback has in the deployment; in the system if the deployment does not move its group.
fn executor_of<'a>(system: &'a Scenario, deployment: &'a Deployment, callback: usize) -> Option<&'a str> {
    let name = &system.callbacks[callback].group;
    let plan = deployment.groups.iter().find(|plan| plan.name == *name);
    let group = system.groups.iter().find(|group| group.name == *name);
    plan.map(|plan| plan.executor.as_str()).or_else(|| group.map(|group| group.executor.as_str()))
}

/// Returns the entry with the cores of the executor's threads, and with their scheduling if the deployment has one; the
/// scheduling if the file has no policy for it.
fn filled_in(before: &Entry, place: usize, plan: &ExecutorPlan, format: Format) -> Result<Change, OsScheduling> {
    let section = "callback_groups";
    let cores = plan.cores.iter().map(|core| u32::from(*core)).collect::<Vec<_>>();
    let affinity = Some(cores).filter(|cores| !cores.is_empty());
    let Some(scheduling) = plan.scheduling else {
        let converted = with_niceness_of(before, format);
        let keys = if converted.is_some() { ALL } else { CORES };
        let entry = Entry { affinity, ..converted.unwrap_or_else(|| before.clone()) };
        return Ok(Change { section, place, entry, keys });
    };
    let mut entry =
        Entry { affinity, nice: None, priority: None, runtime: None, deadline: None, period: None, ..before.clone() };
    let policy = match scheduling {
        OsScheduling::Other { nice } => {
            entry.set_niceness(i64::from(nice), format);
            "SCHED_OTHER"
        }
        OsScheduling::Fifo { priority } => {
            entry.priority = Some(i64::from(priority));
            "SCHED_FIFO"
        }
        OsScheduling::RoundRobin { priority } => {
            entry.priority = Some(i64::from(priority));
            "SCHED_RR"
        }
        OsScheduling::Deadline { runtime, deadline, period } => {
            let [runtime, deadline, period] =
                [runtime, deadline, period].map(|time| u64::try_from(time.as_nanos()).ok());
            (entry.runtime, entry.deadline, entry.period) = (runtime, deadline, period);
            "SCHED_DEADLINE"
        }
        other => return Err(other),
    };
    entry.policy = Some(policy.to_owned());
    Ok(Change { section, place, entry, keys: ALL })
}

/// Returns the entry of an ordinary thread with its niceness by the key of the format; `None` if it stays as it is.
fn with_niceness_of(entry: &Entry, format: Format) -> Option<Entry> {
    let niceness = entry.is_ordinary().then(|| entry.niceness()).flatten()?;
    let is_right = match format {
        Format::Nice => entry.nice.is_some(),
        Format::Priority => entry.nice.is_none(),
    };
    let mut converted = entry.clone();
    converted.set_niceness(niceness, format);
    (!is_right).then_some(converted)
}

/// Returns the text with the changes.
fn written(template: &Template, changes: &[Change], format: Format) -> Result<String, TemplateError> {
    let layout = |reason| TemplateError::Layout { path: template.path.clone(), reason };
    let lines = lines(&template.text);
    let mut edits: Vec<(Place, String)> = Vec::new();
    for change in changes {
        let Change { section, place, entry, keys } = change;
        let id = entry.id();
        let list = places(&lines, section);
        let number = template.file.entries().filter(|(of, ..)| of == section).count();
        if list.len() != number {
            return Err(layout(format!(
                "`{section}` has {number} entries, of which {id} is no item `- ` on lines of its own"
            )));
        }
        let settings = entry.settings(keys, format);
        let rewritten = rewritten(&lines, &list[*place], |key| keys.contains(&key), &settings)
            .ok_or_else(|| layout(format!("line {} does not begin with `- id:`", list[*place].lines.start + 1)))?;
        edits.push((list[*place].clone(), rewritten));
    }
    edits.sort_by_key(|(place, _)| place.lines.start);
    let mut text = String::new();
    let mut next = 0;
    for (place, rewritten) in edits {
        text.extend(lines[next..place.lines.start].iter().copied());
        text += &rewritten;
        next = place.lines.end;
    }
    text.extend(lines[next..].iter().copied());
    Ok(text)
}

/// Checks that the text has the changed entries, all others as they were, and none that the configurator refuses.
fn check(template: &Template, text: &str, changes: &[Change], format: Format) -> Result<(), TemplateError> {
    let layout = |reason: &str| TemplateError::Layout { path: template.path.clone(), reason: reason.to_owned() };
    let file = File::parse(text).map_err(|reason| layout(&reason))?;
    if file.entries().count() != template.file.entries().count() {
        return Err(layout("its entries are not the same once it is filled in"));
    }
    let mut seen = BTreeSet::new();
    for ((section, place, found), (.., before)) in file.entries().zip(template.file.entries()) {
        let change = changes.iter().find(|change| (change.section, change.place) == (section, place));
        if *found != *change.map_or(before, |change| &change.entry) {
            return Err(layout(&format!("{} cannot be filled in", found.id())));
        }
        let is_group = section == "callback_groups";
        let wildcard = if is_group { found.wildcard_complaint() } else { None };
        let double = (!seen.insert((section, found.domain_id, found.id())))
            .then(|| "another entry has the same id; leave one of them".to_owned());
        if let Some(reason) = wildcard.or(double).or_else(|| found.complaint(format)) {
            let lines = lines(&template.text);
            let line = places(&lines, section).get(place).map_or(1, |place| place.lines.start + 1);
            return Err(TemplateError::Refused {
                path: template.path.clone(),
                line,
                id: found.id().to_owned(),
                reason,
            });
        }
    }
    Ok(())
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
        let filled = fill(&template, &system(), &plan, None).unwrap();
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
        assert_eq!(fill(&again, &system(), &plan, None).unwrap().text, filled.text);
        let nice = deployment("scheduling = { nice = -5 }", "cores = [0]");
        let filled = fill(&template, &system(), &nice, None).unwrap().text;
        assert!(filled.contains("policy: SCHED_OTHER\n    priority: -5\n"), "{filled}");
        assert!(filled.contains("affinity:\n      - 0\n    policy: SCHED_OTHER\n    priority: 0\n"), "{filled}");
    }

    /// The format of August 2026: `nice` is what ordinary threads have, and `priority` what real-time threads have.
    #[test]
    fn ordinary_threads_have_their_niceness_by_the_key_of_the_template() {
        let text = "callback_groups:\n  - id: /a@Subscription(/x)\n    domain_id: 3\n    affinity: []\n    policy: SCHED_OTHER\n    nice: 0\n  \
             - id: /b@Timer(1000)\n    domain_id: 3\n    affinity: []\n    policy: SCHED_OTHER\n    nice: 0\n";
        let template = Template::parse(text, Path::new("t.yaml")).unwrap();
        let plan = deployment("scheduling = { nice = -5 }", "scheduling = { fifo = 20 }, cores = [1]");
        let expected = text.replacen("nice: 0", "nice: -5", 1).replacen(
            "affinity: []\n    policy: SCHED_OTHER\n    nice: 0\n",
            "affinity:\n      - 1\n    policy: SCHED_FIFO\n    priority: 20\n",
            1,
        );
        assert_eq!(fill(&template, &system(), &plan, None).unwrap().text, expected);
    }

    #[test]
    fn a_group_on_two_executors_is_an_error() {
        let torn = "callback_groups:\n  - id: /a@Subscription(/x)@Timer(1000)\n    priority: 0\n";
        let mut system = system();
        system.callbacks[1].name = "a/timer0".to_owned();
        let template = Template::parse(torn, Path::new("t.yaml")).unwrap();
        let plan = deployment("scheduling = { fifo = 2 }", "scheduling = { fifo = 1 }");
        let error = fill(&template, &system, &plan, None).err().unwrap().to_string();
        assert!(error.contains("one, two") && error.contains("--isolate"), "{error}");
    }

    #[test]
    fn another_layout_is_an_error_and_nothing_is_written() {
        let plan = deployment("scheduling = { fifo = 2 }", "scheduling = { fifo = 1 }");
        for text in [
            "callback_groups: [{ id: \"/a@Subscription(/x)\", priority: 0 }]\n",
            "callback_groups:\n  - priority: 0\n    id: /a@Subscription(/x)\n",
            "callback_groups:\n  - &a\n    id: /a@Subscription(/x)\n",
        ] {
            let template = Template::parse(text, Path::new("t.yaml")).unwrap();
            let error =
                fill(&template, &system(), &plan, None).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("not laid out"), "{text}: {error}");
        }
        // The last line without its end, quotes, and the id in another list are no other layout.
        for text in [
            "callback_groups:\n  - id: /a@Subscription(/x)",
            "callback_groups:\n  - id: \"/a@Subscription(/x)\"\n    priority: 0\n",
            "other:\n  - id: /a@Subscription(/x)\ncallback_groups:\n- id: /a@Subscription(/x)\n  priority: 0\n",
        ] {
            let template = Template::parse(text, Path::new("t.yaml")).unwrap();
            let filled = fill(&template, &system(), &plan, None).unwrap();
            assert_eq!(filled.groups, 1, "{text}");
            assert!(
                filled.text.contains("/a@Subscription(/x)") && filled.text.ends_with("priority: 2\n"),
                "{}",
                filled.text
            );
        }
    }

    /// A template of agnocast of September 2026: all sections, and a key that no configurator knows.
    const NEWEST: &str = "hardware_info:\n  cpu_family: 6\nrt_throttling:\n  runtime_us: 950000\n  period_us: 1000000\n\
        callback_groups:\n  - id: /a@Subscription(/x)\n    domain_id: 0\n    affinity: []\n    policy: SCHED_OTHER\n    \
        nice: 0\n    owner: team # kept\n\n  - id: /a@Subscription(/x)\n    domain_id: 1\n    affinity: []\n    \
        policy: SCHED_OTHER\n    nice: 0\n\n  - id: /b/*\n    domain_id: 0\n    affinity: [0, 1]\n    \
        policy: SCHED_BATCH\n    nice: 3\n\nnon_ros_threads:\n  - name: worker\n    affinity: []\n    \
        policy: SCHED_OTHER\n    nice: -1\n\nkernel_threads:\n  - comm: ksoftirqd/0\n    policy: SCHED_OTHER\n    \
        nice: 0\n    affinity: UNMANAGEABLE\n  - comm: migration/0\n    policy: UNMANAGEABLE\n    \
        priority: UNMANAGEABLE\n    affinity: UNMANAGEABLE\nirqs:\n  - irq: 103\n    name: nvidia\n    affinity: [0, 1]\n";

    #[test]
    fn all_that_the_newest_dry_run_writes_stays() {
        let template = Template::parse(NEWEST, Path::new("t.yaml")).unwrap();
        let plan = deployment("scheduling = { fifo = 20 }, cores = [1]", "scheduling = { nice = -5 }");
        let filled = fill(&template, &system(), &plan, None).unwrap();
        let expected = NEWEST
            .replacen(
                "affinity: []\n    policy: SCHED_OTHER\n    nice: 0\n",
                "affinity:\n      - 1\n    policy: SCHED_FIFO\n    priority: 20\n",
                1,
            )
            .replacen(
                "affinity: [0, 1]\n    policy: SCHED_BATCH\n    nice: 3\n",
                "affinity: []\n    policy: SCHED_OTHER\n    nice: -5\n",
                1,
            );
        assert_eq!(filled.text, expected);
        // The same group in another domain is not in the system, which has the callback once.
        assert_eq!((filled.groups, filled.rest), (2, vec!["/a@Subscription(/x)".to_owned()]));
        assert_eq!(filled.format, Format::Nice);
    }

    #[test]
    fn an_old_template_is_written_for_the_configurator_of_today_if_that_is_wanted() {
        let old = Template::parse(TEMPLATE, Path::new("t.yaml")).unwrap();
        let plan = deployment("scheduling = { fifo = 20 }", "cores = [1]");
        let filled = fill(&old, &system(), &plan, Some(Format::Nice)).unwrap();
        assert_eq!(filled.text.matches("    nice: 0\n").count(), 3, "{}", filled.text);
        assert_eq!(filled.text.matches("priority").count(), 1, "{}", filled.text);
        let new = Template::parse(&filled.text, Path::new("t.yaml")).unwrap();
        assert_eq!(new.format().unwrap(), Format::Nice);
        let back = fill(&new, &system(), &plan, Some(Format::Priority)).unwrap().text;
        assert_eq!(back, fill(&old, &system(), &plan, None).unwrap().text);
    }

    #[test]
    fn cores_alone_leave_the_scheduling_as_it_is() {
        let text =
            "callback_groups:\n  - id: /a@Subscription(/x)\n    affinity: ~\n    policy: SCHED_RR\n    priority: 7\n";
        let template = Template::parse(text, Path::new("t.yaml")).unwrap();
        let filled = fill(&template, &system(), &deployment("cores = [2]", "cores = [0]"), None).unwrap();
        assert_eq!(filled.text, text.replace("affinity: ~", "affinity:\n      - 2"));
    }

    #[test]
    fn what_the_configurator_would_refuse_is_an_error_with_its_line() {
        let plan = deployment("scheduling = { fifo = 2 }", "scheduling = { fifo = 1 }");
        let entry = "callback_groups:\n  - id: /a@Subscription(/x)\n    policy: SCHED_OTHER\n    nice: 0\n";
        for (more, parts) in [
            (
                "\n  - id: /c\n    policy: SCHED_OTHER\n    nice: 50\n",
                "line 6: the configurator would refuse /c: `nice` is 50",
            ),
            (
                "  - id: /c/*/d\n    policy: SCHED_OTHER\n    nice: 0\n",
                "line 5: the configurator would refuse /c/*/d: `*` stands",
            ),
            (
                "  - id: /a@Subscription(/x)\n    policy: SCHED_IDLE\n    nice: 0\n",
                "line 5: the configurator would refuse",
            ),
            (
                "non_ros_threads:\n  - name: t\n    policy: SCHED_SLOW\n",
                "line 6: the configurator would refuse t: the policy",
            ),
            ("  - id: /c\n    policy: SCHED_OTHER\n    priority: 0\n", "/c has `priority` for its niceness"),
        ] {
            let template = Template::parse(&format!("{entry}{more}"), Path::new("t.yaml")).unwrap();
            let error = fill(&template, &system(), &plan, None).err().unwrap().to_string();
            assert!(error.starts_with("t.yaml: ") && error.contains(parts), "{error}");
        }
    }

    #[test]
    fn a_wildcard_gets_what_all_groups_of_its_node_have() {
        let text = "callback_groups:\n  - id: /a/*\n    policy: SCHED_OTHER\n    nice: 0\n  \
             - id: /a@Timer(1000)\n    policy: SCHED_OTHER\n    nice: 0\n";
        let mut system = system();
        system.callbacks[1].name = "a/timer0".to_owned();
        let template = Template::parse(text, Path::new("t.yaml")).unwrap();
        let plan = deployment("scheduling = { fifo = 2 }", "scheduling = { fifo = 1 }");
        let filled = fill(&template, &system, &plan, None).unwrap().text;
        assert!(filled.contains("/a/*\n    policy") || filled.contains("/a/*\n    affinity"), "{filled}");
        assert!(filled.find("priority: 2") < filled.find("priority: 1"), "{filled}");
        // Without the entry of the second group, the node has two settings.
        let torn = "callback_groups:\n  - id: /a/*\n    policy: SCHED_OTHER\n    nice: 0\n";
        let template = Template::parse(torn, Path::new("t.yaml")).unwrap();
        let error = fill(&template, &system, &plan, None).err().unwrap().to_string();
        assert!(
            error.contains("/a/* stands for groups with different settings") && error.contains("one, two"),
            "{error}"
        );
    }
}
