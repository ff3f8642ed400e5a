"""Uses a generated client as a developer would: python drive.py CLIENT_DIR BASE_URL TOKEN.

Prints what it saw as one JSON object. Every call goes through the client that the generator made.
"""

import json
import sys

directory, base_url, token = sys.argv[1:]
sys.path.insert(0, directory)

import leverframe_client.models as models  # noqa: E402
from leverframe_client import AuthenticatedClient  # noqa: E402
from leverframe_client.api.default import (  # noqa: E402
    delete_v1_sessions_id,
    get_v1_sessions,
    get_v1_sessions_id,
    get_v1_snapshot,
    post_v1_sessions,
    post_v1_sessions_id_messages,
    post_v1_sessions_id_resume,
)

client = AuthenticatedClient(base_url=base_url, token=token)
session = post_v1_sessions.sync(
    client=client, body=models.PostV1SessionsBody(title="from python")
)
answer = post_v1_sessions_id_messages.sync(
    session.id,
    client=client,
    body=models.PostV1SessionsIdMessagesBody(text="SAY:well made"),
    wait=10,
)
refused = post_v1_sessions.sync(
    client=client, body=models.PostV1SessionsBody(channel="nosuch")
)
page = get_v1_sessions.sync(client=client)
ended = delete_v1_sessions_id.sync(session.id, client=client)
resumed = post_v1_sessions_id_resume.sync(
    session.id, client=client, body=models.PostV1SessionsIdResumeBody()
)
seen = get_v1_sessions_id.sync(session.id, client=client)
snapshot = get_v1_snapshot.sync(client=client)

print(
    json.dumps(
        {
            "opened": [type(session).__name__, session.title],
            "answer": [type(answer).__name__, answer.response.text],
            "refused": [type(refused).__name__, refused.status],
            "page": [type(page.items[0]).__name__, len(page.items)],
            "states": [ended.state, resumed.state, seen.state],
            "snapshot": type(snapshot).__name__,
        }
    )
)
