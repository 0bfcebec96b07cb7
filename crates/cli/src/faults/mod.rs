//! Faults that are injected into a robot under a manual clock, and what each tool must say of them: the monitor,
//! `rospin top`, `rospin trace report`, its page, and the file of the flight recorder. They name the same culprit.

mod robot;

use robot::{Robot, SOUND, Said};

/// Words that a tool must print about a fault, or the reason for which it prints none.
enum Cell {
    /// All of these texts. Those with a ` | ` in them are parts of one line.
    Says(&'static [&'static str]),
    /// Nothing is wrong.
    NoAlarm,
    /// The tool cannot say anything, for this reason.
    NotApplicable(&'static str),
}

use Cell::{NoAlarm, NotApplicable, Says};

/// A fault, and what the monitor, `top`, the report, its page and the flight recorder's file say.
struct Fault {
    name: &'static str,
    robot: Robot,
    cells: [Cell; 5],
}

const TOOLS: [&str; 5] = ["monitor", "top", "report", "page", "flight recorder"];

impl Said {
    fn of(&self, tool: usize) -> Option<String> {
        match tool {
            0 => Some(self.monitor.join("\n")),
            1 => Some(self.top.clone()),
            2 => Some(self.report.clone()),
            // The text of the page, as a browser shows it.
            3 => Some(self.page.replace("</td><td", "</td> <td").replace("&gt;", ">")),
            _ => self.flight.clone(),
        }
    }

    /// Returns true if the tool reports nothing that is wrong.
    fn is_calm(&self, tool: usize) -> bool {
        let calm = "0 missed their deadline. 0 items lost, 0 due times of timers skipped, 0 incidents.";
        let is_report =
            |text: &str| text.contains(calm) && !text.contains("has not run for") && !text.contains("Violations");
        match tool {
            0 => self.monitor.is_empty(),
            1 => {
                self.top.contains("0 missed, 0 lost")
                    && !self.top.contains("has not run for")
                    && !self.top.contains('!')
            }
            2 => is_report(&self.report),
            3 => is_report(&self.page),
            _ => self.flight.is_none(),
        }
    }
}

fn has(text: &str, wanted: &str) -> bool {
    text.lines().any(|line| {
        let mut rest = line;
        wanted.split(" | ").all(|part| {
            let found = rest.find(part);
            rest = found.map_or("", |place| &rest[place + part.len()..]);
            found.is_some()
        })
    })
}

impl Fault {
    fn check(&self) {
        let said = self.robot.run(&self.name.replace(' ', "-"));
        for (tool, cell) in self.cells.iter().enumerate() {
            let text = said.of(tool);
            let shown = || format!("{}, {}:\n{}", self.name, TOOLS[tool], text.as_deref().unwrap_or("(no file)"));
            match cell {
                NoAlarm => assert!(said.is_calm(tool), "{}", shown()),
                NotApplicable(reason) => assert!(!reason.is_empty()),
                Says(wanted) => {
                    for wanted in *wanted {
                        assert!(has(text.as_deref().unwrap_or_default(), wanted), "`{wanted}` is not in {}", shown());
                    }
                }
            }
        }
    }
}

#[test]
fn a_robot_without_a_fault_raises_no_alarm() {
    let cells = [NoAlarm, NoAlarm, NoAlarm, NoAlarm, NoAlarm];
    Fault { name: "sound", robot: SOUND, cells }.check();
}

/// The planner burns 60 ms of each 50, and the scanner is less urgent.
#[test]
fn starved() {
    Fault {
        name: "starved",
        robot: Robot { end: 8_000, plan: 60, flight_from: 4_000, ..SOUND },
        cells: [
            Says(&[
                "callback `scanner/scan` has not run for 7.6 s (period 25 ms): `planner/plan` held its thread",
                "callback `planner/plan` ran too long: 60ms instead of at most 5ms, by its own execution",
            ]),
            Says(&[
                "scanner/scan has not run for 8.0 s (period 25 ms): planner/plan held its thread",
                "scanner/scan | >7.9",
            ]),
            Says(&[
                "scanner/scan has not run for 8.0 s (period 25 ms): planner/plan held its thread.",
                "scanner/scan | a higher priority (planner/plan 100 %)",
                "scanner/scan | has not run for 8.0 s (period 25 ms) | `planner/plan` held its thread",
            ]),
            Says(&["scanner/scan has not run for 8.0 s (period 25 ms): planner/plan held its thread."]),
            Says(&["scanner/scan has not run for at least 4.0 s (period 25 ms): planner/plan held its thread."]),
        ],
    }
    .check();
}

/// A timer awaits something for longer than ever, and holds its group.
#[test]
fn held_group() {
    Fault {
        name: "held group",
        robot: Robot { arm_awaits: Some(10_000), flight_from: 0, ..SOUND },
        cells: [
            Says(&["callback `arm/move` has not run for | (period 20 ms): `arm/hold` held its group"]),
            Says(&["arm/move has not run for 1.9 s (period 20 ms): arm/hold held its group"]),
            Says(&[
                "arm/move has not run for 1.9 s (period 20 ms): arm/hold held its group.",
                "arm/move | its group (arm/hold 100 %)",
            ]),
            Says(&["arm/move has not run for 1.9 s (period 20 ms): arm/hold held its group."]),
            Says(&["arm/move has not run for 1.9 s (period 20 ms): arm/hold held its group."]),
        ],
    }
    .check();
}

/// Two timers of one node run one after the other, because one of them holds the group for 60 of 100 ms.
#[test]
fn held_group_for_a_while() {
    Fault {
        name: "held group for a while",
        robot: Robot { arm_awaits: Some(60), flight_from: 0, ..SOUND },
        cells: [
            Says(&["callback `arm/move` missed its deadline | because `arm/hold` held its group"]),
            Says(&["arm/move | 65.0ms!"]),
            Says(&["arm/move | 92 % its group (arm/hold 92 %); 8 % a higher priority (planner/plan 8 %)"]),
            Says(&["arm/move | 92 % its group (arm/hold 92 %)"]),
            Says(&["arm/move | 92 % its group (arm/hold 92 %)"]),
        ],
    }
    .check();
}

#[test]
fn three_times_too_long() {
    Fault {
        name: "three times too long",
        robot: Robot { plan: 15, ..SOUND },
        cells: [
            Says(&["callback `planner/plan` ran too long: 15ms instead of at most 5ms, by its own execution"]),
            Says(&["planner/plan | 15.0ms"]),
            Says(&["planner/plan | ran too long: 15ms instead of at most 5ms | by its own execution"]),
            Says(&["planner/plan | ran too long: 15ms instead of at most 5ms | by its own execution"]),
            Says(&["planner/plan | ran too long: 15ms instead of at most 5ms | by its own execution"]),
        ],
    }
    .check();
}

#[test]
fn twice_too_often() {
    Fault {
        name: "twice too often",
        robot: Robot { scan_period: 12, ..SOUND },
        cells: [
            Says(&["callback `scanner/scan` arrived too often: after 12ms instead of at least 25ms, by its own timer"]),
            Says(&["scanner/scan | 83."]),
            Says(&[
                "scanner/scan | arrived too often: after 12ms instead of at least 25ms | by its own timer",
                "callback `scanner/scan` has the period 12ms; the system file says 25ms",
            ]),
            Says(&["scanner/scan | arrived too often: after 12ms instead of at least 25ms | by its own timer"]),
            Says(&["scanner/scan | arrived too often: after 12ms instead of at least 25ms | by its own timer"]),
        ],
    }
    .check();
}

/// The scanner publishes two messages for each scan, of which the queue holds one.
#[test]
fn queue_too_short() {
    Fault {
        name: "queue too short",
        robot: Robot { scans: 2, filter_depth: 1, ..SOUND },
        cells: [
            Says(&["callback `filter/filter` lost a message from its queue of 1, because its queue is too short"]),
            Says(&["filter/filter | queue full"]),
            Says(&[
                "filter/filter | lost a message from its queue of 1 | because its queue is too short",
                "filter/filter | queue full",
            ]),
            Says(&["filter/filter | lost a message from its queue of 1 | because its queue is too short"]),
            Says(&["filter/filter | lost a message from its queue of 1 | because its queue is too short"]),
        ],
    }
    .check();
}

/// While the thread is not scheduled, it records nothing: nobody can tell it from one that has nothing to do. It is
/// told as soon as it runs again.
#[test]
fn thread_not_scheduled() {
    Fault {
        name: "thread not scheduled",
        robot: Robot { pause: Some((1_010, 300)), ..SOUND },
        cells: [
            Says(&["callback `scanner/scan` missed its deadline: | because the kernel did not run its thread"]),
            Says(&["scanner/scan | ms!"]),
            Says(&["scanner/scan | because the kernel did not run its thread", "its thread to wake up"]),
            Says(&["scanner/scan | because the kernel did not run its thread", "its thread to wake up"]),
            Says(&["scanner/scan | because the kernel did not run its thread", "its thread to wake up"]),
        ],
    }
    .check();
}

/// Everything is created, and the first spin comes 300 ms later.
#[test]
fn start_up() {
    let cells = [NoAlarm, NoAlarm, NoAlarm, NoAlarm, NoAlarm];
    let robot = Robot { spins_after: 310, flight_from: 0, ..SOUND };
    Fault { name: "start-up", robot, cells }.check();
    let said = robot.run("start-up in words");
    let words =
        "Not counted as waiting: the time before executors ran their first callback, up to 285 ms for scanner/scan.";
    assert!(said.report.contains(words), "{}", said.report);
    for row in ["scanner/scan | recorded | 6.000 |  0 |  0", "planner/plan | recorded | 5.000 |  0 |  0"] {
        assert!(has(&said.replay, row), "{}", said.replay);
    }
}

#[test]
fn killed() {
    Fault {
        name: "killed",
        robot: Robot { is_killed: true, ..SOUND },
        cells: [
            NotApplicable("it is gone with the process"),
            Says(&["the program ended"]),
            Says(&["Damaged: | the file", "scanner/scan"]),
            Says(&["Damaged: | the file", "scanner/scan"]),
            NotApplicable("what it keeps in memory is gone with the process"),
        ],
    }
    .check();
}

/// All callbacks keep to the system file, which asks for more than there is.
#[test]
fn overloaded() {
    Fault {
        name: "overloaded",
        robot: Robot { scan: 10, plan: 35, stated: (10, 35), ..SOUND },
        cells: [
            Says(&["callback `scanner/scan` missed its deadline: | because `planner/plan` with a higher priority ran"]),
            Says(&["scanner/scan | ms!", "scanner/scan | due time skipped"]),
            Says(&[
                "scanner/scan | missed its deadline: | because `planner/plan` with a higher priority ran",
                "scanner/scan | a higher priority (planner/plan",
                "scanner/scan | timer overrun",
            ]),
            Says(&["scanner/scan | missed its deadline: | because `planner/plan` with a higher priority ran"]),
            Says(&["scanner/scan | missed its deadline: | because `planner/plan` with a higher priority ran"]),
        ],
    }
    .check();
}
