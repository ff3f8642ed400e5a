#!/usr/bin/env python3
"""gate_start.py - what a call costs that a rule decides: from the fork of `leverframe gate` to its exit, in ms
(Linux, standard library only).

    gate_start.py [-n 200] target/release/leverframe

A stub answers at once over a unix socket, so the figures are the caller's own. `true` is the floor of this machine.
With `--mixed`, every n-th answer is a deny, an error, junk or none, and the script checks that only an allow is one.
"""
import argparse, json, os, socket, statistics as st, subprocess, sys, tempfile, threading, time

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("-n", type=int, default=200)
a.add_argument("--mixed", action="store_true")
a.add_argument("binary")
o = a.parse_args()

CALL = json.dumps({"session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "Bash",
                   "tool_input": {"command": "ls"}, "tool_use_id": "t"}).encode()


def answer(verdict, status=200):
    return (f"HTTP/1.1 {status} X\r\nleverframe-protocol: 2\r\nleverframe-verdict: {verdict}\r\n"
            "content-length: 2\r\nconnection: close\r\n\r\n{}").encode()


KINDS = [("allow", answer("allow")), ("deny", answer("deny")), ("error", answer("allow", 500)), ("junk", b"\0junk"), ("none", b"")]
now = KINDS[0]
folder = tempfile.TemporaryDirectory(prefix="lf")
path = os.path.join(folder.name, "s.sock")
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)


def serve():
    while True:
        stream, _ = listener.accept()
        got = b""
        while CALL not in got:
            part = stream.recv(65536)
            if not part:
                break
            got += part
        stream.sendall(now[1])
        stream.close()


threading.Thread(target=serve, daemon=True).start()
env = {"PATH": "/usr/bin:/bin", "HOME": folder.name, "LEVERFRAME_GATE": "unix:" + path}


def run(words):
    started = time.monotonic()
    p = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    try:
        p.stdin.write(CALL)
        p.stdin.close()
    except BrokenPipeError:
        pass
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return (time.monotonic() - started) * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024, p.returncode


wrong = 0
rows = {"true": [], "gate": []}
for i in range(o.n + 3):
    now = KINDS[i % len(KINDS)] if o.mixed else KINDS[0]
    rows["true"].append(run(["/bin/true"]))
    got = run([o.binary, "gate", "claude", "--wait", "1" if o.mixed else "60"])
    rows["gate"].append(got)
    wrong += got[3] != (0 if now[0] == "allow" else 2)
for name, all_rows in rows.items():
    wall, cpu, rss, _ = zip(*all_rows[3:])
    w = sorted(wall)
    print(json.dumps({"run": name, "n": len(w), "wall_ms_p50": round(st.median(w), 2), "wall_ms_p95": round(w[int(len(w) * .95)], 2),
                      "wall_ms_min": round(w[0], 2), "cpu_ms_p50": round(st.median(cpu), 2), "rss_mib": round(max(rss), 1),
                      "load1": round(os.getloadavg()[0], 1)}))
print(json.dumps({"wrong_ends": wrong}))
sys.exit(1 if wrong else 0)
