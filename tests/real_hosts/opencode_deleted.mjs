// A session that is deleted while the plugin tells of its first prompt, without OpenCode. Arguments: the plugin's file,
// the project's folder, the sidecar's socket. The kinds of what the sidecar is told come out.
import { createServer } from 'node:net';

const [plugin, directory, socket] = process.argv.slice(2);
const told = [];
const sidecar = createServer((link) => {
  const answer = (id) => link.write(`{"jsonrpc":"2.0","id":${id},"result":{}}\n`);
  link.on('data', async (lines) => {
    for (const { id, params } of String(lines).trim().split('\n').map((line) => JSON.parse(line))) {
      told.push(params.event.type);
      if (params.event.type === 'session.start') await hooks.event({ event: { type: 'session.deleted', properties } });
      answer(id);
    }
  });
});
await new Promise((listens) => sidecar.listen(socket, listens));
const { Supervisor } = await import(plugin);
const properties = { sessionID: 'ses_1', info: { id: 'ses_1' } };
const session = { get: async () => ({ data: {} }), children: async () => ({ data: [] }) };
const hooks = await Supervisor({ client: { session }, directory, worktree: directory });
await hooks['chat.message']({ sessionID: 'ses_1' }, { message: { id: 'msg_1' }, parts: [{ type: 'text', text: 'Hi.' }] });
process.stdout.write(JSON.stringify(told));
process.exit(0);
