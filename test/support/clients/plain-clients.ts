// Programs and libraries that fetch one URL: the command-line tools, Python, Go, Java, Ruby, PHP, Deno and Bun.
import { fileURLToPath } from 'node:url';
import type { Client, ClientRun } from './client.ts';

const pythonDistrust = /CERTIFICATE_VERIFY_FAILED/;
const mark = ({ base }: ClientRun): string => `${base}/mark`;

type PythonLibrary = { readonly name: string; readonly module: string; readonly code: string; readonly trust: string };

const pythonLibraries: readonly PythonLibrary[] = [
  {
    ...{ name: 'Python requests', module: 'requests', trust: 'REQUESTS_CA_BUNDLE' },
    code: 'import requests, sys; print(requests.get(sys.argv[1], timeout=30).text)',
  },
  {
    ...{ name: 'Python httpx', module: 'httpx', trust: 'SSL_CERT_FILE' },
    code: 'import httpx, sys; print(httpx.get(sys.argv[1], timeout=30).text)',
  },
  {
    ...{ name: 'Python httplib2 (with PySocks)', module: 'httplib2', trust: 'HTTPLIB2_CA_CERTS' },
    code: 'import httplib2, sys; print(httplib2.Http(timeout=30).request(sys.argv[1])[1].decode())',
  },
  {
    ...{ name: 'Python urllib', module: 'urllib', trust: 'SSL_CERT_FILE' },
    code: 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())',
  },
  {
    ...{ name: 'Python aiohttp (trust_env=True)', module: 'aiohttp', trust: 'SSL_CERT_FILE' },
    code: `
import aiohttp, asyncio, sys
async def fetch():
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.get(sys.argv[1]) as answer:
            print(await answer.text())
asyncio.run(fetch())`,
  },
];

const pythonClients = pythonLibraries.map(({ name, module, code, trust }): Client => {
  const printVersion = `import platform, ${module} as m; print(getattr(m, '__version__', platform.python_version()))`;
  return {
    name,
    tools: ['python'],
    version: (tool) => [tool('python'), '-c', printVersion],
    words: (run) => [run.tool('python'), '-c', code, mark(run)],
    distrust: pythonDistrust,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: [trust] },
  };
});

const printFetched = (url: string): string => `console.log(await (await fetch(${JSON.stringify(url)})).text())`;

const rubyCode = "require 'net/http'; puts Net::HTTP.get(URI(ARGV[0]))";
const perlCode = `my $answer = LWP::UserAgent->new(timeout => 30)->get($ARGV[0]);
print $answer->decoded_content; exit($answer->is_success ? 0 : 1);`;
const phpStreamCode = '$text = file_get_contents($argv[1]); echo $text; exit($text === false ? 1 : 0);';
const phpCurlCode = `$handle = curl_init($argv[1]);
curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
$text = curl_exec($handle);
echo $text === false ? curl_error($handle) : $text;
exit($text === false ? 1 : 0);`;
const pycurlCode = 'import pycurl, sys; c = pycurl.Curl(); c.setopt(c.URL, sys.argv[1]); c.perform()';

const javaSource = fileURLToPath(new URL('java/Fetch.java', import.meta.url));

const javaClients = ['HttpClient', 'HttpURLConnection'].map((how): Client => ({
  name: `Java ${how}`,
  // the source is compiled as it starts, by what comes with javac
  tools: ['java', 'javac'],
  version: (tool) => [tool('java'), '-version'],
  words: (run) => [run.tool('java'), javaSource, how, mark(run)],
  distrust: /unable to find valid certification path/,
  reach: { kind: 'variables', proxy: ['JAVA_TOOL_OPTIONS'], trust: ['JAVA_TOOL_OPTIONS'] },
}));

export const plainClients: readonly Client[] = [
  {
    name: 'curl (OpenSSL)',
    tools: ['curl'],
    version: (tool) => [tool('curl'), '--version'],
    words: (run) => [run.tool('curl'), '-sS', mark(run)],
    distrust: /unable to get local issuer/,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['CURL_CA_BUNDLE'] },
  },
  {
    name: 'libcurl (GnuTLS), by pycurl',
    tools: ['pycurl'],
    version: (tool) => [tool('pycurl'), '-c', 'import pycurl; print(pycurl.version_info()[1])'],
    words: (run) => [run.tool('pycurl'), '-c', pycurlCode, mark(run)],
    distrust: /certificate verification failed|not trusted/i,
    reach: {
      kind: 'unreached',
      lacks: 'trust',
      remedy: 'set CAINFO in its code, or add the CA to the roots of the system',
    },
  },
  {
    name: 'wget (GnuTLS)',
    tools: ['wget'],
    version: (tool) => [tool('wget'), '--version'],
    words: (run) => [run.tool('wget'), '-nv', '-t', '1', '-O', '-', mark(run)],
    distrust: /cannot verify|not trusted/,
    reach: { kind: 'variables', proxy: ['https_proxy'], trust: ['WGETRC'] },
  },
  ...pythonClients,
  {
    name: 'Go net/http',
    tools: ['fetch-peer', 'go'],
    version: (tool) => [tool('go'), 'version'],
    words: (run) => [run.tool('fetch-peer'), mark(run)],
    distrust: /certificate signed by unknown authority/,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['SSL_CERT_FILE'] },
  },
  {
    name: 'Deno fetch',
    tools: ['deno'],
    version: (tool) => [tool('deno'), '--version'],
    words: (run) => [run.tool('deno'), 'eval', printFetched(mark(run))],
    settings: () => ({ DENO_NO_UPDATE_CHECK: '1' }),
    distrust: /UnknownIssuer/,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['DENO_CERT'] },
  },
  {
    name: 'Bun fetch',
    tools: ['bun'],
    version: (tool) => [tool('bun'), '--version'],
    words: (run) => [run.tool('bun'), '-e', printFetched(mark(run))],
    distrust: /UNABLE_TO_VERIFY_LEAF_SIGNATURE|unable to (verify the first certificate|get local issuer)/i,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['NODE_EXTRA_CA_CERTS'] },
  },
  ...javaClients,
  {
    name: 'Ruby net/http',
    tools: ['ruby'],
    version: (tool) => [tool('ruby'), '--version'],
    words: (run) => [run.tool('ruby'), '-e', rubyCode, mark(run)],
    distrust: /certificate verify failed/,
    // Net::HTTP looks for the proxy of http://, whatever it is asked for
    reach: { kind: 'variables', proxy: ['http_proxy'], trust: ['SSL_CERT_FILE'] },
  },
  {
    name: 'Perl LWP',
    tools: ['perl-lwp'],
    version: (tool) => [tool('perl-lwp'), '-MLWP', '-e', 'print LWP->VERSION'],
    words: (run) => [run.tool('perl-lwp'), '-MLWP', '-e', perlCode, mark(run)],
    distrust: /certificate verify failed/,
    reach: {
      kind: 'variables',
      proxy: ['https_proxy', 'PERL_LWP_ENV_PROXY'],
      trust: ['PERL_LWP_SSL_CA_FILE'],
    },
  },
  {
    name: 'PHP curl',
    tools: ['php'],
    version: (tool) => [tool('php'), '--version'],
    words: (run) => [run.tool('php'), '-r', phpCurlCode, mark(run)],
    distrust: /unable to get local issuer/,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['PHP_INI_SCAN_DIR'] },
  },
  {
    name: 'PHP streams',
    tools: ['php'],
    version: (tool) => [tool('php'), '--version'],
    words: (run) => [run.tool('php'), '-r', phpStreamCode, mark(run)],
    distrust: /certificate verify failed/,
    reach: {
      ...{ kind: 'unreached', lacks: 'proxy' },
      remedy: 'give it a stream context with a proxy and a cafile, or use curl',
    },
  },
];
