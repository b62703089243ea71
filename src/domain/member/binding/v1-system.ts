import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import {
  MemberFieldColumnName,
  type MemberSchema,
  type SearchQuery,
} from "../../../gen/core/member/v1/member_pb.ts"
import {
  type ListIAMMembersRequest,
  SystemService,
} from "../../../gen/core/system/v1/system_service_pb.ts"
import { Type } from "../../../gen/core/user/v1/user_pb.ts"
import { parsePage } from "../../../kernel/page.ts"
import { filterMissingError, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import { type Cx, type Filter, textFilter } from "../../../store/index.ts"
import { avatarUrl } from "../../user/index.ts"
import { displayNames } from "../../user-lookup/index.ts"
import { type InstanceMemberRow, searchInstanceMembers } from "../instance-member.ts"

export const system = bindHandlers<Cx>()(SystemService, {
  listIAMMembers: (req, cx) => listMembers(cx, req),
})

async function listMembers(cx: Cx, req: ListIAMMembersRequest) {
  const found = await searchInstanceMembers(cx, {
    page: parsePage(req.query),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.queries.map(filterOf),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
    },
    result: found.rows.map((row) => toMember(cx, row)),
  }
}

function filterOf({ query }: SearchQuery): Filter {
  switch (query.case) {
    case "firstNameQuery":
      return textFilter("given_name", query.value.firstName, query.value.method)
    case "lastNameQuery":
      return textFilter("family_name", query.value.lastName, query.value.method)
    case "emailQuery":
      return textFilter("email", query.value.email, query.value.method)
    case "userIdQuery":
      return { equals: "user_id", value: query.value.userId }
    case undefined:
      throw filterMissingError()
  }
}

const columns: Readonly<Record<number, string>> = {
  [MemberFieldColumnName.MEMBER_FIELD_NAME_UNSPECIFIED]: "created",
  [MemberFieldColumnName.MEMBER_FIELD_NAME_USER_ID]: "user_id",
  [MemberFieldColumnName.MEMBER_FIELD_NAME_CREATION_DATE]: "created",
  [MemberFieldColumnName.MEMBER_FIELD_NAME_CHANGE_DATE]: "changed",
  [MemberFieldColumnName.MEMBER_FIELD_NAME_USER_RESOURCE_OWNER]: "user_org",
}

const toMember = (cx: Cx, row: InstanceMemberRow): MessageInitShape<typeof MemberSchema> => ({
  userId: row.user_id,
  details: {
    creationDate: toTimestamp(row.created),
    changeDate: toTimestamp(row.changed),
    resourceOwner: cx.instance,
  },
  roles: [...row.roles],
  preferredLoginName: displayNames(cx, { user_name: row.user_name, org: row.user_org })
    .preferredLoginName,
  email: row.email,
  firstName: row.given_name,
  lastName: row.family_name,
  displayName: row.display_name,
  avatarUrl: avatarUrl(cx, row.user_id),
  userType: row.kind === "human" ? Type.HUMAN : Type.MACHINE,
  userResourceOwner: row.user_org,
})
