#!/usr/bin/env python3
"""Injects the bugs of crates/engine/tests/explore/mutants.toml into a copy of the sources, each behind its name.

    mutants.py FOLDER    changes the crates below FOLDER/crates, and prints the names of the bugs

A bug is active if the environment variable ROSPIN_MUTANT has its name.
"""

import pathlib
import sys
import tomllib

SWITCH = '''
/// True if the bug of that name is active.
#[allow(dead_code)]
pub(crate) fn mutant(name: &str) -> bool {
    static NAME: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    NAME.get_or_init(|| std::env::var("ROSPIN_MUTANT").unwrap_or_default()) == name
}
'''


def place(text, find):
    """Returns start and end of the place in the text where the bug is injected."""
    before, mark, rest = find.partition("«")
    inner, _, after = rest.partition("»") if mark else (before, "", "")
    before = before if mark else ""
    whole = before + inner + after
    if text.count(whole) != 1:
        sys.exit(f"occurs {text.count(whole)} times: {whole}")
    start = text.index(whole) + len(before)
    return start, start + len(inner)


def mutated(original, mistakes):
    """Returns the code of a place with all of its bugs, each behind its name."""
    is_statement = original.rstrip().endswith((";", "}"))
    code = original
    for mistake in mistakes:
        switch = f'crate::mutant("{mistake["name"]}")'
        if "insert" in mistake:
            code = f'if {switch} {{ {mistake["insert"]} }}\n{code}'
        else:
            code = f'if {switch} {{ {mistake["replace"]} }} else {{ {code} }}'
    return code if is_statement or "insert" in mistakes[-1] else f"({code})"


def main():
    folder = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).resolve().parent.parent
    mistakes = tomllib.loads((here / "crates/engine/tests/explore/mutants.toml").read_text())["mutant"]
    files = {mistake["file"] for mistake in mistakes}
    for file in sorted(files):
        path = folder / "crates" / file
        text = path.read_text()
        places = {}
        for mistake in (mistake for mistake in mistakes if mistake["file"] == file):
            places.setdefault(place(text, mistake["find"]), []).append(mistake)
        # From the end, so that earlier places keep their offsets.
        for (start, end), there in sorted(places.items(), reverse=True):
            text = text[:start] + mutated(text[start:end], there) + text[end:]
        path.write_text(text)
    for crate in {file.split("/")[0] for file in files}:
        library = folder / "crates" / crate / "src/lib.rs"
        library.write_text(library.read_text() + SWITCH)
    for mistake in mistakes:
        print(mistake["name"])


main()
