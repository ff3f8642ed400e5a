// Uses the generated types as a developer would. The compiler refuses it when the document says something else.

import createClient from "openapi-fetch";
import type { components, paths } from "./api";

type Session = components["schemas"]["Session"];

const client = createClient<paths>({ baseUrl: "http://localhost" });

export async function titles(): Promise<(string | null | undefined)[]> {
  const { data, error } = await client.GET("/v1/sessions", {
    params: { query: { state: "active", limit: 20 } },
  });
  if (error) {
    throw new Error(`${error.status} ${error.title}`);
  }
  return data.items.map((session: Session) => session.title);
}

export async function decide(id: string): Promise<void> {
  const { error } = await client.POST("/v1/approvals/{id}/decision", {
    params: { path: { id } },
    // @ts-expect-error a decision has a word of the document
    body: { decision: "perhaps", digest: "", revision: 1 },
  });
  if (error) {
    throw new Error(error.detail ?? error.title);
  }
}
