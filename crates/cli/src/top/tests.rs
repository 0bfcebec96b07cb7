//! Tests with programs in memory, on a terminal in memory.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rospin_engine::Instant;
use rospin_engine::recording::{Event, Step};
use rospin_trace::Recorded;
use rospin_trace::live::{Item, Live, OverdueView};
use rospin_trace::names::Name;

use super::app::{App, Page};
use super::kernel::KernelThread;
use super::programs::Shown;
use super::web::state::{Chain, States};
use super::{Column, Proven, json, lines, screen};

/// A program in memory, with callbacks that run one after the other: number `n` for `n + 1` microseconds.
struct Fake {
    pid: u32,
    name: &'static str,
    callbacks: u32,
    live: Live,
    sequence: u64,
    now: u64,
}

impl Fake {
    fn new(pid: u32, name: &'static str, callbacks: u32) -> Self {
        let mut live = Live::default();
        live.name(Name::Executor { executor: 0, name: "main".into(), policy: "fifo".into(), threads: 1 });
        live.name(Name::Thread { thread: 1, kernel_id: pid + 1, name: "main".into() });
        for number in 0..callbacks {
            live.name(Name::Entity {
                executor: 0,
                entity: u64::from(number),
                account: u64::from(number),
                name: format!("callback_{number:03}"),
                group: "group".into(),
                excludes: true,
                kind: "timer".into(),
                priority: number,
                deadline_ns: Some(100_000),
                period_ns: None,
                rules: None,
            });
        }
        live.name(Name::Queue { queue: 1, account: 0, topic: "/scan".into(), depth: 5 });
        live.view(0);
        Self { pid, name, callbacks, live, sequence: 0, now: 0 }
    }

    fn event(&mut self, event: Event) {
        self.live.take(Item::Event(Recorded { thread: 1, at: Instant::from_nanos(self.now), event }));
    }

    /// Lets a second pass, at whose beginning every callback runs once, three items are lost and three wait in a queue.
    /// Returns the program in this second.
    fn second(&mut self) -> Shown {
        let begun = self.now;
        for number in 0..self.callbacks {
            self.sequence += 1;
            let step = Step { executor: 0, entity: u64::from(number), sequence: self.sequence, segment: 0 };
            let release = Instant::from_nanos(self.now);
            self.event(Event::Dispatched { step, thread: 0, release, cpu_ns: 0 });
            self.now += 1_000 * (u64::from(number) + 1);
            let deadline = release + Duration::from_micros(100);
            self.event(Event::Completed { step, deadline, cpu_ns: 0 });
        }
        self.event(Event::Lost { account: 2, cause: 0, count: 3 });
        (0..3).for_each(|ticket| self.event(Event::Queued { queue: 1, ticket, displaced: false }));
        self.now = begun + 1_000_000_000;
        let view = self.live.view(self.now);
        let thread =
            KernelThread { id: self.pid + 1, name: "main".into(), class: "fifo", priority: 50, core: 3, cpu: 0.25 };
        Shown { pid: self.pid, name: self.name.into(), view, threads: vec![thread], trouble: None }
    }
}

fn app(programs: &mut [Fake]) -> App {
    let mut app = App { interval: Duration::from_secs(1), ..App::default() };
    app.update(programs.iter_mut().map(Fake::second).collect(), |_| None);
    app
}

/// Returns what a terminal of that size shows.
fn screen_of(app: &mut App, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(app, frame.area(), frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

fn press(app: &mut App, keys: &[KeyCode]) -> bool {
    keys.iter().all(|key| app.key(KeyEvent::new(*key, KeyModifiers::NONE)))
}

fn letters(text: &str) -> Vec<KeyCode> {
    text.chars().map(KeyCode::Char).collect()
}

#[test]
fn a_small_terminal_shows_the_callbacks_of_a_program() {
    let mut app = app(&mut [Fake::new(700, "robot", 3)]);
    let screen = screen_of(&mut app, 80, 24);
    assert_eq!(screen[0], "rospin top  1 program, every 1 s");
    assert_eq!(screen[1], "700 robot: 25% CPU, 3 callbacks, 10 events/s, 0 missed, 3 lost");
    assert_eq!(screen[2], "[callbacks] threads  queues  losses    by UTIL largest");
    assert_eq!(screen[3], "CALLBACK              RATE  UTIL EXEC99 RESP99  RSPMAX DEADLN  QUEUE  LOST  MISS");
    let screen = screen.join("\n");
    assert!(screen.contains("\ncallback_002 "), "{screen}");
}

/// The culprit stands at the end of the sentence.
#[test]
fn a_sentence_that_is_longer_than_the_screen_is_not_cut() {
    let mut shown = Fake::new(700, "robot", 3).second();
    let culprit = "robot/global_planner/costmap/obstacles";
    let text =
        format!("robot/localization/lidar/points has not run for 297 ms (period 94 ms): {culprit} held its thread");
    let callback = shown.view.callbacks[0].name.clone();
    let place = shown.view.callbacks[0].place;
    shown.view.overdue = vec![OverdueView {
        place,
        callback,
        for_ns: 297_000_000,
        is_at_least: false,
        limit_ns: Some(94_000_000),
        culprit: Some(culprit.to_owned()),
        text,
    }];
    let mut app = App { interval: Duration::from_secs(1), ..App::default() };
    app.update(vec![shown], |_| None);
    let screen = screen_of(&mut app, 80, 24);
    assert_eq!(screen[2], "robot/localization/lidar/points has not run for 297 ms (period 94 ms):");
    assert_eq!(screen[3], "  robot/global_planner/costmap/obstacles held its thread");
    assert!(screen[4].starts_with("[callbacks]"), "{}", screen.join("\n"));
}

#[test]
fn five_hundred_callbacks_are_scrolled_through() {
    let mut app = app(&mut [Fake::new(700, "robot", 500)]);
    let screen = screen_of(&mut app, 80, 24);
    // The one that takes longest comes first.
    assert!(screen[4].starts_with("callback_499"), "{}", screen[4]);
    assert!(screen[22].starts_with("callback_481") && screen[23].starts_with("Enter details"));
    press(&mut app, &[KeyCode::Down; 30]);
    let screen = screen_of(&mut app, 80, 24);
    assert!(screen[22].starts_with("callback_469"), "{}", screen[22]);
    press(&mut app, &[KeyCode::End]);
    assert!(screen_of(&mut app, 80, 24)[22].starts_with("callback_000"));
    press(&mut app, &[KeyCode::PageUp, KeyCode::Home]);
    assert!(screen_of(&mut app, 80, 24)[4].starts_with("callback_499"));
    press(&mut app, &[KeyCode::Char('/')]);
    press(&mut app, &letters("BACK_01"));
    press(&mut app, &[KeyCode::Enter, KeyCode::Char('r')]);
    let screen = screen_of(&mut app, 80, 24);
    assert!(screen[4].starts_with("callback_010") && screen[13].starts_with("callback_019") && screen[14].is_empty());
    press(&mut app, &[KeyCode::Esc]);
    assert_eq!(app.rows().len(), 500);
}

#[test]
fn every_column_sorts() {
    let mut app = app(&mut [Fake::new(700, "robot", 40), Fake::new(800, "camera", 7)]);
    for _ in Column::ALL {
        press(&mut app, &[KeyCode::Char('s')]);
        let names: Vec<_> = app.rows().iter().map(|row| row.id()).collect();
        app.is_reversed = true;
        assert_eq!(names.len(), 47);
        app.rows();
        app.is_reversed = false;
    }
    app.sort = Some(Column::Lost);
    assert_eq!(app.rows()[0].callback.name, "callback_002");
    app.sort = Some(Column::Name);
    assert_eq!(app.rows()[1].id(), (800, (0, 0)));
    press(&mut app, &[KeyCode::Char('<'), KeyCode::Char('>')]);
    assert_eq!(app.sorted_by(), Column::Name);
}

#[test]
fn a_callback_by_itself_has_histograms_and_its_worst_activations() {
    let mut fake = Fake::new(700, "robot", 150);
    let mut app = app(std::slice::from_mut(&mut fake));
    press(&mut app, &[KeyCode::Enter]);
    let (_, place) = app.opened.unwrap();
    assert!(screen_of(&mut app, 80, 24).join("\n").contains("Its times come with the next interval."));
    let shown = fake.second();
    app.update(vec![shown], |(pid, place)| {
        assert_eq!(pid, 700);
        fake.live.detail(place)
    });
    let screen = screen_of(&mut app, 80, 24).join("\n");
    for text in [
        "callback_149",
        "group group, priority 149",
        "2 activations, 2 missed",
        "exec 50% 150us 99% 150us max 150us",
        "█",
        "WORST IN A MINUTE",
    ] {
        assert!(screen.contains(text), "{text} is missing in\n{screen}");
    }
    assert_eq!(place, (0, 149));
    press(&mut app, &[KeyCode::Esc]);
    assert!(app.opened.is_none() && app.filter.is_empty());
    // Losses stand by cause.
    app.sort = Some(Column::Lost);
    press(&mut app, &[KeyCode::Home, KeyCode::Enter]);
    app.detail = fake.live.detail(app.opened.unwrap().1);
    assert!(screen_of(&mut app, 80, 24).join("\n").contains("lost: 6 queue full"));
}

#[test]
fn the_help_fits_a_small_terminal() {
    let help = lines::help(200);
    assert!(help.iter().all(|line| line.width() <= 80), "{help:?}");
    // A title, a line without words, and the keys.
    assert!(help.len() <= 24 - 3, "{}", help.len());
}

/// The same program runs twice.
#[test]
fn rows_of_two_programs_with_the_same_names_say_whose_they_are() {
    let mut other = app(&mut [Fake::new(700, "robot", 3), Fake::new(800, "camera", 0)]);
    assert!(!screen_of(&mut other, 80, 24)[4].contains("PROGRAM"), "only one of them has such callbacks");
    let mut app = app(&mut [Fake::new(700, "robot", 3), Fake::new(800, "robot", 3)]);
    let screen = screen_of(&mut app, 80, 24);
    assert_eq!(screen[4], "CALLBACK      PROGRAM        RATE  UTIL RESP99  RSPMAX DEADLN  QUEUE  LOST  MISS");
    let rows: Vec<&str> = screen[5..11].iter().map(|row| &row[..26]).collect();
    assert_eq!(rows[..2], ["callback_002  700 robot   ", "callback_002  800 robot   "]);
    app.sort = Some(Column::Program);
    let pids: Vec<u32> = app.rows().iter().map(|row| row.id().0).collect();
    assert_eq!(pids, [700, 700, 700, 800, 800, 800]);
    let text = lines::text(&app, 100);
    let has = |begin: &str, part: &str| text.lines().any(|line| line.starts_with(begin) && line.contains(part));
    assert!(has("800 robot    callback_002", "queue full") && has("700 robot    /scan", ""), "{text}");
}

#[test]
fn what_every_node_has_is_hidden_unless_somebody_asks() {
    let mut fake = Fake::new(700, "robot", 3);
    for (number, name) in (10_u64..).zip(["camera/parameters/get_parameters", "camera/rosout/records"]) {
        fake.live.name(Name::Entity {
            executor: 0,
            entity: number,
            account: number,
            name: name.into(),
            group: "parameters".into(),
            excludes: true,
            kind: "service".into(),
            priority: 0,
            deadline_ns: None,
            period_ns: None,
            rules: None,
        });
    }
    fake.event(Event::Lost { account: 10, cause: 0, count: 1 });
    let mut app = app(&mut [fake]);
    let text = lines::text(&app, 100);
    assert!(text.contains("3 (+2) callbacks, ") && !text.contains("get_parameters"), "{text}");
    press(&mut app, &[KeyCode::Char('i')]);
    let text = lines::text(&app, 100);
    assert!(text.contains("5 callbacks, ") && text.contains("camera/rosout/records"), "{text}");
    assert!(text.contains("\ncamera/parameters/get_parameters "), "it lost something: {text}");
}

#[test]
fn bounds_stand_beside_the_times_that_exceed_them() {
    let mut app = app(&mut [Fake::new(700, "robot", 3)]);
    let bounds =
        [("callback_001", 1), ("callback_002", 60)].map(|(name, us)| (name.to_owned(), Duration::from_micros(us)));
    app.bounds = Some(bounds.into());
    let text = lines::text(&app, 100);
    let of = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(
        text.contains(" BOUND ") && of("callback_001").contains("2.00us!") && of("callback_001").contains(" 1.00us ")
    );
    assert!(!of("callback_002").contains('!') && of("callback_002").contains(" 60.0us "), "{text}");
    let value: serde_json::Value = serde_json::from_str(&json(&app)).unwrap();
    assert_eq!(value["bounds_ns"]["callback_001"], 1_000);
    assert_eq!(value["programs"][0]["callbacks"][2]["runs"], 1);
    assert_eq!(value["programs"][0]["kernel_threads"][0]["class"], "fifo");
}

#[test]
fn the_page_is_told_the_names_and_times_of_what_went_wrong() {
    let mut fake = Fake::new(700, "robot", 150);
    let bounds = [("callback_001".to_owned(), Duration::from_micros(1))];
    let chain = Chain { name: "scan".into(), callbacks: Vec::new(), bound_ns: Some(7), deadline_ns: None };
    let mut states = States::new(Proven { bounds: Some(bounds.into()), chains: vec![chain] });
    let mut next = |programs: &[Shown]| -> serde_json::Value {
        let text = states.next(programs, Duration::from_secs(1));
        assert!(!text.contains('\n'), "an event is a line");
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(next(&[])["told_total"], 0);
    let state = next(&[fake.second()]);
    let texts: Vec<String> = state["told"].as_array().unwrap().iter().map(|one| one["text"].to_string()).collect();
    let has = |text: &str| texts.iter().filter(|of| of.contains(text)).count();
    // Fifty of them took longer than their deadline of 100 us. The worst fifteen are told one by one.
    assert_eq!((has("missed its deadline by "), has("35 further callbacks of robot missed deadlines")), (15, 1));
    assert_eq!((has("missed its deadline by 50.0us"), has("took 2.00us, longer than its bound of 1.00us")), (1, 1));
    assert_eq!((has("lost 3: queue full"), has("is watched"), texts.len()), (1, 1, 19));
    let callback = &state["programs"][0]["callbacks"][1];
    assert_eq!((callback["bound_ns"].as_u64(), callback["name"].as_str()), (Some(1_000), Some("callback_001")));
    assert_eq!((&callback["missed"], &callback["internal"]), (&0.into(), &serde_json::Value::Null));
    assert_eq!(state["chains"][0]["bound_ns"], 7);
    for _ in 0..20 {
        next(&[fake.second()]);
    }
    let state = next(&[]);
    assert_eq!((state["told"].as_array().unwrap().len(), state["told_total"].as_u64()), (100, Some(19 + 20 * 18 + 1)));
    assert_eq!(state["told"][99]["text"], "is not watched any more");
}

#[test]
fn pages_show_threads_queues_and_losses() {
    let mut app = app(&mut [Fake::new(700, "robot", 3)]);
    for (page, row) in [
        (Page::Threads, "     701 main"),
        (Page::Queues, "/scan"),
        (Page::Losses, "callback_002"),
        (Page::Callbacks, "callback_002"),
    ] {
        press(&mut app, &[KeyCode::Tab]);
        assert_eq!(app.page, page);
        let screen = screen_of(&mut app, 80, 24);
        assert!(screen[4].starts_with(row), "{screen:?}");
    }
    let threads = lines::text(&app, 80);
    let thread = threads.lines().find(|line| line.starts_with("     701")).unwrap();
    assert_eq!(
        thread.split_ascii_whitespace().skip(2).collect::<Vec<_>>(),
        ["main", "fifo", "50", "3", "25.0%", "0.0%"]
    );
    assert!(threads.lines().any(|line| line.contains("queue full") && line.ends_with("3       3")), "{threads}");
}

/// Programs come, are told to have trouble, and go, while rows of theirs are selected and open.
#[test]
fn programs_come_and_go() {
    let (mut robot, mut camera) = (Fake::new(700, "robot", 5), Fake::new(800, "camera", 2));
    let mut app = App { interval: Duration::from_secs(1), ..App::default() };
    assert!(screen_of(&mut app, 80, 24)[1].starts_with("No program of rospin runs here"));
    app.update(vec![robot.second(), camera.second()], |_| None);
    press(&mut app, &[KeyCode::Home, KeyCode::Down, KeyCode::Enter]);
    let opened = app.opened;
    assert!(opened.is_some());
    app.update(vec![Shown { trouble: Some("the program ended".into()), ..robot.second() }, camera.second()], |_| None);
    assert!(screen_of(&mut app, 80, 24)[1].ends_with("robot: the program ended"));
    app.update(vec![camera.second()], |_| None);
    assert!(screen_of(&mut app, 80, 24).join("\n").contains("This callback is gone."));
    press(&mut app, &[KeyCode::Esc]);
    assert_eq!(app.rows().len(), 2);
    app.update(Vec::new(), |_| None);
    press(&mut app, &[KeyCode::Down, KeyCode::Up, KeyCode::End, KeyCode::Enter]);
    assert!(app.opened.is_none());
    // While it is paused, nothing changes.
    app.update(vec![robot.second()], |_| None);
    press(&mut app, &[KeyCode::Char('p')]);
    app.update(Vec::new(), |_| None);
    assert_eq!(app.rows().len(), 5);
    assert!(screen_of(&mut app, 80, 24)[0].ends_with("PAUSED"));
    let many: Vec<Shown> = (0..30).map(|number| Shown { pid: number, ..camera.second() }).collect();
    press(&mut app, &[KeyCode::Char('p')]);
    app.update(many, |_| None);
    assert_eq!(screen_of(&mut app, 80, 24)[4], "… and 27 more");
}

/// Keys at random, on terminals of every size: nothing panics, and `q` ends it.
#[test]
fn no_size_and_no_key_is_too_much() {
    let keys = "qhgGjks<>r/p ?x\u{7}é".chars().map(KeyCode::Char);
    let more =
        [KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::PageDown, KeyCode::Up, KeyCode::End];
    let keys: Vec<KeyCode> = keys.chain(more).chain([KeyCode::Backspace, KeyCode::F(5), KeyCode::Down]).collect();
    let mut fakes = [Fake::new(700, "ro\u{1b}bot", 60), Fake::new(800, "機械", 3)];
    let mut app = app(&mut fakes);
    let mut seed = 3_u64;
    for _ in 0..600 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = keys[(seed >> 33) as usize % keys.len()];
        if !press(&mut app, &[key]) {
            assert_eq!(key, KeyCode::Char('q'));
        }
        let (width, height) = ((seed >> 20) % 130, (seed >> 40) % 40);
        screen_of(&mut app, width.max(1) as u16, height.max(1) as u16);
        if seed.is_multiple_of(50) {
            app.detail = app.opened.and_then(|(_, place)| fakes[0].live.detail(place));
        }
    }
}
