"""Measures Seer against peers and floors in one run. See docs/benchmarks.md."""

import argparse
import os
import sys
import time
from typing import Dict, List

import agents
import calls
import clouds
import commands
import hub
import kept
import machines
import models
import plugins
import pythonapi
import ready
import report
import sessions
import start
import values
from lab import Lab
from measure import Row

GROUPS = ["start", "ready", "calls", "values", "plugins", "commands", "sessions", "clouds", "models", "hub", "kept", "python", "agents", "machines"]
STAGED = {"ready": ready.measure, "clouds": clouds.measure}  # these also tell where the time goes
NOTED = {"values": values.measure, "plugins": plugins.measure, "sessions": sessions.measure, "hub": hub.measure, "agents": agents.measure, "machines": machines.measure}
TITLES = {
    "start": "Commands that start nothing", "ready": "From nothing to the first result", "calls": "A call of 1 KiB",
    "values": "Values, streams and many clients",
    "plugins": "Plugins", "commands": "Commands and files", "sessions": "Sessions and snapshots", "clouds": "Clouds, on their fakes",
    "models": "Downloads of models", "hub": "Downloads from the Hub, against its other clients",
    "kept": "Models that are on this computer", "python": "The Python package",
    "agents": "Agents", "machines": "Machines of your own",
}


def main() -> None:
    options = arguments()
    groups: Dict[str, List[Row]] = {}
    stages: Dict[str, Dict[str, Dict[str, float]]] = {}
    notes: Dict[str, List[str]] = {}
    lab = Lab(sys.executable, options.requests, options.wheels, options.change, options.clients)
    try:
        lab.run(lab.seer, "version")
        for name in options.only or GROUPS:
            begin = time.monotonic()
            title = TITLES[name]
            if name in NOTED:
                groups[title], notes[title] = NOTED[name](lab)
            elif name in STAGED:
                groups[title], stages[title] = STAGED[name](lab)
            else:
                groups[title] = {"start": start, "calls": calls, "commands": commands, "models": models, "kept": kept, "python": pythonapi}[name].measure(lab)
            print("bench: %s measured in %.0f s" % (name, time.monotonic() - begin), file=sys.stderr)
        figures = report.text(lab, groups, stages, notes)
        print(figures)
        if options.write:
            path = report.write_some(lab, report.sections(groups, stages, notes)) if options.only else report.write(figures)
            print("bench: written to %s" % os.path.relpath(str(path)), file=sys.stderr)
    finally:
        lab.close()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md; with --only into their own sections")
    parser.add_argument("--only", action="append", choices=GROUPS, help="measure only this group; may be repeated")
    parser.add_argument("--requests", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--wheels", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--change", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--clients", required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
