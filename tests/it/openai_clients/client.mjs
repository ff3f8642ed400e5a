// A client in OpenAI's JavaScript library: models, chat, streams and responses, with a call that waits in the middle.

import { pathToFileURL } from "node:url";

const [, , library, base, token] = process.argv;
const { default: OpenAI } = await import(pathToFileURL(library));
const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: token, maxRetries: 0, timeout: 50_000 });
const said = {};
// Tells the test that a step is reached; it decides what waits.
const step = (name) => console.log(name);

said.models = [];
for await (const model of client.models.list()) said.models.push(model.id);

const messages = [{ role: "user", content: "SAY:hello" }];
const first = await client.chat.completions.create({ model: "api", messages });
said.answer = first.choices[0].message.content;
said.finish = first.choices[0].finish_reason;
said.tokens = first.usage.total_tokens;

messages.push({ role: "assistant", content: said.answer }, { role: "user", content: "SAY:and again" });
const runner = client.chat.completions.stream({ model: "api", messages, stream_options: { include_usage: true } });
const completion = await runner.finalChatCompletion();
said.streamed = completion.choices[0].message.content;
said.stream_finish = completion.choices[0].finish_reason;
said.stream_tokens = completion.usage.total_tokens;

let text = "";
const call = 'TOOL:write_file{"path":"node.txt","content":"x"}\nSAY:written';
const chunks = await client.chat.completions.create({
  model: "api",
  messages: [{ role: "user", content: call }],
  stream: true,
});
for await (const chunk of chunks) {
  const before = text;
  text += chunk.choices[0]?.delta?.content ?? "";
  if (text.includes("> Leverframe:") && !before.includes("> Leverframe:")) step("waits");
}
said.approved = text;

const response = await client.responses.create({ model: "api", input: "SAY:one", instructions: "Be brief." });
said.response = response.output_text;
said.response_status = response.status;
said.kinds = [];
const events = client.responses.stream({ model: "api", input: "SAY:two", previous_response_id: response.id });
events.on("event", (event) => said.kinds.push(event.type));
const followed = await events.finalResponse();
said.followed = followed.output_text;
said.response_streamed = followed.output[0].content[0].text;
said.usage = followed.usage.total_tokens;

let waiting = await client.responses.create({
  model: "api",
  input: 'TOOL:write_file{"path":"node-2.txt","content":"x"}\nSAY:written too',
  background: true,
});
step("waits");
while (["queued", "in_progress"].includes(waiting.status)) waiting = await client.responses.retrieve(waiting.id);
said.retrieved = waiting.output_text;

const refused = async (request) => {
  try {
    await request();
  } catch (error) {
    return error;
  }
};
let error = await refused(() => client.chat.completions.create({ model: "nobody", messages }));
said.unknown = [error.status, error.code, error.param];
const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
error = await refused(() => client.chat.completions.create({ model: "api", messages, tools }));
said.tools = [error.code, error.param];
const stranger = new OpenAI({ baseURL: `${base}/v1`, apiKey: "lf_wrong", maxRetries: 0 });
error = await refused(() => stranger.models.list());
said.stranger = error.code;
error = await refused(async () => {
  const stream = await client.chat.completions.create({
    model: "api",
    messages: [{ role: "user", content: "FAIL:auth" }],
    stream: true,
  });
  for await (const _ of stream);
});
said.failed = error.code;

console.log(JSON.stringify(said));
