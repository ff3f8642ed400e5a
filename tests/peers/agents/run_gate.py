#!/usr/bin/env python3
"""The real agents behind the gate of the real daemon: run_gate.py LEVERFRAME PEERS [AGENT...]; see tests/agents.sh."""

import datetime
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
NAMES = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
SETTINGS = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}
DEADLINE = 90


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class World:
    """A home, a folder, a daemon and a model for one agent."""

    def __init__(self, agent, binary, peers):
        self.agent, self.binary, self.peers = agent, binary, peers
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lf"))
        self.home, self.folder, self.data = self.root / "home", self.root / "folder", self.root / "data"
        self.home.mkdir()
        self.folder.mkdir()
        self.model = subprocess.Popen([sys.executable, HERE / "mock_model.py"], stdout=subprocess.PIPE)
        self.url = f"http://127.0.0.1:{int(self.model.stdout.readline())}"
        self.daemon, self.terminals = None, 0
        self.settings = self.home / SETTINGS[agent]
        self.settings.parent.mkdir()
        self.program = peers / "node_modules/.bin" / agent
        self.before = self.write_settings()

    def write_settings(self):
        """Lets the agent run every call that no hook stops. Gives the text of the file that hooks go into."""
        if self.agent == "claude":
            self.settings.write_text('{\n  "permissions": {"allow": ["Bash"]}\n}\n')
        elif self.agent == "gemini":
            self.settings.write_text('{\n  "security": {"auth": {"selectedType": "gemini-api-key"}}\n}\n')
        else:
            (self.home / ".codex/config.toml").write_text(
                'model_provider = "test"\n\n[model_providers.test]\nname = "test"\n'
                f'base_url = "{self.url}/v1"\nwire_api = "responses"\nenv_key = "TEST_KEY"\n')
        return self.settings.read_bytes() if self.settings.exists() else None

    def environment(self):
        return {
            "PATH": f"{self.program.parent}:{os.environ['PATH']}", "HOME": str(self.home), "TERM": "dumb",
            "ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "TEST_KEY": "test",
            "GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_API_KEY": "test", "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def leverframe(self, *words):
        return subprocess.run([self.binary, "--data-dir", self.data, *words], env=self.environment(), timeout=600,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def start_daemon(self):
        self.daemon = subprocess.Popen([self.binary, "--data-dir", self.data, "--daemon"], env=self.environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=open(self.root / "daemon.log", "a"))
        wait("the daemon answers", lambda: self.get("/v1/approvals?state=pending") is not None)

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.wait()

    def request(self, method, path, body=None):
        connection = UnixConnection(self.data / "leverframe.sock")
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        text = response.read()
        assert response.status < 300, f"{method} {path}: {response.status} {text[:500]!r}"
        return json.loads(text)

    def get(self, path):
        try:
            return self.request("GET", path)
        except OSError:
            return None

    def start(self, command):
        task = f"RUN {command}"
        words = {
            "claude": ["-p", task],
            "codex": ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access",
                      "--dangerously-bypass-hook-trust", task],
            "gemini": ["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", task],
        }[self.agent]
        self.output = open(self.root / "agent.log", "ab")
        return subprocess.Popen([self.program, *words], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=self.output, stderr=self.output, start_new_session=True)

    def start_in_terminal(self, command):
        """Codex with a person: only there it asks for itself."""
        config = self.home / ".codex/config.toml"
        trust = f'\n[projects."{self.folder}"]\ntrust_level = "trusted"\n'
        if trust not in config.read_text():
            config.write_text(config.read_text() + trust)
        # A server of its own: the one before may still be ending.
        self.terminals += 1
        self.tmux("new-session", "-d", "-x", "120", "-y", "50", "-c", self.folder, self.program, "-a", "on-request",
                  "--sandbox", "read-only", "--dangerously-bypass-hook-trust", f"BEYOND {command}")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.root / f"tmux{self.terminals}", *words], env={**self.environment(), "TERM": "xterm"},
                              capture_output=True, text=True, timeout=DEADLINE)
        return done.stdout

    def question(self):
        def pending():
            page = self.get("/v1/approvals?state=pending")
            return page["items"][0] if page and page["items"] else None
        return wait("a question waits", pending)

    def decide(self, question, decision):
        self.request("POST", f"/v1/approvals/{question['id']}/decision", {
            "decision": decision, "digest": question["digest"], "confirm_code": question["short_code"]})

    def end(self):
        for process in (self.daemon, self.model):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.root, ignore_errors=True)


def wait(what, probe, seconds=DEADLINE):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = probe()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not in time: {what}")


def cases(world):
    """Name, what has to happen, and the steps; each says whether it happened, in order."""
    effect = world.folder / "effect.txt"

    def ended(process):
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError("the agent did not end")
        ran = effect.exists()
        effect.unlink(missing_ok=True)
        return ran

    def run(during=lambda: None):
        process = world.start(f"echo effect > {effect}")
        try:
            during()
            return ended(process)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def install():
        done = world.leverframe("gate", "install", world.agent, "--yes")
        assert done.returncode == 0, done.stderr
        return world.settings.read_bytes() != world.before

    def ask():
        seen = []

        def during():
            question = world.question()
            seen.append(question)
            world.decide(question, "deny")
        stopped = not run(during)
        return stopped and f"echo effect > {effect}" in json.dumps(seen[0]["args"])

    def answer(decision):
        return run(lambda: world.decide(world.question(), decision))

    def own_question(decision):
        world.start_in_terminal(f"echo effect > {effect}")
        try:
            first = world.question()
            world.decide(first, "approve")
            own = wait("Codex asks for itself", lambda: world.question()["id"] != first["id"] and world.question())
            assert "it writes outside" in json.dumps(own["risk_reasons"]), own
            world.decide(own, decision)
            wait("the turn ends", lambda: "Done." in world.tmux("capture-pane", "-p"))
            ran = effect.exists()
            effect.unlink(missing_ok=True)
            return ran
        finally:
            world.tmux("kill-server")

    def restart():
        def during():
            first = world.question()
            world.kill_daemon()
            world.start_daemon()
            second = world.question()
            assert first["id"] == second["id"], "another question after the start"
            # The caller is back when it waits at the new daemon; a decision counts whenever it comes.
            world.decide(second, "approve")
        return run(during)

    def within(seconds, during):
        """Runs with this limit in place of the installed one: nobody waits for ten minutes."""
        text = world.settings.read_text()
        assert " 590 " in text, "the installed line has no limit of 590 s"
        world.settings.write_text(text.replace(" 590 ", f" {seconds} "))
        try:
            return run(during)
        finally:
            world.settings.write_text(text)

    def killed():
        def during():
            world.question()
            world.kill_daemon()
        ran = within(15, during)
        world.start_daemon()
        return not ran

    def hang():
        def during():
            world.question()
            world.daemon.send_signal(signal.SIGSTOP)
        try:
            return not within(15, during)
        finally:
            world.daemon.send_signal(signal.SIGCONT)

    def job():
        done = world.leverframe("agents", "run", "claude", "--dir", str(world.folder), f"RUN echo effect > {effect}")
        assert done.returncode == 0, done.stderr
        path = f"/v1/agent-jobs/{done.stdout.strip()}"

        def stands(state):
            seen = []

            def probe():
                seen.append(world.get(path))
                return seen[-1] and seen[-1]["state"] == state
            try:
                wait(f"the job is {state}", probe)
            except AssertionError as problem:
                raise AssertionError(f"{problem}; it is {seen[-1]}") from problem
        stands("waiting")
        world.kill_daemon()
        assert not effect.exists(), "the call ran before the decision"
        world.start_daemon()
        stands("waiting")
        world.decide(world.question(), "approve")
        stands("completed")
        ran = effect.exists()
        effect.unlink(missing_ok=True)
        # Three crashes close together hold the engine; a clean end forgets them.
        world.daemon.terminate()
        world.daemon.wait()
        world.start_daemon()
        return ran

    def uninstall():
        done = world.leverframe("gate", "uninstall", world.agent, "--yes")
        assert done.returncode == 0, done.stderr
        now = world.settings.read_bytes() if world.settings.exists() else None
        return now == world.before and run()

    def tested():
        done = world.leverframe("gate", "test", world.agent, "--command", str(world.program))
        assert done.returncode == 0, done.stdout + done.stderr
        return True

    only_claude, only_codex = world.agent == "claude", world.agent == "codex"
    told = "the program ends while the question waits; the daemon is killed; a yes lets the call run"
    return [
        *([("job", told, job)] if only_claude else []),
        ("install", "the hooks stand in the settings", install),
        ("ask", "the question has the call, and waits", ask),
        ("allow", "the call runs after a yes over HTTP", lambda: answer("approve")),
        ("deny", "the call does not run after a no over HTTP", lambda: not answer("deny")),
        *([("job, hooks installed", told, job)] if only_claude else []),
        *([("its own question, allow", "it runs the call outside of its sandbox after a second yes",
            lambda: own_question("approve")),
           ("its own question, deny", "the call does not run after a no to the second question",
            lambda: not own_question("deny"))] if only_codex else []),
        ("daemon killed, started again", "the same question waits; a yes lets the call run", restart),
        ("daemon killed", "the call does not run", killed),
        ("daemon hangs", "the call does not run", hang),
        ("uninstall", "the settings are as before, byte for byte; the call runs unasked", uninstall),
        ("gate test", "all cases of `leverframe gate test` pass", tested),
    ]


def main():
    binary, peers = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    failed = False
    for agent in sys.argv[3:] or list(NAMES):
        world = World(agent, binary, peers)
        try:
            said = subprocess.run([world.program, "--version"], env=world.environment(), capture_output=True, text=True,
                                  timeout=60).stdout
            version = next(word for word in said.split() if word[0].isdigit())
            print(f"{NAMES[agent]} {version}", flush=True)
            world.start_daemon()
            found = {}
            for name, expected, steps in cases(world):
                began, got = time.monotonic(), None
                try:
                    passed = steps()
                except AssertionError as problem:
                    passed, got = False, str(problem)
                took = time.monotonic() - began
                word = "pass" if passed else "FAIL"
                print(f"  {word}  {name:30} {took:6.1f} s  {got or expected}", flush=True)
                found[name] = f"{word} ({took:.1f} s): {expected}"
                failed = failed or not passed
            kept = world.data / "gate-tests.json"
            tests = json.loads(kept.read_text()) if kept.exists() else []
            results[NAMES[agent]] = {
                "version": version,
                "tried": datetime.date.today().isoformat(),
                "effective": next((test["effective"] for test in tests if test["agent"] == agent), None),
                "cases": found,
            }
        finally:
            if failed:
                for log in ("daemon.log", "agent.log"):
                    file = world.root / log
                    print(f"--- {log}\n{file.read_text(errors='replace')[-3000:] if file.exists() else ''}")
            world.end()
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
