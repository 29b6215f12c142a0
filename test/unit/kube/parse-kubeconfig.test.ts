import { describe, expect, it } from 'vitest';
import { parseKubeconfig } from '../../../src/kube/parse-kubeconfig.ts';

const yaml = (text: string, path = '/home/a/.kube/config') => ({ path, folder: '/home/a/.kube', text });
const read = (text: string) => parseKubeconfig([yaml(text)]);

const whole = (cluster: string, user: string): string => `
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: egress}}]
clusters: [{name: k, cluster: ${cluster}}]
users: [{name: u, user: ${user}}]
`;

describe('a kubeconfig', () => {
  it('gives server, trust, name, namespace and files relative to itself', () => {
    const cluster = '{server: "https://k.example:6443/base/", certificate-authority: ca.pem, tls-server-name: api}';
    expect(read(whole(cluster, '{tokenFile: t, token: x, client-certificate: c.pem, client-key: /k.pem}'))).toEqual({
      server: 'https://k.example:6443/base',
      namespace: 'egress',
      serverName: 'api',
      authority: { kind: 'file', path: '/home/a/.kube/ca.pem' },
      token: { kind: 'file', path: '/home/a/.kube/t' },
      credential: {
        certificate: { kind: 'file', path: '/home/a/.kube/c.pem' },
        key: { kind: 'file', path: '/k.pem' },
      },
    });
  });

  it('has its data before its files', () => {
    const cluster = '{server: "https://k", certificate-authority: ca.pem, certificate-authority-data: aGVsbG8=}';
    const { authority } = read(whole(cluster, '{token: x}'));
    expect(authority).toMatchObject({ kind: 'given', source: '/home/a/.kube/config, certificate-authority-data' });
  });

  it('is put together from several files, the first that has an entry wins', () => {
    const one = yaml('{current-context: "", clusters: [{name: k, cluster: {server: "https://first"}}]}', '/1');
    const two = yaml(whole('{server: "https://second"}', '{}'), '/2');
    expect(parseKubeconfig([one, two]).server).toBe('https://first');
  });

  it.each([
    ['{server: "https://k", insecure-skip-tls-verify: true}', '{}', 'kubeconfig-insecure', 'cluster "k"'],
    ['{server: "https://k", proxy-url: "http://p"}', '{}', 'kubeconfig-unsupported', 'a proxy'],
    ['{server: "https://k"}', '{exec: {command: aws}}', 'kubeconfig-unsupported', 'an exec plugin for user "u"'],
    ['{server: "https://k"}', '{auth-provider: {name: gcp}}', 'kubeconfig-unsupported', 'an auth-provider plugin'],
    ['{server: "https://k"}', '{username: a, password: b}', 'kubeconfig-unsupported', 'a password'],
    ['{server: "https://k"}', '{as: root}', 'kubeconfig-unsupported', 'impersonation'],
    ['{server: "http://k"}', '{}', 'kubeconfig-malformed', 'no plain https:// URL'],
    ['{server: "https://u:p@k"}', '{}', 'kubeconfig-malformed', 'no plain https:// URL'],
    ['{}', '{}', 'kubeconfig-malformed', 'no server'],
    ['{server: "https://k", certificate-authority-data: "%"}', '{}', 'kubeconfig-malformed', 'no base64'],
    ['{server: "https://k"}', '{client-key: k.pem}', 'kubeconfig-malformed', 'only one of'],
    ['{server: "https://k"}', '{token: [1]}', 'kubeconfig-malformed', 'token is no text'],
  ])('with cluster %s and user %s is refused with %s', (cluster, user, code, words) => {
    expect(() => read(whole(cluster, user))).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(words) }),
    );
  });

  it.each([
    ['', 'it is no mapping'],
    ['a: b', 'no current-context'],
    ['current-context: c', 'names the context "c"'],
    ['{current-context: c, contexts: 7}', 'contexts is no list'],
    ['token: "my secret', 'it is no YAML'],
  ])('that says %j is refused without being quoted', (text, words) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ message: expect.stringContaining(words) }));
    expect(() => read(text)).not.toThrow(/my secret/);
  });
});
