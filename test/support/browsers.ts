// Real browsers without a screen, each with a profile of its own, behind a proxy and with the trust that a test gives it:
// Chromium by its DevTools protocol, Firefox by WebDriver BiDi.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBrowserSocket } from './browser-socket.ts';
import { runCommand, startProcess, type StartedProcess } from './run-command.ts';
import { scrubbedEnvironment, type ChildEnvironment } from './scrubbed-environment.ts';

export type Browser = {
  /** undefined when the page is loaded, else what the browser says instead */
  goTo(url: string): Promise<string | undefined>;
  /** the value of an expression in the page, awaited; it must survive JSON */
  evaluate(expression: string): Promise<unknown>;
  close(): Promise<void>;
};

export type BrowserOptions = {
  readonly path: string;
  /** of certutil */
  readonly certutil: string;
  /** a folder for the profile, empty */
  readonly home: string;
  /** undefined: whatever proxy its environment names */
  readonly proxyPort: number | undefined;
  /** PEM; undefined: the browser's own roots alone */
  readonly caFile: string | undefined;
  /** the NSS database is there already (Chromium: `.pki/nssdb` below `home`, Firefox: `profile`), and is left as it is */
  readonly hasDatabase?: boolean;
  /** of a proxy that speaks TLS; the clear one of `proxyPort` when absent */
  readonly proxyUrl?: string;
  /** PEM, what that proxy's certificate is signed by */
  readonly proxyCaFile?: string | undefined;
  /** beside PATH and HOME */
  readonly env?: ChildEnvironment;
};

/** of a Chromium that may have no proxy: names lead nowhere, so that nothing leaves the machine */
const noLookups = ['--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.*'];

const startDeadlineMs = 60_000;

export async function startChromium(options: BrowserOptions): Promise<Browser> {
  const { path, home, proxyPort } = options;
  const proxyUrl = options.proxyUrl ?? (proxyPort === undefined ? undefined : `http://127.0.0.1:${proxyPort}`);
  await trust(options, join(home, '.pki', 'nssdb'));
  const child = startProcess(
    path,
    [
      // root has no sandbox, and a container seldom the namespaces for one; the pages are the test's own
      ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions'],
      ...[`--user-data-dir=${join(home, 'profile')}`, '--remote-debugging-port=0', '--password-store=basic'],
      ...(proxyUrl === undefined ? noLookups : [`--proxy-server=${proxyUrl}`, '--proxy-bypass-list=<-loopback>']),
      'about:blank',
    ],
    { env: browserEnvironment(options) },
  );
  const [, url = ''] = await child.waitForOutput(/DevTools listening on (ws:\S+)/, startDeadlineMs);
  const socket = await openBrowserSocket(url);
  const { targetId } = (await socket.call('Target.createTarget', { url: 'about:blank' })) as { targetId: string };
  const attached = await socket.call('Target.attachToTarget', { targetId, flatten: true });
  const session = { sessionId: (attached as { sessionId: string }).sessionId };
  await socket.call('Page.enable', {}, session);
  return {
    goTo: async (page) => {
      const { errorText } = (await socket.call('Page.navigate', { url: page }, session)) as { errorText?: string };
      if (errorText !== undefined) return errorText;
      await evaluateIn(
        `new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))`,
      );
      return undefined;
    },
    evaluate: evaluateIn,
    close: () => closeBrowser(child, () => socket.close()),
  };

  async function evaluateIn(expression: string): Promise<unknown> {
    const how = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await socket.call('Runtime.evaluate', how, session)) as {
      result: { value?: unknown };
      exceptionDetails?: { exception?: { description?: string } };
    };
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? 'an exception');
    return result.value;
  }
}

export async function startFirefox(options: BrowserOptions): Promise<Browser> {
  const { path, home } = options;
  const profile = join(home, 'profile');
  await trust(options, profile);
  writeFileSync(join(profile, 'user.js'), firefoxPreferences(options));
  const child = startProcess(
    path,
    ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0', 'about:blank'],
    { env: { ...browserEnvironment(options), MOZ_DISABLE_CONTENT_SANDBOX: '1', MOZ_HEADLESS: '1' } },
  );
  const [, url = ''] = await child.waitForOutput(/WebDriver BiDi listening on (ws:\S+)/, startDeadlineMs);
  const socket = await openBrowserSocket(`${url}/session`);
  await socket.call('session.new', { capabilities: {} });
  const tree = (await socket.call('browsingContext.getTree')) as { contexts: readonly { context: string }[] };
  const context = tree.contexts[0]?.context ?? '';
  return {
    goTo: async (page) => {
      try {
        await socket.call('browsingContext.navigate', { context, url: page, wait: 'complete' });
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    evaluate: async (expression) => {
      const wrapped = `Promise.resolve(${expression}).then((value) => JSON.stringify(value) ?? 'null')`;
      const how = { expression: wrapped, target: { context }, awaitPromise: true };
      const said = (await socket.call('script.evaluate', how)) as {
        result?: { value?: string };
        exceptionDetails?: { text?: string };
      };
      if (said.exceptionDetails !== undefined) throw new Error(said.exceptionDetails.text ?? 'an exception');
      return JSON.parse(said.result?.value ?? 'null') as unknown;
    },
    close: () => closeBrowser(child, () => socket.close()),
  };
}

/** what a browser puts into the folder for temporary files, it leaves there when it is ended */
function browserEnvironment({ home, env }: BrowserOptions): ChildEnvironment {
  return scrubbedEnvironment(home, { TMPDIR: home, ...env });
}

async function closeBrowser(child: StartedProcess, disconnect: () => void): Promise<void> {
  disconnect();
  await child.stop();
}

/** NSS, where both browsers look for roots beside their own: Chromium in the user's store, Firefox in the profile's */
async function trust(options: BrowserOptions, store: string): Promise<void> {
  const { certutil, home, caFile, proxyCaFile, hasDatabase = false } = options;
  if (hasDatabase) return;
  mkdirSync(store, { recursive: true });
  await run(['-N', '--empty-password']);
  if (caFile !== undefined) await run(['-A', '-t', 'C,,', '-n', 'leafgate', '-i', caFile]);
  if (proxyCaFile !== undefined) await run(['-A', '-t', 'C,,', '-n', 'proxy', '-i', proxyCaFile]);

  async function run(args: readonly string[]): Promise<void> {
    const done = await runCommand(certutil, ['-d', `sql:${store}`, ...args], { env: scrubbedEnvironment(home) });
    if (done.status !== 0) throw new Error(`certutil: ${done.stderr}`);
  }
}

/** through the proxy whatever the host, and nothing asked of Mozilla */
function firefoxPreferences(options: BrowserOptions): string {
  const preferences = {
    ...firefoxProxy(options),
    'network.captive-portal-service.enabled': false,
    'network.connectivity-service.enabled': false,
    'app.update.enabled': false,
    'app.normandy.enabled': false,
    'browser.safebrowsing.malware.enabled': false,
    'browser.safebrowsing.phishing.enabled': false,
    'browser.shell.checkDefaultBrowser': false,
    'datareporting.healthreport.uploadEnabled': false,
    'datareporting.policy.dataSubmissionEnabled': false,
    'toolkit.telemetry.enabled': false,
    'services.settings.server': 'data:,',
    'dom.security.https_first': false,
  };
  return Object.entries(preferences)
    .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
    .join('');
}

function firefoxProxy({ proxyPort, proxyUrl }: BrowserOptions): { readonly [name: string]: unknown } {
  if (proxyUrl !== undefined) return proxyByScript(proxyUrl);
  return proxyPort === undefined ? proxyOfEnvironment : fixedProxy(proxyPort);
}

/** Firefox takes a proxy that speaks TLS from a script alone (or an extension): its settings have no place for one. */
function proxyByScript(url: string): { readonly [name: string]: unknown } {
  const script = `function FindProxyForURL() { return 'HTTPS ${new URL(url).host}'; }`;
  return {
    'network.proxy.type': 2,
    'network.proxy.autoconfig_url': `data:application/x-ns-proxy-autoconfig,${encodeURIComponent(script)}`,
    'network.proxy.allow_hijacking_localhost': true,
  };
}

/** "use system proxy settings", which without a desktop are the variables; and names that are not asked for anywhere */
const proxyOfEnvironment = { 'network.proxy.type': 5, 'network.dns.disabled': true };

function fixedProxy(port: number): { readonly [name: string]: unknown } {
  return {
    'network.proxy.type': 1,
    'network.proxy.http': '127.0.0.1',
    'network.proxy.http_port': port,
    'network.proxy.ssl': '127.0.0.1',
    'network.proxy.ssl_port': port,
    'network.proxy.allow_hijacking_localhost': true,
  };
}
