#!/usr/bin/env python3
# test/kubernetes/podsecurity/record.py - writes src/api/builtin/pod_security_verdicts.inc: what Kubernetes' own library (Go) says of the
# pods of cases.py. Muster is compared with it in src/api/builtin/pod_security_test.cpp.
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INC = HERE.parent.parent.parent / "src/api/builtin/pod_security_verdicts.inc"


def asked(rows: list[dict]) -> list[list[dict]]:
    with tempfile.TemporaryDirectory(prefix="muster-podsecurity-") as folder:
        program = pathlib.Path(folder) / "podsecurity"
        build = '. ../go.sh && use_go && nice go build -p 1 -trimpath -buildvcs=false -o "$0" .'
        subprocess.run(["bash", "-c", build, str(program)], cwd=HERE, check=True, env={**os.environ, "GOFLAGS": ""})
        answer = subprocess.run([str(program)], input=json.dumps(rows), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(answer.stdout)


def main() -> int:
    sys.path.insert(0, str(HERE))
    import cases
    rows = cases.rows()
    # One line a pod: under which policies it breaks what.
    pods: dict[str, dict[str, list[str]]] = {}
    for row, said in zip(rows, asked(rows), strict=True):
        pod = json.dumps({"metadata": row["metadata"], "spec": row["spec"]}, separators=(",", ":"), ensure_ascii=False)
        text = ", ".join(each["reason"] + (f" ({each['detail']})" if each["detail"] else "") for each in said)
        pods.setdefault(pod, {}).setdefault(text, []).append(row["policy"])
    lines = [json.dumps({"pod": json.loads(pod), "said": said}, separators=(",", ":"), ensure_ascii=False) for pod, said in pods.items()]
    text = "".join(f'R"json({line})json",\n' for line in lines)
    INC.write_text(f"// api/builtin/pod_security_verdicts.inc - written by test/kubernetes/podsecurity/record.py.\n{text}")
    print(f"{len(rows)} verdicts over {len(lines)} pods")
    return 0


if __name__ == "__main__":
    sys.exit(main())
