// A greedy peer of the SDS server, as a process of its own: it opens streams on one connection, asks many names on each
// in a single request, reads every answer, and acknowledges it unless told not to. Prints "asking" when the requests are
// on their way, and at the end how many answers came in how long. Called as: flood-peer.ts SOCKET STREAMS NAMES [silent]
import { connectGrpc } from '../harness/grpc-peer.ts';
import { decodeXdsResponse, encodeXdsRequest } from '../harness/xds-messages.ts';

const [socket = '', streams = '1', names = '1', manner = 'polite'] = process.argv.slice(2);
const wanted = Number(streams) * Number(names);

const peer = connectGrpc(socket);
let answers = 0;
const startedAt = performance.now();
for (let stream = 0; stream < Number(streams); stream += 1) {
  const subscribe = Array.from({ length: Number(names) }, (_, index) => `n${index}.s${stream}.flood.test`);
  peer.openRaw({ request: encodeXdsRequest({ subscribe }), answered });
}
process.stdout.write('asking\n');

function answered(message: Buffer): Buffer | undefined {
  answers += 1;
  if (answers === wanted) {
    process.stdout.write(`${answers} answers in ${Math.round(performance.now() - startedAt)} ms\n`);
    peer.close();
  }
  return manner === 'silent' ? undefined : encodeXdsRequest({ nonce: decodeXdsResponse(message).nonce });
}
