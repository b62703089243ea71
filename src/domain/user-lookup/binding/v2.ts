import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import { ByteFilterMethod } from "../../../gen/core/filter/v2/filter_pb.ts"
import { TextQueryMethod } from "../../../gen/core/object/v2/object_pb.ts"
import {
  AccessTokenType,
  Gender,
  type SearchQuery,
  Type,
  UserFieldName,
  type UserSchema,
  UserState,
} from "../../../gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parsePage, type SearchResult } from "../../../kernel/page.ts"
import { fold } from "../../../kernel/text/name.ts"
import { toDetails, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import { foldEmail } from "../../../protocol/email.ts"
import { type Cx, type Filter, search, type TextMethod, textFilter } from "../../../store/index.ts"
import { avatarUrl, metadataFilter, toJwtFormatFields } from "../../user/index.ts"
import { type Machine, user } from "../../user-model/index.ts"
import { displayNames, loginNameFilter } from "../find-name.ts"
import { requireUserRow } from "../query.ts"
import { type UserRow, users } from "../view.ts"

/** Operations that read users. */
export const v2search = bindHandlers<Cx>()(UserService, {
  getUserByID: ({ userId }, cx) => ({
    ...toResponse(cx, requireUserRow(cx, userId)),
    outranksYou: cx.outranks?.(userId, "home") === false,
    outranksYouElsewhere: cx.outranks?.(userId) === false,
  }),
  listUsers: async (req, cx) => ({
    sortingColumn: req.sortingColumn,
    ...toListResponse(
      cx,
      await search(cx, users, {
        page: parsePage(req.query),
        sort: valueOfEnum(sortColumns, req.sortingColumn),
        filters: toFilters(req.queries),
      }),
    ),
  }),
})

const toResponse = (cx: Cx, row: UserRow) => ({
  details: toDetails(rowDetails(row)),
  user: toUser(cx, row),
})

const toListResponse = (cx: Cx, page: SearchResult<UserRow>) => ({
  result: page.rows.map((row) => toUser(cx, row)),
  details: {
    totalResult: BigInt(page.total),
    processedSequence: BigInt(cx.store.log.durable()),
    timestamp: toTimestamp(cx.clock.now()),
  },
})

const rowDetails = ({ org, ...row }: UserRow) => ({ ...row, owner: org })

function toUser(cx: Cx, row: UserRow): MessageInitShape<typeof UserSchema> {
  const shared = {
    userId: row.id,
    state: stateMessages[row.status],
    username: row.user_name,
    ...displayNames(cx, row),
  }
  return {
    ...shared,
    details: toDetails(rowDetails(row)),
    type:
      row.kind === "human"
        ? { case: "human", value: { ...shared, ...toHuman(cx, row) } }
        : { case: "machine", value: toMachine(cx, row) },
  }
}

const toHuman = (cx: Cx, row: UserRow) => ({
  profile: {
    givenName: row.given_name,
    familyName: row.family_name,
    nickName: row.nick_name,
    displayName: row.display_name,
    preferredLanguage: row.preferred_language,
    gender: genderMessages[row.gender],
    avatarUrl: avatarUrl(cx, row.id),
  },
  email: { email: row.email, isVerified: row.email_verified },
  ...(row.phone ? { phone: { phone: row.phone, isVerified: row.phone_verified } } : {}),
  passwordChangeRequired: row.change_required,
  ...(row.password_changed ? { passwordChanged: toTimestamp(row.password_changed) } : {}),
})

const toMachine = (cx: Cx, row: UserRow) => ({
  name: row.display_name,
  description: row.description,
  hasSecret: row.has_secret,
  accessTokenType: row.token_type === "jwt" ? AccessTokenType.JWT : AccessTokenType.BEARER,
  ...toJwtFormatFields(findMachineState(cx, row.id) ?? {}),
})

function findMachineState(cx: Cx, id: string): Machine | undefined {
  const state = cx.store.state(cx, user, id)
  return "kind" in state && state.kind === "machine" ? state : undefined
}

const conditionsMax = 200

/** The filters of a list of queries; nested ones count towards the limit. */
function toFilters(queries: readonly SearchQuery[]): readonly Filter[] {
  let left = conditionsMax
  const each = (query: SearchQuery): Filter => {
    left--
    if (left >= 0) return toForeignFilter(query) ?? toFilter(query, each)
    throw invalidError("user.too_many_queries", `at most ${conditionsMax} queries can be combined`)
  }
  return queries.map(each)
}

function toFilter({ query }: SearchQuery, each: (query: SearchQuery) => Filter): Filter {
  switch (query.case) {
    case "userNameQuery":
      return textCondition("user_name", query.value.userName, query.value.method)
    case "firstNameQuery":
      return textCondition("given_name", query.value.firstName, query.value.method)
    case "lastNameQuery":
      return textCondition("family_name", query.value.lastName, query.value.method)
    case "nickNameQuery":
      return textCondition("nick_name", query.value.nickName, query.value.method)
    case "displayNameQuery":
      return textCondition("display_name", query.value.displayName, query.value.method)
    case "emailQuery":
      return textCondition("email", query.value.emailAddress, query.value.method)
    case "phoneQuery":
      return comparison(
        "phone",
        query.value.number,
        valueOfEnum(textMethods, query.value.method).how,
      )
    case "stateQuery":
      return { oneOf: "status", values: toStatuses(query.value.state) }
    case "typeQuery":
      return { oneOf: "kind", values: valueOfEnum(kindsByType, query.value.type) }
    case "inUserIdsQuery":
      return { oneOf: "id", values: query.value.userIds }
    case "inUserEmailsQuery":
      return {
        oneOf: "email_folded",
        values: query.value.userEmails.map((email) => fold(foldEmail(email))),
      }
    case "organizationIdQuery":
      return { equals: "org", value: query.value.organizationId }
    case "orQuery":
      return { any: query.value.queries.map(each) }
    case "andQuery":
      return { all: query.value.queries.map(each) }
    case "notQuery":
      return { not: each(query.value.query ?? throwEmptyQuery()) }
    default:
      return throwEmptyQuery()
  }
}

/** A filter on data outside the user row; undefined for any other query. */
function toForeignFilter({ query }: SearchQuery): Filter | undefined {
  if (query.case === "loginNameQuery") {
    return loginNameFilter(query.value.loginName, valueOfEnum(textMethods, query.value.method).how)
  }
  if (query.case === "metadataKeyFilter") {
    return metadataFilter(textFilter("meta_key", query.value.key, query.value.method))
  }
  if (query.case !== "metadataValueFilter") return undefined
  const { value, method } = query.value
  const isSame: Filter = { equals: "value", value }
  return metadataFilter(method === ByteFilterMethod.EQUALS ? isSame : { not: isSame })
}

function throwEmptyQuery(): never {
  throw invalidError("user.query_empty", "a query is empty; set one of its fields")
}

function textCondition(column: string, value: string, method: number): Filter {
  const { how: comparisonMethod, folded } = valueOfEnum(textMethods, method)
  if (!folded) return comparison(column, value, comparisonMethod)
  return comparison(
    `${column}_folded`,
    column === "email" ? foldEmail(value) : value,
    comparisonMethod,
  )
}

const comparison = (column: string, value: string, method: TextMethod): Filter => ({
  text: column,
  method,
  value,
})

const textMethods: Readonly<Record<number, { how: TextMethod; folded: boolean }>> = {
  [TextQueryMethod.EQUALS]: { how: "equals", folded: false },
  [TextQueryMethod.EQUALS_IGNORE_CASE]: { how: "equals", folded: true },
  [TextQueryMethod.STARTS_WITH]: { how: "starts_with", folded: false },
  [TextQueryMethod.STARTS_WITH_IGNORE_CASE]: { how: "starts_with", folded: true },
  [TextQueryMethod.CONTAINS]: { how: "contains", folded: false },
  [TextQueryMethod.CONTAINS_IGNORE_CASE]: { how: "contains", folded: true },
  [TextQueryMethod.ENDS_WITH]: { how: "ends_with", folded: false },
  [TextQueryMethod.ENDS_WITH_IGNORE_CASE]: { how: "ends_with", folded: true },
}

const sortColumns: Readonly<Record<number, string>> = {
  [UserFieldName.UNSPECIFIED]: "created",
  [UserFieldName.USER_NAME]: "user_name_folded",
  [UserFieldName.FIRST_NAME]: "given_name_folded",
  [UserFieldName.LAST_NAME]: "family_name_folded",
  [UserFieldName.NICK_NAME]: "nick_name_folded",
  [UserFieldName.DISPLAY_NAME]: "display_name_folded",
  [UserFieldName.EMAIL]: "email_folded",
  [UserFieldName.STATE]: "status",
  [UserFieldName.TYPE]: "kind",
  [UserFieldName.CREATION_DATE]: "created",
}

const stateMessages = {
  active: UserState.ACTIVE,
  inactive: UserState.INACTIVE,
  locked: UserState.LOCKED,
} as const

/** States that listed users can't have match no one. */
const toStatuses = (state: UserState): readonly string[] =>
  Object.entries(stateMessages).flatMap(([status, value]) => (value === state ? [status] : []))

const kindsByType: Readonly<Record<number, readonly string[]>> = {
  [Type.UNSPECIFIED]: ["human", "machine"],
  [Type.HUMAN]: ["human"],
  [Type.MACHINE]: ["machine"],
}

const genderMessages = {
  unspecified: Gender.UNSPECIFIED,
  female: Gender.FEMALE,
  male: Gender.MALE,
  diverse: Gender.DIVERSE,
} as const

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
