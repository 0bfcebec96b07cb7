//! The screen of a terminal.

use std::io;
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use super::app::{App, Page};
use super::lines;
use super::programs::Programs;

/// Shows the programs until a key ends it. The terminal is as before then, after a panic, too.
pub(super) fn run(app: &mut App, programs: &mut Programs) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let shown = show(app, programs, &mut terminal);
    ratatui::try_restore()?;
    shown
}

fn show(app: &mut App, programs: &mut Programs, terminal: &mut ratatui::DefaultTerminal) -> io::Result<()> {
    programs.look();
    let mut next = Instant::now() + app.interval.min(Duration::from_millis(300));
    loop {
        terminal.draw(|frame| {
            let area = frame.area();
            draw(app, area, frame.buffer_mut());
        })?;
        let opened = app.opened;
        if event::poll(next.saturating_duration_since(Instant::now()))?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && !app.key(key)
        {
            return Ok(());
        }
        if let Some((pid, place)) = app.opened.filter(|now| Some(*now) != opened) {
            app.detail = programs.detail(pid, place);
        }
        if Instant::now() >= next {
            next += app.interval;
            // After the computer slept, nothing is made up for.
            next = next.max(Instant::now());
            programs.look();
            let shown = programs.show();
            app.update(shown, |(pid, place)| programs.detail(pid, place));
        }
    }
}

/// Draws the screen.
pub(super) fn draw(app: &mut App, area: Rect, buffer: &mut Buffer) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    if height == 0 {
        return;
    }
    let mut shown = lines::head(app, width);
    let (foot, rest) = (key_line(app, width), height.saturating_sub(1));
    if app.has_help {
        shown.truncate(1);
        shown.push(Line::default());
        shown.extend(lines::help(width));
    } else if app.opened.is_some() {
        let left = rest.saturating_sub(shown.len() + 1);
        shown.push(Line::default());
        shown.extend(lines::detail(app, width, left));
    } else {
        shown.push(lines::tabs(app, width));
        let (head, rows) = lines::page(app, app.page, width);
        shown.push(head);
        table(app, rows, rest.saturating_sub(shown.len()), &mut shown);
    }
    shown.truncate(rest);
    for (y, line) in (area.y..).zip(&shown) {
        buffer.set_line(area.x, y, line, area.width);
    }
    buffer.set_line(area.x, area.y + area.height - 1, &foot, area.width);
}

/// Appends the rows that fit, so that the selected one is among them.
fn table(app: &mut App, mut rows: Vec<Line<'static>>, room: usize, shown: &mut Vec<Line<'static>>) {
    app.room = room;
    let last = rows.len().saturating_sub(1);
    let selected = if app.page == Page::Callbacks { app.selected_place(&app.rows()) } else { app.place.min(last) };
    app.place = selected;
    let first = (selected + 1).saturating_sub(room);
    if let Some(row) = rows.get_mut(selected) {
        row.style = row.style.patch(Style::new().add_modifier(Modifier::REVERSED));
    }
    shown.extend(rows.drain(..).skip(first).take(room));
}

fn key_line(app: &App, width: usize) -> Line<'static> {
    let text = match app {
        App { has_help: true, .. } => "any key: back",
        App { is_typing: true, .. } => "letters of the filter; Enter: keep it, Esc: no filter",
        App { opened: Some(_), .. } => "Esc back  p pause  q end",
        _ => "Enter details  Tab page  s sort  r reverse  / filter  p pause  ? help  q end",
    };
    let text: String = text.chars().take(width).collect();
    Line::styled(text, Style::new().add_modifier(Modifier::REVERSED))
}
