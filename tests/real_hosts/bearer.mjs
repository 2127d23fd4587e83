// Loaded before a program that cannot send a bearer token: adds $MCP_TOKEN to each of its requests.

import { createRequire } from "node:module";

const { Agent, setGlobalDispatcher } = createRequire(process.argv[1])("undici");
const authorization = `Bearer ${process.env.MCP_TOKEN}`;

const bearing = (dispatch) => (options, handler) => {
  const headers = new Headers(pairs(options.headers ?? {}));
  headers.set("authorization", authorization);
  return dispatch({ ...options, headers: Object.fromEntries(headers) }, handler);
};

// Headers come as an object, or as a flat list of names and values.
function pairs(headers) {
  if (!Array.isArray(headers)) return headers;
  return headers.flatMap((name, at) => (at % 2 ? [] : [[name, headers[at + 1]]]));
}

setGlobalDispatcher(new Agent().compose(bearing));
