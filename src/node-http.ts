// Node's HTTP/1.1, loaded without what nobody here asks for: `import 'node:http'` reads every name that the module has, and its
// WebSocket is made when it is read, with all of Node's fetch. That is 2 MB of a server, and 12 of a small process (measured on
// Node 24.22).
export const { createServer, request } = process.getBuiltinModule('node:http');
