import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { askerOf } from "../../../api/method.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { givenId } from "../../../kernel/text/given.ts"
import type { Cx } from "../../../store/index.ts"
import { shares } from "../../action/api.ts"
import {
  action,
  addAction,
  deactivateAction,
  flow,
  flowId,
  flowOf,
  flows,
  flowTypes,
  triggerOf,
} from "../../action/index.ts"
import { idsIn } from "../list.ts"
import { emptyError, mustBeNew } from "./v1-project.ts"
import { needs, row } from "./v1-row.ts"

const ask = askerOf<Cx>(shares)

export const actionRow = row({
  field: "actions",
  needs: needs("org.action"),
  from: ({ actions }) => actions,
  async *read(cx, orgId) {
    for await (const actionId of idsIn(cx, "actions", orgId)) {
      const state = cx.store.state(cx, action, actionId)
      const { name, script, allowedToFail, timeoutMs } = state
      const given = { name, script, allowedToFail, timeout: durationFromMs(timeoutMs) }
      yield { actions: [{ actionId, action: given, inactive: state.status === "inactive" }] }
    }
  },
  write: async (cx, orgId, { actionId, action: given, inactive }) => {
    if (!given) throw emptyError("script")
    const { name, script, allowedToFail, timeout } = given
    const id = givenId(cx.ids, "action_id", actionId)
    const timeoutMs = timeout ? durationMs(timeout) : 0
    await cx.store.transact(cx, (tx) => {
      mustBeNew(tx.state(action, id))
      addAction(tx, id, { name, script, allowedToFail, timeoutMs, orgId })
      if (inactive) deactivateAction.within(tx, id)
    })
  },
  idOf: ({ actionId }) => actionId,
  taken: ({ actionId }) => ({ actionIds: [actionId] }),
})

export const triggerRow = row({
  field: "triggerActions",
  needs: needs("org.flow"),
  from: ({ triggerActions }) => triggerActions,
  *read(cx, orgId) {
    for (const flowType of flowTypes) {
      const named = cx.store.state(cx, flow, flowId(orgId, flowType)).actions
      for (const trigger of flows[flowType].triggers) {
        const actionIds = [...(named[trigger] ?? [])]
        if (actionIds.length === 0) continue
        const [type, at] = [`${flowType}`, `${trigger}`]
        yield { triggerActions: [{ flowType: type, triggerType: at, actionIds }] }
      }
    }
  },
  write: async (cx, orgId, asked) => {
    const flowType = flowOf(asked.flowType)
    const { actions } = cx.store.state(cx, flow, flowId(orgId, flowType))
    if (actions[triggerOf(flowType, asked.triggerType)]) throw setError()
    await ask(cx, ManagementService.method.setTriggerActions, asked)
  },
  idOf: ({ flowType, triggerType }) => `${flowType}/${triggerType}`,
  taken: (asked) => ({ triggerActions: [asked] }),
})

const setError = () =>
  new Fault("already_exists", "transfer.exists", "scripts run at this moment already")
