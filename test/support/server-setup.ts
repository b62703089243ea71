// Loaded before each file that tests servers: hangs and failures are explained by the server
// report.
import { afterAll, afterEach, type RunnerTestSuite as Suite } from "vitest"
import { limitFetch } from "./fetch-limit.ts"
import { createServerReport, startedServers } from "./server-report.ts"

/** The same as the limit of `until`, so that its last error names the request. */
const responseLimitMs = 60_000

limitFetch(responseLimitMs)

// The files of a thread share the list; the report covers the servers of its own file only.
startedServers.length = 0

const show = (options = {}) => {
  const report = createServerReport(startedServers, options)
  if (report !== "") console.error(report)
}

afterEach(({ task }) => {
  if (task.result?.state === "fail") show()
})

// A failed hook is not a test. By now its servers are stopped, so the report covers all of them.
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from it that no fixture is needed.
afterAll(({}, file) => {
  const hasFailed = ({ result }: Pick<Suite, "result">) => (result?.errors?.length ?? 0) > 0
  const suites = file.tasks.filter((task) => task.type === "suite")
  if (![file, ...suites].some(hasFailed)) return
  show({ withStopped: true })
})
