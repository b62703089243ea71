import { accessSync, constants, existsSync, readdirSync } from "node:fs"
import { delimiter, join } from "node:path"

/** Programs of the machine that some tests need, with their purpose and how to install them. */
export const prerequisites = {
  chromium: {
    // The first is the same engine without window support, and takes half of the time.
    names: ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"],
    why: "the browser tests",
    remedy: "apt-get install chromium-headless-shell",
  },
  firefox: {
    names: ["firefox-esr", "firefox"],
    why: "the browser tests of what browsers do differently",
    remedy: "apt-get install firefox-esr",
  },
  apache: {
    names: ["apache2"],
    beside: "/usr/lib/apache2/modules/mod_auth_openidc.so",
    why: "the test behind a web server's own OpenID Connect module",
    remedy: "apt-get install apache2 libapache2-mod-auth-openidc",
  },
  mellon: {
    names: ["mellon_create_metadata"],
    beside: "/usr/lib/apache2/modules/mod_auth_mellon.so",
    why: "the test behind a web server's own SAML module",
    remedy: "apt-get install apache2 libapache2-mod-auth-mellon",
  },
  haproxy: {
    names: ["haproxy"],
    why: "the tests behind HAProxy",
    remedy: "apt-get install haproxy",
  },
  slapd: {
    names: ["slapd"],
    why: "the tests of a directory that people sign in with",
    remedy: "apt-get install slapd",
  },
  simplesamlphp: {
    names: ["php"],
    // Its package doesn't depend on its XML extension.
    beside: ["/usr/share/simplesamlphp/lib/_autoload.php", "/var/lib/dpkg/info/php-xml.list"],
    why: "the test with SimpleSAMLphp on the other side",
    remedy: "apt-get install --no-install-recommends simplesamlphp php-cli php-xml php-mbstring",
  },
  nginx: {
    names: ["nginx"],
    why: "the tests behind nginx",
    remedy: "apt-get install nginx",
  },
  caddy: {
    names: ["caddy"],
    why: "the tests behind Caddy",
    remedy: "apt-get install caddy",
  },
  dpkg: {
    names: ["dpkg-deb"],
    why: "the test of the Debian package",
    remedy: "apt-get install dpkg",
  },
  systemd: {
    names: ["systemd-analyze"],
    why: "the test of the unit",
    remedy: "apt-get install systemd",
  },
  pebble: {
    names: ["pebble"],
    beside: "/usr/bin/pebble-challtestsrv",
    why: "the test of certificates that an authority gives",
    remedy: "apt-get install pebble",
  },
  postgres: {
    names: ["initdb"],
    below: "/usr/lib/postgresql",
    why: "the tests of a log that nodes share in PostgreSQL",
    remedy: "apt-get install postgresql",
  },
  python: {
    names: ["python3"],
    why: "the tests of how WSGI programs read headers",
    remedy: "apt-get install python3",
  },
  pyjwt: {
    names: ["python3"],
    beside: "/usr/lib/python3/dist-packages/jwt/__init__.py",
    why: "the test with PyJWT on the other side",
    remedy: "apt-get install python3-jwt",
  },
  pysaml2: {
    names: ["python3"],
    beside: ["/usr/lib/python3/dist-packages/saml2/__init__.py", "/usr/bin/xmlsec1"],
    why: "the test with pysaml2, as Synapse configures it, on the other side",
    remedy: "apt-get install python3-pysaml2",
  },
  php: {
    names: ["php"],
    why: "the tests of how PHP programs read headers",
    remedy: "apt-get install php-cli",
  },
  gcc: {
    names: ["gcc"],
    why: "the tests of disks that lose power or refuse, whose helpers are a few lines of C",
    remedy: "apt-get install gcc libc6-dev",
  },
  openssl: {
    names: ["openssl"],
    why: "the test of the ciphers of our own TLS",
    remedy: "apt-get install openssl",
  },
  curl: {
    names: ["curl"],
    why: "the test that types what the documentation shows",
    remedy: "apt-get install curl",
  },
  prlimit: {
    names: ["prlimit"],
    why: "the tests of a disk that refuses, which change a limit of a running process",
    remedy: "apt-get install util-linux",
  },
  unshare: {
    names: ["unshare"],
    why: "the test of a file on a disk that is full",
    remedy: "apt-get install util-linux",
  },
} as const

export type Prerequisite = keyof typeof prerequisites

/**
 * The path of a program, or undefined if the machine lacks it. Suites then use
 * `describe.runIf(needs("chromium"))`; the check lists what is missing, and fails in CI.
 */
export function needs(prerequisite: Prerequisite): string | undefined {
  const entry = prerequisites[prerequisite]
  const companions = "beside" in entry ? [entry.beside].flat() : []
  if (!companions.every((path) => existsSync(path))) return undefined
  // Debian installs servers in directories of root's PATH only.
  const folders = [
    ...(process.env.PATH ?? "").split(delimiter),
    "/usr/sbin",
    ...("below" in entry ? versionsBelow(entry.below) : []),
  ]
  return entry.names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find(isExecutable)
}

/** Debian's program directories of each version, newest first. */
const versionsBelow = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(folder, version, "bin"))
    : []

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
