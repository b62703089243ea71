// Scripts of an organisation, where they run.
import { expect, type RunnerTestCase, type RunnerTestSuite, test } from "vitest"
import { type FlowType, flows, type Trigger } from "../../../src/domain/action/flow-kind.ts"
import { addAction, removeAction, setTrigger } from "../../../src/domain/action/index.ts"
import { membersOf, shapeAt } from "../../../src/domain/action/script/offered.ts"
import type { Provider } from "../../oauth/provider.ts"

type Bound = {
  readonly flowType: FlowType
  readonly triggerType: Trigger
  /** Each has a function with a name of its own: f0, f1 … */
  readonly scripts: readonly string[]
  readonly allowedToFail?: boolean
  readonly timeoutMs?: number
  /** Whose they are; without a word the first organisation's. */
  readonly orgId?: string
}

let count = 0

/** All scripts that were bound so far, by flow and trigger. */
const written = new Map<string, string>()

/** Has scripts run at a moment; answers what takes them away again. */
export async function bind(provider: Provider, bound: Bound): Promise<() => Promise<void>> {
  const cx = provider.cx()
  const { orgId = provider.setup.orgId } = bound
  const { flowType, triggerType, scripts, allowedToFail = false, timeoutMs = 0 } = bound
  const ids = scripts.map(() => `script${++count}`)
  const moment = `${flowType} ${triggerType}`
  written.set(moment, [written.get(moment), ...scripts].join("\n"))
  await provider.store.transact(cx, (tx) => {
    scripts.forEach((script, at) => {
      const name = /\bf\d\b/.exec(script)?.[0] ?? "f0"
      const input = { name, script, timeoutMs, allowedToFail, orgId }
      addAction(tx, ids[at] ?? "", input)
    })
    setTrigger(tx, { orgId, flowType, triggerType }, ids)
  })
  return async () => {
    await provider.store.transact(cx, (tx) => {
      for (const id of ids) removeAction(tx, id)
    })
  }
}

type Task = RunnerTestCase | RunnerTestSuite

const testsIn = (task: Task): readonly RunnerTestCase[] =>
  task.type === "test" ? [task] : task.tasks.flatMap(testsIn)

/**
 * Stands last in a file: whether scripts of its tests use all that is handed to those of a flow. It
 * goes by what these have bound, and says so where one of them has not run before it.
 */
export const testAllUsed = (flowType: FlowType) =>
  test("nothing that scripts are handed here is left out above", ({ task }) => {
    const before = task.file.tasks.flatMap(testsIn).filter(({ id }) => id !== task.id)
    const missing = before.filter(({ result }) => result?.state !== "pass")
    const why = "this goes by all other tests of the file: run all of it, in its order"
    expect(
      missing.map(({ name }) => name),
      why,
    ).toEqual([])
    expect(before.length, why).toBeGreaterThan(0)
    expect(unused(flowType)).toEqual([])
  })

/** What scripts of a flow are handed, and none that was bound so far has used: "5 api.v1.…". */
const unused = (flowType: FlowType): readonly string[] =>
  flows[flowType].triggers.flatMap((trigger) => {
    const scripts = written.get(`${flowType} ${trigger}`) ?? ""
    return membersOf(shapeAt(flowType, trigger))
      .filter(({ path }) => !path.startsWith("require") && !isUsedIn(scripts, path))
      .map(({ path }) => `${trigger} ${path}`)
  })

/** Scripts take `ctx` apart as they like; what they do to `api` stands there as it is called. */
function isUsedIn(scripts: string, path: string): boolean {
  const name = path.replace(/\(.*/s, "").replaceAll(".", "\\.")
  if (name.startsWith("api")) return new RegExp(`\\b${name}\\b`).test(scripts)
  const read = name.replace(/^ctx\\\.(v1\\\.)?/, "")
  return new RegExp(`(?<!\\bapi\\.v1\\.)\\b${read}\\b`).test(scripts)
}
