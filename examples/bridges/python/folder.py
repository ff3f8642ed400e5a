#!/usr/bin/env python3
"""A bridge of Leverframe: the chat is a folder with two files.

inbox.jsonl   Append a line to write to the bot: {"user": "ada", "text": "hello"}
outbox.jsonl  The bot's messages: {"key": "...", "text": "..."}
files/        Files of messages in both directions: {"user": "ada", "text": "look", "file": "cat.png"}

The folder is $CHAT_FOLDER, else the program's own directory. The protocol: docs/src/develop/bridge-protocol.md
"""
import base64
import json
import os
import sys
import threading
import time


class Chat:
    def __init__(self, folder, conform):
        self.conform = conform
        self.inbox, self.outbox, self.files = (
            os.path.join(folder, name) for name in ("inbox.jsonl", "outbox.jsonl", "files"))
        os.makedirs(self.files, exist_ok=True)
        self.keys = {line.get("key"): str(at) for at, line in lines_of(self.outbox, 0)}

    def post(self, key, entry):
        """Writes an entry once for each key, even after a restart. Returns its reference and whether it is new."""
        is_new = key not in self.keys
        if is_new:
            self.keys[key] = str(append(self.outbox, {"key": key, **entry}))
        return self.keys[key], is_new


def append(path, entry):
    """Writes a whole line at once, so a kill leaves a whole line or none. Returns the position after it."""
    with open(path, "ab") as file:
        file.write(json.dumps(entry).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def lines_of(path, position):
    """Yields the whole lines from a position on, each with the position after it."""
    with open(path, "a+b") as file:
        file.seek(position)
        for line in file:
            position += len(line)
            if not line.endswith(b"\n"):
                return
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {}
            yield position, entry if isinstance(entry, dict) else {}


speaking = threading.Lock()


def say(kind, **fields):
    with speaking:
        sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
        sys.stdout.flush()


def read_inbox(chat, position):
    """Sends every line after the position, for ever."""
    while True:
        for position, line in lines_of(chat.inbox, position):
            at = {"key": f"inbox:{position}", "cursor": str(position)}
            if not line.get("user"):
                say("other", what="a line without a user", **at)
                continue
            at["conversation"] = line.get("conversation", "folder")
            at["sender"] = {"id": line["user"]}
            files = [{"reference": line["file"], "name": line["file"]}] if line.get("file") else []
            if "click" in line:
                say("click", token=line["click"], **at)
            else:
                say("message", text=line.get("text", ""), direct=True, files=files, **at)
        time.sleep(0.05)


def deliver(chat, message):
    number, key, text = message["id"], message["key"], message.get("text", "")
    if chat.conform and text == "conform: retry":
        return say("retry", id=number, after_ms=50, error="the platform is busy")
    if chat.conform and text in ("conform: failed", "conform: unknown"):
        return say(text[9:], id=number)
    echo = {"user": "echo", "conversation": message["conversation"], "text": text}
    if message["type"] == "file":
        echo["file"] = os.path.basename(message["name"])
        with open(os.path.join(chat.files, echo["file"]), "wb") as file:
            file.write(base64.b64decode(message["data"]))
    if message["type"] == "card" and message["buttons"]:
        echo["click"] = message["buttons"][0]["token"]
    entry = {name: message[name] for name in ("conversation", "text", "name", "buttons") if name in message}
    ref, is_new = chat.post(key, entry)
    say("sent", id=number, refs=[ref])
    if chat.conform and is_new:
        append(chat.inbox, echo)


def fetch(chat, message):
    try:
        with open(os.path.join(chat.files, os.path.basename(message["reference"])), "rb") as file:
            content = file.read(message["max_bytes"] + 1)
    except OSError as error:
        return say("failed", id=message["id"], error=str(error))
    if len(content) > message["max_bytes"]:
        say("failed", id=message["id"], error="it is too large")
    else:
        say("fetched", id=message["id"], data=base64.b64encode(content).decode())


def main():
    chat = None
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
            kind = message.get("type")
        except (ValueError, AttributeError):
            print("ignored a line that is not a message", file=sys.stderr)
            continue
        if kind == "start":
            if message["protocol"] != 1:
                sys.exit(f"version {message['protocol']} of the protocol is not supported, only 1")
            own = os.environ["HOME"]
            folder = own if message["conform"] else os.environ.get("CHAT_FOLDER", own)
            chat = Chat(folder, message["conform"])
            say("hello", protocol=1, name="folder", account={"id": "folder", "display": folder}, capabilities={
                "max_length": 4000, "unit": "chars", "format": "plain", "buttons": True, "files": True,
                "idempotency": "native_key"})
        elif kind == "welcome":
            position = int(message["cursor"] or 0)
            threading.Thread(target=read_inbox, args=(chat, position), daemon=True).start()
        elif kind in ("send", "card", "file"):
            deliver(chat, message)
        elif kind == "fetch":
            fetch(chat, message)
        elif kind == "ping":
            say("pong", id=message["id"])
        elif kind == "shutdown":
            return


main()
