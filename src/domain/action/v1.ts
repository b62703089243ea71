import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../api/method.ts"
import { ActionFieldName, ActionState, FlowState } from "../../gen/core/action/v1/action_pb.ts"
import type {
  ActionQuery,
  CreateActionRequest,
  ListActionsRequest,
  UpdateActionRequest,
} from "../../gen/core/management/v1/action_pb.ts"
import { ManagementService } from "../../gen/core/management/v1/management_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { parsePage } from "../../kernel/page.ts"
import { selectMasked } from "../../protocol/api/mask.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import {
  type Cx,
  type Filter,
  type Receipt,
  search,
  type Transaction,
  textFilter,
} from "../../store/index.ts"
import { contextOrg } from "../org/index.ts"
import {
  actionNotFoundError,
  addAction,
  changeAction,
  clearFlow,
  deactivateAction,
  reactivateAction,
  removeAction,
  setTrigger,
} from "./commands.ts"
import {
  type FlowType,
  flows,
  flowTypes,
  parseFlow,
  parseTrigger,
  type Trigger,
  triggers,
} from "./flow-kind.ts"
import { action, flow, flowId } from "./model.ts"
import { type ActionRow, actions } from "./view.ts"

export const management = bindHandlers<Cx>()(ManagementService, {
  listActions: (req, cx) => list(cx, req),
  getAction: ({ id }, cx) => ({ action: toAction(cx, id) }),
  createAction: async (req, cx) => {
    const id = cx.ids.next()
    const input = { ...inputOf(req), orgId: contextOrg(cx) }
    const step = await cx.store.transact(cx, (tx) => addAction(tx, id, input))
    return { id, details: toDetails(step.receipt(action, id)) }
  },
  updateAction: (req, cx) =>
    changeAndRequire(cx, req.id, (tx) => changeAction.within(tx, req.id, changeOf(req))),
  deactivateAction: ({ id }, cx) =>
    changeAndRequire(cx, id, (tx) => deactivateAction.within(tx, id)),
  reactivateAction: ({ id }, cx) =>
    changeAndRequire(cx, id, (tx) => reactivateAction.within(tx, id)),
  deleteAction: async ({ id }, cx) => {
    await cx.store.transact(cx, (tx) => removeAction(tx, id))
    return {}
  },
  listFlowTypes: () => ({ result: flowTypes.map(toFlowType) }),
  listFlowTriggerTypes: ({ type }) => ({
    result: flows[parseFlow(type)].triggers.map(toTriggerType),
  }),
  getFlow: ({ type }, cx) => ({ flow: toFlow(cx, contextOrg(cx), parseFlow(type)) }),
  clearFlow: ({ type }, cx) => {
    const [orgId, flowType] = [contextOrg(cx), parseFlow(type)]
    return toggle(cx, flowId(orgId, flowType), (tx) => clearFlow(tx, orgId, flowType))
  },
  setTriggerActions: (req, cx) => {
    const [orgId, flowType] = [contextOrg(cx), parseFlow(req.flowType)]
    const moment = { orgId, flowType, triggerType: parseTrigger(flowType, req.triggerType) }
    return toggle(cx, flowId(orgId, flowType), (tx) => setTrigger(tx, moment, req.actionIds))
  },
})

/** v1 rejects updates that change nothing. */
const unchangedError = () =>
  new Fault(
    "failed_precondition",
    "action.unchanged",
    "nothing to update: the action already has these values",
  )

async function changeAndRequire(cx: Cx, id: string, act: (tx: Transaction) => void) {
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(action, id)
    act(tx)
    if (tx.state(action, id) === before) throw unchangedError()
  })
  return { details: toDetails(step.receipt(action, id)) }
}

async function toggle(cx: Cx, id: string, act: (tx: Transaction) => boolean) {
  const step = await cx.store.transact(cx, (tx) => {
    if (!act(tx)) throw unchangedError()
  })
  return { details: toDetails(step.receipt(flow, id)) }
}

type ActionRequest = Pick<CreateActionRequest, "name" | "script" | "timeout" | "allowedToFail">

const inputOf = ({ name, script, timeout, allowedToFail }: ActionRequest) => ({
  name,
  script,
  allowedToFail,
  timeoutMs: timeoutOf(timeout),
})

const changeOf = (req: UpdateActionRequest) =>
  selectMasked(req, inputOf(req), { timeoutMs: ["timeout"] })

const timeoutOf = (timeout: Duration | undefined) => (timeout ? durationMs(timeout) : 0)

async function list(cx: Cx, req: ListActionsRequest) {
  const { sortingColumn } = req
  const found = await search<ActionRow>(cx, actions, {
    page: parsePage(req.query),
    sort: valueOfEnum(columns, sortingColumn),
    filters: [{ equals: "org", value: contextOrg(cx) }, ...req.queries.map(filterOf)],
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
    },
    sortingColumn,
    result: found.rows.map(({ id }) => toAction(cx, id)),
  }
}

const columns = {
  [ActionFieldName.UNSPECIFIED]: "created",
  [ActionFieldName.NAME]: "name_folded",
  [ActionFieldName.ID]: "id",
  [ActionFieldName.STATE]: "state",
} as const

function filterOf({ query }: ActionQuery): Filter {
  switch (query.case) {
    case "actionIdQuery":
      return { equals: "id", value: query.value.id }
    case "actionNameQuery":
      return textFilter("name", query.value.name, query.value.method)
    case "actionStateQuery":
      return { equals: "state", value: valueOfEnum(states, query.value.state) }
    default:
      throw filterMissingError()
  }
}

const states = {
  [ActionState.ACTIVE]: "active",
  [ActionState.INACTIVE]: "inactive",
} as const

function toAction(cx: Cx, id: string) {
  const receipt = cx.store.receipt(cx, action, id)
  const { status, name, script, timeoutMs, allowedToFail } = cx.store.state(cx, action, id)
  if (!receipt || status === "absent" || status === "removed") throw actionNotFoundError()
  return {
    id,
    name,
    script,
    allowedToFail,
    details: toDetails(receipt),
    state: status === "active" ? ActionState.ACTIVE : ActionState.INACTIVE,
    timeout: durationFromMs(timeoutMs),
  }
}

const emptyReceipt = (owner: string): Omit<Receipt, "id" | "position"> => ({
  version: 0,
  created: 0,
  changed: 0,
  owner,
})

function toFlow(cx: Cx, orgId: string, type: FlowType) {
  const id = flowId(orgId, type)
  const named = cx.store.state(cx, flow, id).actions
  const set = flows[type].triggers.filter((trigger) => named[trigger] !== undefined)
  return {
    type: toFlowType(type),
    details: toDetails(cx.store.receipt(cx, flow, id) ?? emptyReceipt(orgId)),
    state: set.length > 0 ? FlowState.ACTIVE : FlowState.INACTIVE,
    triggerActions: set.map((trigger) => ({
      triggerType: toTriggerType(trigger),
      actions: (named[trigger] ?? []).map((each) => toAction(cx, each)),
    })),
  }
}

const toFlowType = (type: FlowType) => ({
  id: `${type}`,
  name: { key: `Action.Flow.Type.${type}`, localizedMessage: flows[type].label },
})

const toTriggerType = (type: Trigger) => ({
  id: `${type}`,
  name: { key: `Action.TriggerType.${type}`, localizedMessage: triggers[type].label },
})
