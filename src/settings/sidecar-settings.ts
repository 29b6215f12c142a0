// What the sidecar of a gateway's pod is told: sidecar.yaml, written by the controller and read by `leafgate sds --gateway`.
// A change of it restarts the pods, so that it holds only what stays as it is: the policy and the certificates have files of
// their own. Both ways in one place; strict, since a word that nobody reads is a wish that nobody fulfils.
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { DurationMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import type { ListenAddress } from './gateway-spec.ts';
import { listenAddressText, parseListenAddress } from './parse-listen.ts';
import { formatQuantity, parseDuration } from './quantities.ts';
import { settingsErrors } from './settings-errors.ts';

export type SidecarSettings = {
  readonly pool: MountedSecret & { readonly file: string };
  readonly sockets: {
    readonly sds: string;
    readonly admin: string;
    readonly selfCheck: string;
    readonly control: string;
  };
  readonly selfCheckCa: string;
  readonly accessLog: string;
  /** where the sidecar reaches Envoy's proxy in clear */
  readonly proxy: ListenAddress;
  readonly leafLifetimeMs: DurationMs;
  readonly allowEd25519: boolean;
  readonly drainMs: DurationMs;
  /** the proxy's certificate, where it speaks TLS */
  readonly serving: MountedFolder | undefined;
  /** PEM; clients' certificates are verified with it */
  readonly clientRoots: string | undefined;
  /** what some origins are shown */
  readonly originCertificates: readonly MountedFolder[];
};

/** the name counts as part of what is constant: another Secret is another mount */
type MountedSecret = { readonly secret: string };

type MountedFolder = MountedSecret & { readonly dir: string };

const head = [
  '# Made by leafgate controller, for `leafgate sds --gateway` in the pods of the gateway. A change here restarts them; the',
  '# policy beside it, and the certificates, are followed.',
  '',
].join('\n');

export function renderSidecarSettings(settings: SidecarSettings): string {
  const { leafLifetimeMs, drainMs, proxy, serving, clientRoots, ...plain } = settings;
  const document: Document = {
    ...plain,
    proxy: listenAddressText(proxy),
    leafLifetime: formatQuantity(leafLifetimeMs, 'duration'),
    drain: formatQuantity(drainMs, 'duration'),
    ...(serving === undefined ? {} : { serving }),
    ...(clientRoots === undefined ? {} : { clientRoots }),
  };
  return head + stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** `source` is what the file is called in messages. @throws sidecar-settings-malformed, with everything that is wrong */
export function parseSidecarSettings(text: string, source: string): SidecarSettings {
  const parsed = documentSchema.safeParse(readYaml(text, source));
  if (!parsed.success) {
    const [first, ...more] = parsed.error.issues.map(({ path, message }) => {
      const place = path.length === 0 ? '' : `${path.join('.')}: `;
      return malformed(source, `${place}${message}`);
    });
    throw LeafgateError.all([first ?? malformed(source, 'unreadable'), ...more]);
  }
  const { leafLifetime, drain, proxy, serving, clientRoots, ...plain } = parsed.data;
  return {
    ...plain,
    proxy: parseListenAddress(proxy, `proxy in ${source}`),
    leafLifetimeMs: parseDuration(leafLifetime, `leafLifetime in ${source}`),
    drainMs: parseDuration(drain, `drain in ${source}`),
    serving,
    clientRoots,
  };
}

const path = z.string().regex(/^\//, 'not an absolute path');
const mountedFolder = { secret: z.string().min(1), dir: path };
const documentSchema = z.strictObject({
  pool: z.strictObject({ secret: z.string().min(1), file: path }),
  sockets: z.strictObject({ sds: path, admin: path, selfCheck: path, control: path }),
  selfCheckCa: path,
  accessLog: path,
  proxy: z.string(),
  leafLifetime: z.string(),
  allowEd25519: z.boolean(),
  drain: z.string(),
  serving: z.strictObject(mountedFolder).optional(),
  clientRoots: path.optional(),
  originCertificates: z.array(z.strictObject(mountedFolder)).readonly(),
});
type Document = z.infer<typeof documentSchema>;

function readYaml(text: string, source: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 });
  } catch (thrown) {
    const [sentence = ''] = LeafgateError.from(thrown).message.split('\n');
    throw malformed(source, sentence.replace(/:$/, ''));
  }
}

function malformed(source: string, detail: string): LeafgateError {
  return settingsErrors.error('sidecar-settings-malformed', { source, detail });
}
