// The last resort against a key in a log: whatever looks like PEM is cut out, whole or torn. Pure.

/** newlines may be real or escaped (`\n` as two characters); a block without its end line is cut to the end */
const pemBlock = /-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g;
/** the tail of a block whose beginning was cut off by somebody's size limit */
const tornTail = /^[A-Za-z0-9+/=\s\\]*-----END [A-Z0-9 ]{1,40}-----/;

export function scrubPem(text: string): string {
  if (!text.includes('-----')) return text;
  return text.replace(pemBlock, '[PEM removed]').replace(tornTail, '[PEM removed]');
}
