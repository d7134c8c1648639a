// A server of the revision 2026-07-28, made with the official SDK: on stdin and stdout, or with `http` on a port of
// loopback, which it tells.
import http from 'node:http';
import { McpServer, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const text = words => ({ content: [{ type: 'text', text: words }] });
const colour = { type: 'object', properties: { colour: { type: 'string', default: 'blue' } }, required: ['colour'] };
const object = (properties, required) => fromJsonSchema({ type: 'object', properties, required });

function make({ era }) {
  const server = new McpServer({ name: 'stateless', version: '1.2.3' });
  server.registerTool(
    'greet',
    { description: 'Greets.', inputSchema: object({ name: { type: 'string' } }, ['name']) },
    ({ name }) => text(`Hello, ${name}, from the ${era} era!`));
  server.registerTool(
    'add',
    {
      description: 'Adds.',
      inputSchema: object({ a: { type: 'integer' }, b: { type: 'integer' } }, ['a', 'b']),
      outputSchema: object({ sum: { type: 'integer' } }, ['sum']),
    },
    ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }));
  server.registerTool('paint', { description: 'Asks for a colour.', inputSchema: object({}, []) }, (_, context) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, 'wanted');
    return answer ? text(`painted ${answer.colour}`) : inputRequired({
      inputRequests: { wanted: inputRequired.elicit({ message: 'Which colour?', requestedSchema: colour }) },
    });
  });
  return server;
}

function serve() {
  const handler = createMcpHandler(make, { legacy: 'reject' });
  const server = http.createServer(async (request, response) => {
    const body = [];
    for await (const piece of request) body.push(piece);
    const answer = await handler.fetch(new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method, headers: request.headers, body: body.length ? Buffer.concat(body) : undefined,
    }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const piece of answer.body ?? []) response.write(piece);
    response.end();
  });
  server.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
}

if (process.argv[2] === 'http') serve(); else serveStdio(make, { legacy: 'reject' });
