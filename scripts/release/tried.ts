import { existsSync } from "node:fs"
import { freePort, temporaryFolder } from "../../test/support/latchkey.ts"
import { visit } from "../../test/support/visitor.ts"
import { run } from "../step.ts"
import type { Target } from "./target.ts"

/** Whether this machine can start what is made for a system. */
export function canTry({ name }: Target): boolean {
  if (process.platform !== "linux") return false
  const processor = process.arch === "arm64" ? "arm64" : "x64"
  if (name === `linux-${processor}`) return true
  const loader = process.arch === "arm64" ? "aarch64" : "x86_64"
  return name === `linux-${processor}-musl` && existsSync(`/lib/ld-musl-${loader}.so.1`)
}

/**
 * Has a binary say its version, and let somebody into its demo application, where this machine can
 * start it; throws where it should and doesn't.
 */
export async function tryBinary(target: Target, binary: string): Promise<string> {
  if (!canTry(target)) return "not tried: built on another system"
  const { ok, output } = await run([binary, "version"])
  if (!ok) throw new Error(`the binary for ${target.name} does not start:\n${output}`)
  await trySignIn(binary)
  return `starts, and somebody signs in: ${output.trim()}`
}

/** How long it may take until it answers, and until it has ended that was asked to. */
const usual = { upMs: 15_000, endMs: 10_000 }

/** Signs in by a password, with nothing of this machine's; no line of the log may warn. */
export async function trySignIn(binary: string, { upMs, endMs } = usual): Promise<void> {
  const folder = temporaryFolder()
  const [port, grpc] = [await freePort(), await freePort()]
  const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", `127.0.0.1:${grpc}`]
  const child = Bun.spawn([binary, "dev", ...listen], {
    cwd: folder.path,
    env: { TMPDIR: folder.path },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  })
  const said = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const tried = await signedIn(`http://localhost:${port}`, child, upMs).catch((cause) => ({
    cause,
  }))
  const isEnded = await ended(child, endMs)
  folder.remove()
  const output = (await said).join("")
  const isIn = typeof tried === "string" && tried.includes("You are signed in as Grace Hopper.")
  if (isIn && isEnded && !/\[(WRN|ERR|FTL)\]/.test(output)) return
  const why = isIn ? (isEnded ? "not without a warning" : "it does not end") : "nobody signs in"
  const cause = typeof tried === "string" ? undefined : tried.cause
  throw new Error([`with ${binary}: ${why}`, ...(cause ? [`${cause}`] : []), output].join("\n"), {
    cause,
  })
}

type Child = Pick<Bun.Subprocess, "kill" | "exited" | "exitCode" | "signalCode">

/** Asks it to end, and whether it does so in time; then it has to. */
async function ended(child: Child, endMs: number): Promise<boolean> {
  child.kill("SIGTERM")
  const isEnded = await Promise.race([
    child.exited.then(() => true),
    Bun.sleep(endMs).then(() => false),
  ])
  if (!isEnded) child.kill("SIGKILL")
  await child.exited
  return isEnded
}

async function signedIn(url: string, child: Child, upMs: number): Promise<string> {
  const end = Date.now() + upMs
  while (!(await isUp(url))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("it has ended")
    if (Date.now() > end) throw new Error(`it does not answer in ${upMs / 1000} seconds`)
    await Bun.sleep(50)
  }
  const browser = visit()
  const loginName = "grace@acme.example"
  const named = await browser.post(await browser.get(`${url}/dev/demo/sign-in`), { loginName })
  return (await browser.post(named, { loginName, password: "Correct-horse-7-battery" })).text
}

const isUp = (url: string): Promise<boolean> =>
  fetch(`${url}/debug/ready`).then(
    ({ ok }) => ok,
    () => false,
  )

/** What was tried and what was not, for who downloads it. */
export const triedText = (version: string, tried: readonly (readonly [Target, string])[]): string =>
  [
    `Latchkey ${version}: what has been tried of this release on the machine that made it.`,
    "All tests run on linux-x64 alone. What was not tried is built from the same code, no more.",
    "",
    ...tried.map(([{ name }, said]) => `${name.padEnd(18)} ${said}`),
    "",
  ].join("\n")
