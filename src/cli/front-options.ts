// `--proxy-cert`, `--listen-tls` and `--client-ca`: TLS to the proxy, as a person chose it. Only texts are looked at here,
// not the files they name.
import { resolve } from 'node:path';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { parseListenAddress } from '../settings/parse-listen.ts';
import type { SettingSource } from '../settings/read-settings.ts';
import { givenTexts } from '../settings/read-settings.ts';
import { textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import type { Problems } from '../problems.ts';

export type FrontOptions = {
  /** absolute */
  readonly certificateDir: string;
  /** the port may be 0 */
  readonly listen: ListenAddress | undefined;
  /** absolute */
  readonly clientCaFile: string | undefined;
};

/** Undefined without --proxy-cert; what needs it and is given without it is a problem. */
export function readFrontOptions(source: SettingSource, { attempt }: Problems): FrontOptions | undefined {
  const [dir, listenTls, clientCa] = [textSettings.proxyCert, textSettings.listenTls, textSettings.clientCa].map(
    (row) => givenTexts(row, source).at(-1),
  );
  const listen = attempt(() =>
    listenTls === undefined ? undefined : parseListenAddress(listenTls.text, listenTls.setting),
  );
  if (dir === undefined) {
    for (const given of [listenTls, clientCa]) {
      if (given === undefined) continue;
      attempt(() => {
        throw cliErrors.error('front-needs-certificate', { setting: given.setting });
      });
    }
    return undefined;
  }
  const clientCaFile = clientCa === undefined ? undefined : resolve(clientCa.text);
  return { certificateDir: resolve(dir.text), listen, clientCaFile };
}
