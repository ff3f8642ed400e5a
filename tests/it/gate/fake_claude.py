#!/usr/bin/env python3
"""Behaves as Claude Code 2.1.332 without a terminal was recorded to, as far as a job needs it.

The prompt is a script, one order a line: RUN command, READ path, BOTH command ;; command, WAIT path, DIE. The session is a
file below HOME. A hook that fails lets its call run, as with the real program.
"""
import json, os, pathlib, signal, subprocess, sys, time

words = sys.argv[1:]
if "--version" in words:
    print("2.1.332 (Claude Code)")
    sys.exit(0)
options = {}
while words:
    word = words.pop(0)
    if word in ("--settings", "--append-system-prompt", "--output-format", "--session-id", "--resume"):
        options[word] = words.pop(0)
prompt = sys.stdin.read()
hooks = json.loads(options["--settings"])["hooks"]
home = pathlib.Path(os.environ["HOME"]) / "fake-claude"
home.mkdir(exist_ok=True)
(home / "starts").open("a").write("x\n")
session = options.get("--session-id") or options["--resume"]
file = home / session
fresh = "--session-id" in options


def stop(problem):
    print(problem, file=sys.stderr)
    sys.exit(1)


if fresh and file.exists():
    stop(f"Error: Session ID {session} is already in use.")
if not fresh and not file.exists():
    stop(f"No conversation found with session ID: {session}")
state = {"at": 0, "ids": 0, "said": [], "marker": None, "died": False} if fresh else json.loads(file.read_text())
if fresh:
    state["orders"] = prompt.splitlines()
elif not prompt and not state["marker"]:
    stop("Error: No deferred tool marker found in the resumed session.")
(home / "pid").write_text(str(os.getpid()))


def save():
    new = file.with_suffix(".new")
    new.write_text(json.dumps(state))
    new.rename(file)


def say(line):
    print(json.dumps(line), flush=True)


def hook(event, call, **more):
    """The status and the words of the hook."""
    body = {"session_id": session, "transcript_path": str(file), "cwd": os.getcwd(), "permission_mode": "default",
            "hook_event_name": event, **more}
    if call:
        body.update(tool_name=call["name"], tool_input=call["input"], tool_use_id=call["id"])
    status, out = 0, ""
    for group in hooks.get(event, []):
        for one in group["hooks"]:
            ran = subprocess.run(["sh", "-c", one["command"]], input=json.dumps(body), capture_output=True, text=True)
            status, out = ran.returncode, ran.stdout
    return status, out


def attempt(call):
    """What becomes of a call: ran, denied or deferred."""
    status, out = hook("PreToolUse", call)
    decision, reason = "allow", ""
    if status == 2:
        decision = "deny"
    try:
        said = json.loads(out)["hookSpecificOutput"]
        decision = said.get("permissionDecision", decision) if status in (0, 2) else "allow"
        reason = said.get("permissionDecisionReason", "")
    except (ValueError, KeyError):
        pass
    if decision == "defer":
        state["marker"] = call
        return "deferred"
    if decision == "deny":
        state["said"].append(f"denied: {reason}")
        return "denied"
    if call["name"] == "Bash":
        subprocess.run(["sh", "-c", call["input"]["command"]])
    hook("PostToolUse", call, tool_response={"stdout": "", "stderr": ""})
    return "ran"


def new_call(order):
    state["ids"] += 1
    word, rest = order.split(" ", 1)
    call = {"id": f"toolu_{session[:8]}_{state['ids']}"}
    if word == "READ":
        return {**call, "name": "Read", "input": {"file_path": rest}}
    return {**call, "name": "Bash", "input": {"command": rest}}


def deferred():
    save()
    hook("SessionEnd", None)
    call = state["marker"]
    say({"type": "result", "subtype": "success", "is_error": False, "stop_reason": "tool_deferred", "result": "",
         "deferred_tool_use": call, "session_id": session})
    sys.exit(0)


save()
say({"type": "system", "subtype": "init", "session_id": session})
hook("SessionStart", None)
if prompt:
    state["marker"] = None
    hook("UserPromptSubmit", None)
elif state["marker"]:
    call, state["marker"] = state["marker"], None
    save()
    if attempt(call) == "deferred":
        deferred()
    state["at"] += 1
    save()
while state["at"] < len(state["orders"]):
    order = state["orders"][state["at"]]
    say({"type": "assistant", "message": {"content": [{"type": "text", "text": order}]}})
    if order == "DIE":
        if not state["died"]:
            state["died"] = True
            save()
            os.kill(os.getpid(), signal.SIGKILL)
    elif order.startswith("WAIT "):
        while not pathlib.Path(order[5:]).exists():
            time.sleep(0.02)
    else:
        calls = [new_call("RUN " + part) for part in order[5:].split(" ;; ")] if order.startswith("BOTH ") else [new_call(order)]
        save()
        for call in calls:
            attempt(call)
        if state["marker"]:
            deferred()
    state["at"] += 1
    save()
hook("Stop", None)
hook("SessionEnd", None)
say({"type": "result", "subtype": "success", "is_error": False, "stop_reason": "end_turn", "session_id": session,
     "result": "\n".join(state["said"] + ["Done."])})
