import { expect, test } from 'vitest';
import { readOwnWgetrc } from '../../../src/projection/own-wgetrc.ts';

test('keeps every line but those that the gateway sets, whatever case, hyphens and underscores', () => {
  const text =
    '# mine\ntries=3\n\nCA-Certificate = /corp.pem \nhttps_proxy = http://corp\nuse-proxy=off\nheader = A: b=c';
  expect(readOwnWgetrc(text, false)).toEqual({
    kept: '# mine\ntries=3\nheader = A: b=c\n',
    caFile: '/corp.pem',
    proxies: ['https_proxy', 'use-proxy'],
  });
});

test('keeps proxies where the gateway does not take their place', () => {
  expect(readOwnWgetrc('https_proxy = http://corp\n', true)).toMatchObject({ kept: 'https_proxy = http://corp\n' });
});

test('takes the last file of roots, as wget does, and none where that is empty', () => {
  expect(readOwnWgetrc('ca_certificate=/a\ncacertificate=/b', false).caFile).toBe('/b');
  expect(readOwnWgetrc('ca_certificate=/a\nca_certificate=', false).caFile).toBeUndefined();
});

test('of an empty file nothing is kept', () => {
  expect(readOwnWgetrc('', false)).toEqual({ kept: '', caFile: undefined, proxies: [] });
});
