import { type ChildProcess, spawn } from "node:child_process"
import { createPrivateKey } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { SignJWT } from "jose"
import { type ServerEnd, startedServers } from "./server-report.ts"
import { until } from "./wait.ts"

/** The compiled binary; `npm test` builds it first. */
export const binary = resolve(import.meta.dirname, "../../dist/latchkey")

export const owner = {
  loginName: "ada@example.com",
  email: "ada@example.com",
  password: "Correct-horse-7-battery",
} as const

export type ServiceKey = {
  readonly type: "serviceaccount"
  readonly keyId: string
  readonly key: string
  readonly userId: string
}

export type RunningServer = {
  readonly url: string
  readonly grpcPort: number
  readonly data: string
  readonly process: ChildProcess
  /** Everything printed so far, both streams. */
  readonly output: () => string
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

/** A new empty directory, and a function to delete it. */
export function temporaryFolder(parent = tmpdir()): {
  readonly path: string
  readonly remove: () => void
} {
  const path = mkdtempSync(join(parent, "latchkey-test-"))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer()
    server.once("error", fail)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => done(typeof address === "object" && address ? address.port : 0))
    })
  })
}

/** Runs the binary until it exits, with an empty environment. */
export function run(
  args: readonly string[],
  options: {
    readonly cwd?: string
    readonly env?: Readonly<Record<string, string>>
    /** An executable instead of `binary`. */
    readonly program?: string
  } = {},
): Promise<{ readonly code: number | null; readonly output: string }> {
  const { program = binary, ...rest } = options
  const child = spawn(program, [...args], { env: {}, ...rest })
  let output = ""
  child.stdout.on("data", (chunk) => (output += chunk))
  child.stderr.on("data", (chunk) => (output += chunk))
  return new Promise((done, fail) => {
    child.once("error", fail)
    child.once("close", (code) => done({ code, output }))
  })
}

/**
 * Sets up an empty data directory without interaction; returns the key of the new service account.
 */
export async function setUp(data: string, url: string, program = binary): Promise<ServiceKey> {
  const passwordFile = join(data, "..", `${process.pid}-${Math.random()}.password`)
  const keyFile = `${passwordFile}.key.json`
  writeFileSync(passwordFile, `${owner.password}\n`, { mode: 0o600 })
  try {
    const args = [
      "setup",
      "--data",
      data,
      "--public-url",
      url,
      "--org",
      "Acme",
      "--owner",
      owner.loginName,
      "--owner-email",
      owner.email,
      "--owner-password-file",
      passwordFile,
      "--service-key-file",
      keyFile,
      // The tests' users have short passwords, which the API's default allows.
      ...(program === binary ? ["--password-rules", "composition"] : []),
    ]
    const { code, output } = await run(args, { program })
    if (code !== 0) throw new Error(`set-up ended with ${code}: ${output}`)
    return JSON.parse(readFileSync(keyFile, "utf8"))
  } finally {
    rmSync(passwordFile, { force: true })
    rmSync(keyFile, { force: true })
  }
}

/** Starts the binary on a data directory and waits until it responds. */
export async function startLatchkey(options: {
  readonly data: string
  readonly port: number
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** An executable instead of `binary`. */
  readonly program?: string
}): Promise<RunningServer> {
  const { data, port, program = binary } = options
  const grpcPort = await freePort()
  const args = [
    "serve",
    "--data",
    data,
    "--listen",
    `127.0.0.1:${port}`,
    "--grpc-listen",
    `127.0.0.1:${grpcPort}`,
    ...(options.args ?? []),
  ]
  const child = spawn(program, args, { env: { ...options.env } })
  let output = ""
  child.stdout.on("data", (chunk) => (output += chunk))
  child.stderr.on("data", (chunk) => (output += chunk))
  const sent = new Set<NodeJS.Signals | null>()
  let end: ServerEnd | undefined
  const exited = new Promise<number | null>((done) =>
    child.once("exit", (code, signal) => {
      end = { code, signal, isStopped: sent.has(signal) }
      done(code)
    }),
  )
  startedServers.push({ command: args.join(" "), output: () => output, ended: () => end })
  const url = `http://localhost:${port}`
  await waitUntilAnswering(`http://127.0.0.1:${port}/healthz`, exited, () => output)
  return {
    url,
    grpcPort,
    data,
    process: child,
    output: () => output,
    stop: (signal = "SIGTERM") => {
      sent.add(signal)
      child.kill(signal)
      return exited
    },
  }
}

async function waitUntilAnswering(url: string, exited: Promise<unknown>, output: () => string) {
  let isOver = false
  void exited.then(() => {
    isOver = true
  })
  const isAnswered = async () => (await fetch(url).catch(() => undefined))?.ok
  const what = () => `the server to start:\n${output()}`
  await until(async () => isOver || (await isAnswered()), { what, limitMs: 60_000 })
  if (isOver) throw new Error(`the server did not start:\n${output()}`)
}

/** The scope that adds the service's own project to the audience. */
export const apiScope = "openid urn:core:iam:org:project:id:core:aud"

/** Signs an assertion with a service account's key and exchanges it for an access token. */
export async function serviceToken(
  url: string,
  key: ServiceKey,
  scope: string = apiScope,
): Promise<string> {
  const response = await fetch(`${url}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: await assertionOf(url, key),
      scope,
    }),
  })
  const body = await response.json()
  if (!response.ok) throw new Error(`no token: ${response.status} ${JSON.stringify(body)}`)
  return body.access_token
}

/** The signed assertion of a service account (RFC 7523). */
export async function assertionOf(issuer: string, key: ServiceKey, jti?: string): Promise<string> {
  return new SignJWT(jti === undefined ? {} : { jti })
    .setProtectedHeader({ alg: "RS256", kid: key.keyId })
    .setIssuer(key.userId)
    .setSubject(key.userId)
    .setAudience(issuer)
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(createPrivateKey(key.key))
}
