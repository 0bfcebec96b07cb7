//! Checks on a quiet network, each time that it has healed: everything that is asked for is done, so that it is not
//! enough that nothing contradicts itself.

use std::time::Duration;

use rospin_node::{CancelError, GoalHandle, GoalState};

use super::super::super::actions::set_up::{Fibonacci, Sequence};
use super::super::Awaited;
use super::robot::{ITS_OWN, REJECTED, STUBBORN};
use super::{Fleet, MS, ROBOTS, SECOND};

/// The longest time without a server after which feedback goes on, with a margin for the server's report.
const ABSENCE: Duration = Duration::from_millis(900);

impl Fleet {
    /// Sends a goal that the program executes. Returns its execution.
    fn begin_goal(&mut self, robot: usize) -> GoalHandle<Fibonacci> {
        let order = loop {
            let order = self.next() as i32;
            if order % REJECTED != 0 && order % 3 != ITS_OWN {
                break order;
            }
        };
        self.station.as_mut().expect("it was started").send(robot, order);
        self.run(SECOND);
        let robot = self.robots[robot].as_ref().expect("it was started");
        let executions = robot.executions.with(std::mem::take);
        let Ok([execution]) = <[_; 1]>::try_from(executions) else { panic!("one goal is executed") };
        execution
    }

    fn feed(&mut self, execution: &GoalHandle<Fibonacci>, number: i32) {
        execution.publish_feedback(Sequence { sequence: vec![number] }).unwrap();
        self.truth.with(|truth| truth.goals.get_mut(&execution.id()).unwrap().feedback.push(number));
    }

    /// Ends the goal that was sent last. Its client has heard everything, and knows the end.
    fn end_goal(&mut self, execution: GoalHandle<Fibonacci>) {
        let id = execution.id();
        super::robot::note_end(&self.truth, id, GoalState::Succeeded, &[]);
        execution.succeed(Sequence::default());
        self.run(SECOND);
        let sent = self.station.as_mut().expect("it was started").sent.pop().expect("it was accepted");
        let feedback = self.truth.with(|truth| truth.goals[&id].feedback.clone());
        assert_eq!((sent.handle.id(), sent.handle.state()), (id, GoalState::Succeeded));
        assert_eq!((sent.heard(), sent.stream.is_none()), (&feedback[..], true), "all feedback of goal {id} is heard");
    }

    /// Has a robot execute a goal, whose last feedback is followed by its end at once.
    pub(super) fn act_calmly(&mut self) {
        let robot = self.rng.below(ROBOTS);
        let execution = self.begin_goal(robot);
        for number in 0..3 {
            self.feed(&execution, number);
        }
        if self.rng.percent(30) {
            self.cancel_all(robot, &execution);
        }
        self.end_goal(execution);
    }

    /// Asks a robot to cancel all of its goals, which are this one.
    fn cancel_all(&mut self, robot: usize, execution: &GoalHandle<Fibonacci>) {
        let station = self.station.as_ref().expect("it was started");
        let mut asked = Awaited::new(station.lines[robot].drive.cancel_all());
        self.run(SECOND);
        let is_stubborn = execution.goal().order % STUBBORN == 0;
        match asked.poll().expect("it is answered") {
            Ok(canceling) => assert_eq!((canceling, is_stubborn), (vec![execution.id()], false)),
            Err(CancelError::Rejected { .. }) => assert!(is_stubborn),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(execution.is_cancel_requested(), !is_stubborn);
    }

    /// Cuts a robot off until its lease is over, and heals the path at once. If the server is back within a second, the
    /// feedback goes on.
    pub(super) fn return_at_once(&mut self) {
        let robot = self.rng.below(ROBOTS);
        let execution = self.begin_goal(robot);
        let name = self.names[robot].clone();
        self.network.cut("station", &name);
        let is_ready =
            |fleet: &Self| fleet.station.as_ref().is_some_and(|station| station.lines[robot].drive.server_is_ready());
        while is_ready(self) {
            self.run(100 * MS);
        }
        self.network.heal("station", &name);
        let mut absence = Duration::ZERO;
        while !is_ready(self) {
            self.run(10 * MS);
            absence += 10 * MS;
        }
        // The lease of the station may end at the robot although the path has healed. It is found again within 18 s.
        self.run(20 * SECOND);
        if absence < ABSENCE {
            self.feed(&execution, 1);
            self.truth.with(|truth| truth.saw("server back at once"));
        }
        self.end_goal(execution);
    }
}
