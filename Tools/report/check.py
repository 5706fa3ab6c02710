#!/usr/bin/env python3
"""Opens a report in headless Chromium and checks what a reader meets.

In light and dark, with and without scripts: no error in the console, no request beside the page, every
table there, timelines that answer to keys, focus in the order of the page, and readable contrast.
Usage: Tools/report/check.py REPORT.html [--screenshots FOLDER]
"""

import argparse
import base64
import json
import os
import pathlib
import secrets
import shutil
import socket
import struct
import subprocess
import sys
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
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def key(self, name):
        codes = {"Tab": 9, "ArrowRight": 39, "ArrowDown": 40}
        text = {"text": name} if len(name) == 1 else {}
        for kind in ["keyDown", "keyUp"]:
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name,
                windowsVirtualKeyCode=codes.get(name, 0), **(text if kind == "keyDown" else {}),
            )

    def open(self, url, scheme, scripts):
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


CONTRAST = """
(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => { v /= 255; return v > 0.03928 ? ((v + 0.055) / 1.055) ** 2.4 : v / 12.92; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (node) => {
    for (let each = node; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) { return colour; }
    }
    return [255, 255, 255];
  };
  let worst = 21;
  for (const node of document.querySelectorAll("h1, h2, h3, p, td, th, a, caption, b, button")) {
    const a = light(parse(getComputedStyle(node).color)), b = light(ground(node));
    worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return worst;
})()
"""

FOCUS = """
(() => {
  const node = document.activeElement;
  if (!node || node === document.body) { return -1; }
  return Array.from(document.querySelectorAll("a[href], button, [tabindex]")).indexOf(node);
})()
"""


def check(page, url, scheme, folder):
    failures = []

    def expect(holds, what):
        if not holds:
            failures.append(f"{scheme}: {what}")

    page.open(url, scheme, True)
    time.sleep(0.3)
    tables = page.value("document.querySelectorAll('section table').length")
    expect(tables > 0, "no table")
    expect(page.value("document.querySelectorAll('svg title').length") == 0, "scripts did not run")
    contrast = page.value(CONTRAST)
    expect(contrast >= 4.5, f"contrast of text: expected 4.5 at least, came {contrast:.2f}")
    wide = page.value("document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"the page is {wide} pixels wider than its window")
    order, count = [], page.value(
        "Array.from(document.querySelectorAll('a[href], button, [tabindex]'))"
        ".filter((node) => node.offsetParent !== null || node.ownerSVGElement || node.tagName === 'svg')"
        ".length"
    )
    for _ in range(count):
        page.key("Tab")
        order.append(page.value(FOCUS))
    expect(order == sorted(order) and -1 not in order, f"focus leaves the order of the page: {order}")
    expect(len(set(order)) == count, f"{count - len(set(order))} places cannot be reached by Tab")
    if page.value("document.querySelector('.timeline') !== null"):
        page.value("document.querySelector('.timeline svg').focus()")
        before = page.value("document.querySelector('.timeline .detail').textContent")
        page.key("ArrowRight")
        page.key("ArrowRight")
        after = page.value("document.querySelector('.timeline .detail').textContent")
        expect(before != after, "the arrow keys choose no slice")
        wide = "document.querySelector('.timeline .slices rect.current').getAttribute('width')"
        first = float(page.value(wide))
        page.key("+")
        expect(float(page.value(wide)) >= first, "+ does not zoom")
        page.key("0")
        expect(page.value("document.querySelectorAll('.timeline .arrows path').length") > 0,
               "no arrow between units")
    if folder:
        shot(page, folder / f"{scheme}.png")
    page.call("Emulation.setDeviceMetricsOverride", width=390, height=800,
              deviceScaleFactor=1, mobile=False)
    wide = page.value("document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"the page is {wide} pixels wider than a phone")
    if folder:
        shot(page, folder / f"{scheme}-phone.png", 390)
    page.call("Emulation.setDeviceMetricsOverride", width=1280, height=900,
              deviceScaleFactor=1, mobile=False)
    page.call("Emulation.setEmulatedMedia", media="print")
    expect(
        page.value("getComputedStyle(document.querySelector('nav')).display") == "none"
        and page.value("Array.from(document.querySelectorAll('.scroll'))"
                       ".every((node) => node.scrollHeight <= node.clientHeight + 1)"),
        "in print a table is cut off",
    )
    if folder:
        shot(page, folder / f"{scheme}-print.png")
    for error in page.errors():
        failures.append(f"{scheme}: {error}")
    page.open(url, scheme, False)
    root = page.call("DOM.getDocument", depth=0)["root"]["nodeId"]
    found = page.call("DOM.querySelectorAll", nodeId=root, selector="section table")["nodeIds"]
    expect(len(found) == tables, f"without scripts: expected {tables} tables, came {len(found)}")
    bars = page.call("DOM.querySelectorAll", nodeId=root, selector="svg rect, svg circle")["nodeIds"]
    expect(len(bars) > 0, "without scripts: no drawing")
    return failures, tables


def shot(page, path, width=1280):
    size = page.call("Page.getLayoutMetrics")["cssContentSize"]
    height = min(size["height"], 12000 if width > 400 else 2400)
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    data = page.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    path.write_bytes(base64.b64decode(data["data"]))


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    browser = next((found for found in map(shutil.which, filter(None, names)) if found), None)
    if browser is None:
        print("report check: did not run: no Chromium here (apt-get install chromium)")
        return 0
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    url = arguments.report.resolve().as_uri()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--remote-debugging-port=0", f"--user-data-dir={profile}",
             "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        try:
            page = Page(target(profile, process))
            for domain in ["Page", "Runtime", "Log", "Network", "DOM"]:
                page.call(f"{domain}.enable")
            failures = []
            for scheme in ["light", "dark"]:
                found, tables = check(page, url, scheme, arguments.screenshots)
                failures += found
        finally:
            process.terminate()
            process.wait()
    for failure in failures:
        print(f"report check: {failure}", file=sys.stderr)
    if not failures:
        print(f"report check: {tables} tables, light and dark, with and without scripts: holds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
