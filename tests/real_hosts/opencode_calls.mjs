// The plugin's word about calls of tools, without OpenCode. Arguments: the plugin's file, the project's folder.
// A list of [TOOL, ARGUMENTS] comes in; a list of reasons goes out, null where the call goes through.
import { readFileSync } from 'node:fs';

const [plugin, directory] = process.argv.slice(2);
const { Supervisor } = await import(plugin);
const hooks = await Supervisor({ client: {}, directory, worktree: directory });
const word = (tool, args) =>
  hooks['tool.execute.before']({ tool, sessionID: 'ses_1', callID: 'call_1' }, { args }).then(
    () => null,
    ({ message }) => message,
  );
const calls = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(await Promise.all(calls.map(([tool, args]) => word(tool, args)))));
