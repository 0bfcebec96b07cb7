"""The nodes `theirs` and `managed`, which serve everything."""

import asyncio
from types import SimpleNamespace as new

import interfaces as ros
from node import Node, spawn

# Orders of goals: one that is executed until it is canceled, and one whose cancellation is refused.
ENDLESS, STUBBORN = 40, 41
ACCEPTED, EXECUTING, CANCELING, SUCCEEDED, CANCELED = 1, 2, 3, 4, 5
# Answers to a request to cancel.
NO_ERROR, UNKNOWN_GOAL, GOAL_TERMINATED = 0, 2, 3
# Numbers of types of parameters and fields.
INTEGER, TEXT = 2, 4
STRING_FIELD = 17


def serve(middleware):
    """Creates the nodes. Their names are those of `rclpy_peer.py`."""
    node, managed = Node(middleware, "theirs"), Node(middleware, "managed")
    topics(node)
    node.server("set", ros.SetBool, lambda request: new(success=request.data, message="done"))
    text = lambda name: new(type=TEXT, string_value=name)
    node.server("echo", ros.GetParameters, lambda request: new(values=[text(name) for name in request.names]))
    ActionServer(node)
    parameters(node, {"speed": 1})
    descriptions(node)
    lifecycle(managed)


def topics(node):
    latched, _ = node.publisher("latched", ros.String, latched=True)
    latched(data="theirs")
    out, _ = node.publisher("out", ros.String)
    node.subscription("in", ros.String, lambda message: out(data=message.data))


class ActionServer:
    """Computes the first Fibonacci numbers, one every 20 ms."""

    def __init__(self, node):
        self.goals = {}
        node.server("fibonacci/_action/send_goal", ros.SendGoal, self.send_goal)
        node.server("fibonacci/_action/cancel_goal", ros.CancelGoal, self.cancel_goal)
        node.server("fibonacci/_action/get_result", ros.GetResult, self.get_result)
        self.feedback, _ = node.publisher("fibonacci/_action/feedback", ros.FeedbackMessage)
        self.status, _ = node.publisher("fibonacci/_action/status", ros.GoalStatusArray, latched=True)

    def enter(self, goal, state):
        goal.state = state
        entry = lambda goal: new(goal_info=new(goal_id=goal.id), status=goal.state)
        self.status(status_list=[entry(goal) for goal in self.goals.values()])

    def send_goal(self, request):
        if request.order < 0:
            return new(accepted=False)
        goal = new(id=request.goal_id, order=request.order, state=ACCEPTED, numbers=[0, 1], has_ended=asyncio.Event())
        self.goals[goal.id] = goal
        self.enter(goal, ACCEPTED)
        spawn(self.execute(goal))
        return new(accepted=True)

    async def execute(self, goal):
        self.enter(goal, EXECUTING)
        while goal.state == EXECUTING and len(goal.numbers) <= goal.order:
            goal.numbers.append(sum(goal.numbers[-2:]) % 1000)
            self.feedback(goal_id=goal.id, sequence=goal.numbers)
            await asyncio.sleep(0.02)
            while goal.order == ENDLESS and goal.state == EXECUTING:
                await asyncio.sleep(0.02)
        self.enter(goal, CANCELED if goal.state == CANCELING else SUCCEEDED)
        goal.has_ended.set()

    def cancel_goal(self, request):
        goal = self.goals.get(request.goal_info.goal_id)
        if goal is None:
            return new(return_code=UNKNOWN_GOAL)
        if goal.has_ended.is_set():
            return new(return_code=GOAL_TERMINATED)
        if goal.order == STUBBORN:
            # rclpy refuses by an empty list.
            return new(return_code=NO_ERROR, goals_canceling=[])
        self.enter(goal, CANCELING)
        return new(return_code=NO_ERROR, goals_canceling=[request.goal_info])

    async def get_result(self, request):
        goal = self.goals.get(request.goal_id)
        if goal is None:
            return new(status=0)
        await goal.has_ended.wait()
        return new(status=goal.state, sequence=goal.numbers)


def parameters(node, values):
    """Serves parameters, all of which are integers."""
    value = lambda name: new(type=INTEGER, integer_value=values[name]) if name in values else new()

    def set_one(parameter):
        if parameter.name not in values or parameter.value.type != INTEGER:
            return new(successful=False, reason=f"{parameter.name} is no integer here")
        values[parameter.name] = parameter.value.integer_value
        return new(successful=True)

    def set_all(request):
        before = dict(values)
        failed = [result for result in map(set_one, request.parameters) if not result.successful]
        if failed:
            values.update(before)
        return new(result=failed[0] if failed else new(successful=True))

    describe = lambda name: new(name=name, type=INTEGER)
    services = [
        ("list_parameters", ros.ListParameters, lambda _: new(result=new(names=list(values)))),
        ("get_parameters", ros.GetParameters, lambda asked: new(values=list(map(value, asked.names)))),
        ("get_parameter_types", ros.GetParameterTypes, lambda asked: new(types=[INTEGER for _ in asked.names])),
        ("describe_parameters", ros.DescribeParameters, lambda asked: new(descriptors=list(map(describe, asked.names)))),
        ("set_parameters", ros.SetParameters, lambda asked: new(results=list(map(set_one, asked.parameters)))),
        ("set_parameters_atomically", ros.SetParametersAtomically, set_all),
    ]
    for name, service, answer in services:
        node.server(f"theirs/{name}", service, answer)


def descriptions(node):
    field = new(name="data", type=new(type_id=STRING_FIELD))
    text = new(type_description=new(type_name=ros.String.name, fields=[field]))

    def describe(request):
        if (request.type_name, request.type_hash) != (ros.String.name, ros.String.hash):
            return new(successful=False, failure_reason=f"{request.type_name} is unknown")
        return new(successful=True, type_description=text)

    node.server("theirs/get_type_description", ros.GetTypeDescription, describe)


def lifecycle(node):
    """Serves a managed node that can be configured."""
    state = new(id=1, label="unconfigured")

    def change(request):
        may = state.label == "unconfigured" and (request.transition.id == 1 or request.transition.label == "configure")
        if may:
            state.id, state.label = 2, "inactive"
        return new(success=may)

    node.server("managed/get_state", ros.GetState, lambda _: new(current_state=state))
    node.server("managed/change_state", ros.ChangeState, change)
