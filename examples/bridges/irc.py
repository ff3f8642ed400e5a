#!/usr/bin/env python3
"""A bridge of Leverframe to IRC. Standard library only; the protocol: docs/src/develop/bridge-protocol.md

IRC_SERVER, IRC_PORT     the server; the port is 6697 with TLS and 6667 without
IRC_TLS                  `no` for a connection without TLS
IRC_CA_FILE              certificates to trust in place of the system's
IRC_NICK, IRC_CHANNELS   the bot's nick, and the channels it joins: `#ops,#dev`
IRC_SASL_USER            with IRC_SASL_PASSWORD (a secret): SASL PLAIN
IRC_PASSWORD             the server's password (a secret)
IRC_RATE, IRC_BURST      seconds between lines, and lines that it may send at once

In a channel the bot reads messages that name it (`nick: text`); a query is a direct message. Anybody can take any nick,
so senders are not verified. IRC keeps no history and no keys: nothing comes twice, and an unconfirmed send is unknown.
"""
import base64
import json
import os
import queue
import random
import re
import select
import socket
import ssl
import sys
import threading
import time

SETTINGS = os.environ
SERVER = SETTINGS.get("IRC_SERVER", "localhost")
TLS = SETTINGS.get("IRC_TLS", "yes") != "no"
PORT = int(SETTINGS.get("IRC_PORT") or (6697 if TLS else 6667))
NICK = SETTINGS.get("IRC_NICK", "lever")
CHANNELS = [name for name in SETTINGS.get("IRC_CHANNELS", "").replace(" ", "").split(",") if name]
RATE = float(SETTINGS.get("IRC_RATE", "1"))
BURST = int(SETTINGS.get("IRC_BURST", "4"))
LINE = 510  # bytes of a line without its end
PING = 30  # seconds of silence before a ping to the server
SILENCE = 75  # seconds of silence after which the connection is dead
CONFIRM = 60  # seconds that the server may take to confirm a send
MAX_TEXT = 4000  # bytes of a message, which becomes several lines
MAX_LINES = 40  # lines of a message

speaking = threading.Lock()


def say(kind, **fields):
    with speaking:
        sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
        sys.stdout.flush()


def log(text):
    print(text, file=sys.stderr, flush=True)


class Fatal(Exception):
    """Another try cannot help. Holds what happened and what a person has to do."""


class Lost(Exception):
    """The connection is gone."""


def pieces(text, most):
    """Yields pieces of at most `most` bytes, cut between words if possible, never inside a character."""
    for line in re.split(r"[\r\n]+", text.replace("\0", "")):
        rest = line.rstrip().encode("utf-8", "replace")
        while rest:
            end = len(rest)
            if end > most:
                end = most
                while end > 0 and rest[end] & 0xC0 == 0x80:
                    end -= 1
                space = rest.rfind(b" ", most // 2, end + 1)
                end = space if space > 0 else end
            yield rest[:end].decode("utf-8", "replace")
            rest = rest[end:].lstrip(b" ")


class Bucket:
    """Allows one line each RATE seconds, and BURST lines at once after a quiet time."""

    def __init__(self):
        self.at = 0.0

    def wait(self, gone):
        now = time.monotonic()
        self.at = max(self.at, now - RATE * (BURST - 1)) + RATE
        return gone.wait(max(0.0, self.at - RATE - now))


class Connection:
    """One connection. `run` uses it until it ends, and then raises the reason."""

    def __init__(self, brought):
        self.brought, self.nick, self.mask = brought, NICK, None
        self.gone, self.ready = threading.Event(), threading.Event()
        # A TLS socket does not support a reader and a writer at once.
        self.using = threading.Lock()
        self.confirmed, self.refused = queue.Queue(), {}
        self.socket = socket.create_connection((SERVER, PORT), timeout=20)
        if TLS:
            context = ssl.create_default_context(cafile=SETTINGS.get("IRC_CA_FILE"))
            self.socket = context.wrap_socket(self.socket, server_hostname=SERVER)

    def write(self, line):
        line = re.sub(r"[\r\n\0]", " ", line).encode("utf-8", "replace")[:LINE]
        try:
            with self.using:
                self.socket.settimeout(20)
                self.socket.sendall(line + b"\r\n")
        except OSError as error:
            raise Lost(str(error)) from error

    def register(self):
        if SETTINGS.get("IRC_SASL_USER"):
            self.write("CAP REQ :sasl")
        if SETTINGS.get("IRC_PASSWORD"):
            self.write(f"PASS {SETTINGS['IRC_PASSWORD']}")
        self.write(f"NICK {self.nick}")
        self.write("USER lever 0 * :a bot of Leverframe")

    def lines(self):
        """Yields whole lines. Pings a quiet server, and gives up on a silent one."""
        rest, heard, asked = b"", time.monotonic(), False
        while True:
            waits = TLS and self.socket.pending()
            if not waits and not select.select([self.socket], [], [], PING / 2)[0]:
                quiet = time.monotonic() - heard
                if quiet > SILENCE:
                    raise Lost(f"no answer for {SILENCE} s")
                if quiet > PING and not asked:
                    self.write("PING :alive")
                    asked = True
                continue
            try:
                with self.using:
                    self.socket.settimeout(0.5)
                    chunk = self.socket.recv(8192)
            except TimeoutError:
                continue
            except OSError as error:
                raise Lost(str(error)) from error
            if not chunk:
                raise Lost("the server closed the connection")
            heard, asked = time.monotonic(), False
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line.rstrip(b"\r").decode("utf-8", "replace")

    def run(self):
        try:
            self.register()
            for line in self.lines():
                self.take(line)
        finally:
            self.gone.set()
            self.socket.close()

    def take(self, line):
        prefix = ""
        if line.startswith("@"):
            line = line.partition(" ")[2].lstrip()
        if line.startswith(":"):
            prefix, _, line = line[1:].partition(" ")
        words, colon, trailing = line.partition(" :")
        words = words.split() + ([trailing] if colon else [])
        if not words:
            return
        command, words = words[0].upper(), words[1:] + ["", ""]
        nick = prefix.partition("!")[0]
        if command == "PING":
            self.write(f"PONG :{words[0]}")
        elif command == "PONG":
            self.confirmed.put(words[1] or words[0])
        elif command == "CAP" and words[1].upper() in ("ACK", "NAK"):
            if words[1].upper() == "NAK":
                raise Fatal("the server has no SASL", "leave IRC_SASL_USER out, or name another server")
            self.write("AUTHENTICATE PLAIN")
        elif command == "AUTHENTICATE":
            user, password = SETTINGS["IRC_SASL_USER"], SETTINGS.get("IRC_SASL_PASSWORD", "")
            self.write("AUTHENTICATE " + base64.b64encode(f"\0{user}\0{password}".encode()).decode())
        elif command == "903":
            self.write("CAP END")
        elif command in ("902", "904", "905", "908"):
            raise Fatal("the server refuses the SASL login", "check IRC_SASL_USER and IRC_SASL_PASSWORD")
        elif command in ("432", "433", "436", "437") and not self.ready.is_set():
            # Nicks can be as short as nine characters.
            self.nick = NICK[:6] + str(random.randrange(100, 1000))
            log(f"the nick is taken or refused ({words[-3] or command}); now {self.nick}")
            self.write(f"NICK {self.nick}")
        elif command in ("464", "465"):
            raise Fatal(f"the server refuses us: {words[-3]}", "check IRC_PASSWORD, or ask its operators")
        elif command == "001":
            self.nick = words[0]
            for channel in CHANNELS:
                self.write(f"JOIN {channel}")
            self.write(f"WHOIS {self.nick}")
            self.write("PING :joined")
        elif command == "311" and words[1] == self.nick and not self.mask:
            self.mask = f"{self.nick}!{words[2]}@{words[3]}"
        elif command == "JOIN" and nick == self.nick:
            self.mask = prefix
            log(f"joined {words[0]}")
        elif command == "NICK" and nick == self.nick:
            self.nick = words[0]
        elif command in ("401", "403", "404", "405", "442", "471", "473", "474", "475"):
            self.refused[words[1].lower()] = words[2]
            log(f"{words[1]}: {words[2]}")
        elif command == "ERROR":
            raise Lost(words[0])
        elif command == "PRIVMSG" and nick and nick != self.nick:
            self.hear(nick, words[0], words[1])
        if command == "PONG" and not self.ready.is_set():
            self.ready.set()
            say("health", state="connected")

    def hear(self, nick, target, text):
        if text.startswith("\x01"):
            return
        direct = target.lower() == self.nick.lower()
        named = re.match(re.escape(self.nick) + r"[:,]\s*", text, re.IGNORECASE)
        text = text[named.end():] if named else text
        # Colours and other formatting.
        text = re.sub(r"[\x02\x0f\x11\x16\x1d-\x1f]|\x03\d{0,2}(,\d{1,2})?", "", text)
        self.brought(nick, nick if direct else target, text.strip(), direct, bool(named))

    def deliver(self, target, text, token, bucket):
        """Writes a message and waits until the server has read it. A written message cannot be taken back."""
        # As receivers see it; until we saw ourselves, with the longest name and host.
        mask = self.mask or f"{self.nick}!{'u' * 10}@{'h' * 63}"
        most = LINE - len(f":{mask} PRIVMSG {target} :".encode())
        written = 0
        self.refused.pop(target.lower(), None)
        lines = list(pieces(text, most))
        if len(lines) > MAX_LINES:
            lines[MAX_LINES - 1:] = [f"[{len(lines) - MAX_LINES + 1} more lines: too many for IRC]"]
        for piece in lines:
            if bucket.wait(self.gone):
                break
            try:
                self.write(f"PRIVMSG {target} :{piece}")
            except Lost:
                break
            written += 1
        else:
            try:
                self.write(f"PING :{token}")
                deadline = time.monotonic() + CONFIRM
                while not self.gone.is_set() and time.monotonic() < deadline:
                    try:
                        if self.confirmed.get(timeout=0.2) == token:
                            why = self.refused.pop(target.lower(), None)
                            return {"type": "failed", "error": why} if why else {"type": "sent"}
                    except queue.Empty:
                        pass
            except Lost:
                pass
        if not written:
            return {"type": "retry", "after_ms": 2000, "error": "the connection was lost before the send"}
        return {"type": "unknown", "detail": f"{written} lines left, and the server confirmed none of them"}


class Bridge:
    def __init__(self, conform):
        self.conform, self.count, self.started = conform, 0, time.time_ns() // 1_000_000
        self.welcomed, self.jobs, self.bucket = False, queue.Queue(), Bucket()
        self.connection = None
        threading.Thread(target=self.send, daemon=True).start()
        if not conform:
            threading.Thread(target=self.connect, daemon=True).start()

    def bring(self, nick, conversation, text, direct, addressed):
        # Nobody hears messages before the welcome, as with a client that is offline.
        if self.welcomed:
            self.count += 1
            say("message", key=f"{self.started}-{self.count}", conversation=conversation.lower(), title=conversation,
                sender={"id": nick.lower(), "display": nick}, text=text, direct=direct, addressed=addressed)

    def is_connected(self):
        connection = self.connection
        return self.conform or bool(connection and connection.ready.is_set() and not connection.gone.is_set())

    def connect(self):
        failures = 0
        while True:
            began = time.monotonic()
            try:
                self.connection = Connection(self.bring)
                self.connection.run()
            except Fatal as error:
                detail, fix = error.args
                return say("health", state="failed", detail=detail, fix=fix)
            except (Lost, OSError) as error:
                log(f"{SERVER}:{PORT}: {error}")
                failures = 0 if time.monotonic() - began > 60 else failures + 1
                rest = min(60, 2 ** min(failures, 6)) * random.uniform(0.5, 1) + 0.5
                say("health", state="degraded", detail=f"{SERVER}:{PORT}: {error}; trying again in {rest:.0f} s")
                time.sleep(rest)

    def send(self):
        while True:
            job = self.jobs.get()
            number, text, target = job["id"], job["text"], job["conversation"]
            if self.conform:
                kind = text[9:] if text in ("conform: retry", "conform: failed", "conform: unknown") else "sent"
                say(kind, id=number, after_ms=50, refs=[f"out-{number}"])
                if kind == "sent":
                    self.bring("echo", target, text, True, True)
                continue
            if re.search(r"[\s,\0]", target) or target.startswith(":"):
                say("failed", id=number, error="that is no nick and no channel")
                continue
            if not self.is_connected():
                say("retry", id=number, after_ms=2000, error="not connected")
                continue
            answer = self.connection.deliver(target, text, f"{self.started}-{number}", self.bucket)
            say(answer.pop("type"), id=number, refs=[f"{self.started}-{number}"], **answer)


def main():
    bridge = None
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
            kind = message.get("type")
        except (ValueError, AttributeError):
            log("ignored a line that is not a message")
            continue
        if kind == "start":
            if message["protocol"] != 1:
                sys.exit(f"version {message['protocol']} of the protocol is not supported, only 1")
            say("hello", protocol=1, name="irc", account={"id": f"{NICK}@{SERVER}".lower(), "display": NICK}, capabilities={
                "max_length": MAX_TEXT, "unit": "bytes", "format": "plain", "idempotency": "none"})
            bridge = Bridge(message["conform"])
        elif kind == "welcome":
            bridge.welcomed = True
        elif kind in ("send", "card"):
            bridge.jobs.put(message)
        elif kind == "ping":
            if bridge.is_connected():
                say("pong", id=message["id"])
            else:
                say("health", state="degraded", detail=f"{SERVER}:{PORT}: not connected yet")
        elif kind == "shutdown":
            connection = bridge.connection
            if connection and not connection.gone.is_set():
                try:
                    connection.write("QUIT :until later")
                except Lost:
                    pass
            return


main()
