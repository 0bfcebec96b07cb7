#!/usr/bin/env python3
"""Weakens every memory ordering of the lock-free pieces, one at a time, and looks which model of crates/engine/tests/loom.rs fails.

    .ci/orderings.py              all of them; prints a table
    .ci/orderings.py ring.rs      those of some files

An ordering that no model needs is either too strong, or a model is missing. Needs Python 3.11. Takes some minutes. In the copy of
the sources, each ordering and each fence asks the environment variable ROSPIN_WEAK, so that it is built once.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "mutants"))
sys.dont_write_bytecode = True
import inject

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENGINE = pathlib.Path("crates/engine")
# What each ordering is weakened to. Where the former does without one half, it may do without the other one, too.
WEAKER = {"Acquire": ["Relaxed"], "Release": ["Relaxed"], "AcqRel": ["Acquire", "Release"], "fence": ["none"]}
SITE = re.compile(r"\b(?:fence\(Ordering::SeqCst\)|fence_after_read_modify_write\(\)|Ordering::(?:Acquire|Release|AcqRel))")

# Added to the models' atomics.
ASKS = """
/// The ordering that is weakened, and what it is weakened to.
fn weakened() -> (u32, &'static str) {
    static WEAKENED: std::sync::OnceLock<(u32, String)> = std::sync::OnceLock::new();
    let (number, ordering) = WEAKENED.get_or_init(|| {
        let text = std::env::var("ROSPIN_WEAK").unwrap_or_default();
        let (number, ordering) = text.split_once(' ').unwrap_or(("0", ""));
        (number.parse().unwrap(), ordering.to_owned())
    });
    (*number, ordering)
}

pub(crate) fn weak(number: u32, ordering: Ordering) -> Ordering {
    match weakened() {
        (weak, "Relaxed") if weak == number => Ordering::Relaxed,
        (weak, "Acquire") if weak == number => Ordering::Acquire,
        (weak, "Release") if weak == number => Ordering::Release,
        _ => ordering,
    }
}

pub(crate) fn weak_fence(number: u32) {
    if weakened().0 != number {
        fence(Ordering::SeqCst);
    }
}
"""


def files():
    """Returns the files whose orderings are weakened: those that the models compile."""
    models = (ROOT / ENGINE / "tests/loom.rs").read_text()
    beside = [ENGINE / "src" / path for path in re.findall(r'#\[path = "\.\./src/(.*)"\]', models)]
    pieces = sorted((ROOT / ENGINE / "src/lock_free").glob("*.rs"))
    pieces = [piece.relative_to(ROOT) for piece in pieces if piece.name not in ("mod.rs", "stress.rs", "sync.rs")]
    return pieces + [path for path in beside if path.name != "mod.rs"]


def weaken(copy, file, sites):
    """Has all orderings of the file ask which one is weakened, and adds them to the sites."""
    path = copy / file
    text = path.read_text()
    code = inject.NO_CODE.sub(lambda found: " " * len(found[0]), text)
    out, end = [], 0
    for found in SITE.finditer(code):
        number = len(sites) + 1
        line = text.count("\n", 0, found.start()) + 1
        is_fence = found[0].startswith("fence")
        ordering = "fence" if is_fence else found[0].removeprefix("Ordering::")
        sites.append((number, file, line, ordering))
        asks = f"weak_fence({number})" if is_fence else f"weak({number}, {found[0]})"
        out += [text[end : found.start()], "crate::lock_free::sync::", asks]
        end = found.end()
    path.write_text("".join(out) + text[end:])


def build(copy):
    """Builds the models. Returns the program."""
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    environment = os.environ | {"CARGO_TARGET_DIR": f"{target}/loom", "RUSTFLAGS": "--cfg rospin_loom"}
    command = "cargo test -p rospin-engine --no-default-features --release --test loom --no-run".split()
    command.append("--message-format=json-render-diagnostics")
    built = subprocess.run(command, cwd=copy, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    made = [json.loads(line) for line in built.stdout.splitlines()]
    return [part["executable"] for part in made if part.get("executable")][-1]


def models(program):
    """Returns the models, and for each piece the modules of models that use it."""
    listed = subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    uses = {}
    for file in sorted((ROOT / ENGINE / "tests/loom").glob("*.rs")):
        text = file.read_text()
        uses[file.stem] = set(re.findall(r"super::(?:lock_free::)?(\w+)", text)) | {file.stem}
    # The ring's mute is a piece of its own.
    for used in uses.values():
        if "ring" in used:
            used.add("mute")
        if "parking" in used:
            used.add("parker")
    return [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")], uses


def fails(program, weak, model):
    """Returns true if the model fails, or does not end, with the weaker ordering."""
    environment = os.environ | {"ROSPIN_WEAK": weak}
    # With 3, as in .ci/loom.sh, it takes an hour.
    environment.setdefault("LOOM_MAX_PREEMPTIONS", "2")
    try:
        ran = subprocess.run([program, "--exact", model], env=environment, capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode != 0


def look(program, all_models, uses, weak, file):
    """Returns the first model that fails with the weaker ordering; None if none does."""
    piece = file.stem
    ours = [model for model in all_models if piece in uses[model.split("::")[0]]]
    # Those of the piece alone take the least time.
    ours.sort(key=lambda model: len(uses[model.split("::")[0]]))
    for model in ours:
        if fails(program, weak, model):
            return model
    return None


def main():
    only = sys.argv[1:]
    copy = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "orderings"
    shutil.rmtree(copy, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if name.startswith(("Cargo", "README", ".ci/union", "crates", "examples", "lab")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    sites = []
    for file in files():
        weaken(copy, file, sites)
    sync = copy / ENGINE / "src/lock_free/sync.rs"
    sync.write_text(sync.read_text() + ASKS)
    program = build(copy)
    all_models, uses = models(program)
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, file, line, ordering in sites:
            if not only or file.name in only:
                for weaker in WEAKER[ordering]:
                    job = pool.submit(look, program, all_models, uses, f"{number} {weaker}", file)
                    jobs.append((f"{file.name}:{line}", f"{ordering} -> {weaker}", job))
        needed = 0
        for place, change, job in jobs:
            found = job.result()
            needed += found is not None
            print(f"{place:<18} {change:<20} {found or 'NO MODEL NEEDS IT'}", flush=True)
    print(f"{needed} of {len(jobs)} are needed by a model")


if __name__ == "__main__":
    main()
