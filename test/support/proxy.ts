import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { freePort } from "./latchkey.ts"
import { needs } from "./prerequisite.ts"
import { until } from "./wait.ts"

export type StartedProgram = { readonly stop: () => Promise<void> }

export type ProxyKind = "nginx" | "caddy" | "apache" | "haproxy"

type ProxyOptions = {
  /** The directory for its files; other users may read it. */
  readonly folder: string
  /** The URL that it serves once it is ready. */
  readonly url: string
  /** For TLS: the host of its certificate. */
  readonly serverName?: string
  /** Its complete configuration; for nginx the content of `http`. */
  readonly settings: string
}

/** A real proxy with settings as an administrator would write them. */
export async function startProxy(kind: ProxyKind, options: ProxyOptions): Promise<StartedProgram> {
  const binary = needs(kind)
  if (!binary) throw new Error(`no ${kind} on this machine`)
  mkdirSync(options.folder, { recursive: true })
  chmodSync(options.folder, 0o755)
  const config = join(options.folder, "settings")
  writeFileSync(config, configs[kind](options))
  const child = spawn(binary, argumentsOf[kind](config), {
    env: { ...process.env, HOME: options.folder, XDG_DATA_HOME: options.folder },
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (more) => (output += more))
  const exited = new Promise<void>((done) => child.once("exit", () => done()))
  const { serverName } = options
  const tls = { rejectUnauthorized: false, ...(serverName !== undefined && { serverName }) }
  const isAnswering = () => fetch(options.url, { redirect: "manual", tls }).catch(() => undefined)
  try {
    const answer = await until(isAnswering, {
      what: () => `${kind} to start:\n${output}`,
      limitMs: 60_000,
    })
    await answer.body?.cancel()
  } catch (cause) {
    child.kill("SIGKILL")
    throw cause
  }
  const stop = () => {
    child.kill("SIGTERM")
    return exited
  }
  return { stop }
}

const argumentsOf = {
  nginx: (config: string) => ["-c", config, "-e", "stderr"],
  caddy: (config: string) => ["run", "--adapter", "caddyfile", "--config", config],
  apache: (config: string) => ["-f", config, "-DFOREGROUND"],
  haproxy: (config: string) => ["-db", "-f", config],
} as const

const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] as const

/** Debian's module directory, and the modules that \`a2enmod proxy_http headers ssl\` enables. */
const modules = "/usr/lib/apache2/modules"
const apacheModules = [
  "mpm_event",
  "authz_core",
  "proxy",
  "proxy_http",
  "headers",
  "ssl",
  "socache_shmcb",
] as const

const configs = {
  nginx: ({ folder, settings }: ProxyOptions) => `${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
access_log off;
${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join("\n")}
${settings}
}
`,
  apache: ({ folder, settings }: ProxyOptions) => `
ServerRoot ${folder}
ServerName localhost
PidFile ${folder}/apache.pid
ErrorLog ${folder}/error.log
${apacheModules.map((each) => `LoadModule ${each}_module ${modules}/mod_${each}.so`).join("\n")}
${process.getuid?.() === 0 ? "User nobody" : ""}
${settings}
`,
  haproxy: ({ settings }: ProxyOptions) => `
defaults
  timeout connect 5s
  timeout client 30s
  timeout server 30s
${settings}
`,
  caddy: ({ settings }: ProxyOptions) => `{
  admin off
  auto_https off
}
${settings}
`,
} as const

/** A program without its own sign-in that shows the user headers it receives. */
export async function startProgram(): Promise<StartedProgram & { readonly port: number }> {
  const server = createServer((request, response) => {
    const told = (name: string) => String(request.headers[name] ?? "")
    const utf8 = (text: string) => Buffer.from(text, "latin1").toString()
    response.setHeader("content-type", "application/json")
    response.end(
      JSON.stringify({
        path: request.url,
        user: told("remote-user"),
        userId: told("remote-user-id"),
        email: told("remote-email"),
        name: utf8(told("remote-name")),
        groups: told("remote-groups"),
        ...(request.headers.authorization !== undefined && {
          authorization: request.headers.authorization,
        }),
      }),
    )
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const bound = server.address()
  const port = typeof bound === "object" && bound ? bound.port : 0
  const stop = () => new Promise<void>((done) => server.close(() => done()))
  return { port, stop }
}

const wsgi = `import json, sys
from wsgiref.simple_server import make_server, WSGIRequestHandler
class Quiet(WSGIRequestHandler):
    def log_message(self, *line): pass
def program(environ, start):
    start("200 OK", [("Content-Type", "application/json")])
    length = len(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
    names = {name: value for name, value in environ.items() if name.startswith("HTTP_")}
    names["REQUEST_METHOD"] = environ["REQUEST_METHOD"]
    names["BODY_LENGTH"] = str(length)
    return [json.dumps(names).encode()]
make_server("127.0.0.1", int(sys.argv[1]), program, handler_class=Quiet).serve_forever()
`

const php = "<?php header('Content-Type: application/json'); echo json_encode($_SERVER);"

export type CgiKind = "python" | "php"

/** A program that reads headers as CGI does, and returns its variables: wsgiref, or PHP. */
export async function startCgi(
  kind: CgiKind,
  folder: string,
): Promise<StartedProgram & { readonly host: string }> {
  const binary = needs(kind)
  if (!binary) throw new Error(`no ${kind} on this machine`)
  const host = `127.0.0.1:${await freePort()}`
  const script = join(folder, `program.${kind}`)
  writeFileSync(script, kind === "python" ? wsgi : php)
  const args = kind === "python" ? [script, host.replace(/.*:/, "")] : ["-S", host, script]
  const child = spawn(binary, args, { stdio: "ignore" })
  const exited = new Promise<void>((done) => child.once("exit", () => done()))
  const stop = () => {
    child.kill("SIGTERM")
    return exited
  }
  const isAnswering = async () => (await fetch(`http://${host}/`).catch(() => undefined))?.ok
  await until(isAnswering, { what: () => `${kind} to start`, limitMs: 60_000 }).catch(
    async (cause: unknown) => {
      await stop()
      throw cause
    },
  )
  return { host, stop }
}
