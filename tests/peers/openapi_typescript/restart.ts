// A generated client that goes on over a restart: node restart.js BASE_URL TOKEN.
//
// Asks for what needs an approval, says "asked" and waits for a line while somebody kills the daemon and starts it again.
// Then it decides the approval and reads the events that follow the last one it saw. Prints what it saw as one JSON object.

import createClient from "openapi-fetch";
import type { components, paths } from "./api";

declare const process: { argv: string[]; stdin: AsyncIterable<unknown>; exit(status: number): never };

const [baseUrl, token] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
const deadline = Date.now() + 240_000;

type Event = components["schemas"]["Event"];

/** Kept events of the session after this one; connects again until the deadline. */
async function* events(after: number): AsyncGenerator<[number, Event]> {
  while (Date.now() < deadline) {
    try {
      const { data } = await client.GET("/v1/events", { params: { query: { after, session: session.id } }, parseAs: "stream" });
      let text = "";
      for await (const bytes of data as unknown as AsyncIterable<Uint8Array>) {
        text += new TextDecoder().decode(bytes);
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const lines = text.slice(0, end).split("\n");
          text = text.slice(end + 2);
          const id = lines.find((line) => line.startsWith("id:"));
          const body = lines.find((line) => line.startsWith("data:"));
          if (id && body) {
            after = Number(id.slice(3));
            yield [after, JSON.parse(body.slice(5)) as Event];
          }
        }
      }
    } catch {
      // The daemon is away: once more.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("no such event before the deadline");
}

/** What the answer holds; ends the program where it is a problem. */
function held<T>(answer: { data?: T; error?: { title: string; detail?: string | null } }): T {
  if (answer.data === undefined) {
    throw new Error(answer.error?.detail ?? answer.error?.title);
  }
  return answer.data;
}

const session = held(await client.POST("/v1/sessions", { body: { title: "over a restart" } }));
const turn = held(
  await client.POST("/v1/sessions/{id}/messages", {
    params: { path: { id: session.id } },
    body: { text: 'TOOL:execute_command{"argv":["true"]}\nSAY:it ran' },
  }),
);
const turnId = "id" in turn ? turn.id : turn.continuation_id;
let last = 0;
let asked = "";
for await (const [number, event] of events(0)) {
  last = number;
  if (event.kind === "approval.requested") {
    asked = event.approval.id;
    break;
  }
}
console.log("asked");
for await (const _ of process.stdin) {
  break;
}

const path = { id: asked };
const approval = held(await client.GET("/v1/approvals/{id}", { params: { path } }));
const decided = held(
  await client.POST("/v1/approvals/{id}/decision", {
    params: { path },
    body: { decision: "approve", digest: approval.digest },
  }),
);
const kinds: string[] = [];
for await (const [number, event] of events(last)) {
  if (number <= last) {
    throw new Error(`${number} came again`);
  }
  kinds.push(event.kind);
  if (event.kind === "continuation.completed") {
    break;
  }
}
const ended = held(await client.GET("/v1/continuations/{id}", { params: { path: { id: turnId } } }));
console.log(
  JSON.stringify({
    waited: approval.state,
    decided: decided.state,
    kinds,
    ended: [ended.state, ended.response?.text],
    calls: (ended.tool_calls ?? []).map((call) => call.state),
  }),
);
process.exit(0);
