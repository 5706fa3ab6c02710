#!/usr/bin/env python3
"""Opens a report in headless Chromium and checks what a reader meets.

In light and dark, with and without scripts: no error in the console, no request beside the page, every
table there, timelines that answer to keys, focus in the order of the page, and readable contrast.
Usage: Tools/report/check.py REPORT.html [--screenshots FOLDER]
"""

import argparse
import base64
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "browser"))
import chromium  # noqa: E402


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    browser = chromium.find()
    if browser is None:
        print("report check: did not run: no Chromium here (apt-get install chromium)")
        return 0
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    url = arguments.report.resolve().as_uri()
    failures = []
    with chromium.page(browser) as page:
        for scheme in ["light", "dark"]:
            found, tables = check(page, url, scheme, arguments.screenshots)
            failures += found
    for failure in failures:
        print(f"report check: {failure}", file=sys.stderr)
    if not failures:
        print(f"report check: {tables} tables, light and dark, with and without scripts: holds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
