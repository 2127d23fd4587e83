// OpenCode as our plugin sees it, without OpenCode: a host whose API answers at once, from a history in a file.
// Arguments: the plugin's file, the project's folder. One order a line comes in, one answer a line goes out:
// {"prompt": SESSION} or {"idle": SESSION, "history": FILE}; {"ms", "asked", "said", "shown"}.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [plugin, directory] = process.argv.slice(2);
const LIMITS = [1, 64, 512, 4096]; // newest messages that are asked for
const { Supervisor } = await import(plugin);

let messages = []; // of the session that rests
let texts = new Map(); // limit -> the newest messages as JSON: making it is the host's work, and not measured
let asked = 0; // calls of the API
let said; // to the agent
let shown = []; // to the person
let number = 0;

const told = (data) => (asked++, Promise.resolve({ data }));
const client = {
  session: {
    get: ({ path }) => told({ id: path.id, directory }),
    messages: ({ query, parseAs }) => {
      if (parseAs !== 'text') return told(messages.slice(-query.limit));
      if (!texts.has(query.limit)) throw new Error(`nobody has written ${query.limit} messages down`);
      return told(texts.get(query.limit));
    },
    message: ({ path }) => told(messages.find(({ info }) => info.id === path.messageID)),
    status: () => told({}),
    prompt: ({ body }) => (shown.push(body.parts[0].text), told({})),
    promptAsync: ({ body }) => ((said = body.parts[0].text), told({})),
  },
  tui: { showToast: ({ body }) => (shown.push(body.message), told(true)) },
};
const hooks = await Supervisor({ client, directory, worktree: directory });

const histories = new Map();

// The history once more; its last message is a new one.
function renew(file) {
  if (!histories.has(file)) histories.set(file, JSON.parse(readFileSync(file, 'utf8')));
  const history = histories.get(file);
  const last = structuredClone(history.at(-1));
  last.info.id += number;
  last.info.time.completed += number;
  messages = [...history.slice(0, -1), last];
  const lines = messages.map((message) => JSON.stringify(message));
  texts = new Map(LIMITS.map((limit) => [limit, `[${lines.slice(-limit).join(',')}]`]));
}

async function carryOut(order) {
  number += 1;
  [asked, said, shown] = [0, undefined, []];
  const id = `evt_${number}`;
  if (order.prompt) {
    const output = { message: { id: `msg_of_user_${number}` }, parts: [{ type: 'text', text: 'Go on.' }] };
    return () => hooks['chat.message']({ sessionID: order.prompt }, output);
  }
  renew(order.history);
  return () => hooks.event({ event: { id, type: 'session.idle', properties: { sessionID: order.idle } } });
}

for await (const line of createInterface({ input: process.stdin })) {
  const work = await carryOut(JSON.parse(line));
  const begun = process.hrtime.bigint();
  await work();
  const ms = Number(process.hrtime.bigint() - begun) / 1e6;
  process.stdout.write(`${JSON.stringify({ ms, asked, said: said ?? '', shown: shown.join('\n') })}\n`);
}
process.exit(0);
