import { existsSync } from "node:fs"
import { openHttpBrowser } from "../../test/support/http-browser.ts"
import { freePort, temporaryFolder } from "../../test/support/latchkey.ts"
import { run } from "../step.ts"
import type { Target } from "./target.ts"

/** Whether this machine can run binaries for a target. */
export function canRun({ name }: Target): boolean {
  if (process.platform !== "linux") return false
  const processor = process.arch === "arm64" ? "arm64" : "x64"
  if (name === `linux-${processor}`) return true
  const loader = process.arch === "arm64" ? "aarch64" : "x86_64"
  return name === `linux-${processor}-musl` && existsSync(`/lib/ld-musl-${loader}.so.1`)
}

/**
 * Runs a binary's version command and a sign-in to its demo application if this machine can run it;
 * throws if either fails.
 */
export async function testBinary(target: Target, binary: string): Promise<string> {
  if (!canRun(target)) return "not tested: built on another system"
  const { ok, output } = await run([binary, "version"])
  if (!ok) throw new Error(`the binary for ${target.name} does not start:\n${output}`)
  await testSignIn(binary)
  return `starts, and a user can sign in: ${output.trim()}`
}

/** Timeouts for the start and for the shutdown. */
const defaultTimeouts = { upMs: 15_000, endMs: 10_000 }

/**
 * Signs in with a password, isolated from this machine's environment; the log must not contain
 * warnings.
 */
export async function testSignIn(
  binary: string,
  { upMs: startTimeoutMs, endMs: stopTimeoutMs } = defaultTimeouts,
): Promise<void> {
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
  const outputs = Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  const signInResult = await signIn(`http://localhost:${port}`, child, startTimeoutMs).catch(
    (cause) => ({
      cause,
    }),
  )
  const hasStopped = await stopInTime(child, stopTimeoutMs)
  folder.remove()
  const output = (await outputs).join("")
  const isSignedIn =
    typeof signInResult === "string" && signInResult.includes("You are signed in as Grace Hopper.")
  if (isSignedIn && hasStopped && !/\[(WRN|ERR|FTL)\]/.test(output)) return
  const reason = isSignedIn
    ? hasStopped
      ? "the log contains warnings"
      : "the process does not exit"
    : "the sign-in failed"
  const cause = typeof signInResult === "string" ? undefined : signInResult.cause
  throw new Error(
    [`with ${binary}: ${reason}`, ...(cause ? [`${cause}`] : []), output].join("\n"),
    {
      cause,
    },
  )
}

type Child = Pick<Bun.Subprocess, "kill" | "exited" | "exitCode" | "signalCode">

/** Asks the process to exit; returns whether it exits in time, and kills it otherwise. */
async function stopInTime(child: Child, stopTimeoutMs: number): Promise<boolean> {
  child.kill("SIGTERM")
  const hasStopped = await Promise.race([
    child.exited.then(() => true),
    Bun.sleep(stopTimeoutMs).then(() => false),
  ])
  if (!hasStopped) child.kill("SIGKILL")
  await child.exited
  return hasStopped
}

async function signIn(url: string, child: Child, startTimeoutMs: number): Promise<string> {
  const deadline = Date.now() + startTimeoutMs
  while (!(await isUp(url))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("the process exited")
    if (Date.now() > deadline)
      throw new Error(`no response within ${startTimeoutMs / 1000} seconds`)
    await Bun.sleep(50)
  }
  const browser = openHttpBrowser()
  const loginName = "grace@acme.example"
  const passwordPage = await browser.post(await browser.get(`${url}/dev/demo/sign-in`), {
    loginName,
  })
  return (await browser.post(passwordPage, { loginName, password: "Correct-horse-7-battery" })).text
}

const isUp = (url: string): Promise<boolean> =>
  fetch(`${url}/debug/ready`).then(
    ({ ok }) => ok,
    () => false,
  )

/** What was tested and what was not, for users of the release. */
export const formatTestResults = (
  version: string,
  signInResult: readonly (readonly [Target, string])[],
): string =>
  [
    `Latchkey ${version}: results of the tests of this release on the build machine.`,
    "All tests run on linux-x64 only. Untested targets are built from the same code.",
    "",
    ...signInResult.map(([{ name }, outputs]) => `${name.padEnd(18)} ${outputs}`),
    "",
  ].join("\n")
