// docs/records.md, made from the tables of fields and reasons; a test holds the file equal to it. Pure.
import { clientTlsVerdicts, reasonCodes, reasonSpec, type ClientTlsVerdict } from './reason-table.ts';
import { recordFieldTable } from './record-fields.ts';

const clientTlsMeanings: { readonly [verdict in ClientTlsVerdict]: string } = {
  trusts:
    'it accepted the certificate and sent a request, or had no need of the connection: it kept it for a second and more, or asked on another that it opened in the same moment, as browsers do',
  distrusts: 'it said so in a TLS alert, or broke the handshake off as clients do that trust another CA',
  pins: 'it closed at once after a complete handshake, without a request there or beside it: it accepts one certificate only, or is one of those (wget with GnuTLS) that check afterwards',
  left: 'it went away before it saw a certificate',
  incompatible: 'it has no TLS version or cipher in common with the gateway',
  unserved: 'the gateway had no certificate for the name',
};

const head = `# Access records

A record is one JSON object on one line: for each request, each CONNECT that was refused, each TLS handshake that brought no request, each connection that was relayed or opaque, and each
tunnel that came to nothing. \`leafgate up --json\` prints them, \`leafgate log --json\` shows those that are kept.

| \`kind\` | what it is |
|---|---|
| \`request\` | one HTTP request: decrypted, in clear inside a tunnel, or in absolute form |
| \`connect\` | a CONNECT that was not accepted |
| \`handshake\` | a TLS connection that ended without a request: inside a tunnel, or with the proxy itself (then without \`id\` and \`host\`); \`ok\` where a client opened it ahead of need, as browsers do |
| \`tunnel\` | bytes forwarded unread (\`relay\`, \`tcp\`), or a tunnel that showed no protocol |

No record holds a query string, a header, a body, a credential or a key. What a client chose (names, paths, methods) has its control and direction characters escaped and is cut; user names and passwords in front of a host
are left out before anything is written.

## Fields

A field that is not known is absent.

| field | in records of | what it tells |
|---|---|---|
`;

const middle = `
## What the client made of our certificate

| \`clientTls\` | what it did |
|---|---|
`;

const end = `
## Reasons

| \`reason.code\` | outcome | what happened | what to do |
|---|---|---|---|
`;

const kept = `
## What is kept

Envoy writes the lines that records are made of to \`gateway/access.json\` in the state folder (mode 0600), never to a pipe. When the file is an eighth of \`--keep-records\` large, it is renamed to \`access.json.<number>\`, with
numbers that only grow, and Envoy opens a new one; the oldest go when all of them are larger than \`--keep-records\`.

Records are made, and counted in the metrics, at the speed of whoever reads stdout. A slow reader loses nothing: the lines wait on the disk. What has to be removed before it was read is counted in
\`leafgate_record_lines_lost_total\` and said in the log, as is what a full disk swallows, of which the count is a lower bound: Envoy says that a write failed, not how many lines were in it. \`access.json.shown\` notes how far records have been taken: a run goes on where the one before it stopped. After a \`kill -9\` the last half
second may be shown twice, and what Envoy had not written yet (a fifth of a second) is lost.
`;

export function recordsMarkdown(): string {
  const fields = Object.entries(recordFieldTable).map(([name, row]) => `| \`${name}\` | ${row.of} | ${row.meaning} |`);
  const verdicts = clientTlsVerdicts.map((verdict) => `| \`${verdict}\` | ${clientTlsMeanings[verdict]} |`);
  const reasons = reasonCodes.map((code) => {
    const { outcome, meaning, remedy } = reasonSpec(code);
    return `| \`${code}\` | ${outcome} | ${meaning} | ${remedy} |`;
  });
  return [head, fields.join('\n'), '\n', middle, verdicts.join('\n'), '\n', end, reasons.join('\n'), '\n', kept].join(
    '',
  );
}
