// The settings files of clients that read no variable for their roots. Pure; must not know where they are written.

/** they stand beside the certificates, under these names, on a laptop and in a pod alike */
export const clientFileNames = {
  wgetrc: 'wgetrc',
  aptConf: 'apt.conf',
  phpFolder: 'php',
  phpIni: 'php/php.ini',
} as const;

export type ClientFileParts = {
  /** lines of the owner's wgetrc, which ours takes the place of */
  readonly wgetrc?: string;
  /** path of the owner's file for apt, which ours takes the place of */
  readonly aptConf?: string;
  /** root alone can read the folder: apt, started by root, must not fetch as its user _apt then */
  readonly isForRootAlone?: boolean;
};

export type ClientFile = { readonly name: string; readonly text: string };

/** `mergedFile`: where the clients see the anchors and the system roots. The last line counts in each of them. */
export function clientFiles(mergedFile: string, parts: ClientFileParts = {}): readonly ClientFile[] {
  // within apostrophes PHP replaces nothing
  const forPhp = mergedFile.includes("'") ? `"${mergedFile}"` : `'${mergedFile}'`;
  return [
    { name: clientFileNames.wgetrc, text: `${parts.wgetrc ?? ''}ca_certificate = ${mergedFile}\n` },
    { name: clientFileNames.aptConf, text: aptConf(mergedFile, parts) },
    { name: clientFileNames.phpIni, text: `curl.cainfo = ${forPhp}\nopenssl.cafile = ${forPhp}\n` },
  ];
}

function aptConf(mergedFile: string, { aptConf: included, isForRootAlone }: ClientFileParts): string {
  return [
    ...(included === undefined ? [] : [`#include "${included}";`]),
    `Acquire::https::CAInfo "${mergedFile}";`,
    // what apt itself does, with a warning, for a local file that _apt cannot read
    ...(isForRootAlone === true ? ['APT::Sandbox::User "root";'] : []),
    '',
  ].join('\n');
}

/** Which paths can stand in each file: there is no way to write the others (tried with wget 1.21, apt 2.6 and PHP 8.2). */
export const canStandIn = {
  wgetrc: (path: string) => !/\p{Cc}/u.test(path) && path.trim() === path,
  aptConf: (path: string) => !/["\p{Cc}]/u.test(path),
  phpIni: (path: string) => !/["\p{Cc}]/u.test(path) && (!path.includes("'") || !/[\\$]/.test(path)),
} as const;
