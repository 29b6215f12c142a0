// Whether a response can carry a name. Envoy sends whatever bytes a client put into its SNI, but it reads resource names
// as proto3 strings: a response with one that is not UTF-8 makes Envoy 1.40 reset the stream (status 13), reconnect, ask
// the name again and be reset again, for ever and, on ADS, for all names (measured). Silence costs that client 5 s.
import { isUtf8 } from 'node:buffer';
import type { AskedName } from '../names/name-types.ts';

export function isSayable(name: AskedName): boolean {
  for (let index = 0; index < name.length; index += 1) {
    if (name.charCodeAt(index) > 0x7f) return isUtf8(Buffer.from(name, 'latin1'));
  }
  return true;
}
