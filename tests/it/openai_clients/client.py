"""A client in OpenAI's Python library: models, chat, streams and responses, with a call that waits in the middle."""

import json
import sys

import openai

base, token = sys.argv[1:]
client = openai.OpenAI(base_url=f"{base}/v1", api_key=token, max_retries=0, timeout=50)
said = {}


def step(name):
    """Tells the test that a step is reached; it decides what waits."""
    print(name, flush=True)


said["models"] = [model.id for model in client.models.list()]

history = [{"role": "user", "content": "SAY:hello"}]
first = client.chat.completions.create(model="api", messages=history)
said["answer"] = first.choices[0].message.content
said["finish"] = first.choices[0].finish_reason
said["tokens"] = first.usage.total_tokens

history += [{"role": "assistant", "content": said["answer"]}, {"role": "user", "content": "SAY:and again"}]
text, usage, finish = "", None, None
for chunk in client.chat.completions.create(
    model="api", messages=history, stream=True, stream_options={"include_usage": True}
):
    for choice in chunk.choices:
        text += choice.delta.content or ""
        finish = choice.finish_reason or finish
    usage = chunk.usage or usage
said["streamed"], said["stream_finish"], said["stream_tokens"] = text, finish, usage.total_tokens

call = 'TOOL:write_file{"path":"python.txt","content":"x"}\nSAY:written'
text = ""
for chunk in client.chat.completions.create(
    model="api", messages=[{"role": "user", "content": call}], stream=True
):
    for choice in chunk.choices:
        before = text
        text += choice.delta.content or ""
        if "> Leverframe:" in text and "> Leverframe:" not in before:
            step("waits")
said["approved"] = text

response = client.responses.create(model="api", input="SAY:one", instructions="Be brief.")
said["response"] = response.output_text
said["response_status"] = response.status
kinds, text = [], ""
for event in client.responses.create(
    model="api", input="SAY:two", previous_response_id=response.id, stream=True
):
    kinds.append(event.type)
    if event.type == "response.output_text.delta":
        text += event.delta
    if event.type == "response.completed":
        said["followed"] = event.response.output_text
        said["usage"] = event.response.usage.total_tokens
said["kinds"], said["response_streamed"] = kinds, text

call = 'TOOL:write_file{"path":"python-2.txt","content":"x"}\nSAY:written too'
waiting = client.responses.create(model="api", input=call, background=True)
step("waits")
while waiting.status in ("queued", "in_progress"):
    waiting = client.responses.retrieve(waiting.id)
said["retrieved"] = waiting.output_text

try:
    client.chat.completions.create(model="nobody", messages=history)
except openai.NotFoundError as error:
    said["unknown"] = [error.status_code, error.code, error.param]
try:
    client.chat.completions.create(
        model="api",
        messages=history,
        tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
    )
except openai.BadRequestError as error:
    said["tools"] = [error.code, error.param]
try:
    openai.OpenAI(base_url=f"{base}/v1", api_key="lf_wrong", max_retries=0).models.list()
except openai.AuthenticationError as error:
    said["stranger"] = error.code
try:
    for chunk in client.chat.completions.create(
        model="api", messages=[{"role": "user", "content": "FAIL:auth"}], stream=True
    ):
        pass
except openai.APIError as error:
    said["failed"] = error.body["code"]

print(json.dumps(said), flush=True)
