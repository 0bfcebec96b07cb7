//! What must hold once the network has healed: everybody agrees, and nothing is left of what has ended.

use std::collections::BTreeSet;

use rospin::testing::{LinkOptions, NetworkCounts};
use rospin_node::GoalState;
use rospin_node::lifecycle::State;

use super::super::Awaited;
use super::robot::{Robot, TOO_FAST};
use super::{Fleet, MS, ROBOTS, SECOND};

impl Fleet {
    /// Heals everything, waits until all is quiet, and judges.
    pub(super) fn settle(&mut self) {
        self.start_station();
        self.robots.iter_mut().flatten().for_each(|robot| robot.is_stalled = false);
        self.station.iter_mut().for_each(|station| station.is_stalled = false);
        for name in &self.names {
            self.network.set_link("station", name, LinkOptions::new());
        }
        self.network.heal_all();
        self.judge_streams_of_dead_servers();
        (0..ROBOTS).for_each(|robot| self.start(robot));
        // The leases of those that died end within 10 s, and strangers meet within 8 s after that.
        self.run(20 * SECOND);
        self.end_goals();
        self.publish_once_more();
        self.run(2 * SECOND);
        self.judge_guests();
        let waits = self.station.as_ref().expect("it was started").waits();
        assert!(waits.is_empty(), "the servers of robots {waits:?} are there, and are waited for");
        self.judge_calls();
        self.judge_goals();
        self.judge_topics();
        self.judge_parameters();
        self.judge_arms();
        self.judge_graph();
        self.judge_network();
        self.act_calmly();
        if self.rng.percent(20) {
            self.return_at_once();
        }
        self.forget();
    }

    /// The feedback of a goal ends if its server has died, also if that is not started again.
    fn judge_streams_of_dead_servers(&mut self) {
        if self.robots.iter().all(Option::is_some) {
            return;
        }
        // Their leases end within 10 s, and streams wait a second longer.
        self.run(12 * SECOND);
        for sent in &self.station.as_ref().expect("it was started").sent {
            let is_dead = self.robots[sent.robot()].is_none();
            let id = sent.handle.id();
            assert!(!is_dead || sent.stream.is_none(), "the feedback of goal {id} has an end: its server has died");
        }
    }

    fn robots(&self) -> impl Iterator<Item = (usize, &Robot)> {
        self.robots.iter().enumerate().filter_map(|(at, robot)| Some((at, robot.as_ref()?)))
    }

    /// Ends the executions of all goals.
    fn end_goals(&mut self) {
        let Self { rng, robots, truth, .. } = self;
        for robot in robots.iter().flatten() {
            while robot.executions.with(|executions| !executions.is_empty()) {
                robot.execute(rng, truth, true);
            }
        }
        // The goals that robots execute by themselves end within 19 s.
        self.run(20 * SECOND);
        let facts = self.truth.clone();
        // The results are asked for once more: the servers that live know them.
        let mut at = 0;
        while let Some(sent) = self.station.as_mut().expect("it was started").sent.get_mut(at) {
            // A question that is asked again has no answer, though its goal has ended. It is judged with the calls.
            self.open += u64::from(sent.result.is_some());
            let is_told = facts.with(|truth| {
                let served = &truth.goals[&sent.handle.id()];
                let is_there = served.boot == truth.boots[sent.robot()];
                // A goal of a server that died at once may be in none of its reports.
                if is_there { !truth.is_old(served) } else { sent.handle.state() != GoalState::Accepted }
            });
            assert!(!is_told || sent.stream.is_none(), "the feedback of goal {} has an end", sent.handle.id());
            sent.has_ended = false;
            sent.result = Some(Awaited::new(sent.handle.result()));
            at += 1;
        }
    }

    /// Publishes and sets everything once, so that gaps are counted and the last values are known.
    fn publish_once_more(&mut self) {
        for robot in 0..ROBOTS {
            let mut speed = self.next();
            if speed % TOO_FAST == 0 {
                speed = self.next();
            }
            let robot = self.robots[robot].as_mut().expect("it was started");
            robot.talkers[..2].iter_mut().for_each(super::robot::Talker::publish);
            robot.speed.set(speed).unwrap();
        }
    }

    /// Late latched subscriptions have the last value. Then they go.
    fn judge_guests(&mut self) {
        let guests = std::mem::take(&mut self.station.as_mut().expect("it was started").guests);
        for guest in guests {
            let last = self.robots[guest.robot].as_ref().expect("it was started").talkers[2].last;
            let heard = guest.map.with(|ear| ear.last);
            assert!(heard == Some(last) || last.number == 0, "a guest heard {heard:?}, and {last:?} was published");
        }
        self.run(SECOND);
    }

    /// Every call has an answer or an error by now. One exception: if only one side of a path has forgotten the other
    /// one, a response may be lost while its client still sees the server. Such a loss is counted, and callers have to
    /// limit their time. Requests, and messages, excuse nothing.
    fn judge_calls(&mut self) {
        let unmatched = self.network.counts().unmatched_responses;
        let station = self.station.as_mut().expect("it was started");
        let open = station.give_up() + std::mem::take(&mut self.open);
        let lost = unmatched - std::mem::replace(&mut self.unmatched, unmatched);
        assert!(open <= lost, "{open} calls have neither an answer nor an error, and {lost} responses were lost");
        self.truth.with(|truth| *truth.outcomes.entry("call given up").or_default() += open);
        for (_, robot) in self.robots() {
            for service in [&robot.service, &robot.relay] {
                let lost = rospin_engine::LossCause::ALL.map(|cause| service.lost(cause));
                assert_eq!((lost, service.unsent_responses()), ([0; 7], 0), "{}", robot.name);
            }
        }
    }

    fn judge_goals(&self) {
        let station = self.station.as_ref().expect("it was started");
        for (_, robot) in self.robots() {
            assert_eq!(robot.server.active_goals(), 0, "{}", robot.name);
        }
        self.truth.with(|truth| {
            for sent in &station.sent {
                let id = sent.handle.id();
                let served = &truth.goals[&id];
                let is_there = served.boot == truth.boots[sent.robot()];
                assert!(sent.result.is_none(), "the question for the result of goal {id} is answered");
                let state = sent.handle.state();
                let is_over = sent.stream.is_none();
                assert!(is_over, "feedback of goal {id} has no end: {state:?}, its server is there: {is_there}");
                if is_there && !truth.is_old(served) {
                    assert!(sent.has_ended, "the result of goal {id} is there");
                    let end = served.end.as_ref().map(|(state, _)| *state);
                    assert_eq!(Some(sent.handle.state()), end, "goal {id} has one end");
                }
            }
            for served in truth.goals.values() {
                let is_there = truth.boots.contains(&served.boot);
                assert!(!is_there || served.end.is_some(), "goal {} has an end", served.order);
            }
        });
    }

    fn judge_topics(&self) {
        let station = self.station.as_ref().expect("it was started");
        for (at, robot) in self.robots() {
            let line = &station.lines[at];
            line.judge_gaps();
            assert_eq!(line.matches.current.with(|current| *current), Some(1), "{}", robot.name);
            for (talker, (ear, _)) in robot.talkers.iter().zip(&line.ears) {
                let heard = ear.with(|ear| ear.last);
                let is_right = heard == Some(talker.last) || talker.last.number == 0;
                assert!(is_right, "{}: {heard:?} is the last, and {:?} was published", robot.name, talker.last);
            }
            let mission = robot.mission.with(|mission| *mission);
            assert_eq!(mission, Some(station.mission.last), "{}", robot.name);
        }
    }

    fn judge_parameters(&mut self) {
        let station = self.station.as_ref().expect("it was started");
        let mut asked = Vec::new();
        for (at, robot) in self.robots() {
            let told = station.speeds.with(|speeds| speeds.get(&format!("/{}", robot.name)).copied());
            assert_eq!(told, Some(robot.speed.get()), "{}: the last event has the value", robot.name);
            let call = Awaited::new(station.lines[at].parameters.get_one::<i64>("speed"));
            asked.push((robot.speed.get(), call));
        }
        self.run(SECOND);
        for (speed, mut call) in asked {
            assert_eq!(call.poll().map(Result::ok), Some(Some(speed)));
        }
    }

    fn judge_arms(&mut self) {
        let station = self.station.as_ref().expect("it was started");
        let mut asked: Vec<_> = (0..ROBOTS).map(|robot| station.state_of_arm(robot)).collect();
        self.run(SECOND);
        for (at, robot) in self.robots() {
            let state = robot.state_of_arm().unwrap();
            assert_eq!(robot.arm.handle().state(), state, "{}", robot.name);
            let told = asked[at].poll().map(|told| told.unwrap().current_state.id);
            let id = match state {
                State::Unconfigured => 1,
                State::Inactive => 2,
                State::Active => 3,
                _ => 4,
            };
            assert_eq!(told, Some(id), "{}", robot.name);
            let changes = self.truth.with(|truth| truth.changes.get(&robot.boot).copied().unwrap_or_default());
            let called = robot.called.with(|called| called.len());
            // A request whose answer is lost may have had an effect, and one that was refused had none.
            let at_most = changes.asked - changes.refused;
            let is_right = changes.succeeded <= called && called <= at_most;
            assert!(is_right, "{}: {called} transitions, not {} to {at_most}", robot.name, changes.succeeded);
        }
    }

    fn judge_graph(&self) {
        let station = self.station.as_ref().expect("it was started");
        let mut expected: BTreeSet<String> = self.names.iter().map(|name| format!("/{name}")).collect();
        expected.extend(self.names.iter().map(|name| format!("/{name}/arm")));
        expected.insert("/station".to_owned());
        let expected: Vec<String> = expected.into_iter().collect();
        let nodes = self.robots().map(|(_, robot)| &robot.node).chain([&station.node]);
        for node in nodes {
            assert_eq!(node.node_names(), expected, "as {} sees it", node.name());
            assert_eq!(node.count_subscriptions("/mission").unwrap(), ROBOTS);
            for name in &self.names {
                let servers = ["double", "drive/_action/get_result", "arm/change_state", "set_parameters"];
                for service in servers.map(|service| format!("/{name}/{service}")) {
                    assert_eq!(node.count_servers(&service).unwrap(), 1, "{service}, as {} sees it", node.name());
                    assert_eq!(node.count_clients(&service).unwrap(), 1, "{service}, as {} sees it", node.name());
                }
                for topic in ["odom", "scan", "map"].map(|topic| format!("/{name}/{topic}")) {
                    let ends = (node.count_publishers(&topic).unwrap(), node.count_subscriptions(&topic).unwrap());
                    assert_eq!(ends, (1, 1), "{topic}, as {} sees it", node.name());
                }
            }
        }
        assert_eq!(station.mission.matches(), ROBOTS);
        assert_eq!(station.watch.changes.missed(), 0);
        let followed = station.watch.graph.with(|followed| followed.clone());
        for (name, count) in followed {
            let is_node = expected.contains(&name);
            let found = match name.split_once(' ') {
                Some(("Server", service)) => station.node.count_servers(service).unwrap(),
                Some(("Client", service)) => station.node.count_clients(service).unwrap(),
                Some(("Publisher", topic)) => station.node.count_publishers(topic).unwrap(),
                Some((_, topic)) => station.node.count_subscriptions(topic).unwrap(),
                None => usize::from(is_node),
            };
            // What was there before the station began to follow is not told.
            let before = if name.contains("/station") || name.contains("/rosout") { 1 } else { 0 };
            let is_right = (found as i64 - before..=found as i64).contains(&count);
            assert!(is_right, "{count} of {name} came and did not go, and {found} are there");
        }
    }

    /// Checks that each sample has one fate, and that the network remembers nothing of what has ended.
    fn judge_network(&mut self) {
        // A server that forgets a goal in this very moment says so.
        if self.network.waiting() > 0 {
            self.run(10 * MS);
        }
        let counts = self.network.counts();
        let NetworkCounts { sent, delivered, lost, overtaken, displaced, unmatched, .. } = counts;
        assert_eq!(self.network.waiting(), 0, "{counts:?}");
        assert_eq!(sent, delivered + lost + overtaken + displaced + unmatched, "{counts:?}");
        assert_eq!(self.network.size().0, ROBOTS + 1);
        self.truth.with(|truth| {
            let size = self.network.size().1;
            let before = *truth.size.get_or_insert(size);
            assert_eq!(size, before, "the network has as many ends as before");
        });
    }

    /// Forgets what is known to be right, so that memory does not grow with the days.
    fn forget(&mut self) {
        self.truth.with(|truth| {
            truth.effects.clear();
            truth.goals.clear();
            truth.orders.clear();
            let live = truth.boots.clone();
            truth.changes.retain(|boot, _| live.contains(boot));
            truth.speeds.retain(|boot, _| live.contains(boot));
        });
        self.station.as_mut().expect("it was started").sent.clear();
    }
}
