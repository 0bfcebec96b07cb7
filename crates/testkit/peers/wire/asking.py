"""A node for each part that uses the nodes `ours` and `managed`."""

import asyncio
import os
from types import SimpleNamespace as new

import interfaces as ros
from node import until
from serving import CANCELED, ENDLESS, INTEGER, NO_ERROR, STUBBORN, SUCCEEDED, TEXT

# Lengths of texts that a service repeats. The last ones are sent in fragments.
LENGTHS = (0, 1, 5, 1_000_000, 10_000_000)


async def topic(node):
    heard = []
    publishers = node.subscription("out", ros.String, lambda message: heard.append(message.data))
    publish, subscriptions = node.publisher("in", ros.String)
    await until(lambda: publishers() and subscriptions(), "no match")
    # A match is known to both ends at different moments.
    while not heard:
        publish(data="hello")
        await asyncio.sleep(0.2)
    assert set(heard) == {"hello"}, heard


async def latched(node):
    heard = []
    node.subscription("latched", ros.String, lambda message: heard.append(message.data), latched=True)
    await until(lambda: heard, "nothing is heard")
    assert heard == ["ours"], heard


async def service(node):
    answer = await node.client("set", ros.SetBool)(data=True)
    assert (answer.success, answer.message) == (True, "done"), answer
    echo = node.client("echo", ros.GetParameters)
    for length in LENGTHS:
        name = "x" * length
        answer = await echo(names=[name])
        assert [value.string_value for value in answer.values] == [name], length


class ActionClient:
    def __init__(self, node):
        self.node, self.goals = node, {}
        self.sends = node.client("fibonacci/_action/send_goal", ros.SendGoal)
        self.cancels = node.client("fibonacci/_action/cancel_goal", ros.CancelGoal)
        self.asks = node.client("fibonacci/_action/get_result", ros.GetResult)
        self.publishers = [
            node.subscription("fibonacci/_action/feedback", ros.FeedbackMessage, self.hear_feedback),
            node.subscription("fibonacci/_action/status", ros.GoalStatusArray, self.hear_status, latched=True),
        ]

    def hear_feedback(self, message):
        if message.goal_id in self.goals:
            self.goals[message.goal_id].feedback.append(message.sequence)

    def hear_status(self, message):
        for status in message.status_list:
            if status.goal_info.goal_id in self.goals:
                self.goals[status.goal_info.goal_id].states.append(status.status)

    async def send(self, order):
        """Returns a goal that was accepted, or `None`."""
        await until(lambda: all(count() for count in self.publishers), "no action server")
        goal = new(id=os.urandom(16), feedback=[], states=[])
        self.goals[goal.id] = goal
        answer = await self.sends(goal_id=goal.id, order=order)
        return goal if answer.accepted else None

    async def cancel(self, goal):
        """Returns true if it is accepted."""
        answer = await self.cancels(goal_info=new(goal_id=goal.id))
        canceling = [info.goal_id for info in answer.goals_canceling]
        assert canceling in ([], [goal.id]), answer
        return (answer.return_code, len(canceling)) == (NO_ERROR, 1)

    async def result(self, goal, state):
        """Returns the result of a goal that ends so, once the status tells that, too."""
        answer = await self.asks(goal_id=goal.id)
        assert answer.status == state, answer
        await until(lambda: state in goal.states, f"the states were {goal.states}")
        return answer.sequence


async def action(node):
    client, numbers = ActionClient(node), [0, 1, 1, 2, 3, 5, 8]
    goal = await client.send(6)
    assert await client.result(goal, SUCCEEDED) == numbers
    await until(lambda: numbers in goal.feedback, f"the feedback is {goal.feedback}")
    assert all(partial == numbers[: len(partial)] for partial in goal.feedback), goal.feedback


async def cancel(node):
    client = ActionClient(node)
    goal = await client.send(ENDLESS)
    assert await client.cancel(goal), "the cancellation is refused"
    assert await client.result(goal, CANCELED) in ([0, 1], [0, 1, 1])


async def reject(node):
    client = ActionClient(node)
    assert await client.send(-1) is None, "a goal was accepted"
    goal = await client.send(STUBBORN)
    assert not await client.cancel(goal), "the cancellation is accepted"
    await client.result(goal, SUCCEEDED)


async def parameters(node):
    get = node.client("ours/get_parameters", ros.GetParameters)
    set_all = node.client("ours/set_parameters", ros.SetParameters)

    async def speed():
        return (await get(names=["speed"])).values[0].integer_value

    async def set_speed(**value):
        return (await set_all(parameters=[new(name="speed", value=new(**value))])).results[0].successful

    listed = await node.client("ours/list_parameters", ros.ListParameters)()
    assert "speed" in listed.result.names, listed
    assert await speed() == 1
    assert await set_speed(type=INTEGER, integer_value=7)
    assert await speed() == 7
    assert not await set_speed(type=TEXT, string_value="fast")
    described = await node.client("ours/describe_parameters", ros.DescribeParameters)(names=["speed"])
    assert [(found.name, found.type) for found in described.descriptors] == [("speed", INTEGER)], described


async def lifecycle(node):
    get_state = node.client("managed/get_state", ros.GetState)
    state = await get_state()
    assert state.current_state == new(id=1, label="unconfigured"), state
    answer = await node.client("managed/change_state", ros.ChangeState)(transition=new(id=1, label="configure"))
    assert answer.success, answer
    state = await get_state()
    assert state.current_state == new(id=2, label="inactive"), state


async def description(node):
    told = node.hashes("out", ros.String)
    await until(lambda: ros.String.hash in told(), "no publisher tells its type's hash")
    ask = node.client("ours/get_type_description", ros.GetTypeDescription)
    answer = await ask(type_name=ros.String.name, type_hash=ros.String.hash)
    assert answer.successful, answer.failure_reason
    found = answer.type_description.type_description
    assert (found.type_name, [field.name for field in found.fields]) == (ros.String.name, ["data"]), answer
