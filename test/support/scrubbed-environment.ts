// The environment of every child of a test: PATH and HOME, nothing inherited. A developer's shell may preset
// SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, proxies and the like, and a trust test would then prove nothing.
import { dirname } from 'node:path';

export type ChildEnvironment = { readonly [name: string]: string };

const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** `home` should be in a temp folder: clients read and write their configuration there */
export function scrubbedEnvironment(home: string, extra: ChildEnvironment = {}): ChildEnvironment {
  return { PATH: [dirname(process.execPath), ...systemPath].join(':'), HOME: home, ...extra };
}
