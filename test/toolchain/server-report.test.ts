import { afterAll, beforeAll, expect, test } from "vitest"
import { limitedFetch } from "../support/fetch-limit.ts"
import { createServerReport, type ServerEnd } from "../support/server-report.ts"

const server = (name: string, end?: ServerEnd, output = `${name} said this\n`) => ({
  command: `serve --data ${name}`,
  output: () => output,
  ended: () => end,
})

test("the report contains the servers that run or ended with an error, and no others", () => {
  const report = createServerReport([
    server("running"),
    server("left", { code: 0, signal: null, isStopped: false }),
    server("killed", { code: null, signal: "SIGKILL", isStopped: true }),
    server("refused", { code: 2, signal: null, isStopped: false }),
    server("crashed", { code: null, signal: "SIGSEGV", isStopped: false }),
  ])
  expect(report.split("\n")).toEqual([
    "latchkey serve --data running is running:",
    "running said this",
    "",
    "latchkey serve --data refused ended with 2:",
    "refused said this",
    "",
    "latchkey serve --data crashed ended with SIGSEGV:",
    "crashed said this",
  ])
  expect(createServerReport([])).toBe("")
  const stopped = [server("stopped", { code: null, signal: "SIGTERM", isStopped: true })]
  expect(createServerReport(stopped)).toBe("")
  expect(createServerReport(stopped, { withStopped: true })).toContain("stopped said this")
})

test("the report contains the last forty lines of a server, and the number of omitted ones", () => {
  const output = Array.from({ length: 45 }, (_, at) => `line ${at}\n`).join("")
  const lines = createServerReport([server("talker", undefined, output)]).split("\n")
  expect(lines.slice(1, 3)).toEqual(["… 5 lines before", "line 5"])
  expect(lines.slice(-1)).toEqual(["line 44"])
})

let silent: Bun.Server<undefined>
beforeAll(() => {
  silent = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      url.endsWith("/talks") ? new Response("ok") : Promise.withResolvers<Response>().promise,
  })
})
afterAll(() => silent.stop(true))

test("a request without a response is named in the error after its limit", async () => {
  const send = limitedFetch(fetch, 100)
  const { href } = new URL("/silent", silent.url)
  await expect(send(href, { method: "POST" })).rejects.toThrow(
    `no answer within 100 ms: POST ${href}`,
  )
  const patient = limitedFetch(fetch, 60_000)
  expect(await (await patient(new URL("/talks", silent.url))).text()).toBe("ok")
})

test("a request with its own signal has no other limit", async () => {
  const signal = AbortSignal.timeout(300)
  const sent = limitedFetch(fetch, 100)(silent.url, { signal })
  await expect(sent).rejects.toMatchObject({ name: "TimeoutError" })
})
