#!/usr/bin/env python3
"""Loads a trace into SQLite, checks its format and compares busy times with the tool's own figures.

    Tools/traces/check.py TRACE.json DOCUMENT.json

TRACE is what `generate --trace` or `simulate --trace` wrote, DOCUMENT what the same command said with
`--json`. The same busy times are asked of a Perfetto trace processor where TRACE_PROCESSOR names one.
"""

import argparse
import csv
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

TABLES = """
create table event(
  number integer primary key, phase text, name text, category text, process integer, lane integer,
  start integer, duration integer, flow integer, binding text);
create view slice as select *, start + duration as stop from event where phase = 'X';
create view lane as
  select process, lane, max(name) as unit, count(*) as names from event
  where phase = 'M' and category = 'thread_name' group by process, lane;
"""

# What a trace must not hold: each query gives the events that break a rule.
RULES = {
    "a phase is one of M, X, s, f": "select * from event where phase not in ('M', 'X', 's', 'f')",
    "times are there and not negative": """
        select * from event where phase <> 'M' and (start is null or start < 0)
        union all select * from event where phase = 'X' and (duration is null or duration < 0)""",
    "a slice is a launch, work of the host, a transfer, a fault, compiling or idle": """
        select * from slice
        where category not in ('launch', 'host', 'transfer', 'fault', 'compile', 'idle')""",
    "what has a time lies on a named lane": """
        select * from event left join lane using (process, lane)
        where phase <> 'M' and unit is null""",
    "a lane has one name, and a process names its lanes differently": """
        select * from lane where names > 1
        union all select * from lane group by process, unit having count(*) > 1""",
    "a process has one name": """
        select process from event where phase = 'M' and category = 'process_name'
        group by process having count(*) > 1
        union select process from event except
        select process from event where phase = 'M' and category = 'process_name'""",
    "an arrow has one start and one end, the end not before the start": """
        select flow from event where phase in ('s', 'f') group by flow
        having sum(phase = 's') <> 1 or sum(phase = 'f') <> 1
          or max(iif(phase = 's', start, null)) > max(iif(phase = 'f', start, null))""",
    "an arrow leads from one lane to another of its process": """
        select * from event a join event b using (flow)
        where a.phase = 's' and b.phase = 'f'
          and (a.lane = b.lane or a.process <> b.process)""",
    "an arrow begins and ends in a slice": """
        select * from event as arrow where phase in ('s', 'f') and not exists (
          select 1 from slice where slice.process = arrow.process and slice.lane = arrow.lane
            and category <> 'idle' and arrow.start between slice.start and slice.stop)""",
    "slices of a lane lie behind or inside one another": """
        select * from (
          select *, max(stop) over (partition by process, lane order by start, stop desc
            rows between unbounded preceding and 1 preceding) as before
          from slice where duration > 0)
        where before > start and before < stop""",
    "a unit is not idle while it runs something": """
        select * from slice as a join slice as b
        on a.process = b.process and a.lane = b.lane and a.category = 'idle'
        and b.category not in ('idle', 'compile')
        where a.start < b.stop and b.start < a.stop and b.duration > 0 and a.duration > 0""",
}

# Busy time of each unit, of slices that end by an instant.
BUSY = """
select unit, coalesce(sum(duration), 0) from lane left join slice using (process, lane)
where process = :process and category not in ('idle', 'compile') and stop <= :end group by unit"""

PERFETTO_BUSY = """
select process.pid as process, thread.name as unit, sum(slice.dur) as busy from slice
join thread_track on slice.track_id = thread_track.id join thread using (utid)
join process using (upid)
where slice.category not in ('idle', 'compile') group by process.pid, thread.name;"""

PERFETTO_FAULTS = """
select name, value from stats where severity in ('error', 'data_loss') and value > 0;"""

END_OF_TIME = 1 << 62


def load(path):
    """The events of a trace, times in nanoseconds."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    base = sqlite3.connect(":memory:")
    base.executescript(TABLES)

    def nanoseconds(value):
        return None if value is None else round(value * 1000)

    def row(event):
        is_name = event["ph"] == "M"
        name = event["args"]["name"] if is_name else event["name"]
        return (
            event["ph"], name, event["name"] if is_name else event.get("cat"), event["pid"],
            event["tid"], nanoseconds(event.get("ts")), nanoseconds(event.get("dur")),
            event.get("id"), event.get("bp"))

    base.executemany(
        "insert into event(phase, name, category, process, lane, start, duration, flow, binding)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?)", map(row, events))
    base.executescript(
        "create index by_lane on event(process, lane, start); create index by_flow on event(flow);")
    return base


def timeline_busy(events):
    busy = {}
    for event in events:
        if event["kind"] != "compile":
            unit = event["unit"]
            busy[unit] = busy.get(unit, 0) + event["endNs"] - event["startNs"]
    return busy


def launch_busy(launches):
    """Means are whole nanoseconds: a sum may be off by half of one a launch."""
    busy, slack = {}, {}
    for launch in launches:
        unit, count = launch["unit"], launch["count"]
        busy[unit] = busy.get(unit, 0) + count * launch["nanoseconds"]
        slack[unit] = slack.get(unit, 0) + (count + 1) // 2
    return busy, slack


def figures(document):
    """What a document says: a name, the trace's process, the last instant, units with busy times, slack."""
    simulated, process = document, 1
    if "timings" in document:
        yield "whole request", 1, END_OF_TIME, timeline_busy(document["timeline"]), {}
        overlap = document["overlap"]
        first = {unit["unit"]: unit["busyNs"] for unit in overlap["units"]}
        yield "to the first token", 1, overlap["makespanNs"], first, {}
        simulated, process = document.get("simulated"), 2
    if simulated:
        busy, slack = launch_busy(simulated["launches"])
        yield "simulated request", process, END_OF_TIME, busy, slack


def differences(name, expected, came, slack):
    for unit in sorted(set(expected) | set(came)):
        wanted, got = expected.get(unit, 0), came.get(unit, 0)
        if abs(wanted - got) > slack.get(unit, 0):
            yield f"{name}, {unit}: the document says {wanted} ns busy, the trace {got} ns"


def check(base, document):
    for rule, query in RULES.items():
        found = base.execute(query).fetchall()
        if found:
            yield f"{rule}: {len(found)} do not hold, the first is {found[0]}"
    for name, process, end, expected, slack in figures(document):
        came = dict(base.execute(BUSY, {"process": process, "end": end}).fetchall())
        yield from differences(name, expected, came, slack)


def perfetto(processor, trace, document):
    """The same sums by Perfetto, and whatever it found wrong with the file."""
    def rows(query):
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(query)
            file.flush()
            done = subprocess.run([processor, "-q", file.name, trace], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{processor}: {done.stderr.strip() or done.returncode}")
        return [row for row in csv.reader(done.stdout.splitlines()) if row][1:]

    for name, value in rows(PERFETTO_FAULTS):
        yield f"perfetto: {name}: {value}"
    busy = {}
    for process, unit, sum_of in rows(PERFETTO_BUSY):
        busy.setdefault(int(process), {})[unit] = int(sum_of)
    for name, process, end, expected, slack in figures(document):
        if end == END_OF_TIME:
            yield from differences(f"perfetto: {name}", expected, busy.get(process, {}), slack)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("document")
    arguments = parser.parse_args()
    base = load(arguments.trace)
    with open(arguments.document) as file:
        document = json.load(file)
    failures = list(check(base, document))
    processor = os.environ.get("TRACE_PROCESSOR")
    if processor:
        failures += perfetto(processor, arguments.trace, document)
    for failure in failures:
        print(f"trace check: {failure}", file=sys.stderr)
    slices, arrows = base.execute(
        "select sum(phase = 'X'), sum(phase = 's') from event").fetchone()
    names = ", ".join(name for name, *_ in figures(document))
    if not failures:
        print(f"trace check: {slices} slices, {arrows} arrows; busy times by unit hold: {names}"
              + ("; Perfetto's too" if processor else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
