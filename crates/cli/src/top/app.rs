//! State of the screen, and its changes by keys. Nothing here knows the terminal or the programs.

use std::collections::BTreeMap;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rospin_trace::live::{CallbackView, Detail, View};
use rospin_trace::names::{is_internal, kind_named};

use super::columns::{Column, Id, Row};
use super::programs::Shown;

/// A page of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Page {
    #[default]
    Callbacks,
    Threads,
    Queues,
    Losses,
}

impl Page {
    pub(super) const ALL: [Self; 4] = [Self::Callbacks, Self::Threads, Self::Queues, Self::Losses];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Callbacks => "callbacks",
            Self::Threads => "threads",
            Self::Queues => "queues",
            Self::Losses => "losses",
        }
    }
}

/// State of the screen: the data of the last interval, and the settings that keys change.
#[derive(Default)]
pub(super) struct App {
    pub(super) programs: Vec<Shown>,
    /// Bounds that the analysis proves for a system file, by callback.
    pub(super) bounds: Option<BTreeMap<String, Duration>>,
    pub(super) interval: Duration,
    pub(super) page: Page,
    pub(super) sort: Option<Column>,
    pub(super) is_reversed: bool,
    pub(super) filter: String,
    /// True if the callbacks that every node has are shown, too.
    pub(super) has_internals: bool,
    /// True while keys are letters of the filter.
    pub(super) is_typing: bool,
    pub(super) is_paused: bool,
    pub(super) has_help: bool,
    /// The callback in the selected row.
    pub(super) selected: Option<Id>,
    /// The place of the selected row: on pages other than that of callbacks, or if the callback is gone.
    pub(super) place: usize,
    /// The callback that is shown by itself.
    pub(super) opened: Option<Id>,
    pub(super) detail: Option<Detail>,
    /// The number of rows that fit on the screen.
    pub(super) room: usize,
}

impl App {
    /// Shows what the programs did in an interval, unless the screen is paused. `detail` returns the details of a
    /// callback.
    pub(super) fn update(&mut self, programs: Vec<Shown>, detail: impl FnOnce(Id) -> Option<Detail>) {
        if self.is_paused {
            return;
        }
        self.programs = programs;
        if let Some(opened) = self.opened {
            // Of a callback that is gone, the last data stay.
            self.detail = detail(opened).or_else(|| self.detail.take());
        }
    }

    pub(super) const fn sorted_by(&self) -> Column {
        match self.sort {
            Some(column) => column,
            None => Column::Util,
        }
    }

    /// Returns true if one of the texts has the filter in it, in upper or lower case, or if the filter is empty.
    pub(super) fn passes<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> bool {
        let filter = self.filter.to_lowercase();
        filter.is_empty() || texts.into_iter().any(|text| text.to_lowercase().contains(&filter))
    }

    /// Returns true if the callback is shown.
    pub(super) fn shows(&self, callback: &CallbackView) -> bool {
        self.has_internals || !is_internal(&callback.name, kind_named(&callback.kind))
    }

    /// Returns true if what belongs to the callback of that name is shown: its queues and losses.
    pub(super) fn shows_of(&self, view: &View, name: &str) -> bool {
        match view.callbacks.iter().find(|callback| callback.name == name) {
            Some(callback) => self.shows(callback),
            // It is the topic of a queue.
            None => self.has_internals || !is_internal(name, kind_named("subscription")),
        }
    }

    /// Returns true if callbacks of two programs have the same name, so that rows must say whose they are.
    pub(super) fn has_twins(&self) -> bool {
        let mut owners: BTreeMap<&str, u32> = BTreeMap::new();
        self.all_rows().filter(|row| self.shows(row.callback)).any(|row| {
            let pid = row.program.pid;
            *owners.entry(&row.callback.name).or_insert(pid) != pid
        })
    }

    /// Returns the callbacks that the filter lets through, in order.
    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = self.all_rows().filter(|row| self.shows(row.callback)).collect();
        rows.retain(|row| {
            let of = row.callback;
            self.passes([of.name.as_str(), of.executor.as_str(), of.group.as_str(), row.program.name.as_str()])
        });
        self.sorted_by().sort(&mut rows, self.is_reversed);
        rows
    }

    fn all_rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.programs.iter().flat_map(|program| {
            program.view.callbacks.iter().map(|callback| {
                let bound = self.bounds.as_ref().and_then(|bounds| bounds.get(&callback.name)).copied();
                Row { program, callback, bound }
            })
        })
    }

    /// Returns the callback that is shown by itself, if it is still there.
    pub(super) fn opened_row(&self) -> Option<Row<'_>> {
        self.all_rows().find(|row| Some(row.id()) == self.opened)
    }

    /// Returns the place of the selected callback among the rows, or its last place if it is not among them.
    pub(super) fn selected_place(&self, rows: &[Row<'_>]) -> usize {
        let found = self.selected.and_then(|selected| rows.iter().position(|row| row.id() == selected));
        found.unwrap_or(self.place).min(rows.len().saturating_sub(1))
    }

    /// Does what a key asks for. Returns false if the program should end.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return false;
        }
        if self.is_typing {
            self.type_filter(key.code);
            return true;
        }
        match key.code {
            _ if self.has_help => self.has_help = false,
            KeyCode::Char('q') => return false,
            KeyCode::Esc | KeyCode::Backspace if self.opened.is_some() => (self.opened, self.detail) = (None, None),
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('?' | 'h') => self.has_help = true,
            KeyCode::Char('/') => {
                (self.opened, self.detail) = (None, None);
                self.is_typing = true;
            }
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Tab => self.turn_page(1),
            KeyCode::BackTab => self.turn_page(Page::ALL.len() - 1),
            KeyCode::Char('s' | '>') | KeyCode::Right => self.sort_by_next(1),
            KeyCode::Char('<') | KeyCode::Left => self.sort_by_next(Column::ALL.len() - 1),
            KeyCode::Char('i') => self.has_internals = !self.has_internals,
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::PageDown => self.step(self.room.max(1) as isize),
            KeyCode::PageUp => self.step(-(self.room.max(1) as isize)),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX),
            KeyCode::Enter if self.page == Page::Callbacks && self.opened.is_none() => {
                let rows = self.rows();
                self.opened = rows.get(self.selected_place(&rows)).map(Row::id);
            }
            _ => {}
        }
        true
    }

    fn type_filter(&mut self, code: KeyCode) {
        /// The largest number of letters in the filter: more do not fit anywhere.
        const LETTERS: usize = 60;
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => _ = self.filter.pop(),
            KeyCode::Char(letter) if self.filter.chars().count() < LETTERS => self.filter.push(letter),
            _ => {}
        }
    }

    fn turn_page(&mut self, by: usize) {
        let place = Page::ALL.iter().position(|page| *page == self.page).unwrap_or(0);
        self.page = Page::ALL[(place + by) % Page::ALL.len()];
        (self.opened, self.detail, self.place) = (None, None, 0);
    }

    fn sort_by_next(&mut self, by: usize) {
        let has_twins = self.has_twins();
        let is_there = |column: Column| match column {
            Column::Bound => self.bounds.is_some(),
            Column::Program => has_twins,
            _ => true,
        };
        let columns: Vec<Column> = Column::ALL.into_iter().filter(|column| is_there(*column)).collect();
        let place = columns.iter().position(|column| *column == self.sorted_by()).unwrap_or(0);
        let by = if by == 1 { 1 } else { columns.len() - 1 };
        self.sort = Some(columns[(place + by) % columns.len()]);
    }

    /// Moves the selection down by so many rows, or up if the number is negative.
    fn step(&mut self, by: isize) {
        if self.page != Page::Callbacks {
            self.place = self.place.saturating_add_signed(by);
            return;
        }
        let rows = self.rows();
        let to = self.selected_place(&rows).saturating_add_signed(by).min(rows.len().saturating_sub(1));
        let selected = rows.get(to).map(Row::id);
        (self.selected, self.place) = (selected, to);
    }
}
