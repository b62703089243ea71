// People into an instance, out of it, into an empty one and out again, by the command line, while
// somebody else asks both servers: `bun scripts/bench/transfer.ts [PEOPLE]`. Says how long each way
// took, the memory of the server at its highest, and what others waited. Needs dist/latchkey, and
// Linux, which tells the memory.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const [people = 100_000] = process.argv.slice(2).map(Number)
const binary = resolve("dist/latchkey")
const folder = mkdtempSync(join(tmpdir(), "latchkey-transfer-"))
const path = (name: string) => join(folder, name)
/** bcrypt, of nobody's password: it is never checked here. */
const hash = "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"

async function run(...words: readonly string[]): Promise<void> {
  const done = Bun.spawn([binary, ...words], { stdout: "pipe", stderr: "inherit" })
  const [said, code] = await Promise.all([new Response(done.stdout).text(), done.exited])
  if (code !== 0) throw new Error(`latchkey ${words.join(" ")} ended with ${code}:\n${said}`)
}

/** A server on an instance of its own, by the name of its folder. */
async function open(name: string, port: number) {
  const url = `http://localhost:${port}`
  writeFileSync(path("password"), "Correct-horse-7-battery")
  const owner = ["--org", "Home", "--owner", "admin", "--owner-email", "admin@example.com"]
  const secret = ["--owner-password-file", path("password")]
  await run("setup", "--data", path(name), "--public-url", url, ...owner, ...secret)
  const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", `127.0.0.1:${port + 1}`]
  const server = Bun.spawn([binary, "serve", "--data", path(name), ...listen], { stdout: "ignore" })
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

type Server = Awaited<ReturnType<typeof open>>

/** Does something to a server, and asks it meanwhile what anybody may ask. */
async function timed(what: string, { name, url, highest }: Server, words: readonly string[]) {
  const waits: number[] = []
  let isOver = false
  const other = async () => {
    while (!isOver) {
      const before = performance.now()
      await (await fetch(`${url}/.well-known/openid-configuration`)).text()
      waits.push(performance.now() - before)
      await Bun.sleep(10)
    }
  }
  const started = performance.now()
  const asking = other()
  await run(...words, "--data", path(name))
  const seconds = (performance.now() - started) / 1000
  isOver = true
  await asking
  const p99 = waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0
  const rate = Math.round(people / seconds)
  console.log(
    `${what.padEnd(8)} ${seconds.toFixed(1)} s, ${rate} people/s; ` +
      `at most ${Math.round(highest())} MB; others wait ${p99.toFixed(1)} ms (99th percentile)`,
  )
}

function* lines(): Generator<string> {
  yield JSON.stringify({ orgId: "corp", org: { name: "Corp" } })
  for (let at = 0; at < people; at++) {
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
  writeFileSync(path("first"), [...lines()].join("\n"))
  const [one, two] = [await open("one", 18_790), await open("two", 18_792)]
  servers.push(one, two)
  const told = ["--org", "corp", "--with-passwords", "--with-otp", "--with-secrets"]
  await timed("in", one, ["import", path("first")])
  await timed("out", one, ["export", path("second"), ...told])
  await timed("in again", two, ["import", path("second")])
  await timed("out", two, ["export", path("third"), ...told])
  // People who are made at once may stand in another order.
  const sorted = (name: string) => readFileSync(path(name), "utf8").split("\n").sort().join("\n")
  const isSame = sorted("second") === sorted("third")
  console.log(isSame ? "what came out is the same" : "what came out DIFFERS")
} finally {
  for (const { server } of servers) server.kill()
  await Promise.all(servers.map(({ server }) => server.exited))
  rmSync(folder, { recursive: true })
}
