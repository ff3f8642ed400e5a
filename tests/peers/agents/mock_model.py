#!/usr/bin/env python3
"""A model for agents, on loopback: mock_model.py [--log FILE]; prints the port that it listens on.

It speaks Anthropic's `/v1/messages`, OpenAI's `/v1/responses` and Gemini's `:streamGenerateContent`. The last line of the
prompt that begins with one of these words chooses the answer; after a result of a tool the turn ends:

    RUN command      a call of the shell
    WRITE path       a call that writes the file `path`
    BEYOND command   the same, outside of the sandbox of the agent (Codex)
    AGENT command    a call of a subagent, which gets `RUN command` as its task (Claude Code)

A tool is called only where the request offers it, so side requests (titles, summaries) get plain text.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ORDER = re.compile(r"^(RUN|BEYOND|WRITE|AGENT) (.+)$", re.MULTILINE)
log = None
calls = 0


def texts(value):
    """Every string of a message, however deep."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return []


def order_in(value):
    found = [order for text in texts(value) for order in ORDER.findall(text)]
    return found[-1] if found else None


def fields_of(tool_schema):
    return (tool_schema or {}).get("properties", {})


def call_for(order, tools):
    """Name and arguments of the call, from the tools that the request offers by name and schema."""
    if order is None:
        return None
    word, rest = order
    rest = rest.strip()
    if word == "AGENT":
        for name in ("Agent", "Task"):
            if name in tools:
                return name, {"description": "A task", "prompt": "RUN " + rest, "subagent_type": "general-purpose"}
        return None
    if word in ("RUN", "BEYOND"):
        for name in ("Bash", "run_shell_command", "exec_command", "shell_command", "shell"):
            if name in tools:
                fields = fields_of(tools[name])
                arguments = {"cmd" if "cmd" in fields else "command": rest}
                if fields.get("command", {}).get("type") == "array":
                    arguments = {"command": ["bash", "-lc", rest]}
                if word == "BEYOND":
                    arguments |= {"sandbox_permissions": "require_escalated", "justification": "it writes outside"}
                if "description" in fields:
                    arguments["description"] = "Run what was asked"
                return name, arguments
        return None
    for name in ("Write", "write_file"):
        if name in tools:
            return name, {"file_path": rest, "content": "written by the gate's test\n"}
    if "apply_patch" in tools:
        patch = f"*** Begin Patch\n*** Add File: {rest}\n+written by the gate's test\n*** End Patch\n"
        return "apply_patch", {"input": patch}
    return None


def anthropic(body):
    tools = {tool.get("name"): tool.get("input_schema") for tool in body.get("tools") or []}
    asked = [message for message in body.get("messages") or [] if message.get("role") == "user"]
    last = asked[-1].get("content") if asked else None
    ended = isinstance(last, list) and any(part.get("type") == "tool_result" for part in last)
    call = None if ended else call_for(order_in(last), tools)
    if call:
        block = {"type": "tool_use", "id": f"toolu_{next_call()}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "Done."}
    reason = "tool_use" if call else "end_turn"
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "mock"), "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    if not body.get("stream"):
        full = {**block, "input": call[1]} if call else {"type": "text", "text": "Done."}
        return None, {**message, "content": [full], "stop_reason": reason}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events], None


def openai(body):
    tools = {}
    for tool in body.get("tools") or []:
        tools[tool.get("name")] = tool.get("parameters")
    items = body.get("input") or []
    # Models of the newer kind get one tool, which runs JavaScript that calls the others.
    script = any(item.get("type") == "additional_tools" for item in items)
    if script:
        tools = {"exec_command": {"properties": {"cmd": {}}}, "apply_patch": None}
    since = []
    for item in items:
        since = [] if item.get("role") == "user" else since + [item.get("type")]
    ended = any(kind in ("function_call_output", "custom_tool_call_output") for kind in since)
    asked = [item for item in items if item.get("role") == "user"]
    call = None if ended or not asked else call_for(order_in(asked[-1]), tools)
    if call and script:
        source = call[1]["input"] if call[0] == "apply_patch" else call[1]
        item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": f"call_{next_call()}", "name": "exec",
                "namespace": "functions", "status": "completed",
                "input": f"text(await tools.{call[0]}({json.dumps(source)}));"}
    elif call and call[0] == "apply_patch" and tools["apply_patch"] is None:
        item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": f"call_{next_call()}", "name": "apply_patch",
                "input": call[1]["input"], "status": "completed"}
    elif call:
        item = {"type": "function_call", "id": "fc_1", "call_id": f"call_{next_call()}", "name": call[0],
                "arguments": json.dumps(call[1]), "status": "completed"}
    else:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}
    usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
    response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    if not body.get("stream"):
        return None, response
    events = [
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return [(event["type"], event) for event in events], None


def gemini(body):
    tools = {}
    for group in body.get("tools") or []:
        for tool in group.get("functionDeclarations") or []:
            tools[tool.get("name")] = tool.get("parametersJsonSchema") or tool.get("parameters")
    last = (body.get("contents") or [{}])[-1].get("parts") or []
    ended = any("functionResponse" in part for part in last)
    call = None if ended else call_for(order_in(last), tools)
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "Done."}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }


def next_call():
    global calls
    calls += 1
    return calls


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

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

    def do_HEAD(self):
        self.reply("application/json", b"")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        if log:
            with open(log, "a") as file:
                file.write(json.dumps({"path": self.path, "body": body}) + "\n")
        path = self.path.split("?")[0]
        events, whole = None, {}
        if path.endswith("/messages"):
            events, whole = anthropic(body)
        elif path.endswith("/responses"):
            events, whole = openai(body)
        elif path.endswith(":streamGenerateContent"):
            events = [(None, gemini(body))]
        elif path.endswith(":generateContent"):
            whole = gemini({**body, "tools": []})
        elif path.endswith("count_tokens") or path.endswith(":countTokens"):
            whole = {"input_tokens": 1, "totalTokens": 1}
        if events is None:
            self.reply("application/json", json.dumps(whole).encode())
            return
        lines = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n" for name, event in events]
        self.reply("text/event-stream", "".join(lines).encode())


def main():
    global log
    if sys.argv[1:2] == ["--log"]:
        log = sys.argv[2]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
