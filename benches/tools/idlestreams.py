#!/usr/bin/env python3
"""idlestreams.py - what idle streams of events cost a daemon (Linux, standard library only).

    idlestreams.py --binary target/release/leverframe [--streams 10000] [--tokens 10] [--tls] [--window 30]

Starts a daemon with a home of its own, makes tokens, and opens the streams on as many sockets. One JSON line: memory of
each stream (RSS, after the first hundred), wake-ups and processor time while nothing happens, the time that the owner's
socket takes to answer meanwhile, and the time until the streams of a revoked token have ended.
The descriptor limit of this process and of the daemon is raised to the hard one: `ulimit -Hn` says how far that goes.
"""
import argparse, json, os, re, resource, signal, socket, ssl, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import procstat

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("--binary", required=True), a.add_argument("--streams", type=int, default=10000)
a.add_argument("--tokens", type=int, default=10), a.add_argument("--tls", action="store_true")
a.add_argument("--window", type=float, default=30), a.add_argument("--label", default="")
o = a.parse_args()
FIRST = 100

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
if hard < o.streams + 200:
    sys.exit(f"the hard limit of descriptors is {hard}: `ulimit -Hn` must allow more than {o.streams + 200}")
home = tempfile.TemporaryDirectory(prefix="lf")
data, config = os.path.join(home.name, "data"), os.path.join(home.name, "config.toml")
words = [os.path.abspath(o.binary), "--config", config, "--data-dir", data]
env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home.name, "TERM": "dumb"}


def run(*more):
    return subprocess.run(words + list(more), env=env, check=True, capture_output=True, text=True).stdout


def write(text):
    with open(config, "w") as f:
        f.write(text)
    os.chmod(config, 0o644)


write("")
if o.tls:
    run("certificate", "create", "--directory", home.name, "--name", "localhost", "--name", "127.0.0.1")
    write('[server.tls]\ncertificate = "certificate.pem"\nkey = "key.pem"\n')
daemon = subprocess.Popen(words + ["--daemon", "--listen", "127.0.0.1:0"], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
streams = []
try:
    for line in daemon.stdout:
        if found := re.match(r"listening on https?://127\.0\.0\.1:(\d+)", line):
            port = int(found[1])
            break
    else:
        sys.exit("the daemon does not listen")
    context = ssl.create_default_context(cafile=os.path.join(home.name, "certificate.pem")) if o.tls else None
    tokens = [run("token", "create", f"t{n}", "--scope", "read").strip() for n in range(o.tokens)]

    def stream(token):
        s = socket.create_connection(("127.0.0.1", port), timeout=30)
        if context:
            s = context.wrap_socket(s, server_hostname="localhost")
        s.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        got = b""
        while b": open" not in got:
            piece = s.recv(4096)
            got += piece
            if not piece or not got.startswith(b"HTTP/1.1 200"[:len(got)]):
                sys.exit(f"stream {len(streams)}: {got[:400]!r}")
        streams.append(s)

    def owner():
        begun = time.monotonic()
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        s.connect(os.path.join(data, "leverframe.sock"))
        s.sendall(b"GET /v1/channels HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        while s.recv(65536):
            pass
        return round((time.monotonic() - begun) * 1000, 1)

    for n in range(FIRST):
        stream(tokens[n % o.tokens])
    before = procstat.snapshot(daemon.pid, settle=2)
    begun = time.monotonic()
    for n in range(o.streams):
        stream(tokens[n % o.tokens])
    opened = time.monotonic() - begun
    asked = max(owner() for _ in range(20))
    after = procstat.snapshot(daemon.pid, settle=12, window=o.window)
    each = lambda key: round((after[key] - before[key]) * 1024 / o.streams, 1)
    run("token", "revoke", "t0")
    begun = time.monotonic()
    mine = [s for n, s in enumerate(streams[FIRST:]) if n % o.tokens == 0]
    for s in mine:
        s.settimeout(30)
        got = b""
        while not got.endswith(b"0\r\n\r\n"):
            got += (piece := s.recv(65536))
            if not piece:
                break
    print(json.dumps({"label": o.label, "tls": o.tls, "streams": o.streams, "tokens": o.tokens, "opened_s": round(opened, 1),
                      "kib_each_rss": each("rss_mib"), "kib_each_pss": each("pss_mib"), "before": before, "after": after,
                      "owner_ms_max": asked, "revoked_s": round(time.monotonic() - begun, 2),
                      "load1": round(os.getloadavg()[0], 1)}))
finally:
    daemon.send_signal(signal.SIGKILL)
    daemon.wait()
