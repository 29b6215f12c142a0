// What no environment variable sends through the gateway, or makes trust it, and what does instead. Pure.

export type UnreachedClient = {
  readonly client: string;
  /** what it does not do, whatever is set */
  readonly because: string;
  readonly remedy: string;
};

/** The first six measured; clients that pin a certificate are not in it: a rule with the verdict `relay` lets them through. */
export const unreachedClients: readonly UnreachedClient[] = [
  {
    client: 'fetch and https of Node 20',
    because: 'they know of no proxy: NODE_USE_ENV_PROXY is ignored, and --use-env-proxy refused',
    remedy:
      'run it on Node 24, or give `setGlobalDispatcher(new EnvHttpProxyAgent())` of undici before anything else; NODE_EXTRA_CA_CERTS then does the rest. Or redirect its connections (`leafgate transparent rules`)',
  },
  {
    client: 'Rust programs with built-in roots (ureq, rustls with webpki-roots)',
    because: 'their roots are compiled in',
    remedy:
      'build them with the roots of the platform (rustls-native-certs, platform-verifier), which read SSL_CERT_FILE; or let their hosts through with a rule that relays',
  },
  {
    client: 'PHP streams (file_get_contents, SoapClient)',
    because: 'they know of no proxy but the one in a stream context; their trust is set',
    remedy:
      'use curl, set the proxy in the default stream context (`stream_context_set_default`), or redirect its connections',
  },
  {
    client: 'libcurl in other programs (pycurl)',
    because: 'it takes the proxy from the variables, but CURL_CA_BUNDLE and SSL_CERT_FILE are read by the program curl',
    remedy: 'set CURLOPT_CAINFO in its code, or put the CA among the roots of the system',
  },
  {
    client: 'Chromium, Chrome, Electron',
    because:
      'outside a desktop session they take the proxy from the variables, but roots from the NSS store of the user alone',
    remedy:
      '`certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n leafgate -i CA-FILE`; in a pod, a trust source of the form NSS that is mounted there',
  },
  {
    client: 'Firefox',
    because: 'it takes the proxy from the variables unless its settings name one, but roots from its profile alone',
    remedy: '`certutil -d sql:PROFILE -A -t C,, -n leafgate -i CA-FILE`, or `Certificates.Install` in a policies.json',
  },
  {
    client: 'docker build, docker run, the docker daemon',
    because: 'a container starts with an environment and files of its own, and the daemon with those of the system',
    remedy:
      'mount the trust folder into the container at the same path and give it the variables (`leafgate env --dir DIR --proxy URL`, with an address of the gateway that the container reaches); for the daemon, put the CA among the roots of the system and the proxy into its settings',
  },
  {
    client: 'wget2',
    because: 'it got through no proxy by CONNECT in any form tried',
    remedy: 'use wget or curl, or redirect its connections',
  },
  {
    client: 'Maven, Gradle',
    because: 'their JVM trusts the gateway, but some of their parts take a proxy only from settings of their own',
    remedy:
      'name the gateway in `<proxies>` of settings.xml, or as `systemProp.https.proxyHost` and `proxyPort` in gradle.properties',
  },
  {
    client: 'Go and Swift on macOS',
    because: "they ask the system's keychain and read no variable",
    remedy: "add the CA to a keychain of the user's (`security add-trusted-cert`)",
  },
  {
    client: 'a process that already runs',
    because: 'roots and proxies are read once, at the start',
    remedy: 'start it anew',
  },
];
