// The least that a sidecar could do for the plugin: every request on the socket is answered with an empty object.
// Started with the folder of its socket; it closes its output when it listens, and ends with its input.
import { closeSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

process.chdir(process.argv[2]);
const server = createServer((peer) => {
  peer.on('error', () => peer.destroy());
  createInterface({ input: peer }).on('line', (line) => {
    const { id } = JSON.parse(line);
    peer.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`);
  });
});
server.listen('sidecar.sock', () => closeSync(1));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
