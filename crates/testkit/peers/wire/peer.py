"""Nodes that share no code with rospin, and have all parts of nodes of ROS 2: topics, services, actions, parameters, managed nodes,
descriptions of types. A middleware under Python carries bytes; what ROS 2 puts into them, and around them, is written out here:
`over_cyclonedds.py` and `over_zenoh.py` have what differs between middlewares, `cdr.py` and `interfaces.py` the messages, `node.py`
nodes on top of both, `serving.py` and `asking.py` what the nodes do.

Usage: peer.py cyclonedds DOMAIN_ID|zenoh ENDPOINT PART, as in `rclpy_peer.py`. PART is one of:

- serve: nodes `theirs` and `managed`, which serve everything until standard input ends.
- ask PART..: uses these parts of the nodes `ours` and `managed`, and prints a line `PART yes` or `PART no: reason`.
"""

import asyncio
import importlib
import os
import sys
import traceback

import asking
import node
import serving


async def serve(middleware):
    serving.serve(middleware)
    print("serving", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def ask(middleware, *parts):
    for part in parts:
        try:
            asks = getattr(asking, part)(node.Node(middleware, f"asks_{part}"))
            await node.within(asks, part)
            print(f"{part} yes", flush=True)
        except Exception as error:
            reason = traceback.format_exc().strip().splitlines()
            print(f"{part} no: {error!r} {reason[-3:]}", flush=True)


def fail(_, context):
    """Ends the process: what went wrong in a callback is nobody's to catch."""
    error = context.get("exception")
    print(context["message"], "".join(traceback.format_exception(error)) if error else "", flush=True)
    os._exit(1)


async def main(middleware, place, part, *arguments):
    asyncio.get_running_loop().set_exception_handler(fail)
    middleware = importlib.import_module(f"over_{middleware}").Middleware(place)
    node.spawn(middleware.run())
    await {"serve": serve, "ask": ask}[part](middleware, *arguments)
    middleware.close()


asyncio.run(main(*sys.argv[1:]))
