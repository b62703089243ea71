// Loaded before each file that tests servers: what hangs or fails there is explained by its report.
import { afterAll, afterEach, type RunnerTestSuite as Suite } from "vitest"
import { limitFetch } from "./fetch-limit.ts"
import { serverReport, startedServers } from "./server-report.ts"

/** As long as a test waits for a condition: then its last error names the request. */
const answerLimitMs = 60_000

limitFetch(answerLimitMs)

// The files of a thread share the list: a report is only about the servers of its own file.
startedServers.length = 0

const show = (options = {}) => {
  const report = serverReport(startedServers, options)
  if (report !== "") console.error(report)
}

afterEach(({ task }) => {
  if (task.result?.state === "fail") show()
})

// A hook that failed is no test. By now the servers of its file are stopped, so all of them count.
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from it that no fixture is needed.
afterAll(({}, file) => {
  const hasFailed = ({ result }: Pick<Suite, "result">) => (result?.errors?.length ?? 0) > 0
  const suites = file.tasks.filter((task) => task.type === "suite")
  if (![file, ...suites].some(hasFailed)) return
  show({ withStopped: true })
})
