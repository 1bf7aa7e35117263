"""Starts the emulator of Millrace for a test. With pytest, the fixture `millrace` gives each test a server of its own."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

_CHECKOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "millrace")


class Emulator:
    """A running emulator: `url` and `key` are what a client needs."""

    def __init__(self, process, url, key, data):
        self.url = url
        self.key = key
        self._process = process
        self._data = data

    def call(self, method, path, body=None):
        """Sends a request with the owner's key, and returns the answer's JSON."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, sent, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path} was answered with {error.code}: {error.read().decode()}") from error
        return json.loads(text) if text else None

    def advance(self, time):
        """Moves time ahead by '90s', '15m', '12h' or '30d', and returns the new time."""
        return self.call("POST", "/emulator/clock", {"advance": time})["now"]

    def now(self):
        return self.call("GET", "/emulator/clock")["now"]

    def fault(self, kind, **terms):
        """Asks for a fault, such as fault("worker-crash", times=1), and returns its id."""
        return self.call("POST", "/emulator/faults", {"kind": kind, **terms})["id"]

    def clear(self, fault=None):
        """Removes one fault, or all of them."""
        self.call("DELETE", "/emulator/faults" if fault is None else f"/emulator/faults/{fault}")

    def save(self, file):
        """Saves the state to one file, for start(state=file)."""
        self.call("POST", "/emulator/state", {"file": os.path.abspath(file)})

    def stop(self):
        """Ends the server, and removes everything but a state file."""
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
        shutil.rmtree(self._data, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def start(state=None, program=None, args=()):
    """Starts an emulator on a free port, with a data folder of its own."""
    data = tempfile.mkdtemp(prefix="millrace-emulator-")
    command = program or (_CHECKOUT if os.path.exists(_CHECKOUT) else "millrace")
    flags = ["serve", "--emulate", "--data", data, "--port", "0", "--log-level", "warn"]
    flags += ["--state", os.path.abspath(state)] if state else []
    process = subprocess.Popen([command, *flags, *args], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        found = re.match(r"listening on (\S+)$", line)
        if found:
            with open(os.path.join(data, "api-key"), encoding="utf8") as file:
                return Emulator(process, found[1], file.read().strip(), data)
    shutil.rmtree(data, ignore_errors=True)
    raise RuntimeError(f"the emulator ended with {process.wait()} before it listened")


try:
    import pytest
except ImportError:
    pytest = None

if pytest:

    @pytest.fixture
    def millrace():
        """A server for one test."""
        with start() as emulator:
            yield emulator
