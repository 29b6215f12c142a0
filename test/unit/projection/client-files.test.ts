import { expect, test } from 'vitest';
import { canStandIn, clientFiles } from '../../../src/projection/client-files.ts';

const text = (name: string, ...given: Parameters<typeof clientFiles>) =>
  clientFiles(...given).find((file) => file.name === name)?.text;

test('the settings files name the merged bundle in the syntax of each client', () => {
  expect(clientFiles('/a b/all.pem')).toEqual([
    { name: 'wgetrc', text: 'ca_certificate = /a b/all.pem\n' },
    { name: 'apt.conf', text: 'Acquire::https::CAInfo "/a b/all.pem";\n' },
    { name: 'php/php.ini', text: "curl.cainfo = '/a b/all.pem'\nopenssl.cafile = '/a b/all.pem'\n" },
  ]);
});

test('what the owner has comes first, so that ours counts', () => {
  expect(text('wgetrc', '/all.pem', { wgetrc: 'tries = 3\n' })).toBe('tries = 3\nca_certificate = /all.pem\n');
  expect(text('apt.conf', '/all.pem', { aptConf: '/my.conf' })).toMatch(/^#include "\/my\.conf";\nAcquire/);
});

test('apt fetches as root only where its own user could not read the file', () => {
  expect(text('apt.conf', '/all.pem', { isForRootAlone: true })).toMatch(/^APT::Sandbox::User "root";$/m);
  expect(text('apt.conf', '/all.pem', { isForRootAlone: false })).not.toContain('Sandbox');
});

test.each([
  ['/run/leafgate/trust/ca.pem', ['wgetrc', 'aptConf', 'phpIni']],
  ['/a b/$x;#/ü', ['wgetrc', 'aptConf', 'phpIni']],
  ["/O'Brien", ['wgetrc', 'aptConf', 'phpIni']],
  ["/O'Brien/${x}", ['wgetrc', 'aptConf']],
  ['/a"b', ['wgetrc']],
  ['/a\\b', ['wgetrc', 'aptConf', 'phpIni']],
  ['/a\nb', []],
  ['/a ', ['aptConf', 'phpIni']],
])('in which of them the path %j can stand', (path, expected) => {
  expect(Object.entries(canStandIn).flatMap(([file, can]) => (can(path) ? [file] : []))).toEqual(expected);
});

test('an apostrophe in the path leaves PHP the other quotes', () => {
  expect(text('php/php.ini', "/O'Brien/ca.pem")).toContain(`curl.cainfo = "/O'Brien/ca.pem"`);
});
