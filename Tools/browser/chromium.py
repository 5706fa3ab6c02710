"""Headless Chromium by the DevTools protocol: as much of it as the checks of this project need."""

import base64
import contextlib
import json
import os
import pathlib
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request


class Socket:
    """A WebSocket client (RFC 6455), as much of it as the protocol of the browser needs."""

    def __init__(self, address):
        host, path = address.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.stream = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        self.stream.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.stream.recv(1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(head.decode())

    def send(self, text):
        data, mask = text.encode(), secrets.token_bytes(4)
        size = len(data)
        head = bytes([0x81])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0xFE]) + struct.pack(">H", size)
        else:
            head += bytes([0xFF]) + struct.pack(">Q", size)
        self.stream.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.stream.recv(count - len(data))
            if not part:
                raise RuntimeError("the browser closed the connection")
            data += part
        return data

    def receive(self):
        whole = b""
        while True:
            first, size = self.read(2)
            size &= 0x7F
            if size == 126:
                size = struct.unpack(">H", self.read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.read(8))[0]
            whole += self.read(size)
            if first & 0x80:
                return whole.decode()


class Page:
    """One tab of the browser."""

    def __init__(self, address):
        self.socket = Socket(address)
        self.number = 0
        self.events = []

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def value(self, script):
        """What a script comes to, a promise what it resolves to."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", details).get("description") or json.dumps(details))
        return result["result"].get("value")

    def key(self, name):
        codes = {"Tab": 9, "ArrowRight": 39, "ArrowDown": 40}
        text = {"text": name} if len(name) == 1 else {}
        for kind in ["keyDown", "keyUp"]:
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name,
                windowsVirtualKeyCode=codes.get(name, 0), **(text if kind == "keyDown" else {}),
            )

    def open(self, url, scheme="light", scripts=True):
        self.call("Emulation.setEmulatedMedia", media="",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setDeviceMetricsOverride", width=1280, height=900,
                  deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.call("Page.navigate", url=url)
        end = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > end:
                raise RuntimeError("the page did not load")
            self.events.append(json.loads(self.socket.receive()))

    def errors(self):
        """What the console and the network say against the page."""
        found = []
        for event in self.events:
            method, body = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(body["exceptionDetails"])[:300])
            if method == "Log.entryAdded" and body["entry"]["level"] in ("error", "warning"):
                found.append(body["entry"]["text"])
            if method == "Runtime.consoleAPICalled" and body["type"] in ("error", "warning"):
                found.append(json.dumps(body["args"])[:300])
            if method == "Network.requestWillBeSent":
                url = body["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    found.append(f"request to {url}")
        return found


def find():
    """The browser's path: CHROMIUM, or what Chromium is usually called; None where there is none."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((found for found in map(shutil.which, filter(None, names)) if found), None)


@contextlib.contextmanager
def page(browser):
    """A tab of a browser of its own, without an earlier profile; both are gone behind it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--remote-debugging-port=0", f"--user-data-dir={profile}",
             "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        try:
            tab = Page(target(profile, process))
            for domain in ["Page", "Runtime", "Log", "Network", "DOM"]:
                tab.call(f"{domain}.enable")
            yield tab
        finally:
            process.terminate()
            process.wait()


def target(profile, process):
    """The address of the first tab, once the browser says where it listens."""
    port = pathlib.Path(profile, "DevToolsActivePort")
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        if port.exists() and port.read_text().strip():
            number = port.read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{number}/json") as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            if tabs:
                return tabs[0]["webSocketDebuggerUrl"]
        time.sleep(0.1)
    raise RuntimeError("the browser did not start")
