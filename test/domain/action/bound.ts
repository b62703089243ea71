// Scripts of an organisation, where they run.

import type { FlowType, Trigger } from "../../../src/domain/action/flow-kind.ts"
import { addAction, removeAction, setTrigger } from "../../../src/domain/action/index.ts"
import type { Provider } from "../../oauth/provider.ts"

type Bound = {
  readonly flowType: FlowType
  readonly triggerType: Trigger
  /** Each has a function with a name of its own: f0, f1 … */
  readonly scripts: readonly string[]
  readonly allowedToFail?: boolean
  readonly timeoutMs?: number
}

let count = 0

/** Has scripts run at a moment; answers what takes them away again. */
export async function bind(provider: Provider, bound: Bound): Promise<() => Promise<void>> {
  const cx = provider.cx()
  const { orgId } = provider.setup
  const { flowType, triggerType, scripts, allowedToFail = false, timeoutMs = 0 } = bound
  const ids = scripts.map(() => `script${++count}`)
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
