// `NS=DOMAIN/*` and `NS=DOMAIN/PATH`, as a person gives the signers of a namespace. Pure.
import { signerNameRule } from '../settings/kubernetes-names.ts';
import type { GivenText } from '../settings/read-settings.ts';
import { settingsErrors } from '../settings/settings-errors.ts';
import type { SignerBound } from './signer-bounds.ts';

const everyPath = '*';

/** @throws setting-malformed */
export function parseSignerBound({ text, setting }: GivenText): SignerBound {
  const equals = text.indexOf('=');
  const [namespace, signer] = [text.slice(0, Math.max(equals, 0)), text.slice(equals + 1)];
  const slash = signer.indexOf('/');
  const [domain, path] = [signer.slice(0, Math.max(slash, 0)), signer.slice(slash + 1)];
  const asName = path === everyPath ? `${domain}/any` : signer;
  if (namespace === '' || !signerNameRule.isRight(asName)) {
    throw settingsErrors.error('setting-malformed', {
      ...{ setting, value: text },
      expected: 'a namespace and a signer name, or all signers of a domain',
      example: 'egress=egress.example.com/*',
    });
  }
  return { namespace, domain, path: path === everyPath ? undefined : path };
}
