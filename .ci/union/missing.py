#!/usr/bin/env python3
"""Says which dependencies the checks compile more than once because they ask for different features.

Prints nothing if `.ci/union/Cargo.toml` has all of these features, and exits with 1 otherwise.
"""
import collections
import json
import os
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))

UNION = "-p rospin-union"
LAB = "--manifest-path lab/Cargo.toml -p rospin-union-lab"
FEATURES = "robot/zenoh,rospin-union/zenoh,rospin/shared_memory,robot/dds,rospin-cli/dds,rospin-cli/bridge,rospin-union/dds_security"
ROBOT = f"-p rospin -p robot -p rospin-cli {UNION} --features {FEATURES}"
DDS = "--no-default-features --features rospin-union-lab/rospin,rospin-union-lab/dds_security"
# The builds of .ci/check that share the folder `target`.
BUILDS = [
    "test --workspace",
    "build --workspace --bin rospin",
    "doc --workspace --no-deps",
    f"test -p rospin-engine {UNION} --no-default-features --lib --test engine --test no_alloc",
    f"test {ROBOT} --test programs --test network --test shared_memory",
    f"test {LAB} -p rospin-wgpu --no-default-features",
    f"test {LAB} -p rospin-lab -p rospin-synthetic --all-features --features rospin-union-lab/dds_security",
    f"test {LAB} -p rospin-lab -p rospin-synthetic",
    f"test {LAB} -p rospin-zenoh --all-features",
    f"test {LAB} -p rospin-dds -p rospin-local {DDS}",
]


def units_of(build):
    """Yields the dependencies of a build from the registry: what they are for, their version and their features."""
    command = ["cargo", *build.split(), "--unit-graph", "-Z", "unstable-options"]
    # The graph of units is for nightly compilers, and for those that are told to be one.
    told = subprocess.run(command, env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, stdout=subprocess.PIPE, check=True)
    graph = json.loads(told.stdout)
    waiting = [(root, "programs") for root in graph["roots"]]
    seen = set(waiting)
    while waiting:
        number, purpose = waiting.pop()
        unit = graph["units"][number]
        kind = unit["target"]["kind"]
        if kind in (["proc-macro"], ["custom-build"]):
            purpose = "build scripts and macros"
        elif unit["pkg_id"].startswith("registry"):
            yield purpose, unit["pkg_id"].split("#")[1], " ".join(unit["features"])
        for dependency in unit["dependencies"]:
            following = (dependency["index"], purpose)
            if following not in seen:
                seen.add(following)
                waiting.append(following)


features = collections.defaultdict(lambda: collections.defaultdict(set))
for build in BUILDS:
    for purpose, package, asked in units_of(build):
        features[purpose, package][asked].add(build)
is_missing = False
for (purpose, package), sets in sorted(features.items()):
    if len(sets) > 1:
        is_missing = True
        print(f"{package}, for {purpose}:")
        for asked, builds in sets.items():
            print(f"    [{asked}] in {len(builds)} builds, such as `cargo {sorted(builds)[0]}`")
sys.exit(is_missing)
