#!/usr/bin/env python3
"""gate_daemon.py - what the gate of a real daemon costs (Linux, standard library only).

    gate_daemon.py [-n 200] [--callers 50] [--real-time] target/release/leverframe

  verdict   from the fork of the caller to its exit, where a rule answers
  wrapped   the same through the installed line, with `sh` and `timeout`
  start     `leverframe --version`
  daemon    the same question over the socket, without a caller
  card      from the question to its card on the screen of a console with the engine
  waiting   memory and wake-ups of the daemon for each caller that waits

`--real-time` gives caller and daemon real-time priority (chrt -r 10), so that they do not wait for other programs.
Each line is JSON, times in ms.
"""
import argparse, fcntl, http.client, json, os, pathlib, pty, re, select, shutil, signal, socket, statistics as st, struct, subprocess, sys, tempfile, termios, threading, time, uuid

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("-n", type=int, default=200)
a.add_argument("--callers", type=int, default=50)
a.add_argument("--real-time", action="store_true")
a.add_argument("binary")
o = a.parse_args()
BINARY = str(pathlib.Path(o.binary).resolve())
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="lf"))
DATA = ROOT / "data"
SOCKET = str(DATA / "leverframe.sock")
ENV = {"PATH": "/usr/bin:/bin", "HOME": str(ROOT), "TERM": "xterm-256color", "LEVERFRAME_GATE": "unix:" + SOCKET}
FAST = ["chrt", "-r", "10"] if o.real_time else []


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(SOCKET)


def request(method, path, body=None, headers={}):
    connection = Connection("localhost")
    try:
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex, **headers})
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None
    except OSError:
        return None
    finally:
        connection.close()


def ready():
    deadline = time.monotonic() + 60
    while request("GET", "/v1/approvals?state=pending") is None:
        if time.monotonic() > deadline:
            sys.exit("nothing answers")
        time.sleep(0.01)


def hook(command, call=None):
    return {"session_id": "11111111-1111-4111-8111-111111111111", "transcript_path": "/t", "cwd": str(ROOT), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call or uuid.uuid4().hex}


def told(name, times, **more):
    times = sorted(times[3:])
    print(json.dumps({"run": name, "n": len(times), "p50": round(st.median(times), 2), "p95": round(times[int(len(times) * .95)], 2),
                      "least": round(times[0], 2), "load1": round(os.getloadavg()[0], 1), **more}), flush=True)


def timed(words, text=b"", status=0):
    began = time.monotonic()
    p = subprocess.Popen(FAST + words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENV)
    errors = p.communicate(text)[1]
    took = (time.monotonic() - began) * 1e3
    if p.returncode != status:
        sys.exit(f"{words}: status {p.returncode}: {errors.decode()}")
    return took


def facts(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    threads = {task.name: int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M)[1])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024, int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024, threads


def wakeups(before, after):
    """Of the threads that were there before and are there after."""
    return sum(after[2][task] - before[2][task] for task in after[2].keys() & before[2].keys())


def with_daemon():
    daemon = subprocess.Popen(FAST + [BINARY, "--data-dir", DATA, "--daemon"], env=ENV, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=open(ROOT / "daemon.log", "w"))
    try:
        ready()
        rule = {"tool": "claude__Bash", "field": "command", "matcher": "exact", "value": "make check", "scope": "channel",
                "channel": "gate", "verdict": "allow"}
        status, body = request("POST", "/v1/rules", rule)
        if status >= 300:
            sys.exit(f"no rule: {status} {body}")
        line = f"timeout -k 5 590 {BINARY} gate claude --wait 580 || {{ cat >/dev/null; echo refused >&2; exit 2; }}"
        told("true", [timed(["/bin/true"]) for _ in range(o.n + 3)])
        told("start", [timed([BINARY, "--version"]) for _ in range(o.n + 3)])
        call = lambda: json.dumps(hook("make check")).encode()
        told("verdict", [timed([BINARY, "gate", "claude", "--wait", "60"], call()) for _ in range(o.n + 3)])
        told("wrapped", [timed(["sh", "-c", line], call()) for _ in range(o.n + 3)])
        times = []
        for _ in range(o.n + 3):
            body = hook("make check")
            began = time.monotonic()
            request("POST", "/v1/gate/claude", body, {"Prefer": "wait=60"})
            times.append((time.monotonic() - began) * 1e3)
        told("daemon", times)
        waiting(daemon.pid)
    finally:
        daemon.terminate()
        daemon.wait()


def waiting(pid):
    time.sleep(2)
    before = facts(pid)
    callers = []
    for i in range(o.callers):
        p = subprocess.Popen([BINARY, "gate", "claude", "--wait", "300"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=ENV)
        p.stdin.write(json.dumps(dict(hook(f"git push origin b{i}"), session_id=str(uuid.uuid4()))).encode())
        p.stdin.close()
        callers.append(p)
    deadline = time.monotonic() + 60
    while len(request("GET", "/v1/approvals?state=pending&limit=500")[1]["items"]) < o.callers:
        if time.monotonic() > deadline:
            sys.exit("not every question is there")
        time.sleep(0.1)
    time.sleep(3)
    mid = facts(pid)
    own = [facts(p.pid) for p in callers]
    time.sleep(20)
    after = facts(pid)
    own_after = [facts(p.pid) for p in callers]
    print(json.dumps({"run": "waiting", "callers": o.callers, "daemon_mib_each": round((after[0] - before[0]) / o.callers, 3),
                      "daemon_anonymous_mib_each": round((after[1] - before[1]) / o.callers, 3),
                      "daemon_wakeups_s": round(wakeups(mid, after) / 20, 2),
                      "caller_anonymous_mib_each": round(sum(one[1] for one in own_after) / o.callers, 3),
                      "caller_wakeups_s_each": round(sum(wakeups(a, b) for a, b in zip(own, own_after)) / 20 / o.callers, 3)}), flush=True)
    for p in callers:
        p.kill()
        p.wait()


def card():
    pid, screen = pty.fork()
    if pid == 0:
        words = FAST + [BINARY, "--data-dir", str(DATA)]
        os.execvpe(words[0], words, ENV)
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.kill(pid, signal.SIGWINCH)
    got = bytearray()
    fresh = threading.Event()

    def drain():
        while True:
            try:
                part = os.read(screen, 65536)
            except OSError:
                return
            got.extend(part)
            fresh.set()

    threading.Thread(target=drain, daemon=True).start()
    try:
        ready()
    except SystemExit:
        sys.stderr.buffer.write(bytes(got))
        raise
    time.sleep(1)
    os.write(screen, b"1")
    time.sleep(1)
    times = []
    for i in range(53):
        nonce = uuid.uuid4().hex[:8]
        body = dict(hook(f"git push origin {nonce}"), session_id=str(uuid.uuid4()))
        del got[:]
        began = time.monotonic()
        asking = threading.Thread(target=request, args=("POST", "/v1/gate/claude", body, {"Prefer": "wait=60"}))
        asking.start()
        deadline = began + 10
        while nonce.encode() not in got:
            fresh.clear()
            if time.monotonic() > deadline:
                sys.exit(f"no card after 10 s: {len(got)} bytes")
            fresh.wait(0.05) if nonce.encode() not in got else None
        times.append((time.monotonic() - began) * 1e3)
        approval = request("GET", "/v1/approvals?state=pending")[1]["items"][0]
        request("POST", f"/v1/approvals/{approval['id']}/decision",
                {"decision": "deny", "digest": approval["digest"], "confirm_code": approval["short_code"]})
        asking.join()
        time.sleep(0.2)
    told("card", times)
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)


try:
    with_daemon()
    shutil.rmtree(DATA)
    card()
finally:
    shutil.rmtree(ROOT, ignore_errors=True)
