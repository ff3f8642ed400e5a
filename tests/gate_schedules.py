#!/usr/bin/env python3
"""gate_schedules.py - no call of an external agent is allowed that no rule allows and nobody approved (standard library only).

    gate_schedules.py [--schedules N] [--kills N] [--seed N] target/debug/leverframe

A schedule is a question and what may happen to it in any order: decisions of every kind, a caller that hangs up, the same
question again, another call under its id, an early report, a cancelled turn, a deadline. Kills end the daemon or a caller
with kill -9 while questions are open. What this script approved is its own ledger: an allow that is not in it is wrong.
Ends with status 1 where one is, where a question is lost, or where `doctor --check` finds something.
"""
import argparse, collections, http.client, json, os, pathlib, random, shutil, socket, subprocess, sys, tempfile, threading, time, uuid

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("--schedules", type=int, default=0)
a.add_argument("--kills", type=int, default=0)
a.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
a.add_argument("--workers", type=int, default=8)
a.add_argument("binary")
o = a.parse_args()
BINARY = str(pathlib.Path(o.binary).resolve())
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="lf"))
DATA = ROOT / "data"
ENV = {"PATH": os.environ["PATH"], "HOME": str(ROOT), "TERM": "dumb"}
LONG = 60
counts, wrong, lock = collections.Counter(), [], threading.Lock()


def note(what):
    with lock:
        counts[what] += 1


def fault(what):
    with lock:
        wrong.append(what)
    print("WRONG:", what, flush=True)


class Connection(http.client.HTTPConnection):
    def __init__(self, timeout=LONG):
        super().__init__("localhost", timeout=timeout)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(DATA / "leverframe.sock"))


def request(method, path, body=None, key=None, headers={}, timeout=LONG):
    """Status, headers and body; none where the daemon is away."""
    connection = Connection(timeout)
    try:
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json", "Idempotency-Key": key or uuid.uuid4().hex, **headers})
        response = connection.getresponse()
        text = response.read()
        return response.status, response.headers, json.loads(text) if text else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


class Daemon:
    def __init__(self):
        self.start()

    def start(self):
        self.process = subprocess.Popen([BINARY, "--data-dir", DATA, "--daemon"], env=ENV, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=open(ROOT / "daemon.log", "a"))
        deadline = time.monotonic() + LONG
        while request("GET", "/v1/approvals?state=pending") is None:
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit(f"no daemon: {(ROOT / 'daemon.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.terminate()
        self.process.wait()


CALLS = {  # tool, input, whether a rule or the policy allows it
    "read": ("Read", {"file_path": "/home/user/shop/a.rs"}, True),
    "rule": ("Bash", {"command": "make check"}, True),
    "ask": ("Bash", {"command": "git push origin main"}, False),
    "write": ("Write", {"file_path": "/home/user/shop/b.rs", "content": "x"}, False),
    "script": ("Bash", {"command": "make check; rm -rf build"}, False),
    "credentials": ("Read", {"file_path": "/home/user/.ssh/id_rsa"}, False),
    "unknown": ("Frobnicate", {"x": 1}, False),
}


def hook(session, call, kind, event="PreToolUse", **more):
    tool, given, _ = CALLS[kind]
    return {"session_id": session, "transcript_path": "/t", "cwd": "/home/user/shop", "permission_mode": "default",
            "hook_event_name": event, "tool_name": tool, "tool_input": given, "tool_use_id": call, **more}


class Pending:
    """What waits, read once for all that ask at one moment: each sees a list that was read after it asked."""

    def __init__(self):
        self.wanted = self.begun = self.done = 0
        self.found, self.news = {}, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            with self.news:
                self.news.wait_for(lambda: self.wanted > self.begun)
                self.begun += 1
            answer = request("GET", "/v1/approvals?state=pending&limit=500")
            items = answer[2]["items"] if answer and answer[0] == 200 else []
            with self.news:
                self.found = {one["plan"].get("external", {}).get("call"): one for one in items}
                self.done = self.begun
                self.news.notify_all()

    def of(self, call):
        with self.news:
            self.wanted = ticket = self.begun + 1
            self.news.notify_all()
            self.news.wait_for(lambda: self.done >= ticket)
            return self.found.get(call)


PENDING = Pending()


def pending(call):
    return PENDING.of(call)


def decide(approval, decision, **more):
    """Whether it was taken; none where nobody knows."""
    body = {"decision": decision, "digest": approval["digest"], "confirm_code": approval["short_code"], **more}
    answer = request("POST", f"/v1/approvals/{approval['id']}/decision", body)
    return None if answer is None else answer[0] == 200


class Question:
    """A caller of its own thread, which may hang up."""

    def __init__(self, session, call, kind, wait):
        self.verdict, self.connection = None, Connection(wait + 20)
        self.thread = threading.Thread(target=self.ask, args=(hook(session, call, kind), wait), daemon=True)
        self.thread.start()

    def ask(self, body, wait):
        try:
            self.connection.request("POST", "/v1/gate/claude", json.dumps(body),
                                    {"Content-Type": "application/json", "Prefer": f"wait={wait}", "Idempotency-Key": uuid.uuid4().hex})
            response = self.connection.getresponse()
            response.read()
            self.verdict = response.headers.get("leverframe-verdict") or str(response.status)
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            self.verdict = "gone"

    def hang_up(self):
        try:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass


def schedule(dice):
    session, call = str(uuid.UUID(int=dice.getrandbits(128))), f"toolu_{dice.getrandbits(64):x}"
    kind = dice.choice(list(CALLS))
    free, approved = CALLS[kind][2], False
    questions = [Question(session, call, kind, dice.choice([1, 1, 2, 30]))]
    for _ in range(dice.randrange(1, 5)):
        step = dice.choice(["approve", "approve", "deny", "answer", "deny_and_stop", "edit", "hang up", "again", "other call",
                            "report", "cancel", "wrong digest", "wait"])
        if step in ("approve", "deny", "answer", "deny_and_stop", "edit", "cancel", "wrong digest"):
            approval = None
            for _ in range(20):
                approval = pending(call)
                if approval or questions[-1].verdict:
                    break
                time.sleep(0.01)
            if not approval:
                continue
            if step == "cancel":
                request("POST", f"/v1/continuations/{approval['continuation_id']}/cancel", {})
            elif step == "wrong digest":
                if decide({**approval, "digest": "0" * 64}, "approve"):
                    fault(f"a decision about another digest was taken: {call}")
            elif step == "edit":
                decide(approval, "edit", args={**approval["args"], "description": "edited"})
            elif step == "answer":
                decide(approval, "answer", answer="no")
            else:
                taken = decide(approval, step)
                approved = approved or (step == "approve" and taken is not False)
        elif step == "hang up":
            questions[-1].hang_up()
        elif step == "again":
            questions.append(Question(session, call, kind, dice.choice([1, 2, 30])))
        elif step == "other call":
            other = dice.choice([one for one in CALLS if CALLS[one][:2] != CALLS[kind][:2]])
            asked = Question(session, call, other, 1)
            asked.thread.join(LONG)
            # It may have come first.
            if asked.verdict == "allow" and not CALLS[other][2]:
                fault(f"another call under the id of a question was allowed: {call} {other}")
        elif step == "report":
            request("POST", "/v1/gate/claude", hook(session, call, kind, "PostToolUse", tool_response={"stdout": "x", "stderr": ""}))
        else:
            time.sleep(dice.random() * 0.05)
        note(step)
    for question in questions:
        if not question.verdict and dice.random() < 0.7:
            approval = pending(call)
            if approval:
                decide(approval, "deny")
        question.thread.join(LONG)
        if question.thread.is_alive():
            fault(f"a question was never answered: {call}")
        note(f"verdict {question.verdict}")
        if question.verdict == "allow" and not free and not approved:
            fault(f"allowed without a rule and an approval: {call} {kind}")
        if question.verdict not in ("allow", "deny", "gone", "400", "404", "409", "422", "503"):
            fault(f"{call}: {question.verdict}")


def schedules():
    rule = {"tool": "claude__Bash", "field": "command", "matcher": "exact", "value": "make check", "scope": "channel",
            "channel": "gate", "verdict": "allow"}
    made = request("POST", "/v1/rules", rule)
    assert made and made[0] < 300, made
    todo = iter(range(o.schedules))

    def work():
        while True:
            with lock:
                number = next(todo, None)
            if number is None or len(wrong) > 20:
                return
            schedule(random.Random(f"{o.seed}/{number}"))
            note("schedules")

    threads = [threading.Thread(target=work) for _ in range(o.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def caller(session, call):
    """The real caller, as the hook starts it."""
    child = subprocess.Popen([BINARY, "gate", "claude", "--data-dir", DATA, "--wait", "20"], env=ENV, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    child.stdin.write(json.dumps(hook(session, call, "ask")).encode())
    child.stdin.close()
    child.stdin = None
    return child


def kills(daemon):
    done = crashes = 0
    while done < o.kills and len(wrong) < 20:
        dice = random.Random(f"{o.seed}/kill/{done}")
        calls = {f"toolu_{dice.getrandbits(64):x}": str(uuid.UUID(int=dice.getrandbits(128))) for _ in range(4)}
        open_callers = {call: caller(session, call) for call, session in calls.items()}
        approved, killed = set(), set()
        deadline = time.monotonic() + 10
        while not all(pending(call) for call in calls) and time.monotonic() < deadline and dice.random() < 0.9:
            time.sleep(0.01)

        def decide_some():
            for call in calls:
                choice = dice.choice(["approve", "deny", "none"])
                approval = pending(call) if choice != "none" else None
                if approval:
                    # Known before the daemon can have it: a kill may lose the answer.
                    if choice == "approve":
                        approved.add(call)
                    decide(approval, choice)

        deciding = threading.Thread(target=decide_some)
        deciding.start()
        time.sleep(dice.random() * 0.15)
        if dice.random() < 0.5:
            daemon.kill()
            deciding.join()
            daemon.start()
            note("kills of the daemon")
            crashes += 1
        else:
            call = dice.choice(list(calls))
            if open_callers[call].poll() is None:
                open_callers[call].kill()
                killed.add(call)
            deciding.join()
            note("kills of a caller")
        done += 1
        for call, child in open_callers.items():
            end = time.monotonic() + 40
            while child.poll() is None and time.monotonic() < end:
                # Whoever still waits is answered, so that nobody waits for the deadline.
                approval = pending(call)
                if approval:
                    decide(approval, "deny")
                time.sleep(0.02)
            if child.poll() is None:
                fault(f"a caller never ended: {call}")
                child.kill()
            status = child.wait()
            out = child.stdout.read()
            allows = status == 0 and b'"allow"' in out
            if allows and call not in approved:
                fault(f"allowed without an approval: {call}")
            if status not in (0, 2) and call not in killed:
                fault(f"{call} ended with {status}")
            note("allowed" if allows else "lost with its caller" if call in killed and status < 0 else "denied")
        if crashes == 2:
            # A third crash within ten minutes holds the engine, which then denies everything; a clean end forgets them.
            crashes = 0
            daemon.end()
            daemon.start()


def main():
    print(f"seed {o.seed}", flush=True)
    daemon = Daemon()
    began = time.monotonic()
    try:
        if o.schedules:
            schedules()
            # What nobody waits for ends by itself.
            deadline = time.monotonic() + 40
            while request("GET", "/v1/approvals?state=pending")[2]["items"] and time.monotonic() < deadline:
                time.sleep(0.1)
        if o.kills:
            kills(daemon)
        took = time.monotonic() - began
        left = len(request("GET", "/v1/approvals?state=pending")[2]["items"])
        if left and not o.kills:
            fault(f"{left} questions stay open that nobody waits for")
        daemon.kill()
        check = subprocess.run([BINARY, "--data-dir", DATA, "doctor", "--check"], env=ENV, capture_output=True, text=True)
        if check.returncode:
            fault("doctor --check: " + "\n".join(line for line in check.stdout.splitlines() if not line.startswith("ok")))
        print(json.dumps({"took_s": round(took, 1), "wrong": len(wrong), **dict(sorted(counts.items()))}), flush=True)
    finally:
        if daemon.process.poll() is None:
            daemon.kill()
        shutil.rmtree(ROOT, ignore_errors=True)
    sys.exit(1 if wrong else 0)


main()
