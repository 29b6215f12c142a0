// The table of a start, each row a test.
import { describe, expect, test } from 'vitest';
import { chooseChannel, type ChannelFile, type GatewayChannel } from '../../../src/channel/choose-channel.ts';

const all: readonly ChannelFile[] = ['tls.crt', 'tls.key', 'ca.crt'];
const choose = (files: readonly ChannelFile[], insecure?: string, gatewaySays?: GatewayChannel) =>
  chooseChannel({ dir: '/d', present: new Set(files), insecure, gatewaySays });
const fault = (files: readonly ChannelFile[], insecure?: string, gatewaySays?: GatewayChannel): unknown => {
  try {
    return choose(files, insecure, gatewaySays);
  } catch (thrown) {
    return thrown;
  }
};

describe('with all three files', () => {
  test.each([undefined, '', 'false', '0', '1'])('TLS is spoken (LEAFGATE_SDS_INSECURE %s)', (insecure) => {
    expect(choose(all, insecure)).toEqual({ kind: 'tls', isInsecureAsked: false, isGatewayInClear: false });
  });

  test.each(['true', 'TRUE', 'True'])('TLS wins over plaintext that was asked for (%s)', (insecure) => {
    expect(choose(all, insecure)).toEqual({ kind: 'tls', isInsecureAsked: true, isGatewayInClear: false });
  });
});

describe('with none of them', () => {
  test.each(['true', 'TRUE', 'tRuE'])('plaintext is spoken where somebody chose it (%s)', (insecure) => {
    expect(choose([], insecure)).toEqual({ kind: 'plaintext' });
  });

  test.each([undefined, '', '1', 'yes', 'on', 'false', ' true', 'true ', 'truetrue'])(
    'the start is refused without that choice (LEAFGATE_SDS_INSECURE "%s")',
    (insecure) => {
      expect(fault([], insecure)).toMatchObject({
        code: 'channel-files-missing',
        message: expect.stringContaining('/d has none of tls.crt, tls.key, ca.crt') as string,
        remedy: expect.stringContaining('LEAFGATE_SDS_INSECURE=true') as string,
      });
    },
  );

  test('a choice that is another word is quoted', () => {
    expect(fault([], 'yes')).toMatchObject({
      message: expect.stringContaining('(LEAFGATE_SDS_INSECURE is "yes", not "true")') as string,
    });
  });
});

describe('of a gateway', () => {
  test.each([
    ['tls', undefined],
    ['tls', 'true'],
    ['plaintext', undefined],
    ['plaintext', 'true'],
  ] as const)('TLS wins wherever its files are: the gateway says %s, LEAFGATE_SDS_INSECURE %s', (says, insecure) => {
    expect(choose(all, insecure, says)).toEqual({
      ...{ kind: 'tls', isInsecureAsked: insecure === 'true', isGatewayInClear: says === 'plaintext' },
    });
  });

  test('plaintext takes two choices, the gateway’s and the variable', () => {
    expect(choose([], 'true', 'plaintext')).toEqual({ kind: 'plaintext' });
  });

  test.each([undefined, 'yes'])('that of the gateway alone is refused (LEAFGATE_SDS_INSECURE %s)', (insecure) => {
    expect(fault([], insecure, 'plaintext')).toMatchObject({
      code: 'channel-plaintext-half-chosen',
      message: expect.stringContaining(insecure ?? 'the gateway asks for plaintext') as string,
      remedy: expect.stringContaining('LEAFGATE_SDS_INSECURE=true in the Deployment') as string,
    });
  });

  test.each([
    [undefined, /asks for TLS$/],
    ['true', /asks for TLS: LEAFGATE_SDS_INSECURE alone chooses nothing$/],
  ])('the variable alone is refused (LEAFGATE_SDS_INSECURE %s)', (insecure, words) => {
    expect(fault([], insecure, 'tls')).toMatchObject({
      code: 'channel-gateway-wants-tls',
      message: expect.stringMatching(words) as string,
      remedy: expect.stringContaining('spec.sds.tls.secretRef') as string,
    });
  });

  test.each(['tls', 'plaintext'] as const)('some of the files are no choice: the gateway says %s', (says) => {
    expect(fault(['ca.crt'], 'true', says)).toMatchObject({ code: 'channel-files-incomplete' });
  });
});

describe('with some of them', () => {
  const partial = [
    ['tls.crt'],
    ['tls.key'],
    ['ca.crt'],
    ['tls.crt', 'tls.key'],
    ['tls.crt', 'ca.crt'],
    ['tls.key', 'ca.crt'],
  ];

  test.each(partial.flatMap((files) => [undefined, 'true'].map((insecure) => ({ files, insecure }))))(
    'the start is refused, and what is missing is listed: $files, LEAFGATE_SDS_INSECURE $insecure',
    ({ files, insecure }) => {
      const missing = all.filter((file) => !files.includes(file)).join(', ');
      expect(fault(files as ChannelFile[], insecure)).toMatchObject({
        ...{ code: 'channel-files-incomplete', message: `/d lacks ${missing}` },
      });
    },
  );
});
