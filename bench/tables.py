"""What the tables of bench/h200 and bench/amd share: reading what programs left, and Markdown."""

import argparse
import json
import statistics
from pathlib import Path

RECIPES = ("bf16", "rowwise", "tensorwise", "rowwise_hp_wgrad")


def read_lines(path):
    """The whole JSON lines of a file; a command that was stopped may have left part of one."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def read_json(path):
    """None where the file is missing or was cut short."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def octet_speed(folder):
    """{recipe: figures} of speed-octet-*.json, where several calls may have timed one recipe, and plan-RECIPE.json."""
    rows = {}
    for path in folder.glob("speed-octet-*.json"):
        bench = read_json(path)
        for one in bench["recipes"] if bench else []:
            octet = rows.setdefault(one["recipe"], {"ms_of_each_call": []})
            octet["ms_of_each_call"].append(one["ms_per_step"])
            octet["ms_per_step"] = statistics.median(octet["ms_of_each_call"])
            octet["tokens_per_second"] = bench["tokens_per_step"] / octet["ms_per_step"] * 1e3
            plan = read_json(folder / f"plan-{one['recipe']}.json")
            octet["planned_bytes"] = plan["memory"]["planned_bytes"] if plan else None
    return rows


def number(row, path, form, unit=1):
    """A cell: empty where one of the names in `path` is missing."""
    for name in path.split("."):
        row = row.get(name) if row else None
    return "" if row is None else format(row / unit, form)


def print_table(head, rows):
    for cells in [head, ["---"] * len(head)] + rows:
        print("| " + " | ".join(cells) + " |")


def run(description, parts):
    """Of DIR --json FILE: `parts` are (name, gather(DIR), show(what it gathered)); what is not there is not shown."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    skipped = options.folder / "skipped"
    result = {"facts": (options.folder / "facts").read_text().splitlines()}
    result.update((name, gather(options.folder)) for name, gather, _ in parts)
    result["skipped"] = list(dict.fromkeys(skipped.read_text().splitlines())) if skipped.exists() else []
    for name, _, show in parts:
        if result[name]:
            show(result[name])
            print()
    for line in result["skipped"]:
        print(line)
    options.json.write_text(json.dumps(result, indent=2) + "\n")
