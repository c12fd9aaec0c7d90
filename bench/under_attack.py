#!/usr/bin/env python3
# bench/under_attack.py - plays each attack on the server's memory at full size: what it takes, and how soon others are answered.
"""For each attack a fresh `muster up --api-only`, a user who has nothing to do with it and asks for /readyz and an object of its own all
the while, over a new connection each time, and the highest resident memory."""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ["MUSTER_ATTACKS"] = "full"
for folder in ("test", "test/attacks"):
    sys.path.insert(0, str(ROOT / folder))


def play(name: str, attack, flags: list[str]) -> None:
    import attacks
    import e2e_servers
    import wire
    muster = e2e_servers.Muster(pathlib.Path(tempfile.mkdtemp(prefix="muster-bench-")), ["bench:cpu=8,memory=8Gi"], flags)
    try:
        muster.start()
        door = wire.Door(muster.kubeconfig)
        editor = wire.user_of(muster, "ta", "edit")
        attacks.fill(door, editor)
        reader = wire.user_of(muster, "ta", "view")
        before = attacks.Memory(muster.process)
        quiet = before.peak_mb()
        others = attacks.Others(muster)
        with others:
            made = attack(attacks, door, reader, editor)
            time.sleep(5)  # What was asked for may still be being made.
            attacks.close_all(made)
        took = sorted(others.took)
        print(f"{name:34} {quiet:5} -> {before.peak_mb():4} MB   {len(took):4} asked, {len(others.wrong)} not answered well   "
              f"median {1000 * statistics.median(took):6.1f} ms   worst {1000 * took[-1]:7.1f} ms", flush=True)
    finally:
        muster.leave()


def differing(attacks, door, reader, editor) -> list:
    """Lists between which a writer changes what is listed."""
    made = []
    for turn in range(200):
        body = json.dumps({"data": {"k0": str(turn)}}).encode()
        door.ask("PATCH", attacks.MAPS + "/a", editor, body, "application/merge-patch+json")
        made += attacks.lists(door, reader, 1, 4)
    return made


def bad_tokens(attacks, door, reader, editor) -> list:
    """Tokens whose signatures have to be looked at."""
    wrong = editor[:-8] + "AAAAAAAA"

    def ask(number: int) -> None:
        for turn in range(200):
            door.ask("GET", attacks.MAPS, wrong[:-4] + f"{turn:04d}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return []


ATTACKS = {
    "nothing": lambda a, door, reader, editor: [],
    "f12-lists": lambda a, door, reader, editor: a.lists(door, reader, 4, 200) + a.lists(door, reader, 1, 1000),
    "f12-lists-that-differ": differing,
    "f12-lists-packed": lambda a, door, reader, editor: a.lists(door, reader, 4, 200, [("accept-encoding", "gzip")]),
    "f12-tables": lambda a, door, reader, editor: a.lists(door, reader, 4, 200,
                                                          [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")]),
    "f12b-watches": lambda a, door, reader, editor: a.watches(door, reader, 10, 500),
    "f13-bodies-of-nobody": lambda a, door, reader, editor: a.bodies(door, None, 400, 2_900_000),
    "f13-bodies-of-nobody-http2": lambda a, door, reader, editor: a.bodies_http2(door, None, 10, 200, 2_900_000),
    "f13-bodies-of-a-user": lambda a, door, reader, editor: a.bodies(door, editor, 400, 2_900_000),
    "f14-idle-connections": lambda a, door, reader, editor: a.idle(door, 10_000, True),
    "tokens-that-are-none": bad_tokens,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--muster", type=pathlib.Path, default=ROOT / "build/release/muster")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ATTACKS))
    options = parser.parse_args()
    os.environ["MUSTER"] = str(options.muster.resolve())
    unknown = set(options.names) - set(ATTACKS)
    if unknown:
        parser.error(f"there is no attack {sorted(unknown)[0]}; there are {', '.join(ATTACKS)}")
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print(f"{' '.join(sys.argv)}   ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    for name in options.names or ATTACKS:
        play(name, ATTACKS[name], ["--api-only"])


if __name__ == "__main__":
    main()
