// A DNS server on loopback that answers what a test says, and counts who was asked for. Names that no script has do not
// exist, so that lookups end at once and nothing a test asks leaves the machine.
import { createSocket } from 'node:dgram';
import { parseIpAddress } from '../../src/names/ip-address.ts';
import type { IpAddress } from '../../src/names/name-types.ts';

/** addresses of both families, in the order of the answer; or how there is none */
type DnsAnswer = readonly string[] | 'no such name' | 'server failure' | 'silence';
/** `nth` counts the questions of this type for this name, from 0 */
export type DnsScript = DnsAnswer | ((nth: number, type: 'A' | 'AAAA') => DnsAnswer);

export type ScriptedDns = {
  readonly port: number;
  /** from the next question on */
  answer(name: string, script: DnsScript): void;
  /** questions for a name so far, of both types */
  asked(name: string): number;
  close(): Promise<void>;
};

export type ScriptedDnsOptions = {
  readonly names?: { readonly [name: string]: DnsScript };
  /** for names that have no script of their own */
  readonly otherwise?: DnsScript;
  /** of every answer; 0 makes a resolver ask again as soon as it can */
  readonly ttlSeconds?: number;
};

// RFC 1035 3.2.2, RFC 3596 2.1
const types = { a: 1, aaaa: 28 } as const;
// RFC 1035 4.1.1: the third octet says QR and RD, the fourth RA and the code
const response = 0x81;
const codes = { ok: 0x80, 'server failure': 0x82, 'no such name': 0x83 } as const;
const headerBytes = 12;

export async function startScriptedDns(options: ScriptedDnsOptions = {}): Promise<ScriptedDns> {
  const { names = {}, otherwise = 'no such name', ttlSeconds = 30 } = options;
  const scripts = new Map<string, DnsScript>(Object.entries(names));
  const counts = new Map<string, number>();
  const socket = createSocket('udp4');
  socket.on('message', (query, peer) => {
    const question = readQuestion(query);
    const key = `${question.name} ${question.type}`;
    const nth = counts.get(key) ?? 0;
    counts.set(key, nth + 1);
    const script = scripts.get(question.name) ?? otherwise;
    const answer = typeof script === 'function' ? script(nth, question.type === types.a ? 'A' : 'AAAA') : script;
    if (answer !== 'silence') socket.send(reply(query, question, answer, ttlSeconds), peer.port, peer.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    port: socket.address().port,
    answer: (name, script) => scripts.set(name, script),
    asked: (name) => Object.values(types).reduce((sum, type) => sum + (counts.get(`${name} ${type}`) ?? 0), 0),
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

type Question = { readonly name: string; readonly type: number; readonly endsAt: number };

/** the only question of a query (RFC 1035 4.1.2); c-ares may write letters in mixed case */
function readQuestion(query: Buffer): Question {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), endsAt: at + 5 };
}

function reply(query: Buffer, question: Question, answer: Exclude<DnsAnswer, 'silence'>, ttlSeconds: number): Buffer {
  const addresses = typeof answer === 'string' ? [] : answer.map(address);
  const records = addresses.filter(({ octets }) => question.type === (octets.length === 4 ? types.a : types.aaaa));
  const head = Buffer.from(query.subarray(0, question.endsAt));
  head.writeUInt8(response, 2);
  head.writeUInt8(codes[typeof answer === 'string' ? answer : 'ok'], 3);
  head.writeUInt16BE(records.length, 6);
  // neither authority nor additional records: what the query had of them (EDNS) is cut off
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...records.map((record) => resourceRecord(question.type, record, ttlSeconds))]);
}

/** RFC 1035 4.1.3, its name a pointer to that of the question */
function resourceRecord(type: number, { octets }: IpAddress, ttlSeconds: number): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc000 + headerBytes, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttlSeconds, 6);
  head.writeUInt16BE(octets.length, 10);
  return Buffer.concat([head, octets]);
}

function address(text: string): IpAddress {
  const parsed = parseIpAddress(text);
  if (parsed === undefined) throw new Error(`no address: ${text}`);
  return parsed;
}
