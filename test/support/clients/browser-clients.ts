// Browsers as clients of the matrix: they take the proxy from the variables, but roots from a store of their own.
import type { Browser, BrowserOptions } from '../browsers.ts';
import { startChromium, startFirefox } from '../browsers.ts';
import type { ToolName } from '../tools.ts';

export type BrowserClient = {
  readonly name: string;
  readonly tool: 'chromium' | 'firefox-esr';
  readonly version: (tool: (name: ToolName) => string) => readonly string[];
  readonly start: (options: BrowserOptions) => Promise<Browser>;
  readonly distrust: RegExp;
  /** variables that are enough to send it through the gateway */
  readonly proxy: readonly string[];
  /** where the CA has to be, for people */
  readonly store: string;
};

export const browserClients: readonly BrowserClient[] = [
  {
    ...{ name: 'Chromium, headless', tool: 'chromium', start: startChromium },
    version: (tool) => [tool('chromium'), '--version'],
    distrust: /ERR_CERT_AUTHORITY_INVALID/,
    proxy: ['https_proxy'],
    store: 'the CA in the NSS store of the user, `$HOME/.pki/nssdb`',
  },
  {
    ...{ name: 'Firefox, headless', tool: 'firefox-esr', start: startFirefox },
    version: (tool) => [tool('firefox-esr'), '--version'],
    distrust: /NS_ERROR|SEC_ERROR_UNKNOWN_ISSUER/,
    proxy: ['https_proxy'],
    store: 'the CA in the NSS store of its profile',
  },
];
