import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { snippetsOf } from "../../ui/console/application/snippets.ts"
import { needs } from "./prerequisite.ts"
import { until } from "./wait.ts"

export type Apache = {
  readonly url: string
  readonly log: () => string
  readonly stop: () => Promise<void>
}

export type Registration = {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
}

/** Where Debian keeps the modules; the one of OpenID Connect is a package of its own. */
const modules = "/usr/lib/apache2/modules"

/** The addresses that an Apache on a port has to be registered with. */
export const apacheUris = (port: number) => ({
  redirectUri: `http://localhost:${port}/protected/callback`,
  postLogoutRedirectUri: `http://localhost:${port}/bye.html`,
  backChannelLogoutUri: `http://localhost:${port}/protected/callback?logout=backchannel`,
})

/** What protects a page: a module of Apache, with the settings that the console shows to copy. */
export type Guard = { readonly module: "auth_openidc" | "auth_mellon"; readonly settings: string }

/**
 * Apache with a module that signs people in in front of one page, as its administrator would set
 * it up: with the settings that the console shows to copy, and nothing else.
 */
export async function startApache(folder: string, port: number, guard: Guard): Promise<Apache> {
  const binary = needs("apache")
  if (!binary) throw new Error("no Apache with mod_auth_openidc on this machine")
  const documents = join(folder, "htdocs")
  mkdirSync(join(documents, "protected"), { recursive: true })
  // Its workers are another user when root starts it.
  for (const path of [folder, documents, join(documents, "protected")]) chmodSync(path, 0o755)
  const page = `<h1>Intranet</h1><p id="user"><!--#echo var="REMOTE_USER" --></p>
<p id="name"><!--#echo var="OIDC_CLAIM_name" --></p>
<p id="told"><!--#echo var="MELLON_FullName" --></p>`
  writeFileSync(join(documents, "protected", "index.shtml"), page)
  writeFileSync(join(documents, "bye.html"), "<h1>Bye</h1>")
  writeFileSync(join(folder, "mime.types"), "text/html html shtml")
  const config = join(folder, "apache.conf")
  writeFileSync(config, configOf(folder, port, guard))
  const child = spawn(binary, ["-f", config, "-DFOREGROUND"])
  let refused = ""
  child.stderr.on("data", (chunk) => (refused += chunk))
  const ended = new Promise<void>((done) => child.once("exit", () => done()))
  const log = () => readFileSync(join(folder, "error.log"), "utf8")
  const stop = () => {
    child.kill("SIGTERM")
    return ended
  }
  const url = `http://localhost:${port}`
  const answers = async () => (await fetch(`${url}/bye.html`).catch(() => undefined))?.ok
  const what = () => `Apache to start:\n${refused}${log()}`
  try {
    await until(answers, { what, limitMs: 60_000 })
  } catch (cause) {
    child.kill("SIGKILL")
    throw cause
  }
  return { url, log, stop }
}

const loaded = [
  "mpm_event",
  "authz_core",
  "authn_core",
  "authz_user",
  "dir",
  "mime",
  "include",
  "filter",
  "setenvif",
]

const loadModule = (name: string) => `LoadModule ${name}_module ${modules}/mod_${name}.so`

function configOf(folder: string, port: number, { module, settings }: Guard): string {
  const isRoot = process.getuid?.() === 0
  return `
ServerRoot "${folder}"
PidFile "${folder}/apache.pid"
DefaultRuntimeDir "${folder}"
Listen 127.0.0.1:${port}
ServerName localhost:${port}
ErrorLog "${folder}/error.log"
LogLevel warn
StartServers 1
${[...loaded, module].map(loadModule).join("\n")}
${isRoot ? "User www-data\nGroup www-data" : ""}
DocumentRoot "${folder}/htdocs"
DirectoryIndex index.shtml
TypesConfig "${folder}/mime.types"
AddOutputFilter INCLUDES .shtml
<Directory "${folder}/htdocs">
  Options +Includes
  Require all granted
</Directory>
${settings}
`
}

/** What the console shows to copy. */
export function settingsFor(
  { issuer, clientId, clientSecret }: Registration,
  redirectUri: string,
): string {
  const shown = snippetsOf({
    issuer,
    clientId,
    secret: clientSecret,
    auth: "basic",
    isApi: false,
    upstream: "http://localhost:8080",
    appType: "web",
    hasCode: true,
    scope: "openid profile email",
    at: (endpoint) => `${issuer}/${endpoint}`,
    redirectUris: [redirectUri],
    passphrase: "a-passphrase-of-this-test-alone",
  })
  return shown.find(({ name }) => name === "Apache")?.text ?? ""
}
