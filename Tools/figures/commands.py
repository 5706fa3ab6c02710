#!/usr/bin/env python3
"""Checks that every command in README and Docs exists and knows its options.

    Tools/figures/commands.py [DOCUMENT.md …]

Commands are lines in fenced or indented blocks, and code within text, that start with `troika`, `Scripts/`
or `Tools/`. Options are looked up in the command's `--help`; of scripts in what they are made of.
"""

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TROIKA = ROOT / ".build/release/troika"
START = re.compile(r"^(?:\$ )?(?:python3 )?(\$?troika|Scripts/\S+|Tools/\S+)(?: |$)")
COMMAND = re.compile(r"(?:^|(?<= ))((?:\$ )?(?:\$?troika |(?:Scripts|Tools)/)\S*.*)$")
# Behind another word it is a command where options follow.
IN_RECIPE = re.compile(r"(\$?troika|Scripts/\S+|Tools/\S+) .*--")
OPTION = re.compile(r"^--[a-z][a-z0-9-]*")


def commands(text):
    """Line numbers and commands; lines that end in a backslash are one with the next."""
    fenced, whole, first = False, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
            continue
        for code in re.findall(r"`([^`]+)`", "" if fenced or line.startswith("    ") else line):
            if START.match(code):
                yield number, code
        if not whole and not fenced and not line.startswith("    "):
            continue
        first = first if whole else number
        whole += line.strip()
        if whole.endswith("\\"):
            whole = whole[:-1] + " "
            continue
        at = COMMAND.search(whole)
        if at and (at.start() == 0 or IN_RECIPE.match(at.group(1))):
            yield first, at.group(1)
        whole = ""


def words(command):
    """The words of a command, without a comment behind it."""
    try:
        return shlex.split(command.removeprefix("$ ").replace("…", ""), comments=True)
    except ValueError:
        return command.removeprefix("$ ").split()


@cache
def help_of(command):
    line = [str(TROIKA), *command.split(), "--help"]
    done = subprocess.run(line, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def problem(command):
    """Why a command cannot be right; None where it may be."""
    parts = words(command)
    if parts[0] == "python3":
        parts = parts[1:]
    name = parts[0]
    if name in ("troika", "$troika"):
        if len(parts) == 1 or parts[1] == "COMMAND":
            return None
        known = help_of(parts[1])
        if known is None:
            return f"troika has no command {parts[1]}"
        if parts[1] == "place" and len(parts) > 2:
            known += help_of(f"place {parts[2]}") or ""
    else:
        path = ROOT / name.split("{")[0].rstrip(".,;:")
        if not path.exists():
            return f"no such file: {name}"
        if path.is_dir():
            return None
        known = path.read_text()
    for part in parts[1:]:
        if part in ("&&", "|", ";"):
            break
        option = OPTION.match(part)
        if not option or option.group() in ("--help", "--json"):
            continue
        bare = option.group()
        if not re.search(re.escape(bare) + r"(?![a-z0-9-])", known) and bare[2:] not in known.split():
            return f"{name} {parts[1] if 'troika' in name else ''} does not know {bare}"
    return None


def main():
    given = [Path(name) for name in sys.argv[1:]]
    documents = given or [ROOT / "README.md", *sorted((ROOT / "Docs").glob("*.md"))]
    count, failures = 0, 0
    for document in documents:
        for number, command in commands(document.read_text()):
            count += 1
            found = problem(command)
            if found:
                failures += 1
                print(f"{document.name}:{number}: {found}: {command}", file=sys.stderr)
    if not failures:
        print(f"commands check: {count} commands of {len(documents)} documents exist and know their options")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
