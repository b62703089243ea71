// Scripts of an organization, where they run.
import { expect, type RunnerTestCase, type RunnerTestSuite, test } from "vitest"
import { type FlowType, flows, type Trigger } from "../../../src/domain/action/flow-kind.ts"
import { addAction, removeAction, setTrigger } from "../../../src/domain/action/index.ts"
import { membersOf, shapeFor } from "../../../src/domain/action/script/members.ts"
import type { Provider } from "../../oauth/provider.ts"

type BindOptions = {
  readonly flowType: FlowType
  readonly triggerType: Trigger
  /** Each script defines a function with its own name: f0, f1 … */
  readonly scripts: readonly string[]
  readonly allowedToFail?: boolean
  readonly timeoutMs?: number
  /** The organization of the scripts; defaults to the first one. */
  readonly orgId?: string
}

let scriptCount = 0

/** All scripts bound so far, by flow and trigger. */
const scriptTexts = new Map<string, string>()

/** Binds scripts to a trigger; returns a function that removes them. */
export async function bindScripts(
  provider: Provider,
  bound: BindOptions,
): Promise<() => Promise<void>> {
  const cx = provider.cx()
  const { orgId = provider.setup.orgId } = bound
  const { flowType, triggerType, scripts, allowedToFail = false, timeoutMs = 0 } = bound
  const ids = scripts.map(() => `script${++scriptCount}`)
  const moment = `${flowType} ${triggerType}`
  scriptTexts.set(moment, [scriptTexts.get(moment), ...scripts].join("\n"))
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
 * Must be the last call in a file: tests whether the scripts of its tests use everything that a
 * flow provides. Reports tests that have not run before it.
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
    expect(unusedValues(flowType)).toEqual([])
  })

/** The values that a flow provides and no bound script has used: "5 api.v1.…". */
const unusedValues = (flowType: FlowType): readonly string[] =>
  flows[flowType].triggers.flatMap((trigger) => {
    const scripts = scriptTexts.get(`${flowType} ${trigger}`) ?? ""
    return membersOf(shapeFor(flowType, trigger))
      .filter(({ path }) => !path.startsWith("require") && !isUsedIn(scripts, path))
      .map(({ path }) => `${trigger} ${path}`)
  })

/** Scripts may destructure `ctx` freely; uses of `api` are found by their exact text. */
function isUsedIn(scripts: string, path: string): boolean {
  const name = path.replace(/\(.*/s, "").replaceAll(".", "\\.")
  if (name.startsWith("api")) return new RegExp(`\\b${name}\\b`).test(scripts)
  const read = name.replace(/^ctx\\\.(v1\\\.)?/, "")
  return new RegExp(`(?<!\\bapi\\.v1\\.)\\b${read}\\b`).test(scripts)
}
