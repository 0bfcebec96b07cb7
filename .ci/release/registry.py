#!/usr/bin/env python3
"""A registry of crates on this machine, to which a release is published as a rehearsal.

    registry.py FOLDER

It keeps in FOLDER what `cargo publish` sends, and sends everybody on to crates.io for all other crates. So Cargo, told to ask it in place
of crates.io, finds the crates as it will after the release. Prints its address, and serves until its standard input ends.
"""

import hashlib
import http.server
import json
import os
import re
import sys
import threading

INDEX = "https://index.crates.io"
FILES = "https://static.crates.io/crates"


def index_path(name):
    """Returns where the index has a crate: https://doc.rust-lang.org/cargo/reference/registry-index.html."""
    name = name.lower()
    if len(name) < 3:
        return f"{len(name)}/{name}"
    if len(name) == 3:
        return f"3/{name[0]}/{name}"
    return f"{name[:2]}/{name[2:4]}/{name}"


def dependency(sent):
    """Returns the index's entry of a dependency, given the one that `cargo publish` sent."""
    entry = {key: sent[key] for key in ("features", "optional", "default_features", "target", "kind")}
    renamed = sent.get("explicit_name_in_toml")
    entry["name"] = renamed or sent["name"]
    if renamed:
        entry["package"] = sent["name"]
    entry["req"] = sent["version_req"]
    # All are here, or behind this registry.
    entry["registry"] = None
    return entry


def entry(sent, archive):
    """Returns the line of the index for what `cargo publish` sent."""
    return {
        "name": sent["name"],
        "vers": sent["vers"],
        "deps": [dependency(one) for one in sent["deps"]],
        "cksum": hashlib.sha256(archive).hexdigest(),
        "features": {},
        # Where features may be written as `dep:NAME`.
        "features2": sent["features"],
        "v": 2,
        "yanked": False,
        "links": sent.get("links"),
        "rust_version": sent.get("rust_version"),
    }


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the index and the archives, and takes what is published."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_on(self, address):
        self.send_response(302)
        self.send_header("Location", address)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def file(self, name):
        return os.path.join(self.server.folder, name)

    def do_GET(self):
        archive = re.fullmatch(r"/crates/([\w-]+)/([\w.+-]+)/download", self.path)
        if self.path == "/index/config.json":
            address = self.server.address
            self.answer(json.dumps({"dl": f"{address}/crates", "api": address}).encode())
        elif archive:
            name = "{}-{}.crate".format(*archive.groups())
            if os.path.exists(self.file(name)):
                with open(self.file(name), "rb") as file:
                    self.answer(file.read())
            else:
                self.send_on(f"{FILES}/{archive[1]}/{name}")
        elif self.path.startswith("/index/"):
            name = self.path.rsplit("/", 1)[1]
            # A name of the project is never looked up elsewhere.
            if os.path.exists(self.file(name + ".index")):
                with open(self.file(name + ".index"), "rb") as file:
                    self.answer(file.read())
            elif name == "rospin" or name.startswith("rospin-"):
                self.answer(b"", 404)
            else:
                self.send_on(f"{INDEX}/{index_path(name)}")
        else:
            self.answer(b"", 404)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/api/v1/crates/new":
            self.answer(b"", 404)
            return
        # Two parts, each behind its length.
        length = int.from_bytes(body[:4], "little")
        sent = json.loads(body[4 : 4 + length])
        archive = body[8 + length :]
        name = sent["name"]
        if os.path.exists(self.file(name + ".index")):
            self.answer(json.dumps({"errors": [{"detail": f"{name} is there already"}]}).encode())
            return
        with open(self.file("{}-{}.crate".format(name, sent["vers"])), "wb") as file:
            file.write(archive)
        with open(self.file(name + ".index"), "w", encoding="utf-8") as file:
            file.write(json.dumps(entry(sent, archive)) + "\n")
        self.answer(b'{"warnings": {"invalid_categories": [], "invalid_badges": [], "other": []}}')


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: registry.py FOLDER")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.folder = sys.argv[1]
    server.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.address, flush=True)
    sys.stdin.read()


main()
