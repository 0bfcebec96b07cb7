//! All frames as text, for people and for tools that draw trees.

use std::fmt::Write;

use crate::buffer::Buffer;
use crate::tree::Tree;
use crate::when::Seconds;

/// The shortest time that a rate is counted over, as in tf2.
const LEAST_SPAN_NS: i64 = 100_000;

impl Buffer {
    /// Returns all frames that have a transform to a parent, with the rates and the times of their transforms, as YAML.
    /// Its form is that of tf2's `allFramesAsYAML`, which the tool `view_frames` reads. Without frames it is `[]`.
    #[must_use]
    pub fn all_frames_as_yaml(&self) -> String {
        let state = self.lock();
        let mut out = String::new();
        for frame in state.tree.frames.iter() {
            let Some(history) = &frame.history else { continue };
            let Some((newest, parent)) = history.latest() else { continue };
            let Some(oldest) = history.oldest() else { continue };
            let span = newest.saturating_sub(oldest);
            let rate = history.len() as f64 * 1e9 / span.max(LEAST_SPAN_NS) as f64;
            let authority = if frame.authority.is_empty() { "no recorded authority" } else { &frame.authority };
            let _ = write!(
                out,
                "{}:\n  parent: '{}'\n  broadcaster: '{authority}'\n  rate: {rate:.3}\n  most_recent_transform: {}\n  \
                 oldest_transform: {}\n  buffer_length: {:.3}\n",
                frame.name,
                state.tree.frame(parent).name,
                Seconds(newest),
                Seconds(oldest),
                span as f64 / 1e9
            );
        }
        if out.is_empty() { "[]".to_owned() } else { out }
    }

    /// Returns the frames as a tree, each below its newest parent, with the number of its transforms and the stamps of
    /// the oldest and the newest one.
    ///
    /// ```
    /// # use rospin::msgs::geometry_msgs::msg::TransformStamped;
    /// # use rospin::tf2::Buffer;
    /// let buffer = Buffer::new();
    /// for (parent, child) in [("map", "odom"), ("odom", "base")] {
    ///     let mut transform = TransformStamped { child_frame_id: child.to_owned(), ..TransformStamped::default() };
    ///     transform.header.frame_id = parent.to_owned();
    ///     buffer.set_static_transform(&transform, "example")?;
    /// }
    /// assert_eq!(buffer.all_frames_as_tree(), "map\n  odom: static\n    base: static\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn all_frames_as_tree(&self) -> String {
        let state = self.lock();
        let tree = &state.tree;
        let parents: Vec<_> = tree.frames.iter().map(|frame| parent_of(tree, frame.history.as_ref())).collect();
        let mut out = String::new();
        let mut is_shown = vec![false; parents.len()];
        // Roots come first. The remaining frames are in a loop or below one, and are printed from the first of them on.
        let roots = (0..parents.len()).filter(|at| parents[*at].is_none()).chain(0..parents.len());
        for root in roots {
            let mut stack = vec![(root, 0)];
            while let Some((at, depth)) = stack.pop() {
                if std::mem::replace(&mut is_shown[at], true) {
                    continue;
                }
                let _ = writeln!(out, "{:depth$}{}{}", "", tree.frames[at].name, describe(tree, at));
                let children = (0..parents.len()).rev().filter(|child| parents[*child] == Some(at));
                stack.extend(children.map(|child| (child, depth + 2)));
            }
        }
        out
    }
}

/// Returns the number of a frame's newest parent.
fn parent_of(tree: &Tree, history: Option<&crate::history::History>) -> Option<usize> {
    let (_, parent) = history?.latest()?;
    debug_assert!((parent.0 as usize) < tree.frames.len());
    Some(parent.0 as usize)
}

/// Returns the text behind the name of frame number `at`.
fn describe(tree: &Tree, at: usize) -> String {
    match &tree.frames[at].history {
        None => String::new(),
        Some(history) if history.is_static() => ": static".to_owned(),
        Some(history) => match (history.oldest(), history.latest()) {
            (Some(oldest), Some((newest, _))) => {
                format!(": {} transforms, {} s to {} s", history.len(), Seconds(oldest), Seconds(newest))
            }
            _ => ": no transform any more".to_owned(),
        },
    }
}
