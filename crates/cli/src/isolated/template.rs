//! The template that the dry run of `callback_isolated_executor` writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rospin_engine::EntityKind;
use rospin_engine::os::OsScheduling;

use super::entry::{File, Format, Mixed};
use super::kind_of;

/// The largest size of a template in bytes.
const SIZE: u64 = 16 << 20;

/// Reasons for which a file is no template, or cannot be filled in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("{}: cannot be read ({reason})", path.display())]
    Unreadable { path: PathBuf, reason: io::Error },
    #[error(
        "{}: is no template of callback_isolated_executor ({reason}); `ros2 run cie_thread_configurator prerun_node` writes one, as does \
         the `prerun_node` of agnocast_cie_thread_configurator",
        path.display()
    )]
    Invalid { path: PathBuf, reason: String },
    #[error(
        "{}: the callbacks of the group {id} are on several executors of the system: {executors}; learn the system with `rospin trace \
         model --isolate`",
        path.display()
    )]
    Torn { path: PathBuf, id: String, executors: String },
    #[error(
        "{}: {id} stands for groups with different settings, on the executors {executors}; give each group an entry with its own id, which \
         the dry run writes",
        path.display()
    )]
    TornWildcard { path: PathBuf, id: String, executors: String },
    #[error(
        "{}: the formats of two versions are mixed: {priority} has `priority` for its niceness, as until July 2026, {other}; \
         `--format nice` makes it a file for the configurator of today",
        path.display()
    )]
    Mixed { path: PathBuf, priority: String, other: String },
    #[error("{id}: the configurator has no policy for {scheduling}; choose another `scheduling` for its executor")]
    Policy { id: String, scheduling: OsScheduling },
    #[error("{}: line {line}: the configurator would refuse {id}: {reason}", path.display())]
    Refused { path: PathBuf, line: usize, id: String, reason: String },
    #[error("{}: is not laid out as the dry run writes it: {reason}", path.display())]
    Layout { path: PathBuf, reason: String },
}

/// A template: its text, and the ids of its callback groups.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) ids: Vec<Id>,
    pub(super) file: File,
}

/// The id of a callback group.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Id {
    /// The id as it stands in the template.
    pub(crate) text: String,
    /// The node with its namespace.
    pub(crate) node: String,
    pub(crate) members: Members,
}

/// The callbacks that an id stands for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Members {
    /// Those of one group.
    Of(Vec<Member>),
    /// All of the node that no other id lists: `/node/*`.
    Rest,
}

/// A callback in an id. Waitables cannot be told apart, so they are left out.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Member {
    /// A timer with its period in nanoseconds.
    Timer(u64),
    /// Another kind of callback with its topic or service.
    Other(EntityKind, String),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// If the file cannot be read, or has no ids of callback groups.
    pub(crate) fn read(path: &Path) -> Result<Self, TemplateError> {
        let unreadable = |reason| TemplateError::Unreadable { path: path.to_owned(), reason };
        let size = fs::metadata(path).map_err(unreadable)?.len();
        if size > SIZE {
            let reason = format!("it has {} MiB", size >> 20);
            return Err(TemplateError::Invalid { path: path.to_owned(), reason });
        }
        Self::parse(&fs::read_to_string(path).map_err(unreadable)?, path)
    }

    /// Parses the text of a template. `path` is for messages.
    ///
    /// # Errors
    /// If it has no ids of callback groups.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self, TemplateError> {
        let invalid = |reason: String| {
            let reason = reason.lines().next().unwrap_or_default().to_owned();
            TemplateError::Invalid { path: path.to_owned(), reason }
        };
        let file = File::parse(text).map_err(invalid)?;
        let ids = file.callback_groups.iter().map(|entry| Id::parse(entry.id())).collect();
        Ok(Self { path: path.to_owned(), text: text.to_owned(), ids, file })
    }

    /// Returns the format in which the template is written.
    ///
    /// # Errors
    /// If its entries have different ones.
    pub(super) fn format(&self) -> Result<Format, TemplateError> {
        self.file.format().map_err(|Mixed { priority, nice }| {
            let other = match nice {
                Some(id) => format!("and {id} has `nice`, as since August 2026"),
                None => "beside sections that there are only since August 2026".to_owned(),
            };
            TemplateError::Mixed { path: self.path.clone(), priority, other }
        })
    }
}

impl Id {
    fn parse(text: &str) -> Self {
        if let Some(node) = text.strip_suffix("/*") {
            return Self { text: text.to_owned(), node: node.to_owned(), members: Members::Rest };
        }
        let mut parts = text.split('@');
        let node = parts.next().unwrap_or_default().to_owned();
        let member = |part: &str| {
            let (word, of) = part.strip_suffix(')')?.split_once('(')?;
            match word {
                "Timer" => of.parse().ok().map(Member::Timer),
                word => kind_of(word).map(|kind| Member::Other(kind, of.to_owned())),
            }
        };
        Self { text: text.to_owned(), node, members: Members::Of(parts.filter_map(member).collect()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_list_the_callbacks_of_a_group() {
        let id = Id::parse(
            "/robot/arm@Subscription(/joints)@Timer(1333000000)@Client(/goal)@Service(/stop)@Waitable@Odd(1)",
        );
        let other = |kind, of: &str| Member::Other(kind, of.to_owned());
        assert_eq!(id.node, "/robot/arm");
        let listed = vec![
            other(EntityKind::Subscription, "/joints"),
            Member::Timer(1_333_000_000),
            other(EntityKind::Client, "/goal"),
            other(EntityKind::Service, "/stop"),
        ];
        assert_eq!(id.members, Members::Of(listed));
        let id = Id::parse("/robot/arm/*");
        assert_eq!((id.node.as_str(), id.members), ("/robot/arm", Members::Rest));
    }

    #[test]
    fn other_files_are_refused() {
        for text in
            ["", "a: 1", "callback_groups: 3", "callback_groups:\n  - affinity: ~", "{", "[[executor]]\nname = \"a\""]
        {
            let error = Template::parse(text, Path::new("t.yaml")).unwrap_err().to_string();
            assert!(error.starts_with("t.yaml: is no template") && error.contains("prerun_node"), "{error}");
        }
    }
}
