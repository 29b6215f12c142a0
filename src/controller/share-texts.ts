// One copy of long texts that many ConfigMaps hold alike: Envoy's files and the roots of the web are 0.6 MB for each gateway, and
// most gateways have the same. Only what is in ConfigMaps comes here: nothing of a Secret stays.
import { isRecord } from '../is-record.ts';
import type { KubeClient, KubeObject } from '../kube/kube-types.ts';

/** gives the copy that is kept of an equal text */
export type ShareText = (text: string) => string;

/** shorter ones are not worth a look */
const leastChars = 16 * 1024;
/** as many different ones are kept, those that were used last */
const mostTexts = 32;

export function createTextSharing(): ShareText {
  const known = new Map<string, string>();
  return (text) => {
    if (text.length < leastChars) return text;
    const one = known.get(text) ?? text;
    known.delete(one);
    known.set(one, one);
    const [oldest] = known.keys();
    if (known.size > mostTexts && oldest !== undefined) known.delete(oldest);
    return one;
  };
}

type Reader = Pick<KubeClient, 'list' | 'watch'>;

/** The same client, whose ConfigMaps share their texts. */
export function sharingTexts(client: Reader, share: ShareText): Reader {
  const withShared = (object: KubeObject): KubeObject => {
    const { kind, data } = object;
    return kind === 'ConfigMap' && isTexts(data) ? { ...object, data: shareAll(data, share) } : object;
  };
  return {
    list: async (query) => {
      const list = await client.list(query);
      return { ...list, items: list.items.map(withShared) };
    },
    watch: (query, terms) =>
      client.watch(query, {
        ...terms,
        onEvent: (event) =>
          terms.onEvent(event.kind === 'put' ? { ...event, object: withShared(event.object) } : event),
      }),
  };
}

export function shareAll(data: Readonly<Record<string, string>>, share: ShareText): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, share(text)]));
}

function isTexts(data: unknown): data is Readonly<Record<string, string>> {
  return isRecord(data) && Object.values(data).every((text) => typeof text === 'string');
}
