#!/usr/bin/env python3
"""mcp_turn.py - what an agent adds to a call of a tool server, for Leverframe and for Codex (Linux, standard library only).

    mcp_turn.py [-n 7] [--turns 5] leverframe target/release/leverframe
    mcp_turn.py [-n 7] [--turns 5] codex PATH_OF_CODEX

A model on loopback speaks OpenAI's Responses API and asks for n calls, one after another, in each turn. A server of the
Model Context Protocol answers each at once over its standard streams. Both write down when they read and wrote.

  out   from the model's answer until the server has the call
  back  from the server's answer until the model has the next request

Each line is JSON, times in ms. The first call of each turn is left out: it starts the server.
"""
import argparse, json, os, pathlib, re, shutil, statistics as st, subprocess, sys, tempfile, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(log):
    """The tool server."""
    out = open(log, "a", buffering=1)
    for line in sys.stdin:
        read = time.monotonic()
        message = json.loads(line)
        method, given = message.get("method"), message.get("params") or {}
        if "id" not in message:
            continue
        error = None
        if method == "initialize":
            result = {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "bench", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": "echo", "description": "Repeats a text.", "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
                                 "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": given["arguments"]["text"]}]}
        elif method == "ping":
            result = {}
        else:
            error = {"code": -32601, "message": "no such method"}
        answer = {"jsonrpc": "2.0", "id": message["id"], **({"error": error} if error else {"result": result})}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        if method == "tools/call":
            out.write(json.dumps({"text": given["arguments"]["text"], "read": read, "wrote": time.monotonic()}) + "\n")


if sys.argv[1:2] == ["--serve"]:
    serve(sys.argv[2])
    sys.exit()

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("-n", type=int, default=7)
a.add_argument("--turns", type=int, default=5)
a.add_argument("who", choices=["leverframe", "codex"])
a.add_argument("binary")
o = a.parse_args()
BINARY = str(pathlib.Path(o.binary).absolute())
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="lf"))
LOG = ROOT / "calls.jsonl"
asked, answered, turn, names, said = {}, {}, 0, set(), []


def tool_names(tools, space=None):
    for tool in tools or []:
        inner = tool.get("tools")
        if inner:
            yield from tool_names(inner, tool.get("name"))
        elif "echo" in (tool.get("name") or ""):
            yield space, tool["name"]


def respond(body):
    """The item of an answer: a call, or the end of the turn."""
    read = time.monotonic()
    since = []
    for item in body.get("input") or []:
        since = [] if item.get("role") == "user" else since + [item.get("type")]
    done = since.count("function_call_output")
    found = list(tool_names(body.get("tools")))
    for extra in body.get("input") or []:
        if extra.get("type") == "additional_tools":
            found += list(tool_names(extra.get("tools")))
    if not found:
        names.update(str(tool.get("name") or tool.get("type")) for tool in body.get("tools") or [])
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}, None
    asked[turn, done] = read
    if done >= o.n:
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}, None
    space, name = found[0]
    item = {"type": "function_call", "id": f"fc_{turn}_{done}", "call_id": f"call_{turn}_{done}", "name": name,
            "arguments": json.dumps({"text": f"{turn} {done}"}), "status": "completed"}
    return ({**item, "namespace": space} if space else item), (turn, done)


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def reply(self, kind, data):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.reply("application/json", b'{"data": [], "models": []}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        item, which = respond(body)
        usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
        response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        if body.get("stream"):
            self.reply("text/event-stream", "".join(lines).encode())
        else:
            self.reply("application/json", json.dumps(response).encode())
        if which:
            answered[which] = time.monotonic()


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
model.daemon_threads = True
threading.Thread(target=model.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{model.server_address[1]}/v1"
ENV = {"PATH": f"{pathlib.Path(BINARY).parent}:{os.environ['PATH']}", "HOME": str(ROOT), "TERM": "dumb", "TEST_KEY": "test"}
SERVER = [sys.executable, str(pathlib.Path(__file__).absolute()), "--serve", str(LOG)]


def run(words, **more):
    return subprocess.run(words, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, **more)


def codex():
    (ROOT / ".codex").mkdir()
    (ROOT / ".codex/config.toml").write_text(
        'model = "mock"\nmodel_provider = "test"\n\n[model_providers.test]\nname = "test"\n'
        f'base_url = "{URL}"\nwire_api = "responses"\nenv_key = "TEST_KEY"\n\n'
        f"[mcp_servers.bench]\ncommand = {json.dumps(SERVER[0])}\nargs = {json.dumps(SERVER[1:])}\n")
    for _ in turns():
        ran = run([BINARY, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "call the tool"], cwd=ROOT)
        if ran.returncode:
            sys.exit(f"codex: {ran.stderr[-2000:]}")
        said.append(ran.stderr[-2000:])


def leverframe():
    config = ROOT / "config.toml"
    config.write_text(
        '[model]\ndefault = "test/mock"\n\n[providers.test]\nkind = "openai-responses"\n'
        f'base_url = "{URL}"\napi_key_env = "TEST_KEY"\n\n'
        '[channels.cli]\nautonomy = "supervised"\nauto_approve = ["mcp__bench__*"]\n\n'
        f"[mcp.bench]\ncommand = {json.dumps(SERVER)}\nsandbox = false\ntrusted = true\n")
    common = [BINARY, "--config", str(config), "--data-dir", str(ROOT / "data")]
    daemon = subprocess.Popen([*common, "--daemon"], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=open(ROOT / "daemon.log", "w"))
    try:
        deadline = time.monotonic() + 60
        while not (digest := re.search(r"--sha256 (\w+)", (shown := run([*common, "mcp", "trust", "bench"])).stderr)):
            if time.monotonic() > deadline:
                sys.exit(f"the server is not there: {shown}")
            time.sleep(0.2)
        trusted = run([*common, "mcp", "trust", "bench", "--sha256", digest[1]])
        if trusted.returncode:
            sys.exit(f"no trust: {trusted}")
        for _ in turns():
            ran = run([*common, "ask", "call the tool"])
            if ran.returncode:
                sys.exit(f"leverframe: {ran}")
    finally:
        daemon.terminate()
        daemon.wait()


def turns():
    global turn
    for turn in range(o.turns):
        yield turn


try:
    {"codex": codex, "leverframe": leverframe}[o.who]()
    out, back = [], []
    for line in LOG.read_text().splitlines() if LOG.exists() else []:
        call = json.loads(line)
        which = tuple(int(word) for word in call["text"].split())
        if which[1] == 0:
            continue
        out.append((call["read"] - answered[which]) * 1e3)
        back.append((asked[which[0], which[1] + 1] - call["wrote"]) * 1e3)
    if not out:
        sys.exit(f"no call reached the server; tools of the requests: {sorted(names)}\n{''.join(said[-1:])}")
    for name, times in (("out", out), ("back", back), ("both", [x + y for x, y in zip(out, back)])):
        times.sort()
        print(json.dumps({"run": name, "who": o.who, "n": len(times), "p50": round(st.median(times), 2),
                          "p95": round(times[int(len(times) * .95)], 2), "least": round(times[0], 2), "load1": round(os.getloadavg()[0], 1)}))
finally:
    shutil.rmtree(ROOT, ignore_errors=True)
