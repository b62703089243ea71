import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createSnippets } from "../../ui/console/application/snippets.ts"
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

/** Debian's module directory; mod_auth_openidc is a separate package. */
const modules = "/usr/lib/apache2/modules"

/** The redirect URIs of an Apache on a port. */
export const apacheUris = (port: number) => ({
  redirectUri: `http://localhost:${port}/protected/callback`,
  postLogoutRedirectUri: `http://localhost:${port}/bye.html`,
  backChannelLogoutUri: `http://localhost:${port}/protected/callback?logout=backchannel`,
})

/** A module of Apache that protects a page, with the settings that the console shows. */
export type ProtectionModule = {
  readonly module: "auth_openidc" | "auth_mellon"
  readonly settings: string
}

/**
 * Starts Apache with a module that protects one page, as its administrator would configure it: with
 * only the settings that the console shows.
 */
export async function startApache(
  folder: string,
  port: number,
  guard: ProtectionModule,
): Promise<Apache> {
  const binary = needs("apache")
  if (!binary) throw new Error("no Apache with mod_auth_openidc on this machine")
  const documents = join(folder, "htdocs")
  mkdirSync(join(documents, "protected"), { recursive: true })
  // Its workers run as another user if root starts it.
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
  const exited = new Promise<void>((done) => child.once("exit", () => done()))
  const log = () => readFileSync(join(folder, "error.log"), "utf8")
  const stop = () => {
    child.kill("SIGTERM")
    return exited
  }
  const url = `http://localhost:${port}`
  const isAnswering = async () => (await fetch(`${url}/bye.html`).catch(() => undefined))?.ok
  const what = () => `Apache to start:\n${refused}${log()}`
  try {
    await until(isAnswering, { what, limitMs: 60_000 })
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

function configOf(folder: string, port: number, { module, settings }: ProtectionModule): string {
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

/** The settings that the console shows. */
export function settingsFor(
  { issuer, clientId, clientSecret }: Registration,
  redirectUri: string,
): string {
  const shown = createSnippets({
    issuer,
    clientId,
    secret: clientSecret,
    auth: "basic",
    isApi: false,
    upstream: "http://localhost:8080",
    appType: "web",
    hasCode: true,
    scope: "openid profile email",
    endpoint: (endpoint) => `${issuer}/${endpoint}`,
    redirectUris: [redirectUri],
    passphrase: "a-passphrase-of-this-test-alone",
  })
  return shown.find(({ name }) => name === "Apache")?.text ?? ""
}
