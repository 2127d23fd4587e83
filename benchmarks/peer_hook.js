// The duty of hooks/relay.py, done in Node: one event in, one line to the sidecar, its answer out.
'use strict';

const fs = require('node:fs');
const net = require('node:net');

const INPUT_LIMIT = 4 << 20; // bytes
const SILENCE_MS = 20000;
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":';
const NOTICE = '{"jsonrpc":"2.0","method":"';

const home = process.env.XDG_STATE_HOME || `${process.env.HOME}/.local/state`;
const event = fs.readFileSync(0, 'utf8').replaceAll('\n', ' ');
if (!event || event.length > INPUT_LIMIT) process.exit(0);

process.chdir(`${home}/supervisor/run`);
const link = net.connect('sidecar.sock');
link.setEncoding('utf8');
link.setTimeout(SILENCE_MS, () => process.exit(0));
link.on('error', () => process.exit(0));
link.write(
  `{"jsonrpc":"2.0","id":1,"method":"hook","params":{"event":${event},"host":"claude-code","version":"0.1.0",` +
    `"host_pid":${process.ppid},"environment":${JSON.stringify(process.env)}}}\n`,
);

let heard = '';
link.on('data', (chunk) => {
  heard += chunk;
  for (let end = heard.indexOf('\n'); end >= 0; end = heard.indexOf('\n')) {
    const line = heard.slice(0, end);
    heard = heard.slice(end + 1);
    if (line.startsWith(NOTICE)) continue;
    if (line.startsWith(ANSWER)) fs.writeSync(1, line.slice(ANSWER.length, -1));
    process.exit(0);
  }
});
