import { describe, expect, test } from 'vitest';
import { scrubPem } from '../../../src/observe/scrub-pem.ts';

const begin = '-----BEGIN PRIVATE KEY-----';
const end = '-----END PRIVATE KEY-----';

describe('scrubPem', () => {
  test.each([
    ['a whole block', `before ${begin}\nMIGH\n${end} after`, 'before [PEM removed] after'],
    ['escaped newlines', `x ${begin}\\nMIGH\\n${end}\\n y`, 'x [PEM removed]\\n y'],
    ['a block without its end', `x ${begin}\nMIGHAgEAMBMG`, 'x [PEM removed]'],
    ['a tail without its beginning', `MIGHAgEA\nAwEH\n${end} y`, '[PEM removed] y'],
    ['two blocks', `${begin}A${end} and ${begin}B${end}`, '[PEM removed] and [PEM removed]'],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----', '[PEM removed]'],
    ['a key of the old form', '-----BEGIN EC PRIVATE KEY-----MHc-----END EC PRIVATE KEY-----', '[PEM removed]'],
    ['nothing of the kind', 'a ----- b', 'a ----- b'],
  ])('removes %s', (_, text, expected) => {
    expect(scrubPem(text)).toBe(expected);
  });
});
