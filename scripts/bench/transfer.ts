// Imports users into an instance, exports them, imports them into an empty instance and exports
// them again, by the command line, while another client sends requests: `bun
// scripts/bench/transfer.ts [USERS]`. Prints the duration of each step, the peak memory of the
// server, and the latency of other requests. Needs dist/latchkey and Linux, for /proc.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const [userCount = 100_000] = process.argv.slice(2).map(Number)
const binary = resolve("dist/latchkey")
const folder = mkdtempSync(join(tmpdir(), "latchkey-transfer-"))
const pathOf = (name: string) => join(folder, name)
/** A bcrypt hash of an arbitrary password, which is never checked. */
const hash = "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"

async function runCli(...args: readonly string[]): Promise<void> {
  const done = Bun.spawn([binary, ...args], { stdout: "pipe", stderr: "inherit" })
  const [output, code] = await Promise.all([new Response(done.stdout).text(), done.exited])
  if (code !== 0) throw new Error(`latchkey ${args.join(" ")} exited with ${code}:\n${output}`)
}

/** Starts a server on a new instance, in a folder of the given name. */
async function openServer(name: string, port: number) {
  const url = `http://localhost:${port}`
  writeFileSync(pathOf("password"), "Correct-horse-7-battery")
  const owner = ["--org", "Home", "--owner", "admin", "--owner-email", "admin@example.com"]
  const secret = ["--owner-password-file", pathOf("password")]
  await runCli("setup", "--data", pathOf(name), "--public-url", url, ...owner, ...secret)
  const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", `127.0.0.1:${port + 1}`]
  const server = Bun.spawn([binary, "serve", "--data", pathOf(name), ...listen], {
    stdout: "ignore",
  })
  while (!(await isReady(url))) await Bun.sleep(50)
  const highest = () =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024
  return { name, url, highest, server }
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/debug/ready`).then(
    ({ ok }) => ok,
    () => false,
  )

type Server = Awaited<ReturnType<typeof openServer>>

/** Runs a command against a server, and measures an unauthenticated request meanwhile. */
async function runTimed(label: string, { name, url, highest }: Server, args: readonly string[]) {
  const probeLatencies: number[] = []
  let isOver = false
  const other = async () => {
    while (!isOver) {
      const before = performance.now()
      await (await fetch(`${url}/.well-known/openid-configuration`)).text()
      probeLatencies.push(performance.now() - before)
      await Bun.sleep(10)
    }
  }
  const started = performance.now()
  const probing = other()
  await runCli(...args, "--data", pathOf(name))
  const seconds = (performance.now() - started) / 1000
  isOver = true
  await probing
  const p99 =
    probeLatencies.toSorted((a, b) => a - b)[Math.floor(probeLatencies.length * 0.99)] ?? 0
  const rate = Math.round(userCount / seconds)
  console.log(
    `${label.padEnd(8)} ${seconds.toFixed(1)} s, ${rate} users/s; peak memory ` +
      `${Math.round(highest())} MB; other requests ${p99.toFixed(1)} ms (99th percentile)`,
  )
}

function* createLines(): Generator<string> {
  yield JSON.stringify({ orgId: "corp", org: { name: "Corp" } })
  for (let at = 0; at < userCount; at++) {
    const user = {
      userName: `user${at}`,
      profile: { firstName: "First", lastName: `Last ${at}` },
      email: { email: `user${at}@example.com`, isEmailVerified: true },
      hashedPassword: { value: hash },
    }
    yield JSON.stringify({ orgId: "corp", humanUsers: [{ userId: `u${at}`, user }] })
  }
}

const servers: Server[] = []
try {
  writeFileSync(pathOf("first"), [...createLines()].join("\n"))
  const [one, two] = [await openServer("one", 18_790), await openServer("two", 18_792)]
  servers.push(one, two)
  const readyLine = ["--org", "corp", "--with-passwords", "--with-otp", "--with-secrets"]
  await runTimed("in", one, ["import", pathOf("first")])
  await runTimed("out", one, ["export", pathOf("second"), ...readyLine])
  await runTimed("import again", two, ["import", pathOf("second")])
  await runTimed("out", two, ["export", pathOf("third"), ...readyLine])
  // Users created at the same time can be in another order.
  const sorted = (name: string) => readFileSync(pathOf(name), "utf8").split("\n").sort().join("\n")
  const isSame = sorted("second") === sorted("third")
  console.log(isSame ? "the exports are identical" : "the exports DIFFER")
} finally {
  for (const { server } of servers) server.kill()
  await Promise.all(servers.map(({ server }) => server.exited))
  rmSync(folder, { recursive: true })
}
