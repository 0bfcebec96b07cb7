//! The matchings against recordings of ROS's own, against a naive search, and against rules.

use std::collections::BTreeSet;

use super::{Approximate, Exact, Limits, Matching, Set};

/// Sets that ROS 2's C++ `message_filters` found, version 7.1.11 of the distribution Kilted: 300 random streams of 60
/// messages. A small program fed each stream to the `ApproximateTime` or the `ExactTime` policy, without subscriptions,
/// and wrote down each call of the callback. A line has three parts:
///
/// - the policy, the number of inputs, the queue size, and the unit of all times in nanoseconds; for approximate time,
///   also the age penalty, the longest interval (-1 for no limit), and the lower bounds;
/// - the messages in the order of their arrival: the letter of the input, and the time since the input's message
///   before;
/// - the sets: the number of the message that decided it, and the places of its messages among those of their inputs.
///
/// The environment variable `MESSAGE_FILTERS_RECORDING` names another file in place of this one.
const RECORDING: &str = include_str!("../../../../tests/data/message_filters.txt");

/// A matching whose messages are their places among those of their input.
type Matched = Box<dyn Matching<usize>>;

/// A deterministic sequence of numbers (`splitmix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least + 1) as u64) as i64
    }
}

/// Feeds messages (input and stamp) to a matching. Returns the complete sets, each with the number of the message that
/// decided it, and the number of messages in incomplete ones.
fn play(matching: &mut Matched, inputs: usize, messages: &[(usize, i64)]) -> (Vec<(usize, Vec<usize>)>, usize) {
    let mut sets = Vec::new();
    let mut dropped = 0;
    let mut counts = vec![0; inputs];
    let mut decided: Vec<Set<usize>> = Vec::new();
    for (number, (input, stamp)) in messages.iter().enumerate() {
        matching.add(*input, *stamp, counts[*input], &mut decided);
        counts[*input] += 1;
        for set in decided.drain(..) {
            match set.iter().copied().collect::<Option<Vec<_>>>() {
                Some(set) => sets.push((number, set)),
                None => dropped += set.iter().flatten().count(),
            }
        }
    }
    assert_eq!(sets.len() * inputs + dropped + matching.held(), messages.len(), "each message is in one set, or held");
    (sets, dropped)
}

#[test]
fn sets_are_those_of_ros() {
    let other =
        std::env::var_os("MESSAGE_FILTERS_RECORDING").map(|path| std::fs::read_to_string(path).expect("a file"));
    let mut streams = 0;
    let mut count = 0;
    for (number, line) in other.as_deref().unwrap_or(RECORDING).lines().enumerate() {
        let parts: Vec<_> = line.split('|').collect();
        let [head, messages, expected] = parts[..] else { panic!("line {number}: three parts") };
        let head: Vec<_> = head.split_whitespace().collect();
        let int = |text: &str| text.parse::<i64>().unwrap_or_else(|_| panic!("line {number}: a number, not {text}"));
        let inputs = int(head[1]) as usize;
        let queue_size = int(head[2]) as usize;
        let unit = int(head[3]);
        let mut matching: Matched = if head[0] == "exact" {
            Box::new(Exact::new(inputs, queue_size))
        } else {
            let max_interval_ns = if head[5] == "-1" { i64::MAX } else { int(head[5]) * unit };
            let lower_bounds_ns = head[6].split(',').map(|bound| int(bound) * unit).collect();
            let age_penalty = head[4].parse().expect("a penalty");
            Box::new(Approximate::new(Limits { queue_size, age_penalty, max_interval_ns, lower_bounds_ns }))
        };
        let mut stamps = vec![0; inputs];
        let message = |text: &str| {
            let input = usize::from(text.as_bytes()[0] - b'a');
            stamps[input] += int(&text[1..]) * unit;
            (input, stamps[input])
        };
        let messages: Vec<_> = messages.split_whitespace().map(message).collect();
        let set = |text: &str| {
            let (decided_by, members) = text.split_once(':').expect("a set");
            (int(decided_by) as usize, members.split(',').map(|member| int(member) as usize).collect())
        };
        let expected: Vec<(usize, Vec<usize>)> = expected.split_whitespace().map(set).collect();
        assert_eq!(play(&mut matching, inputs, &messages).0, expected, "line {number}: {line}");
        (streams, count) = (streams + 1, count + expected.len());
    }
    assert!(streams >= 300 && count > 1000, "{streams} streams with {count} sets");
}

/// Returns a stream of messages: input and stamp. The stamps of each input grow. Those of different inputs come in
/// order in about half of the streams.
fn stream(random: &mut Random, inputs: usize, length: usize) -> Vec<(usize, i64)> {
    let periods: Vec<_> = (0..inputs).map(|_| random.between(1, 30)).collect();
    let mut next: Vec<_> = (0..inputs).map(|_| random.between(0, 60)).collect();
    let in_order = random.below(2) == 0;
    let mut message = || {
        let any = random.below(inputs as u64) as usize;
        let input = if in_order { (0..inputs).min_by_key(|input| next[*input]).unwrap_or(any) } else { any };
        let stamp = next[input];
        next[input] += periods[input] + random.between(0, periods[input]);
        (input, stamp)
    };
    (0..length).map(|_| message()).collect()
}

fn unlimited(inputs: usize, age_penalty: f64) -> Limits {
    Limits { queue_size: usize::MAX, age_penalty, max_interval_ns: i64::MAX, lower_bounds_ns: vec![0; inputs] }
}

/// Stamps and their inputs, in the order in which the search looks at them.
type Keys = Vec<(i64, usize)>;

/// Returns the sets that ROS's published rules for approximate time ask for, of streams that are known as a whole.
///
/// Contiguous: the next set contains the pivot, that is, the latest of the oldest messages that are left. A set without
/// the pivot would leave out messages that form a set before it. Optimal: of all sets that contain the pivot (each of
/// them is tried), it is the one whose end, with the penalty, minus its start is least. Of sets that are equally good,
/// it is the first. Sets do not cross: all messages that are older than those of a set are left out.
fn naive(limits: &Limits, streams: &[Vec<i64>]) -> Vec<Vec<usize>> {
    let mut left: Vec<_> = streams.iter().map(|_| 0).collect();
    let mut sets = Vec::new();
    while left.iter().zip(streams).all(|(first, stream)| *first < stream.len()) {
        let key = |input: usize, place: usize| (streams[input][place], input);
        let heads = || left.iter().enumerate().map(|(input, first)| key(input, *first));
        let ((start, earliest), (end, pivot)) = (heads().min().expect("inputs"), heads().max().expect("inputs"));
        if end - start > limits.max_interval_ns {
            left[earliest] += 1;
            continue;
        }
        let mut best: Option<(f64, Keys, Vec<usize>)> = None;
        each_choice(&left, streams, &mut Vec::new(), &mut |set| {
            if set[pivot] != left[pivot] {
                return;
            }
            let mut keys: Vec<_> = set.iter().enumerate().map(|(input, place)| key(input, *place)).collect();
            keys.sort_unstable();
            let span = (1.0 + limits.age_penalty) * (keys[keys.len() - 1].0 - end) as f64 - (keys[0].0 - start) as f64;
            let is_better = best.as_ref().is_none_or(|(least, of, _)| span < *least || span == *least && keys < *of);
            if is_better {
                best = Some((span, keys, set.to_vec()));
            }
        });
        let (_, _, set) = best.expect("at least the oldest messages");
        left = set.iter().map(|place| place + 1).collect();
        sets.push(set);
    }
    sets
}

/// Calls `f` with every choice of one message of each input from those that are left.
fn each_choice(left: &[usize], streams: &[Vec<i64>], chosen: &mut Vec<usize>, f: &mut dyn FnMut(&[usize])) {
    let input = chosen.len();
    if input == left.len() {
        return f(chosen);
    }
    for place in left[input]..streams[input].len() {
        chosen.push(place);
        each_choice(left, streams, chosen, f);
        chosen.pop();
    }
}

#[test]
fn sets_are_contiguous_do_not_cross_and_have_the_least_span() {
    let mut random = Random(1);
    let mut compared = 0;
    for round in 0..4000 {
        let inputs = random.between(2, 4) as usize;
        let messages = stream(&mut random, inputs, [0, 0, 30, 24, 20][inputs]);
        // Penalties that a float has exactly, so that the naive sums are exact, too.
        let mut limits = unlimited(inputs, [0.0, 0.125, 0.5, 2.0][random.below(4) as usize]);
        if random.below(3) == 0 {
            limits.max_interval_ns = random.between(0, 30);
        }
        let mut streams = vec![Vec::new(); inputs];
        for (input, stamp) in &messages {
            streams[*input].push(*stamp);
        }
        let mut matching: Matched = Box::new(Approximate::new(limits.clone()));
        let (sets, _) = play(&mut matching, inputs, &messages);
        let sets: Vec<_> = sets.into_iter().map(|(_, set)| set).collect();
        let expected = naive(&limits, &streams);
        // The last sets may still wait for the proof that nothing better comes.
        assert_eq!(sets[..], expected[..sets.len().min(expected.len())], "round {round}: {limits:?} {messages:?}");
        compared += sets.len();
    }
    assert!(compared > 8000, "only {compared} sets");
}

#[test]
fn sets_depend_on_stamps_alone_and_lower_bounds_only_decide_them_earlier() {
    let mut random = Random(2);
    for _ in 0..2000 {
        let inputs = random.between(2, 6) as usize;
        let messages = stream(&mut random, inputs, 80);
        let limits = unlimited(inputs, 0.1);
        let mut plain: Matched = Box::new(Approximate::new(limits.clone()));
        let (sets, _) = play(&mut plain, inputs, &messages);

        let mut shuffled = messages.clone();
        shuffled.sort_by_key(|(input, stamp)| (stamp / 40 + *input as i64 * 3, *input, *stamp));
        let mut of_shuffled: Matched = Box::new(Approximate::new(limits.clone()));
        let (other, _) = play(&mut of_shuffled, inputs, &shuffled);
        let only = |sets: &[(usize, Vec<usize>)]| sets.iter().map(|(_, set)| set.clone()).collect::<Vec<_>>();
        // Which of the last sets are decided already, without the messages that would follow, does depend on the order.
        let common = sets.len().min(other.len());
        assert!(common + inputs >= sets.len().max(other.len()));
        assert_eq!(only(&other)[..common], only(&sets)[..common], "the order of arrival matters");

        let gap = |input: usize| {
            let stamps: Vec<_> = messages.iter().filter(|(of, _)| *of == input).map(|(_, stamp)| *stamp).collect();
            stamps.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0)
        };
        let bounded = Limits { lower_bounds_ns: (0..inputs).map(gap).collect(), ..limits };
        let mut matching: Matched = Box::new(Approximate::new(bounded));
        let (early, _) = play(&mut matching, inputs, &messages);
        assert_eq!(only(&early)[..sets.len()], only(&sets)[..]);
        assert!(early.iter().zip(&sets).all(|((early, _), (plain, _))| early <= plain));
    }
}

/// Inputs with similar periods, whose stamps jitter. The book states this rule, too, where it is about lower bounds.
#[test]
fn a_lower_bound_of_twice_the_span_decides_a_set_with_its_last_message() {
    let mut random = Random(5);
    for _ in 0..500 {
        let inputs = random.between(2, 5) as usize;
        let messages: Vec<_> = (0..20)
            .flat_map(|round| {
                let mut round: Vec<_> =
                    (0..inputs).map(|input| (input, 1000 * round + random.between(0, 200))).collect();
                round.sort_by_key(|(_, stamp)| *stamp);
                round
            })
            .collect();
        let bounded = Limits { lower_bounds_ns: vec![400; inputs], ..unlimited(inputs, 0.0) };
        let mut matching: Matched = Box::new(Approximate::new(bounded));
        let (sets, _) = play(&mut matching, inputs, &messages);
        let in_time: Vec<_> = (0..20).map(|round| ((round + 1) * inputs - 1, vec![round; inputs])).collect();
        assert_eq!(sets, in_time);
    }
}

/// One slow and one fast input. A set waits for the next message of the fast one at most, as the book says where it is
/// about system files.
#[test]
fn with_a_fast_input_a_set_waits_for_no_message_of_the_slow_one() {
    let mut random = Random(6);
    for _ in 0..500 {
        let mut slow = random.between(0, 1000);
        let mut fast = 0;
        let mut messages = Vec::new();
        for _ in 0..30 {
            while fast <= slow {
                messages.push((1, fast));
                fast += random.between(100, 400);
            }
            messages.push((0, slow));
            slow += random.between(800, 1200);
        }
        let mut matching: Matched = Box::new(Approximate::new(unlimited(2, 0.1)));
        let (sets, _) = play(&mut matching, 2, &messages);
        assert!(sets.len() >= 29, "one for each message of the slow input, but perhaps for the last: {sets:?}");
        for (number, set) in sets {
            let of_slow = messages.iter().enumerate().filter(|(_, (input, _))| *input == 0).nth(set[0]);
            // The next message is one of the fast input. If the stamps of a set are equal, it is decided without that.
            assert!(of_slow.is_some_and(|(place, _)| number <= place + 1), "{set:?} is decided by {number}");
        }
    }
}

#[test]
fn a_small_queue_loses_messages_and_nothing_else() {
    let mut random = Random(3);
    for _ in 0..2000 {
        let inputs = random.between(2, 5) as usize;
        let messages = stream(&mut random, inputs, 100);
        let limits = Limits { queue_size: random.between(1, 6) as usize, ..unlimited(inputs, 0.1) };
        let queue_size = limits.queue_size;
        let mut matching: Matched = Box::new(Approximate::new(limits));
        let (sets, _) = play(&mut matching, inputs, &messages);
        assert!(matching.held() <= inputs * queue_size);
        for pair in sets.windows(2) {
            assert!(pair[0].1.iter().zip(&pair[1].1).all(|(one, next)| one < next), "sets cross: {pair:?}");
        }
        let mut decided = Vec::new();
        let held = matching.held();
        matching.clear(&mut decided);
        assert_eq!((decided.iter().flatten().flatten().count(), matching.held()), (held, 0));
    }
}

#[test]
fn stamps_out_of_order_and_extreme_ones_lose_messages_and_nothing_else() {
    let mut random = Random(4);
    let extremes = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    for _ in 0..2000 {
        let inputs = random.between(2, 4) as usize;
        let mut message = || {
            let stamp = if random.below(2) == 0 { random.between(-9, 9) } else { extremes[random.below(7) as usize] };
            (random.below(inputs as u64) as usize, stamp)
        };
        let messages: Vec<_> = (0..60).map(|_| message()).collect();
        let lower_bounds_ns = vec![i64::MAX; inputs];
        let limits = Limits { queue_size: 4, age_penalty: f64::INFINITY, max_interval_ns: i64::MAX, lower_bounds_ns };
        for mut matching in [Box::new(Approximate::new(limits)) as Matched, Box::new(Exact::new(inputs, 4))] {
            // `play` checks that each message is in one set, or held.
            play(&mut matching, inputs, &messages);
        }
    }
}

/// Random streams, and a queue that suffices. Each set has one stamp, which all inputs have. The inputs are not always
/// in order with each other, so such a stamp may also be left out.
#[test]
fn exact_sets_are_the_stamps_that_all_inputs_have() {
    let mut random = Random(5);
    for _ in 0..1000 {
        let inputs = random.between(2, 6) as usize;
        let messages = stream(&mut random, inputs, 120);
        let mut matching: Matched = Box::new(Exact::new(inputs, usize::MAX));
        let (sets, _) = play(&mut matching, inputs, &messages);
        let of = |input: usize| messages.iter().filter(move |(of, _)| *of == input).map(|(_, stamp)| *stamp);
        let all = (1..inputs).fold(of(0).collect::<BTreeSet<_>>(), |all, input| &all & &of(input).collect());
        // A set whose last message arrives after a later set was complete is dropped with that later set.
        assert!(sets.len() <= all.len());
        for (_, set) in &sets {
            let stamps: BTreeSet<_> = set.iter().enumerate().map(|(input, place)| of(input).nth(*place)).collect();
            assert!(stamps.len() == 1 && all.contains(&stamps.first().unwrap().unwrap()));
        }
    }
}
