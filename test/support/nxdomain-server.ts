// A DNS server on loopback to which no name exists: lookups end at once, and nothing a test asks leaves the machine.
import { startScriptedDns, type ScriptedDns } from './scripted-dns.ts';

export type NxdomainServer = Pick<ScriptedDns, 'port' | 'close'>;

export function startNxdomainServer(): Promise<NxdomainServer> {
  return startScriptedDns();
}
