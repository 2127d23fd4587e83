// A client with the official TypeScript SDK, as Cursor is one: node sdk_client.mjs SDK ENTRY
// ENTRY is a server's entry in an mcp.json. It prints the names of the tools, and what task_add answered.
import { createRequire } from "node:module";

const [sdk, entry] = process.argv.slice(2);
const load = createRequire(sdk);
const from = (name) => load(`@modelcontextprotocol/sdk/client/${name}.js`);
const { url, headers, ...program } = JSON.parse(entry);
const transport = url
  ? new (from("streamableHttp").StreamableHTTPClientTransport)(new URL(url), { requestInit: { headers } })
  : new (from("stdio").StdioClientTransport)(program);
const client = new (from("index").Client)({ name: "as Cursor", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const asked = { name: "task_add", arguments: { content: "say hello" } };
const answer = await client.callTool(asked);
console.log(JSON.stringify([tools.map((tool) => tool.name), answer._meta]));
await client.close();
