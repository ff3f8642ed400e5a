#!/usr/bin/env python3
"""team_load.py - a team's daemon under load (Linux, standard library only).

    team_load.py --binary target/release/leverframe [--tls] [--consoles 20] [--rate 200] [--minutes 10] [--sessions 200]

Starts a daemon with a home of its own and a scripted model. Consoles follow all events; messages come at a fixed rate, in
turn to each session, whether or not the one before is answered. One JSON line: messages that were refused, lost (no
answer) or doubled (two), the time from a message to its answer, the time from the commit of an event to each console,
and memory and descriptors of the daemon after the first and the last minute. Status 1 where one is lost or doubled.
"""
import argparse, asyncio, collections, json, os, re, signal, ssl, subprocess, sys, tempfile, time, datetime
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import procstat

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("--binary", required=True), a.add_argument("--tls", action="store_true")
a.add_argument("--consoles", type=int, default=20), a.add_argument("--rate", type=float, default=200)
a.add_argument("--minutes", type=float, default=10), a.add_argument("--sessions", type=int, default=200)
a.add_argument("--senders", type=int, default=48), a.add_argument("--label", default="")
o = a.parse_args()
GRACE = 60

home = tempfile.TemporaryDirectory(prefix="lf")
data, config = os.path.join(home.name, "data"), os.path.join(home.name, "config.toml")
words = [os.path.abspath(o.binary), "--config", config, "--data-dir", data]
env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home.name, "TERM": "dumb"}
LINES = ['[model]', 'default = "scripted/demo"', '[server]', 'requests_per_minute = 100000', 'max_connections = 2000',
         'max_connections_per_principal = 1000']


def run(*more):
    return subprocess.run(words + list(more), env=env, check=True, capture_output=True, text=True).stdout


def write(lines):
    with open(config, "w") as f:
        f.write("\n".join(lines) + "\n")
    os.chmod(config, 0o644)


class Connection:
    """One connection that is kept, and made again where it ended."""

    def __init__(self):
        self.writer = None

    async def request(self, method, path, body, key=""):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("localhost", port, ssl=context)
        text = json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}", f"Content-Length: {len(text)}",
                "Content-Type: application/json", f"Idempotency-Key: {key}" if key else "X-None: 1"]
        self.writer.write(("\r\n".join(head) + "\r\n\r\n").encode() + text)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin1")
        length = int(re.search(r"(?i)content-length: (\d+)", answer)[1])
        got = await self.reader.readexactly(length)
        return int(answer[9:12]), json.loads(got)


sent, done, doubled, refused = {}, {}, set(), collections.Counter()
early, reply_ms, event_ms, pieces = {}, [], [], []


def wall_ms(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


async def console(first):
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context, limit=1 << 24)
    writer.write(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    assert b" 200" in (await reader.readuntil(b"\r\n\r\n"))[:20]
    pieces.append(writer)

    async def follow():
        while line := await reader.readline():
            if not line.startswith(b"data:"):
                continue
            now = time.time() * 1000
            if not first and b'"continuation.completed"' not in line:
                continue
            event = json.loads(line[5:])
            if event.get("kind") != "continuation.completed":
                continue
            event_ms.append(now - wall_ms(event["at"]))
            if first:
                turn = event["continuation_id"]
                if turn in done:
                    doubled.add(turn)
                done[turn] = time.monotonic()
                if turn in sent:
                    reply_ms.append((done[turn] - sent[turn]) * 1000)

    return asyncio.create_task(follow())


async def main():
    follow = [await console(number == 0) for number in range(o.consoles)]
    first = Connection()
    sessions = [(await first.request("POST", "/v1/sessions", {"title": f"s{n}"}))[1]["id"] for n in range(o.sessions)]
    queue, total = asyncio.Queue(), int(o.rate * o.minutes * 60)
    late = []

    async def sender():
        connection = Connection()
        while (number := await queue.get()) is not None:
            begun = time.monotonic()
            late.append((begun - (start + number / o.rate)) * 1000)
            path = f"/v1/sessions/{sessions[number % len(sessions)]}/messages"
            try:
                status, body = await connection.request("POST", path, {"text": f"SAY:re {number}"}, key=f"m{number}")
            except (OSError, asyncio.IncompleteReadError) as error:
                refused[type(error).__name__] += 1
                connection = Connection()
                continue
            if status not in (200, 202):
                refused[f"{status} {body.get('kind')}"] += 1
                continue
            turn = body.get("continuation_id") or body["id"]
            sent[turn] = begun
            if turn in done:
                reply_ms.append((done[turn] - begun) * 1000)

    senders = [asyncio.create_task(sender()) for _ in range(o.senders)]
    start, after_first = time.monotonic(), None
    for number in range(total):
        wait = start + number / o.rate - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        if after_first is None and time.monotonic() - start > min(60, o.minutes * 30):
            after_first = procstat.snapshot(daemon.pid)
        queue.put_nowait(number)
    for _ in senders:
        queue.put_nowait(None)
    await asyncio.gather(*senders)
    took = time.monotonic() - start
    end = time.monotonic() + GRACE
    while len(done) < len(sent) and time.monotonic() < end:
        await asyncio.sleep(0.1)
    after_last = procstat.snapshot(daemon.pid)
    lost = [turn for turn in sent if turn not in done]
    q = lambda values, p: round(sorted(values)[min(len(values) - 1, int(p * len(values)))], 1) if values else None
    spread = lambda values: {"p50": q(values, .5), "p99": q(values, .99), "max": q(values, 1)}
    print(json.dumps({"label": o.label, "tls": o.tls, "consoles": o.consoles, "sent": len(sent), "refused": refused, "lost": len(lost),
                      "doubled": len(doubled), "took_s": round(took, 1), "per_s": round(len(sent) / took, 1),
                      "sent_late_ms": spread(late), "reply_ms": spread(reply_ms), "event_to_console_ms": spread(event_ms),
                      "after_first_minute": after_first, "after_last": after_last, "load1": round(os.getloadavg()[0], 1)}))
    for task in follow:
        task.cancel()
    return 1 if lost or doubled or refused else 0


write(LINES)
if o.tls:
    run("certificate", "create", "--directory", home.name, "--name", "localhost")
    write(LINES + ["[server.tls]", 'certificate = "certificate.pem"', 'key = "key.pem"'])
daemon = subprocess.Popen(words + ["--daemon", "--listen", "127.0.0.1:0"], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
try:
    for line in daemon.stdout:
        if found := re.match(r"listening on https?://127\.0\.0\.1:(\d+)", line):
            port = int(found[1])
            break
    else:
        sys.exit("the daemon does not listen")
    context = ssl.create_default_context(cafile=os.path.join(home.name, "certificate.pem")) if o.tls else None
    token = run("token", "create", "load", "--scope", "read,operate").strip()
    status = asyncio.run(main())
finally:
    daemon.send_signal(signal.SIGKILL)
    daemon.wait()
sys.exit(status)
