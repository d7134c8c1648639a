// A client of the official SDKs: `v1` or `v2` of the package, and a target, which is a list (a command) or a text (an
// address). It calls what it is told, or with `cancel` until there is progress, and prints what it has heard, as JSON.
const [, , version, mode, target, calls] = process.argv;
const name = version === 'v1' ? '@modelcontextprotocol/sdk/client' : '@modelcontextprotocol/client';
const { Client } = await import(version === 'v1' ? `${name}/index.js` : name);
const { StdioClientTransport } = await import(version === 'v1' ? `${name}/stdio.js` : `${name}/stdio`);
const { StreamableHTTPClientTransport } = await import(version === 'v1' ? `${name}/streamableHttp.js` : name);

const where = JSON.parse(target);
const transport = typeof where === 'string'
  ? new StreamableHTTPClientTransport(new URL(where))
  : new StdioClientTransport({ command: where[0], args: where.slice(1), env: process.env, stderr: 'ignore' });
const client = new Client(
  { name: 'tester', version: '1' }, version === 'v2' ? { versionNegotiation: { mode: JSON.parse(mode) } } : {});
await client.connect(transport);
const heard = { server: client.getServerVersion()?.name, revision: client.getNegotiatedProtocolVersion?.() };
heard.tools = (await client.listTools()).tools.map(tool => tool.name);
heard.results = [];
heard.progress = 0;
for (const { cancel, ...call } of JSON.parse(calls)) {
  const stop = new AbortController();
  const onprogress = () => { heard.progress += 1; if (cancel) stop.abort('enough'); };
  const options = { onprogress, signal: stop.signal };
  try {
    const result = await (version === 'v1' ? client.callTool(call, undefined, options) : client.callTool(call, options));
    heard.results.push({ text: result.content[0]?.text, structured: result.structuredContent, isError: result.isError });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    heard.results.push('cancelled');
  }
}
if (heard.results.includes('cancelled')) {
  console.log('cancelled');
  setInterval(() => {}, 1_000);  // its end would cancel, too
} else {
  await client.close();
  console.log(JSON.stringify(heard));
}
