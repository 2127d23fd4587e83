// What the plugin's word about one call of a tool costs, in microseconds: a file tool, a shell line, a shell line that
// names a folder of ours; and a stat of the same file, which any file tool makes. Arguments: the plugin's file, the
// project's folder, how many calls a value is the mean of.
import { statSync } from 'node:fs';
import { join } from 'node:path';

const [plugin, directory, times] = process.argv.slice(2);
const { Supervisor } = await import(plugin);
const hooks = await Supervisor({ client: {}, directory, worktree: directory });
const file = join(directory, 'shop.py');
const line = 'cd src && python -m pytest -q tests/test_shop.py 2>&1 | tail -20';
const asked = (tool, args) => () =>
  hooks['tool.execute.before']({ tool, sessionID: 'ses_1', callID: 'call_1' }, { args }).catch(() => {});
const jobs = {
  edit: asked('edit', { filePath: file }),
  bash: asked('bash', { command: line }),
  named: asked('bash', { command: 'ls ~/.local/state/supervisor' }),
  stat: () => statSync(file),
};
const cost = {};
for (const [name, job] of Object.entries(jobs)) {
  for (let warm = 0; warm < 1000; warm++) await job();
  const begun = process.hrtime.bigint();
  for (let number = 0; number < times; number++) await job();
  cost[name] = Number(process.hrtime.bigint() - begun) / 1e3 / times;
}
process.stdout.write(JSON.stringify(cost));
process.exit(0);
