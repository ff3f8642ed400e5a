"""Drives a Slack with slack-sdk and says, as JSON, what it saw.

Usage: drive.py BASE_URL BOT_TOKEN APP_TOKEN CHANNEL

It greets the channel with two buttons, opens a socket, waits for a mention, a click and a command (the test makes them),
acknowledges each, reads the history, sends a file, and checks that refusals come back as the library's own errors.
"""

import io
import json
import sys
import threading

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse


def main(base: str, token: str, app_token: str, channel: str) -> dict:
    saw = {"events": []}
    web = WebClient(token=token, base_url=base)
    me = web.auth_test()
    saw["me"] = [me["user_id"], me["team_id"]]
    buttons = [
        {"type": "button", "action_id": name, "value": value, "text": {"type": "plain_text", "text": text}}
        for name, value, text in [("a", "y", "Yes"), ("b", "n", "No")]
    ]
    greeting = web.chat_postMessage(
        channel=channel,
        text="Hello",
        blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "*Hello*"}}, {"type": "actions", "elements": buttons}],
        metadata={"event_type": "test", "event_payload": {"key": "k1"}},
    )

    done = threading.Event()

    def listen(client, request):
        payload = None
        if request.type == "events_api":
            event = request.payload["event"]
            if event.get("bot_id") is None:
                saw["events"] = sorted({*saw["events"], event["type"]})
        elif request.type == "interactive":
            action = request.payload["actions"][0]
            saw["click"] = [action["value"], request.payload["user"]["id"], request.payload["message"]["ts"]]
        elif request.type == "slash_commands":
            saw["command"] = [request.payload["command"], request.payload["text"]]
            payload = {"text": "noted"}
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id, payload=payload))
        if len(saw["events"]) == 2 and "click" in saw and "command" in saw:
            done.set()

    socket = SocketModeClient(app_token=app_token, web_client=WebClient(base_url=base))
    socket.socket_mode_request_listeners.append(listen)
    socket.connect()
    if not done.wait(30):
        raise SystemExit(f"not everything came: {saw}")

    web.chat_postMessage(channel=channel, thread_ts=greeting["ts"], text="below")
    replies = web.conversations_replies(channel=channel, ts=greeting["ts"])
    saw["thread"] = [message["text"] for message in replies["messages"]]
    history = web.conversations_history(channel=channel, include_all_metadata=True)
    saw["metadata"] = next(
        message["metadata"]["event_payload"]["key"]
        for message in history["messages"]
        if message["ts"] == greeting["ts"]
    )
    web.chat_update(channel=channel, ts=greeting["ts"], text="Done", blocks=[])
    history = web.conversations_history(channel=channel)
    changed = next(message for message in history["messages"] if message["ts"] == greeting["ts"])
    saw["edited"] = [changed["text"], len(changed["blocks"])]
    saw["name"] = web.users_info(user="U0ADA")["user"]["profile"]["display_name"]
    shared = web.files_upload_v2(channel=channel, filename="a.txt", file=io.BytesIO(b"hello"))
    saw["file"] = "hello" if shared["files"][0]["name"] == "a.txt" else "?"

    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}}
    long_section = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}
    calls = {
        "no channel": lambda: web.chat_postMessage(channel="C0NONE", text="x"),
        "not in it": lambda: web.chat_postMessage(channel="C0FOREIGN", text="x"),
        "long section": lambda: web.chat_postMessage(channel=channel, text="x", blocks=[long_section]),
        "many blocks": lambda: web.chat_postMessage(channel=channel, text="x", blocks=[section] * 51),
        "nothing": lambda: web.chat_postMessage(channel=channel, text=""),
        "old message": lambda: web.chat_update(channel=channel, ts="1.000000", text="x"),
        "wrong token": lambda: WebClient(token="xoxb-wrong", base_url=base).auth_test(),
    }
    for name, call in calls.items():
        try:
            call()
            saw[name] = "accepted"
        except SlackApiError as error:
            saw[name] = error.response["error"]
    socket.close()
    return saw


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
