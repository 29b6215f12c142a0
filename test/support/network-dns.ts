// A DNS server for another network namespace, run as a process of its own. The argument is the names with their answers, in
// JSON; it says the port on which it listens.
import { startScriptedDns } from './scripted-dns.ts';

const names = JSON.parse(process.argv[2] ?? '{}') as { readonly [name: string]: readonly string[] };
const { port } = await startScriptedDns({ names });
process.stdout.write(`listens on ${port}\n`);
