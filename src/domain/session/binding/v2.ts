import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { type SearchQuery, SessionFieldName } from "../../../gen/core/session/v2/session_pb.ts"
import {
  type ListSessionsRequest,
  SessionService,
} from "../../../gen/core/session/v2/session_service_pb.ts"
import { TimestampQueryMethod } from "../../../gen/core/v1/time_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../../protocol/api/response.ts"
import { type Cx, type Filter, search } from "../../../store/index.ts"
import { user } from "../../user-model/index.ts"
import { endSession } from "../commands.ts"
import { session } from "../model.ts"
import { type SessionRow, sessions } from "../view.ts"
import { check } from "./v2-check.ts"
import { toSession } from "./v2-session.ts"

export const v2 = bindHandlers<Cx>()(SessionService, {
  listSessions: (req, cx) => listSessions(cx, req),
  getSession: ({ sessionId }, cx) => {
    const { status } = cx.store.state(cx, session, sessionId)
    if (status !== "active") throw sessionNotFoundError()
    return { session: toSession(cx, sessionId) }
  },
  createSession: (req, cx) => check.create(cx, req),
  setSession: (req, cx) => check.set(cx, req),
  deleteSession: async ({ sessionId }, cx) => {
    const { userId } = cx.store.state(cx, session, sessionId)
    const step = await cx.store.transact(cx, (tx) => endSession(tx, sessionId))
    const owner = cx.store.receipt(cx, user, userId)?.owner ?? ""
    return { details: toDetails({ ...step.receipt(session, sessionId), owner }) }
  },
})

const sessionNotFoundError = () => new Fault("not_found", "session.missing", "session not found")

async function listSessions(cx: Cx, req: ListSessionsRequest) {
  const found = await search<SessionRow>(cx, sessions, {
    page: parsePage(req.query),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.queries.map((query) => filterOf(cx, query)),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      timestamp: toTimestamp(cx.clock.now()),
    },
    sessions: found.rows.map((row) => toSession(cx, row.id)),
  }
}

const columns = {
  [SessionFieldName.UNSPECIFIED]: "created",
  [SessionFieldName.CREATION_DATE]: "created",
} as const

function filterOf(cx: Cx, { query }: SearchQuery): Filter {
  switch (query.case) {
    case "idsQuery":
      return { oneOf: "id", values: query.value.ids }
    case "userIdQuery":
      return { equals: "user_id", value: query.value.id }
    case "creationDateQuery":
      return timeFilter("created", query.value.creationDate, query.value.method)
    case "creatorQuery":
      return { equals: "creator", value: query.value.id ?? requireUserId(cx) }
    case "userAgentQuery":
      return { equals: "agent", value: query.value.fingerprintId ?? "" }
    case "expirationDateQuery":
      return timeFilter("expires", query.value.expirationDate, query.value.method)
    default:
      throw filterMissingError()
  }
}

function timeFilter(column: string, date: Timestamp | undefined, method: number): Filter {
  if (!date) throw filterMissingError()
  const value = timestampMs(date)
  const by = valueOfEnum(comparisons, method)
  return by === "=" ? { equals: column, value } : { compare: column, by, value }
}

const comparisons = {
  [TimestampQueryMethod.EQUALS]: "=",
  [TimestampQueryMethod.GREATER]: ">",
  [TimestampQueryMethod.GREATER_OR_EQUALS]: ">=",
  [TimestampQueryMethod.LESS]: "<",
  [TimestampQueryMethod.LESS_OR_EQUALS]: "<=",
} as const
