"""Injects mistakes into a copy of the sources, each behind its name.

A mistake is active if the environment variable ROSPIN_MUTANT has its name. So one build serves all mistakes of a list.

The body of a function that has mistakes stands there several times: once for each mistake, and as it was. A mistake may
therefore be any change of a body's text.
"""

import pathlib
import re
import sys
import tomllib

SWITCH = '''
/// True if the mistake of that name is active.
#[allow(dead_code)]
pub(crate) fn mutant(name: &str) -> bool {
    static NAME: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    NAME.get_or_init(|| std::env::var("ROSPIN_MUTANT").unwrap_or_default()) == name
}
'''

# What is no code: comments, strings, and characters. A lifetime is none of them.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n\']*\\?\'|[^\\\n\'])\'', re.DOTALL
)


def read(*lists):
    """Returns the mistakes of all lists, of which no two have one of the same name."""
    mistakes, names = [], set()
    for path in lists:
        more = tomllib.loads(pathlib.Path(path).read_text())["mutant"]
        new = {mistake["name"] for mistake in more}
        if both := names & new:
            sys.exit(f"{path}: {both} are in another list")
        mistakes, names = mistakes + more, names | new
    return mistakes


def place(text, find):
    """Returns start and end of the place in the text where a mistake is injected."""
    before, mark, rest = find.partition("«")
    inner, _, after = rest.partition("»") if mark else (before, "", "")
    before = before if mark else ""
    whole = before + inner + after
    if text.count(whole) != 1:
        sys.exit(f"occurs {text.count(whole)} times: {whole}")
    start = text.index(whole) + len(before)
    return start, start + len(inner)


def closing(code, start):
    """Returns the place behind the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
    sys.exit("a bracket is never closed")


def functions(text):
    """Returns the functions that are in no other one: places of the keyword, the body's start, and the body's end."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    found, at = [], 0
    while begin := re.compile(r"\bfn\s+\w+").search(code, at):
        at = begin.end()
        while code[at] not in "{;":
            at = closing(code, at) if code[at] in "([" else at + 1
        if code[at] == "{":
            end = closing(code, at)
            found.append((begin.start(), at, end))
            at = end
    return found


def changed(text, start, end, mistake):
    """Returns the text with the mistake in place of what is between start and end."""
    original = text[start:end]
    if "insert" in mistake:
        return text[:start] + f"{{ {mistake['insert']} }}\n" + original + text[end:]
    replacement = mistake["replace"]
    # In place of statements there may be an expression.
    if original.rstrip().endswith((";", "}")) and replacement and not replacement.rstrip().endswith((";", "}")):
        replacement = f"{{ {replacement} }}"
    return text[:start] + replacement + text[end:]


def in_place(code, body, by_name):
    """Returns the code of a body that begins at `body`, with a switch around each expression that has a mistake."""
    edits = [(start, end, name, mistake) for name, edits in by_name.items() for start, end, mistake in edits]
    for start, end, name, mistake in sorted(edits, key=lambda edit: edit[0], reverse=True):
        original = code[start - body : end - body]
        switch = f'(if crate::mutant("{name}") {{ {mistake["replace"]} }} else {{ {original} }})'
        code = code[: start - body] + switch + code[end - body :]
    return code


def mutated(text, mistakes):
    """Returns the text of a file with all of its mistakes, each behind its name."""
    bodies = {}
    for mistake in mistakes:
        start, end = place(text, mistake["find"])
        around = [(keyword, body, last) for keyword, body, last in functions(text) if body < start and end < last]
        if not around:
            sys.exit(f"{mistake['name']}: it is not inside a function's body")
        bodies.setdefault(around[0], {}).setdefault(mistake["name"], []).append((start, end, mistake))
    # From the end, so that earlier places stay where they are.
    for (keyword, body, last), by_name in sorted(bodies.items(), reverse=True):
        code = text[body:last]
        if "-> impl" in text[keyword:body]:
            # Two bodies would be of two types, so only the expression stands there twice.
            code = in_place(code, body, by_name)
            by_name = {}
        for name, edits in by_name.items():
            variant = text[body:last]
            for start, end, mistake in sorted(edits, key=lambda edit: edit[0], reverse=True):
                variant = changed(variant, start - body, end - body, mistake)
            code = f'if crate::mutant("{name}") {variant} else {code}'
        signature = re.sub(r"\bconst\s+((?:unsafe\s+)?)$", r"\1", text[:keyword])
        text = signature + text[keyword:body] + "{ " + code + " }" + text[last:]
    return text


def inject(folder, mistakes):
    """Changes the crates below `folder`/crates."""
    files = {mistake["file"] for mistake in mistakes}
    for file in sorted(files):
        path = pathlib.Path(folder, "crates", file)
        path.write_text(mutated(path.read_text(), [mistake for mistake in mistakes if mistake["file"] == file]))
    for crate in sorted({file.split("/")[0] for file in files}):
        library = pathlib.Path(folder, "crates", crate, "src/lib.rs")
        library.write_text(library.read_text() + SWITCH)


if __name__ == "__main__":
    inject(sys.argv[1], read(*sys.argv[2:]))
