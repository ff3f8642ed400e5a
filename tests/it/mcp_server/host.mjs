// A host in the official TypeScript SDK, over HTTP.
const [, , root, url, token] = process.argv;
const sdk = await import(`${root}/@modelcontextprotocol/client/dist/index.mjs`);
const headers = { Authorization: `Bearer ${token}` };
const transport = new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
const client = new sdk.Client({ name: 'test', version: '1' });
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: 'ask', arguments: { text: 'SAY:hello' } });
console.log(JSON.stringify({ tools: tools.length, answer: result.structuredContent.answer }));
await client.close();
