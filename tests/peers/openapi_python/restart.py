"""A generated client that goes on over a restart: python restart.py CLIENT_DIR BASE_URL TOKEN.

Asks for what needs an approval, says "asked" and waits for a line while somebody kills the daemon and starts it again.
Then it decides the approval and reads the events that follow the last one it saw. Prints what it saw as one JSON object.
"""

import json
import sys
import time

directory, base_url, token = sys.argv[1:]
sys.path.insert(0, directory)

import httpx  # noqa: E402
import leverframe_client.models as models  # noqa: E402
from leverframe_client import AuthenticatedClient  # noqa: E402
from leverframe_client.api.default import (  # noqa: E402
    get_v1_approvals_id,
    get_v1_continuations_id,
    post_v1_approvals_id_decision,
    post_v1_sessions,
    post_v1_sessions_id_messages,
)

DEADLINE = time.monotonic() + 240
client = AuthenticatedClient(base_url=base_url, token=token)


def events(after):
    """Kept events of the session after this one, as id and object; connects again until the deadline."""
    while time.monotonic() < DEADLINE:
        try:
            stream = client.get_httpx_client().stream(
                "GET", "/v1/events", params={"session": session.id}, headers={"Last-Event-ID": str(after)}, timeout=10
            )
            with stream as response:
                response.raise_for_status()
                number = None
                for line in response.iter_lines():
                    if line.startswith("id:"):
                        number = int(line[3:])
                    elif line.startswith("data:") and number is not None:
                        after = number
                        yield number, json.loads(line[5:])
                        number = None
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit("no such event before the deadline")


session = post_v1_sessions.sync(client=client, body=models.PostV1SessionsBody(title="over a restart"))
turn = post_v1_sessions_id_messages.sync(
    session.id,
    client=client,
    body=models.PostV1SessionsIdMessagesBody(text='TOOL:execute_command{"argv":["true"]}\nSAY:it ran'),
)
for last, event in events(0):
    if event["kind"] == "approval.requested":
        break
asked = event["approval"]["id"]
print("asked", flush=True)
sys.stdin.readline()

# The pool holds connections of the daemon that is gone.
client.get_httpx_client().close()
client = AuthenticatedClient(base_url=base_url, token=token)
approval = get_v1_approvals_id.sync(asked, client=client)
decided = post_v1_approvals_id_decision.sync(
    asked,
    client=client,
    body=models.PostV1ApprovalsIdDecisionBody(
        decision=models.DecisionKind("approve"), digest=approval.digest
    ),
)
kinds = []
for number, event in events(last):
    assert number > last, (number, last)
    kinds.append(event["kind"])
    if event["kind"] == "continuation.completed":
        break
turn_id = getattr(turn, "continuation_id", None) or turn.id
ended = get_v1_continuations_id.sync(turn_id, client=client)
print(
    json.dumps(
        {
            "waited": approval.state,
            "decided": decided.state,
            "kinds": kinds,
            "ended": [ended.state, ended.response.text],
            "calls": [call.state for call in ended.tool_calls],
        }
    )
)
