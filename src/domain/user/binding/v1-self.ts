import { share } from "../../../api/method.ts"
import {
  AuthService,
  type ListMyMetadataRequest,
  type UpdateMyProfileRequest,
} from "../../../gen/core/auth/v1/auth_service_pb.ts"
import type { MetadataQuery } from "../../../gen/core/metadata/v1/metadata_pb.ts"
import { Gender as Genders } from "../../../gen/core/user/v1/user_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, details, filterMissingError, meaning } from "../../../protocol/api/answer.ts"
import { selected } from "../../../protocol/api/mask.ts"
import { type Cx, type Filter, search, textFilter } from "../../../store/index.ts"
import { createCode } from "../../credential/index.ts"
import type { CodeOf } from "../../lockout/index.ts"
import { type Gender, homeOf, user } from "../../user-model/index.ts"
import { removeAvatar } from "../avatar.ts"
import { removeUser, type UserChange } from "../commands.ts"
import { changeUser, personOf, removePhone, requestCode, verifyContact } from "../contact.ts"
import { mustBeAllowedToRename } from "../login-name.ts"
import { type MetadataRow, metadataEntries } from "../metadata-view.ts"

/** What callers change of themselves, and what is noted about them. */
export const self = share<Cx>()(AuthService, {
  updateMyProfile: (req, cx) => change(cx, { human: { profile: profileIn(req) } }),
  updateMyUserName: ({ userName }, cx) => {
    mustBeAllowedToRename(cx, homeOf(cx, callerOf(cx)))
    return change(cx, { userName })
  },
  setMyEmail: ({ email: value }, cx) => change(cx, { human: { email: mine(cx, "email", value) } }),
  setMyPhone: ({ phone: value }, cx) => change(cx, { human: { phone: mine(cx, "phone", value) } }),
  removeMyPhone: async (_, cx) => {
    if (!personOf(cx.store.state(cx, user, callerOf(cx))).phone) throw unchangedError()
    return { details: details(await removePhone(cx, callerOf(cx))) }
  },
  removeMyAvatar: async (_, cx) => ({ details: details(await removeAvatar(cx, callerOf(cx))) }),
  resendMyEmailVerification: (_, cx) => resend(cx, "email"),
  resendMyPhoneVerification: (_, cx) => resend(cx, "phone"),
  verifyMyEmail: ({ code }, cx) => verify(cx, "email", code),
  verifyMyPhone: ({ code }, cx) => verify(cx, "phone", code),
  listMyMetadata: (req, cx) => listMetadata(cx, req),
  getMyMetadata: async ({ key }, cx) => {
    const found = await metadata(cx, { filters: [{ equals: "meta_key", value: key }] })
    const [row] = found.rows
    if (row) return { metadata: toMetadata(row) }
    throw new Fault("not_found", "user.metadata_absent", "nothing is noted under this key")
  },
  removeMyUser: async (_, cx) => ({ details: details(await removeUser(cx, callerOf(cx))) }),
})

async function change(cx: Cx, wanted: UserChange) {
  const id = callerOf(cx)
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(user, id)
    changeUser(tx, id, wanted)
    if (tx.state(user, id) === before) throw unchangedError()
  })
  return { details: details(step.receipt(user, id)) }
}

const profileIn = (req: UpdateMyProfileRequest) =>
  selected(
    req,
    {
      givenName: req.firstName,
      familyName: req.lastName,
      nickName: req.nickName,
      displayName: req.displayName,
      preferredLanguage: req.preferredLanguage,
      gender: meaning(genders, req.gender),
    },
    { givenName: ["firstName"], familyName: ["lastName"] },
  )

/** One's own address is verified by the code that goes there, and by nothing else. */
const mine = (cx: Cx, of: CodeOf, value: string) => ({
  value,
  verified: false,
  code: createCode(cx, callerOf(cx), { of, returned: false }),
})

async function resend(cx: Cx, of: CodeOf) {
  const id = callerOf(cx)
  const code = createCode(cx, id, { of, returned: false })
  return { details: details(await requestCode(cx, id, { of, code })) }
}

const verify = async (cx: Cx, of: CodeOf, code: string) => ({
  details: details(await verifyContact(cx, callerOf(cx), { of, code })),
})

async function listMetadata(cx: Cx, req: ListMyMetadataRequest) {
  const found = await metadata(cx, { query: req.query, filters: req.queries.map(filterOf) })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: at(cx.clock.now()),
    },
    result: found.rows.map(toMetadata),
  }
}

type Asked = {
  readonly query?: ListMyMetadataRequest["query"]
  readonly filters: readonly Filter[]
}

function metadata(cx: Cx, { query, filters }: Asked) {
  const userId = callerOf(cx)
  const scope = { all: false, orgs: [], projects: [], grants: [], self: userId }
  return search<MetadataRow>({ ...cx, scope }, metadataEntries, { page: pageOf(query), filters })
}

function filterOf({ query }: MetadataQuery): Filter {
  if (query.case === undefined) throw filterMissingError()
  return textFilter("meta_key", query.value.key, query.value.method)
}

const toMetadata = (row: MetadataRow) => ({
  key: row.meta_key,
  value: row.value,
  details: details({ ...row, owner: row.org }),
})

const genders: Readonly<Record<number, Gender>> = {
  [Genders.UNSPECIFIED]: "unspecified",
  [Genders.FEMALE]: "female",
  [Genders.MALE]: "male",
  [Genders.DIVERSE]: "diverse",
}

const unchangedError = () =>
  new Fault("failed_precondition", "user.unchanged", "no changes: it is so already")
