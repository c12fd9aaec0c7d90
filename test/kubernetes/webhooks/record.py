#!/usr/bin/env python3
# test/kubernetes/webhooks/record.py - writes src/control/queue/webhook_verdicts.inc: what the webhooks of the real Kueue (built by
# go build; ten minutes the first time) say of the cases. Muster is compared with it in webhook_verdicts_test.cpp.
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INC = HERE.parent.parent.parent / "src/control/queue/webhook_verdicts.inc"


def asked(rows: list[dict]) -> list[dict]:
    with tempfile.TemporaryDirectory(prefix="muster-webhooks-") as folder:
        program = pathlib.Path(folder) / "webhooks"
        build = '. ../go.sh && use_go && nice go build -p 1 -trimpath -buildvcs=false -o "$0" .'
        subprocess.run(["bash", "-c", build, str(program)], cwd=HERE, check=True, env={**os.environ, "GOFLAGS": ""})
        answer = subprocess.run([str(program)], input=json.dumps(rows), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(answer.stdout)


def patch(base: dict, made: dict) -> dict:
    """The JSON merge patch that makes one of the other."""
    changed = {key: None for key in base if made.get(key) is None}
    for key, value in made.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            if inner := patch(base[key], value):
                changed[key] = inner
        elif value is not None and base.get(key) != value:
            changed[key] = value
    return changed


def packed(rows: list[dict]) -> list[dict]:
    """The first object of each kind whole, the others as patches of it."""
    bases, lines = {}, []
    for row in rows:
        base = bases.get(row["after"]["kind"])
        if base is None:
            base = bases[row["after"]["kind"]] = row["after"]
            lines.append({"base": base})
        line = {**row, "of": base["kind"], "after": patch(base, row["after"])}
        line["before"] = row["before"] and patch(base, row["before"])
        lines.append({key: value for key, value in line.items() if value not in (None, [], "")})
    return lines


def main() -> int:
    sys.path.insert(0, str(HERE))
    import cases
    rows = [{"before": before, "after": after, "there": there} for before, after, there in cases.ROWS]
    lines = packed([{**row, **said} for row, said in zip(rows, asked(rows), strict=True)])
    # Kueue prints an address in memory here, another one each time.
    lines = [re.sub("is not a multiple of [0-9]+", "is not a multiple of ADDRESS", line)
             for line in (json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines)]
    text = "".join(f'R"json({line})json",\n' for line in lines)
    INC.write_text(f"// control/queue/webhook_verdicts.inc - written by test/kubernetes/webhooks/record.py.\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
