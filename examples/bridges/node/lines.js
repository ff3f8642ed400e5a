#!/usr/bin/env node
// A bridge of Leverframe: people write lines to a TCP port. `nc 127.0.0.1 4000`, then a name, then messages.
//
// Port: $LINES_PORT on 127.0.0.1. The chat has no history: a message is lost while nobody listens, so there is
// no cursor and no key. The protocol: docs/src/develop/bridge-protocol.md
'use strict';
const net = require('node:net');
const readline = require('node:readline');

const say = (message) => process.stdout.write(JSON.stringify(message) + '\n');
const started = Date.now();
let count = 0;
let conform = false;
let welcomed = false;
// The connected people, by name.
const people = new Map();

// Keys must not repeat after a restart, so the start time is part of them.
function bring(conversation, sender, fields) {
  count += 1;
  const at = { key: `${started}-${count}`, conversation, sender: { id: sender }, message_ref: `in-${count}` };
  say({ ...at, ...fields });
}

function listen(port) {
  const server = net.createServer((socket) => {
    let name = null;
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('close', () => {
      if (people.get(name) === socket) people.delete(name);
    });
    socket.write('your name?\n');
    readline.createInterface({ input: socket }).on('line', (line) => {
      const text = line.trim();
      if (name === null) {
        name = text.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 32);
        if (!name) return socket.end('a name has letters and digits\n');
        // A later connection takes over the name: the chat does not verify names.
        people.get(name)?.end('somebody took your name\n');
        people.set(name, socket);
      } else if (text && welcomed) {
        bring(name, name, { type: 'message', text, direct: true });
      }
    });
  });
  server.on('error', (error) => {
    say({ type: 'health', state: 'failed', detail: String(error.message), fix: 'name a free port in LINES_PORT' });
  });
  server.listen(port, '127.0.0.1', () => say({ type: 'health', state: 'connected' }));
}

function send({ id, conversation, text }) {
  if (conform) {
    if (text === 'conform: retry') return say({ type: 'retry', id, after_ms: 50 });
    if (text === 'conform: failed') return say({ type: 'failed', id, error: 'refused' });
    if (text === 'conform: unknown') return say({ type: 'unknown', id, detail: 'no answer' });
    say({ type: 'sent', id, refs: [`out-${id}`] });
    return bring(conversation, 'echo', { type: 'message', text, direct: true });
  }
  const socket = people.get(conversation);
  if (!socket) return say({ type: 'failed', id, error: `${conversation} is not connected` });
  socket.write(`${text}\n`, (error) => {
    // Some of it may have arrived.
    if (error) say({ type: 'unknown', id, detail: error.message });
    else say({ type: 'sent', id, refs: [`out-${started}-${id}`] });
  });
}

function take(message) {
  switch (message.type) {
    case 'start':
      if (message.protocol !== 1) {
        console.error(`version ${message.protocol} of the protocol is not supported, only 1`);
        process.exit(1);
      }
      conform = message.conform;
      say({
        type: 'hello',
        protocol: 1,
        name: 'lines',
        account: { id: 'lines' },
        capabilities: { max_length: 4000, unit: 'utf16', format: 'plain', typing: true, idempotency: 'none' },
      });
      if (!conform) listen(Number(process.env.LINES_PORT ?? 4000));
      break;
    case 'welcome':
      welcomed = true;
      break;
    // Without edits and buttons, a card is a text with a code for /approve.
    case 'send':
    case 'card':
      send(message);
      break;
    case 'typing':
      people.get(message.conversation)?.write('…\n');
      break;
    case 'ping':
      say({ type: 'pong', id: message.id });
      break;
    case 'shutdown':
      for (const socket of people.values()) socket.end();
      process.exit(0);
  }
}

// Not `readline`: it also ends a line at U+2028, which JSON may contain.
let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  lines.forEach(read);
});
process.stdin.on('end', () => process.exit(0));

function read(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    console.error('ignored a line that is not a message');
    return;
  }
  if (message && typeof message === 'object') take(message);
}
