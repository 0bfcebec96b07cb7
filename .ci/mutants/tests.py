"""Looks which mistakes of a list the tests find: for each mistake the tests of its crate and of those that depend on it.

    tests.py COPY LIST [NAME]          COPY is a copy of the sources; prints a table, and exits with 1 if one is not found
    tests.py --own COPY LIST [NAME]    by the tests of the mistake's own crate alone

A mistake is found by the first test that fails with it, alone, too, and passes without it, or by a test program that does not
end.
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import inject

# The packages whose tests look for mistakes of a crate, in this order.
WATCHERS = {
    "core": ["rospin-core", "rospin-testkit", "rospin-engine", "rospin-sim"],
    "engine": ["rospin-engine", "rospin-testkit", "rospin-node"],
    "node": ["rospin-node", "rospin-testkit"],
    "trace": ["rospin-trace"],
    "analysis": ["rospin-analysis"],
    "sim": ["rospin-sim"],
    "scenario": ["rospin-scenario", "rospin-sim"],
}
# The longest time that a test program may take without a mistake. On a busy machine, that of the analysis took over 900 s.
LIMIT_S = 3600
FAILS = re.compile(r"^test (\S+) (?:- should panic )?\.\.\. FAILED")

# A test program: the folder of its package, its name, and the file.
Program = collections.namedtuple("Program", "folder name path")


def build(copy, packages):
    """Builds the test programs of packages. Returns them by package."""
    arguments = [argument for package in packages for argument in ("-p", package)]
    command = ["cargo", "test", "--no-run", "--all-features", *arguments, "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=copy, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit("the sources do not compile with the mistakes")
    programs = collections.defaultdict(list)
    for line in built.stdout.splitlines():
        made = json.loads(line)
        if made.get("executable") and made["profile"]["test"]:
            manifest = pathlib.Path(made["manifest_path"])
            package = re.search(r'^name = "(.*)"', manifest.read_text(), re.MULTILINE)[1]
            program = Program(manifest.parent, made["target"]["name"], made["executable"])
            # Unit tests first: they take the least time.
            at = 0 if "lib" in made["target"]["kind"] else len(programs[package])
            programs[package].insert(at, program)
    return programs


def run(program, mutant, limit_s, arguments=()):
    """Runs a test program until a test fails. Returns that test; None if none fails."""
    environment = os.environ | {"ROSPIN_MUTANT": mutant, "CARGO_MANIFEST_DIR": str(program.folder)}
    process = subprocess.Popen(
        [program.path, *arguments], cwd=program.folder, env=environment, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )
    is_late = threading.Event()

    def end():
        is_late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(limit_s, end)
    timer.start()
    failed = None
    for line in process.stdout:
        if done := FAILS.match(line):
            failed = done[1]
            break
    timer.cancel()
    if failed:
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    if not failed and is_late.is_set():
        failed = "(does not end)"
    elif not failed and status != 0:
        failed = "(the program ends)"
    return failed


class Hunt:
    """The test programs, with what is known of them without a mistake."""

    def __init__(self, programs):
        self.programs = programs
        # How long a program takes, and which of its tests fail without any mistake.
        self.known = {}

    def known_of(self, program):
        """Runs the program without a mistake, unless that was done."""
        if program.path not in self.known:
            begin, skipped = time.monotonic(), []
            while True:
                failed = run(program, "", LIMIT_S, skip(skipped))
                if failed is None:
                    break
                if failed in skipped or failed.startswith("("):
                    sys.exit(f"{program.name} {failed} without any mistake")
                print(f"left out, because it fails without any mistake: {program.name} {failed}", flush=True)
                skipped.append(failed)
            self.known[program.path] = (time.monotonic() - begin, skipped)
        return self.known[program.path]

    def find(self, mistake):
        """Returns the test that finds the mistake; None if none does."""
        for package in WATCHERS[mistake["file"].split("/")[0]]:
            for program in self.programs[package]:
                takes_s, skipped = self.known_of(program)
                unsteady = []
                while failed := run(program, mistake["name"], 60 + 5 * takes_s, skip(skipped + unsteady)):
                    # A test that fails now and then has found nothing.
                    alone = [failed, "--exact"]
                    if failed.startswith("(") or run(program, mistake["name"], 300, alone) and not run(program, "", 300, alone):
                        return f"{package.removeprefix('rospin-')} {program.name}: {failed}"
                    unsteady.append(failed)
        return None


def skip(tests):
    """Returns arguments that leave out tests."""
    return [argument for test in tests for argument in ("--skip", test)]


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--own":
        arguments.pop(0)
        for crate, watchers in WATCHERS.items():
            WATCHERS[crate] = watchers[:1]
    copy, mistakes = pathlib.Path(arguments[0]), inject.read(arguments[1])
    inject.inject(copy, mistakes)
    if len(arguments) > 2:
        mistakes = [mistake for mistake in mistakes if mistake["name"] in arguments[2:]]
    packages = sorted({package for mistake in mistakes for package in WATCHERS[mistake["file"].split("/")[0]]})
    hunt = Hunt(build(copy, packages))
    first = {mistake["name"]: mistake for mistake in reversed(mistakes)}
    missing = 0
    for name, mistake in reversed(first.items()):
        begin = time.monotonic()
        found = hunt.find(mistake)
        missing += found is None
        print(f"{name:<44} {time.monotonic() - begin:5.0f} s  {found or 'NOT FOUND'}", flush=True)
    print(f"{len(first) - missing} of {len(first)} found")
    sys.exit(missing > 0)


if __name__ == "__main__":
    main()
