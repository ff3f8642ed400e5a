#!/usr/bin/env node
// mock_llm.mjs - deterministic local LLM endpoint for benchmarks. Node >= 18, no dependencies.
//
//     mock_llm.mjs [--port 18080] [--host 127.0.0.1] [options, see below]
//
// Speaks:  POST */chat/completions   (OpenAI chat, stream or not)
//          POST */responses          (OpenAI Responses, stream or not)
//          POST */messages           (Anthropic Messages, stream or not)
//          GET  */models             (model list)
// Control: GET  /__bench/log         NDJSON: one line per model call, timestamps in ns of CLOCK_MONOTONIC
//          GET  /__bench/stats       counters        POST /__bench/reset   clear log and counters
//          GET  /__bench/health
//
// Every answer repeats the LAST "bench-<word>" token of the request, so that a client can pair message in and
// reply out:  "re:bench-0007 lorem ...". Clock: process.hrtime.bigint() is CLOCK_MONOTONIC on Linux, the clock of
// Python's time.monotonic_ns(), so stamps of both processes can be subtracted from each other.
//
// Scripted tool calls: a user text that has  TOOL:<name>{json}  gets one call of that tool with that json; when the
// tool result comes back, the final text follows. TOOLS:<n>:<name>{json} asks n times in sequence before the text.
//
// Options: --port 18080 --host 127.0.0.1 --chunks 8 (text deltas) --chunk-bytes 16 --ttfb-ms 0 --gap-ms 0
//          --model mock-1 --quiet --dump FILE (append request bodies; for adapters under construction)
import http from 'node:http';
import fs from 'node:fs';

const opt = { port: 18080, host: '127.0.0.1', chunks: 8, 'chunk-bytes': 16, 'ttfb-ms': 0, 'gap-ms': 0, model: 'mock-1' };
for (let i = 2; i < process.argv.length; i++) {
  const key = process.argv[i].replace(/^--/, '');
  if (key === 'quiet') { opt.quiet = true; continue; }
  const val = process.argv[++i];
  opt[key] = Number.isNaN(Number(val)) ? val : Number(val);
}
const now = () => process.hrtime.bigint();
const sleep = (ms) => (ms > 0 ? new Promise((r) => setTimeout(r, ms)) : null);
const NONCE = /bench-[0-9a-z_]+(?:-[0-9a-z_]+)*/gi;
let log = [];
let calls = 0, inflight = 0, peak = 0, bytesIn = 0;

const FILL = 'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod ';
function deltas(nonce) {
  const out = [`re:${nonce} `];
  let at = 0;
  for (let i = 1; i < opt.chunks; i++) {
    let s = '';
    while (s.length < opt['chunk-bytes']) { s += FILL[at % FILL.length]; at++; }
    out.push(s);
  }
  return out;
}

// How many tool calls have been asked for, and how many results follow the last user text?
function plan(body, raw) {
  const items = body.messages ?? (Array.isArray(body.input) ? body.input : []);
  let user = '', results = 0;
  for (const m of items) {
    const content = Array.isArray(m.content) ? m.content : [];
    if (m.role === 'tool' || m.type === 'function_call_output') results++;
    else if (content.some((c) => c.type === 'tool_result')) results++;
    else if (m.role === 'user') {
      user = typeof m.content === 'string' ? m.content : content.map((c) => c.text ?? '').join('\n');
      results = 0;
    }
  }
  if (typeof body.input === 'string') user = body.input;
  const hit = /TOOLS?:(?:(\d+):)?([A-Za-z0-9_.-]+)(\{.*\})/s.exec(user);
  const all = raw.match(NONCE);
  const inUser = user.match(NONCE);
  const nonce = (inUser ?? all ?? ['bench-none']).at(-1);
  if (hit && results < Number(hit[1] ?? 1)) {
    let args = hit[3];
    for (let end = args.length; end > 0; end = args.lastIndexOf('}', end - 2) + 1) {
      try { JSON.parse(args.slice(0, end)); args = args.slice(0, end); break; } catch { /* shorter */ }
    }
    return { nonce, tool: { name: hit[2], args, id: `call_${calls}` } };
  }
  return { nonce, tool: null };
}

async function stream(res, frames) {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  await sleep(opt['ttfb-ms']);
  if (!opt['gap-ms']) { res.end(frames.join('')); return; }
  for (const f of frames) { res.write(f); await sleep(opt['gap-ms']); }
  res.end();
}
async function json(res, obj) {
  await sleep(opt['ttfb-ms']);
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(obj));
}
const data = (o) => `data: ${JSON.stringify(o)}\n\n`;
const event = (o) => `event: ${o.type}\ndata: ${JSON.stringify(o)}\n\n`;

function chat(res, body, p) {
  const base = { id: `chatcmpl-${calls}`, created: 1700000000, model: body.model ?? opt.model };
  const usage = { prompt_tokens: 10, completion_tokens: opt.chunks, total_tokens: 10 + opt.chunks };
  const call = p.tool && { index: 0, id: p.tool.id, type: 'function', function: { name: p.tool.name, arguments: p.tool.args } };
  if (!body.stream) {
    const message = p.tool ? { role: 'assistant', content: null, tool_calls: [call] } : { role: 'assistant', content: deltas(p.nonce).join('') };
    return json(res, { ...base, object: 'chat.completion', usage, choices: [{ index: 0, message, finish_reason: p.tool ? 'tool_calls' : 'stop' }] });
  }
  const part = (delta, finish_reason = null) => data({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
  const mid = p.tool ? [part({ tool_calls: [call] })] : deltas(p.nonce).map((t) => part({ content: t }));
  return stream(res, [part({ role: 'assistant', content: '' }), ...mid, part({}, p.tool ? 'tool_calls' : 'stop'),
    data({ ...base, object: 'chat.completion.chunk', choices: [], usage }), 'data: [DONE]\n\n']);
}

function responses(res, body, p) {
  const id = `resp_${calls}`, item_id = `item_${calls}`;
  const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: opt.chunks, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 10 + opt.chunks };
  const text = deltas(p.nonce);
  const item = p.tool
    ? { type: 'function_call', id: item_id, call_id: p.tool.id, name: p.tool.name, arguments: p.tool.args, status: 'completed' }
    : { type: 'message', id: item_id, role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: text.join(''), annotations: [] }] };
  const full = (status, output) => ({ id, object: 'response', created_at: 1700000000, model: body.model ?? opt.model, status, output, usage: status === 'completed' ? usage : null });
  if (!body.stream) return json(res, full('completed', [item]));
  let n = 0;
  const ev = (o) => event({ ...o, sequence_number: n++ });
  const frames = [ev({ type: 'response.created', response: full('in_progress', []) }),
    ev({ type: 'response.output_item.added', output_index: 0, item: p.tool ? { ...item, arguments: '', status: 'in_progress' } : { ...item, content: [], status: 'in_progress' } })];
  if (p.tool) {
    frames.push(ev({ type: 'response.function_call_arguments.delta', item_id, output_index: 0, delta: p.tool.args }),
      ev({ type: 'response.function_call_arguments.done', item_id, output_index: 0, arguments: p.tool.args }));
  } else {
    frames.push(ev({ type: 'response.content_part.added', item_id, output_index: 0, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } }));
    for (const t of text) frames.push(ev({ type: 'response.output_text.delta', item_id, output_index: 0, content_index: 0, delta: t }));
    frames.push(ev({ type: 'response.output_text.done', item_id, output_index: 0, content_index: 0, text: text.join('') }),
      ev({ type: 'response.content_part.done', item_id, output_index: 0, content_index: 0, part: { type: 'output_text', text: text.join(''), annotations: [] } }));
  }
  frames.push(ev({ type: 'response.output_item.done', output_index: 0, item }), ev({ type: 'response.completed', response: full('completed', [item]) }));
  return stream(res, frames);
}

function messages(res, body, p) {
  const usage = { input_tokens: 10, output_tokens: opt.chunks, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const head = { id: `msg_${calls}`, type: 'message', role: 'assistant', model: body.model ?? opt.model };
  const stop_reason = p.tool ? 'tool_use' : 'end_turn';
  if (!body.stream) {
    const block = p.tool ? { type: 'tool_use', id: p.tool.id, name: p.tool.name, input: JSON.parse(p.tool.args) } : { type: 'text', text: deltas(p.nonce).join('') };
    return json(res, { ...head, content: [block], stop_reason, stop_sequence: null, usage });
  }
  const start = p.tool ? { type: 'tool_use', id: p.tool.id, name: p.tool.name, input: {} } : { type: 'text', text: '' };
  const mid = p.tool ? [{ type: 'input_json_delta', partial_json: p.tool.args }] : deltas(p.nonce).map((text) => ({ type: 'text_delta', text }));
  return stream(res, [event({ type: 'message_start', message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage } }),
    event({ type: 'content_block_start', index: 0, content_block: start }),
    ...mid.map((delta) => event({ type: 'content_block_delta', index: 0, delta })),
    event({ type: 'content_block_stop', index: 0 }),
    event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage }), event({ type: 'message_stop' })]);
}

const server = http.createServer((req, res) => {
  const path = req.url.split('?')[0];
  if (path === '/__bench/log') { res.writeHead(200, { 'content-type': 'application/x-ndjson' }); res.end(log.map((l) => JSON.stringify(l)).join('\n') + '\n'); return; }
  if (path === '/__bench/stats') { json(res, { calls, inflight, peak, bytesIn }); return; }
  if (path === '/__bench/reset') { log = []; calls = 0; peak = 0; bytesIn = 0; json(res, { ok: true }); return; }
  if (path === '/__bench/health') { json(res, { ok: true }); return; }
  if (req.method === 'GET') {
    if (path.endsWith('/models')) { json(res, { object: 'list', data: [{ id: opt.model, object: 'model', created: 1700000000, owned_by: 'mock' }] }); return; }
    res.writeHead(404).end(); return;
  }
  const got = now();
  const parts = [];
  req.on('data', (c) => parts.push(c));
  req.on('end', async () => {
    const raw = Buffer.concat(parts).toString('utf8');
    bytesIn += raw.length;
    let body;
    try { body = JSON.parse(raw || '{}'); } catch { res.writeHead(400).end(); return; }
    calls++; inflight++; peak = Math.max(peak, inflight);
    const p = plan(body, raw);
    if (opt.dump) fs.appendFileSync(opt.dump, `${path} ${raw}\n`);
    const row = { nonce: p.nonce, path, tool: p.tool?.name ?? null, bytes: raw.length, stream: !!body.stream, got: String(got), done: null };
    res.on('finish', () => { row.done = String(now()); log.push(row); });
    res.on('close', () => { inflight--; });
    if (path.endsWith('/chat/completions')) await chat(res, body, p);
    else if (path.endsWith('/responses')) await responses(res, body, p);
    else if (path.endsWith('/messages')) await messages(res, body, p);
    else res.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"unknown path"}}');
  });
});
server.keepAliveTimeout = 120000;
server.listen(opt.port, opt.host, 4096, () => { if (!opt.quiet) console.log(`mock_llm on http://${opt.host}:${opt.port}`); });
for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => process.exit(0));
