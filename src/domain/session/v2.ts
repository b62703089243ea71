import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
import {
  type SearchQuery,
  SessionFieldName,
  type SessionSchema,
} from "../../gen/core/session/v2/session_pb.ts"
import {
  type ListSessionsRequest,
  SessionService,
} from "../../gen/core/session/v2/session_service_pb.ts"
import { TimestampQueryMethod } from "../../gen/core/v1/time_pb.ts"
import { at, details, filterMissingError, meaning } from "../../kernel/answer.ts"
import { pageOf } from "../../kernel/page.ts"
import { type Cx, type Filter, search } from "../../store/index.ts"
import { callerOf } from "../user/api.ts"
import { profile, shownNames, user } from "../user/index.ts"
import { endSession } from "./commands.ts"
import { session } from "./model.ts"
import { type SessionRow, sessions } from "./view.ts"

export const v2 = share<Cx>()(SessionService, {
  listSessions: (req, cx) => list(cx, req),
  deleteSession: async ({ sessionId }, cx) => {
    const { userId } = cx.store.state(cx, session, sessionId)
    const step = await cx.store.transact(cx, (tx) => endSession(tx, sessionId))
    const owner = cx.store.receipt(cx, user, userId)?.owner ?? ""
    return { details: details({ ...step.receipt(session, sessionId), owner }) }
  },
})

async function list(cx: Cx, req: ListSessionsRequest) {
  const found = await search<SessionRow>(cx, sessions, {
    page: pageOf(req.query),
    sort: meaning(columns, req.sortingColumn),
    filters: req.queries.map((query) => filterOf(cx, query)),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      timestamp: at(cx.clock.now()),
    },
    sessions: found.rows.map((row) => toSession(cx, row)),
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
      return since("created", query.value.creationDate, query.value.method)
    // Whoever signs in on our pages makes their session themself.
    case "creatorQuery":
      return { equals: "user_id", value: query.value.id ?? callerOf(cx) }
    case "userAgentQuery":
      return { equals: "agent", value: query.value.fingerprintId ?? "" }
    case "expirationDateQuery":
      return since("expires", query.value.expirationDate, query.value.method)
    default:
      throw filterMissingError()
  }
}

function since(column: string, date: Timestamp | undefined, method: number): Filter {
  if (!date) throw filterMissingError()
  const value = timestampMs(date)
  const by = meaning(comparisons, method)
  return by === "=" ? { equals: column, value } : { compare: column, by, value }
}

const comparisons = {
  [TimestampQueryMethod.EQUALS]: "=",
  [TimestampQueryMethod.GREATER]: ">",
  [TimestampQueryMethod.GREATER_OR_EQUALS]: ">=",
  [TimestampQueryMethod.LESS]: "<",
  [TimestampQueryMethod.LESS_OR_EQUALS]: "<=",
} as const

function toSession(cx: Cx, row: SessionRow): MessageInitShape<typeof SessionSchema> {
  const { id, org, user_id: userId } = row
  const receipt = cx.store.receipt(cx, session, id)
  const person = profile(cx, userId)
  const user_name = person?.userName ?? ""
  const checked = at(row.checked)
  return {
    id,
    ...(receipt && {
      creationDate: at(receipt.created),
      changeDate: at(receipt.changed),
      sequence: BigInt(receipt.version),
    }),
    factors: {
      user: {
        verifiedAt: checked,
        id: userId,
        loginName: shownNames(cx, { user_name, org }).preferredLoginName,
        displayName: person?.name ?? "",
        organizationId: org,
      },
      password: { verifiedAt: checked },
    },
    userAgent: { fingerprintId: row.agent },
    expirationDate: at(row.expires),
  }
}
