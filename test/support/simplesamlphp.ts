// SimpleSAMLphp from Debian's package, in PHP's own web server: an identity provider and an
// application in one.
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createKey, pemOf } from "../saml/service-provider.ts"
import { freePort, temporaryFolder } from "./latchkey.ts"
import { needs } from "./prerequisite.ts"
import { until } from "./wait.ts"

export type SimpleSamlPhp = {
  readonly url: string
  /** The metadata of the identity provider. */
  readonly idpMetadata: string
  /** The metadata of the application. */
  readonly spMetadata: string
  /** The application's page that requests a sign-in; with `?out=1` it signs out. */
  readonly application: string
  /** Registers a peer by its metadata. */
  readonly addPeer: (name: string, metadata: string) => void
  /** Its log. */
  readonly log: () => string
  readonly stop: () => Promise<void>
}

/** A user of the identity provider. */
export const person = { name: "nora", password: "Nora-secret-1" }

const home = "/usr/share/simplesamlphp"

/** Starts one whose application uses the identity provider `entityId`. */
export async function startSimpleSamlPhp(entityId: string): Promise<SimpleSamlPhp> {
  const binary = needs("simplesamlphp")
  if (!binary) throw new Error("no SimpleSAMLphp on this machine")
  const folder = temporaryFolder()
  const port = await freePort()
  const url = `http://localhost:${port}`
  const within = (...path: readonly string[]) => join(folder.path, ...path)
  for (const each of ["www", "config", "cert", "log", "data", "tmp", "session", "flat", "peers"]) {
    mkdirSync(within(each))
  }
  const key = await createKey()
  writeFileSync(within("cert", "own.pem"), key.privatePem)
  writeFileSync(within("cert", "own.crt"), pemOf(key.certificate))
  writeFileSync(within("config", "config.php"), configOf(folder.path, url))
  writeFileSync(within("config", "authsources.php"), authSourcesOf(entityId))
  writeFileSync(within("flat", "saml20-idp-hosted.php"), idpHosted)
  symlinkSync(join(home, "www"), within("www", "simplesaml"))
  writeFileSync(within("www", "application.php"), applicationPage)
  writeFileSync(within("www", "bye.html"), "<h1>Bye</h1>")
  const child = spawn(binary, ["-S", `localhost:${port}`, "-t", within("www")], {
    env: { ...process.env, SIMPLESAMLPHP_CONFIG_DIR: within("config") },
  })
  let output = ""
  child.stderr.on("data", (chunk) => (output += chunk))
  const exited = new Promise<void>((done) => child.once("exit", () => done()))
  const stop = async () => {
    child.kill("SIGTERM")
    await exited
    folder.remove()
  }
  const running: SimpleSamlPhp = {
    url,
    idpMetadata: `${url}/simplesaml/saml2/idp/metadata.php`,
    spMetadata: `${url}/simplesaml/module.php/saml/sp/metadata.php/application`,
    application: `${url}/application.php`,
    addPeer: (name, metadata) => writeFileSync(within("peers", `${name}.xml`), metadata),
    log: () => readFileSync(within("log", "simplesamlphp.log"), "utf8"),
    stop,
  }
  const isAnswering = async () => (await fetch(`${url}/bye.html`).catch(() => undefined))?.ok
  try {
    await until(isAnswering, { what: () => `SimpleSAMLphp to start:\n${output}`, limitMs: 60_000 })
  } catch (cause) {
    await stop()
    throw cause
  }
  return running
}

const configOf = (folder: string, url: string): string => `<?php
$peers = array_map(fn($file) => ['type' => 'xml', 'file' => $file], glob('${folder}/peers/*.xml'));
$config = [
  'baseurlpath' => '${url}/simplesaml/',
  'certdir' => '${folder}/cert/', 'loggingdir' => '${folder}/log/',
  'datadir' => '${folder}/data/', 'tempdir' => '${folder}/tmp',
  'secretsalt' => '${randomBytes(16).toString("hex")}',
  'auth.adminpassword' => '${randomBytes(16).toString("hex")}',
  'technicalcontact_email' => 'admin@example.com', 'timezone' => 'UTC',
  'logging.handler' => 'file', 'logging.logfile' => 'simplesamlphp.log',
  'logging.level' => SimpleSAML\\Logger::WARNING,
  'attributenamemapdir' => '/etc/simplesamlphp/attributemap/',
  'enable.saml20-idp' => true,
  'module.enable' => ['core' => true, 'saml' => true, 'exampleauth' => true],
  'store.type' => 'phpsession', 'session.phpsession.savepath' => '${folder}/session',
  'session.cookie.secure' => false, 'session.cookie.samesite' => 'Lax',
  'session.phpsession.cookiename' => 'SimpleSAML',
  'language.available' => ['en'], 'language.default' => 'en',
  'metadata.sources' => [['type' => 'flatfile', 'directory' => '${folder}/flat'], ...$peers],
];
`

const authSourcesOf = (entityId: string): string => `<?php
$config = [
  'application' => [
    'saml:SP', 'idp' => '${entityId}', 'privatekey' => 'own.pem', 'certificate' => 'own.crt',
    'sign.authnrequest' => true, 'sign.logout' => true, 'WantAssertionsSigned' => true,
    'authproc' => [50 => ['class' => 'core:AttributeMap', 'oid2name']],
  ],
  'people' => [
    'exampleauth:UserPass',
    '${person.name}:${person.password}' => [
      'uid' => ['${person.name}'], 'givenName' => ['Nora'], 'sn' => ['Berg'],
      'mail' => ['nora@simple.example'],
    ],
  ],
];
`

const idpHosted = `<?php
$metadata['__DYNAMIC:1__'] = [
  'host' => '__DEFAULT__', 'privatekey' => 'own.pem', 'certificate' => 'own.crt',
  'auth' => 'people', 'redirect.validate' => true, 'sign.logout' => true,
  'NameIDFormat' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  'authproc' => [3 => [
    'class' => 'saml:AttributeNameID', 'attribute' => 'uid',
    'Format' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  ]],
];
`

const applicationPage = `<?php
require '${home}/lib/_autoload.php';
$application = new \\SimpleSAML\\Auth\\Simple('application');
if (isset($_GET['out'])) $application->logout('/bye.html');
$application->requireAuth();
print '<h1>Application</h1><pre>' . htmlspecialchars(json_encode($application->getAttributes()));
`
